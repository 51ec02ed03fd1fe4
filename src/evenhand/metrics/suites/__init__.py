"""What is computed together: the metrics of an audit, and the tests that a run corrects together."""
