"""Tables on disk or in the cloud: scanned, read as text and written."""
