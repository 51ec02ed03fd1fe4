"""Whose pictures does a caption find first, by race?"""
