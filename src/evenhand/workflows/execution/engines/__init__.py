"""Where models run: in this process, ahead of time, or on Ray."""
