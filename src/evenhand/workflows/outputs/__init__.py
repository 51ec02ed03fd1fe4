"""What stands in and comes out of a run folder: results, rows, artifacts and exports."""
