"""PAIRS: parallel images of four people in each everyday scenario."""
