"""The columns of a table before they are counted: ranks, weights, types, bins."""
