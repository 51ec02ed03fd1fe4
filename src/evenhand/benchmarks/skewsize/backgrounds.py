"""The benchmark ``skewsize/backgrounds``: things before 23 backgrounds."""

from evenhand.benchmarks.skewsize.studies import study

BACKGROUNDS = study("backgrounds", synonyms="objects", outside="exclude")
