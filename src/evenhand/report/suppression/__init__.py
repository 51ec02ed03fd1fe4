"""Small cells are hidden, and what would give them away."""
