"""How numbers are rounded; imports nothing of ours."""
