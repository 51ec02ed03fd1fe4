"""Photographs of people with annotated or perceived attributes."""
