"""Sprites: the controlled experiment of the SkewSize paper (section 3.1), where the bias is planted."""
