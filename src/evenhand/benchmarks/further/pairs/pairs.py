"""The benchmark ``pairs``: are four people in one everyday scenario described alike?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.datasets.listing import list_files
from evenhand.benchmarks.labelling.role_questions import ASKING, NOISE, RoleQuestions, choose_way, options_of
from evenhand.core.errors import InputError, check_known
from evenhand.core.nouns import Attribute, Nouns
from evenhand.evidence.role_choices import TARGET, RoleChoices
from evenhand.files.images.sources import ImageFiles
from evenhand.metrics.suites.sets import set_findings

QUESTIONS = Path(__file__).with_name("questions.csv")
COLUMNS = ("section", "scenario", "question", "first", "second", "preferred")
PEOPLE = {f"{race}_{gender}": (race, gender) for race in ("black", "white") for gender in ("man", "woman")}
UNCLEAR = "it cannot be told from the picture"
NO_IMAGES = "files that are no image of a scenario"
_DIFFERENCES = (("gender", "man", "woman"), ("race", "white", "black"))


class Pairs(Benchmark[RoleQuestions]):
    """Scenarios with an image of a Black and a white man and woman each, asked the same questions."""

    name = "pairs"
    asks = "does the model describe people in the same scenario alike, whatever their gender and race?"
    examined = "the answers"
    nouns = Nouns(
        sample=("answer", "answers"), attributes={"race": Attribute(title="depicted race"),
        "gender": Attribute(title="depicted gender")},
    )  # fmt: skip
    people = ("gender", "race")
    limits = (
        "The images are generated; gender and race are the words that they were generated from.",
        "20, 20 and 10 scenarios: only large differences can be seen.",
    )
    parameters: Mapping[str, Parameter] = {
        **ASKING,
        **NOISE,
        "questions": Parameter("", help="your own file of questions, with the columns " + ",".join(COLUMNS)),
        "unclear": Parameter("yes", ("yes", "no"), "whether “it cannot be told” is among the options"),
    }
    primaries = tuple(
        f"set_difference[attribute={attribute},outcome={TARGET},section={section}]"
        for attribute, *_ in _DIFFERENCES
        for section in ("occupations", "potential_crime", "status")
    )

    def plan(self, setting: Setting) -> Plan[RoleQuestions]:
        """Every image with every question of its scenario."""
        images, passed = scenario_images(setting.data)
        unclear = UNCLEAR if setting.parameters["unclear"] == "yes" else ""
        rows, options = [], []
        asked_of = read_questions(setting.text("questions"))
        for index, (section, scenario, race, gender) in enumerate(images):
            for number, about in enumerate(asked_of):
                if about["section"] == section and about["scenario"] in (scenario, "*"):
                    first, second = about["first"], about["second"]
                    is_first = about["preferred"] == "first"
                    pair = (first, second) if is_first else (second, first)
                    options.append(options_of(*pair, unclear, target_first=is_first))
                    set_ = f"{section}/{scenario}/{number}"
                    rows.append((f"{set_}/{race}_{gender}", set_, section, f"{section}/{scenario}", race,
                                 gender, about["question"], index))  # fmt: skip
        schema = ["sample", "set", "section", "scenario", "race", "gender", "question", "image"]
        table = pl.DataFrame(rows, schema=schema, orient="row").head(setting.limit or len(rows))
        if table.is_empty():
            raise InputError("no question fits a scenario of these images; see -p questions=FILE")
        asking = RoleQuestions(
            choose_way(setting.text("ask"), setting.capabilities, self.name),
            table["sample"].to_list(), ImageFiles(list(images.values())), table["image"].to_list(),
            table["question"].to_list(), options[: len(table)], orders=setting.text("orders"),
            noise=int(setting.parameters["noise"]),
        )  # fmt: skip
        dropped = {NO_IMAGES: passed} if passed else {}
        annotations = table.drop("image").with_columns(truth=pl.lit(None, pl.String))
        return Plan(annotations, asking.requests(), [("section",)], dropped, state=asking)

    def measure(self, answered: Answered[RoleQuestions]) -> Measured:
        """Differences within sets by gender and by race, flips and distances, in each section."""
        read = answered.plan.state.answers(answered.evidence, answered.facts)
        samples = answered.plan.annotations.drop("truth")
        choices = RoleChoices.join(
            read.answers,
            samples,
            cluster="scenario",
            sets="set",
            treatments=("race", "gender"),
            again=read.again,
        )
        findings = [
            finding
            for section in choices.annotated["section"].unique().sort()
            for finding in set_findings(
                choices, _DIFFERENCES, where={"section": section}, seed=answered.setting.seed
            )
        ]
        return Measured(
            findings,
            tables={"answers": read.answers, "incomplete_sets": choices.incomplete(), **read.tables},
            warnings=read.warnings,
        )


def scenario_images(data: Path | None) -> tuple[dict[tuple[str, str, str, str], Path], int]:
    """Images by section, scenario, race and gender; and how many other images there are."""
    if data is None:
        raise InputError("pairs needs its images; give --data FOLDER, or type: evenhand data fetch pairs")
    listing = list_files(data)
    images: dict[tuple[str, str, str, str], Path] = {}
    for path in listing.images:  # below data/, or as they were fetched: section.scenario.person.png
        names = Path(path).with_suffix("").as_posix().rpartition("images/")[2].replace(".", "/").split("/")
        person = PEOPLE.get(names[-1].removesuffix("1"))  # one file is called white_man1.png
        if person is not None and len(names) > 2:
            images.setdefault((names[-3], names[-2], *person), listing.folder / path)
    if not images:
        raise InputError(f"{str(data)!r} holds no SECTION/SCENARIO/black_man.png; give the folder of PAIRS")
    return dict(sorted(images.items())), len(listing.images) - len(images)


def read_questions(file: str) -> list[dict[str, str]]:
    """The questions of a file; the shipped ones where none is named."""
    path = Path(file).expanduser() if file else QUESTIONS
    if not path.is_file():
        raise InputError(f"there is no file {file!r}; -p questions takes a CSV with {','.join(COLUMNS)}")
    table = pl.read_csv(path, infer_schema=False)
    check_known(f"column of {path.name}", COLUMNS, table.columns)
    return table.select(COLUMNS).drop_nulls().to_dicts()


PAIRS = Pairs()
