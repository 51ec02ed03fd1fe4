"""One file for each form that labelled images come in."""
