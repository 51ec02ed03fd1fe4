"""What is suspicious about a table: its labels, its rows, its columns."""
