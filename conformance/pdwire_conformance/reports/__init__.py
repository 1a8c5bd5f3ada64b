"""Reports of a run: every one a pure function of the run's event stream."""
