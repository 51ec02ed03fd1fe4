"""What is seen first: findings as text, HTML and charts, and the first lines of a run."""
