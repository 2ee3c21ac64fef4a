"""The contract, the pure core, the log, settings and the command line of Earwitness."""
