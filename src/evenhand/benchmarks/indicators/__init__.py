"""The three fairness indicators of Goyal et al. 2022."""
