"""Several benchmarks or models in one command, as they are typed and printed."""
