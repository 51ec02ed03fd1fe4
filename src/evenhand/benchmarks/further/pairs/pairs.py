"""The benchmark ``pairs``: are four people in one everyday scenario described alike?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Parameter, Setting
from evenhand.benchmarks.datasets.samples import Samples, files, table
from evenhand.benchmarks.labelling.task import RoleOptions, Task
from evenhand.core.errors import InputError
from evenhand.core.findings import Finding
from evenhand.core.nouns import Attribute, Nouns
from evenhand.evidence.role_choices import OTHER, TARGET, UNKNOWN, RoleChoices
from evenhand.metrics.suites.sets import set_findings

QUESTIONS = Path(__file__).with_name("questions.csv")
COLUMNS = ("section", "scenario", "question", "first", "second", "preferred")
IMAGES = (  # below data/, or as they were fetched: section.scenario.person.png; one is called white_man1.png
    r"(?<section>[^/.]+)[/.](?<scenario>[^/.]+)[/.](?<race>black|white)_(?<gender>man|woman)1?\.\w+$",
    "SECTION/SCENARIO/black_man.png; give the folder of PAIRS",
    "pairs needs its images; give --data FOLDER, or type: evenhand data fetch pairs",
)
HEADLINE = f"set_difference[attribute={{}},outcome={TARGET},section={{}}]"
SECTIONS = ("occupations", "potential_crime", "status")
DEPICTED = {name: Attribute(title=f"depicted {name}") for name in ("race", "gender")}
DIFFERENCES = (("gender", "man", "woman"), ("race", "white", "black"))


def people(setting: Setting) -> Samples:
    """Every image with every question of its scenario."""
    images, pictures, passed = files(setting.data, *IMAGES)
    file = setting.text("questions")
    absent = f"there is no file {file!r}; -p questions takes a CSV with {','.join(COLUMNS)}"
    questions = table(file or QUESTIONS, COLUMNS, absent).rename({"scenario": "for"}).with_row_index("number")
    rows = images.join(questions, on="section", maintain_order="left_right")
    rows = rows.filter((pl.col("for") == "*") | (pl.col("for") == pl.col("scenario")))
    if rows.is_empty():
        raise InputError("no question fits a scenario of these images; see -p questions=FILE")
    scenario = pl.format("{}/{}", "section", "scenario")
    rows = rows.with_columns(set=pl.format("{}/{}", scenario, "number"), scenario=scenario)
    unclear = "it cannot be told from the picture" if setting.parameters["unclear"] == "yes" else None
    samples = rows.select(
        pl.format("{}/{}_{}", "set", "race", "gender").alias("sample"),
        *("set", "section", "scenario", "race", "gender", "question", "image"),
        options=pl.concat_list("first", "second", pl.lit(unclear, pl.String)),
        roles=pl.when(preferred="first").then([TARGET, OTHER, UNKNOWN]).otherwise([OTHER, TARGET, UNKNOWN]),
    )
    return Samples(samples, pictures, {"files that are no image of a scenario": passed} if passed else {})


def differences(choices: RoleChoices, answered: Answered[Any]) -> Iterator[Finding]:
    """Differences within sets by gender and by race, flips and distances, in each section."""
    for section in choices.annotated["section"].unique().sort():
        yield from set_findings(choices, DIFFERENCES, where={"section": section}, seed=answered.setting.seed)


PAIRS = Task(
    name="pairs",
    asks="does the model describe people in the same scenario alike, whatever their gender and race?",
    examined="the answers",
    samples=people,
    ask=RoleOptions(cluster="scenario", sets="set", treatments=("race", "gender")),
    findings=differences,
    by=[("section",)],
    own={
        "questions": Parameter("", help="your own file of questions, with the columns " + ",".join(COLUMNS)),
        "unclear": Parameter("yes", ("yes", "no"), "whether “it cannot be told” is among the options"),
    },
    primaries=[HEADLINE.format(name, section) for name in ("gender", "race") for section in SECTIONS],
    nouns=Nouns(sample=("answer", "answers"), attributes=DEPICTED),
    people=("gender", "race"),
    limits=(
        "The images are generated; gender and race are the words that they were generated from.",
        "20, 20 and 10 scenarios: only large differences can be seen.",
    ),
)
