"""The benchmark ``skewsize/occupations``: people at work, of two genders or more."""

from evenhand.benchmarks.skewsize.studies import study

OCCUPATIONS = study("occupations", synonyms="occupations")
