"""SkewSize: classifiers and models that answer in words, on generated and on real images."""
