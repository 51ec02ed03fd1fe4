"""Benchmarks of other papers, each one file beside its card."""
