"""Models label images freely or from a list of labels, and harmful labels are looked up in taxonomies."""
