"""The benchmark ``skewsize/occupations``: people at work, of two genders or more."""

from evenhand.benchmarks.skewsize_studies.studies import study

OCCUPATIONS = study("occupations", synonyms="occupations")
