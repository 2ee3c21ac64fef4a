"""Measures: what is counted, in which windows, and how it is read. Pure: time is an argument."""
