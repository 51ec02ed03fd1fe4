"""Effect sizes and permutation tests of association."""
