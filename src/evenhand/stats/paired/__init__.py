"""Two models on the same samples, and seeds of one."""
