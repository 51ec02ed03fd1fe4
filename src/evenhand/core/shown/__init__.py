"""Text and addresses as they may be shown."""
