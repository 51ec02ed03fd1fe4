"""Several benchmarks and several models in one command: a run folder for each pair, and one page over all."""
