"""Pure functions from readings and records to text. No terminal, no log, no clock."""
