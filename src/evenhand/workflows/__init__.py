"""One file or folder for each command: asks, computes, writes and renders."""
