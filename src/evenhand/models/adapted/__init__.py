"""Models that `evenhand adapt` made: a backbone with a head of its own."""
