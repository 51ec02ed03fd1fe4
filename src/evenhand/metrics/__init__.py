"""Pure functions of evidence that return a Finding; one file per family."""
