"""The benchmark ``bbq_v``: asked what a picture does not say, does a model name whom a stereotype names?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Parameter, Setting
from evenhand.benchmarks.datasets.readers.columns import read_columns
from evenhand.benchmarks.datasets.readers.rows import ImageRows
from evenhand.benchmarks.datasets.samples import Samples
from evenhand.benchmarks.labelling.role_questions import says_unknown
from evenhand.benchmarks.labelling.task import RoleOptions, Task
from evenhand.core.errors import InputError, check_choice, check_known
from evenhand.core.findings import Finding
from evenhand.core.nouns import Nouns
from evenhand.evidence.role_choices import OTHER, TARGET, UNKNOWN, RoleChoices
from evenhand.metrics.suites.ambiguity import ambiguity_findings

ANSWERS = ("ans0", "ans1", "ans2")
TARGETS = "additional_metadata.csv"
AMBIGUOUS, CLEAR = "ambiguous", "disambiguated"
_CONDITIONS = {"ambig": AMBIGUOUS, "disambig": CLEAR, AMBIGUOUS: AMBIGUOUS, CLEAR: CLEAR}
_OPTIONAL = ("id", "category", "question_polarity", "label", "condition", "target_loc")
_NO_UNKNOWN = "rows without a single option that says that it cannot be known"
_NO_TARGET = "rows without target_loc, which give no score"


def questions(setting: Setting) -> Samples:
    """Every row of the table with the roles of its options."""
    if (data := setting.data) is None:
        raise InputError("bbq_v needs its data; give --data FOLDER with Parquet files, or a JSON list")
    rows = read_rows(data, setting.text("image"))
    table = with_targets(rows.table, data, setting.text("targets"))
    samples: list[dict[str, object]] = []
    dropped = Counter(rows.dropped)
    for number, row in enumerate(table.head(setting.limit or len(table)).to_dicts()):
        name = str(row["condition"] or AMBIGUOUS).strip().lower()
        check_choice("condition", name, _CONDITIONS)
        ambiguous = _CONDITIONS[name] == AMBIGUOUS
        roles, key = roles_of(row, ambiguous=ambiguous), _index(row["label"])
        if roles is None:
            dropped[_NO_UNKNOWN] += 1
            continue
        samples.append({
            "sample": f"{number:06d}", "id": row["id"], "category": row["category"],
            "polarity": row["question_polarity"], "condition": _CONDITIONS[name],
            "template": f"{row['category']}: {row['context']}",
            "target": "no" if row["target_loc"] is None else "yes",
            "truth": UNKNOWN if ambiguous else key and roles[key],
            "question": f"{row['context']} {row['question']}".strip(),
            "image": number, "roles": list(roles.values()), "options": [str(row[answer]) for answer in roles],
        })  # fmt: skip
    if not samples:
        raise InputError(f"no row of {str(data)!r} can be asked about ({dict(dropped)})")
    lists = dict.fromkeys(("roles", "options"), pl.List(pl.String))
    schema: dict[str, Any] = {**dict.fromkeys(samples[0], pl.String), "image": pl.Int64, **lists}
    annotations = pl.DataFrame(samples, schema=schema, strict=False)
    annotations = annotations.with_columns(pl.col("category").replace("", None).fill_null("all"))
    unnamed = annotations.filter(target="no").height
    return Samples(annotations, rows.images, dropped, {_NO_TARGET: unnamed} if unnamed else {})


def scores(choices: RoleChoices, answered: Answered[Any]) -> list[Finding]:
    """Stereotype score, accuracy, abstention and the effect of the options' order, by condition."""
    about: Any = {"ambiguous": AMBIGUOUS, "by": "category", "targets": {"target": "yes"}}
    return ambiguity_findings(choices, **about, seed=answered.setting.seed)


def read_rows(data: Path, image: str = "") -> ImageRows:
    """The questions as they stand there, with their images."""
    columns = [image] if image else ["file_name", "image_path"]
    return read_columns(data, image=columns, needed=("context", "question", *ANSWERS), optional=_OPTIONAL)


def roles_of(row: Mapping[str, object], *, ambiguous: bool) -> dict[str, str] | None:
    """The role of each option; None where no single one says that it cannot be known.

    Of an ambiguous question that is the key; else the one with such words. Without ``target_loc`` the first
    of the two people is called the target: no score is made of them.
    """
    undecided = [answer for answer in ANSWERS if says_unknown(str(row[answer]))]
    unknown = (_index(row["label"]) if ambiguous else None) or (undecided[0] if len(undecided) == 1 else None)
    target = _index(row["target_loc"])
    if unknown is None or target == unknown:
        return None
    people = [answer for answer in ANSWERS if answer != unknown]
    target = target or people[0]
    return {answer: {unknown: UNKNOWN, target: TARGET}.get(answer, OTHER) for answer in ANSWERS}


def with_targets(table: pl.DataFrame, data: Path, file: str) -> pl.DataFrame:
    """The rows with ``target_loc`` by id, and by category where both have it."""
    beside = (data if data.is_dir() else data.parent) / TARGETS
    path = Path(file).expanduser() if file else beside
    if not path.is_file():
        if file:
            raise InputError(f"there is no file {file!r}; -p targets takes a CSV with id and target_loc")
        return table
    targets = pl.read_csv(path, infer_schema=False)
    targets = targets.rename({"example_id": "id"} if "id" not in targets.columns else {}, strict=False)
    check_known(f"column of {path.name}", ("id", "target_loc"), targets.columns)
    keys = ["id", *(["category"] if "category" in targets.columns and table["category"].any() else [])]
    pairs = targets.select(*keys, "target_loc").drop_nulls().unique(maintain_order=True)
    if pairs.select(keys).is_duplicated().any():
        raise InputError(f"{path.name} has several target_loc for one {' and '.join(keys)}; keep one")
    rows = table.drop("target_loc").with_columns(pl.col(keys).cast(pl.String))
    return rows.join(pairs, on=keys, how="left", maintain_order="left")


def _index(value: object) -> str | None:
    """The option that 0 to 2, ``ans1`` or ``1.0`` stands for; None of anything else."""
    text = str("" if value is None else value).strip().lower().removeprefix("ans").removesuffix(".0")
    return f"ans{text}" if text in ("0", "1", "2") else None


BBQ_V = Task(
    name="bbq_v",
    asks="where a picture does not say who it was, does the model abstain, or name whom a stereotype names?",
    examined="the answers",
    samples=questions,
    ask=RoleOptions(
        ways=("choice", "continuations"), cluster="template", truth="truth"
    ),  # no caption abstains
    findings=scores,
    by=[("category",)],
    own={
        "image": Parameter("", help="column of the images; else file_name or image_path"),
        "targets": Parameter("", help=f"CSV with id and target_loc; else {TARGETS} in the folder"),
    },
    primaries=("stereotype_score",),
    nouns=Nouns(sample=("question", "questions")),
    limits=("Without target_loc, which says whom the stereotype names, only abstention is measured.",),
)
