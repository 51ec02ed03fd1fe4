"""The mistakes that one group gets more often than the others of the same class."""
