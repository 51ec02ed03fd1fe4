"""The benchmark ``skewsize/sports``: people practising a sport, of two genders or more."""

from evenhand.benchmarks.skewsize.studies import study

SPORTS = study("sports", synonyms="sports", templates="a photo of a person practising {label}")
