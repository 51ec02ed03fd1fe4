"""The benchmark ``portraits``: its declaration and its card."""
