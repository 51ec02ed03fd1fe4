"""What a user sees of a demo of all benchmarks, as files: the net under moves and renames."""
