"""Running the suite against a testee: choose, ask, judge, tell."""
