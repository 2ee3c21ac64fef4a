"""Files that tell of a recording what somebody else heard in it: intervals, RTTM, words, expectations."""
