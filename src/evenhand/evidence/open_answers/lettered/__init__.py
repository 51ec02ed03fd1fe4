"""How answers to lettered options are read: what frames them, marks them, and concludes on a letter."""
