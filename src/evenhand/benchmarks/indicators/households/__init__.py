"""Photographs of homes with their incomes: Dollar Street and tables like it."""
