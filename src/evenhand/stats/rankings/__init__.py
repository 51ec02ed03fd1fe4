"""Fairness of rankings and of neighbours, with their nulls."""
