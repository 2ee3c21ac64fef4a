"""Where notices go: one file each."""
