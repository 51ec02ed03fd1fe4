"""Images in folders, tar and zip files: found, decoded and cropped."""
