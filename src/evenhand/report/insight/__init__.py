"""What a report says first: headline, picture, classes, groups, rows."""
