"""Samples of the SkewSize studies: generated folders, WILDS tables and labels of WordNet."""
