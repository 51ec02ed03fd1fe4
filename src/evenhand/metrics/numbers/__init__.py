"""Means by group of a number that each sample has, such as an overlap or an error in years."""
