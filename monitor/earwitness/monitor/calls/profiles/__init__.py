"""Numbers of other people's benchmarks, by their own rules: for comparison, never the default."""
