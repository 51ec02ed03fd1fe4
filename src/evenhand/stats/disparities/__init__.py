"""Which mistakes a group gets more often than the others of the same class."""
