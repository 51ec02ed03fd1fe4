"""Families that write text: captioners and chat models."""
