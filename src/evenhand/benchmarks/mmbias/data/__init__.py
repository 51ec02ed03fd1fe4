"""Phrases, photographs and prompts of MMBias, as released and of your own."""
