"""Images with labels in the forms that users have them, and the data that can be downloaded."""
