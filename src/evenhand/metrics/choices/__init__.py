"""Choices between candidate texts: resolution of pronouns, neutral and wrong answers."""
