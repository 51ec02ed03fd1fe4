"""What a report says first: headline, picture, classes, rows; and the questions behind them."""
