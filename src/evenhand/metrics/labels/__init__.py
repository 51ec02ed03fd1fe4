"""How often labels are given to pictures of each group."""
