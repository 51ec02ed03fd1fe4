"""One file for each command: its options, and the call of the workflow."""
