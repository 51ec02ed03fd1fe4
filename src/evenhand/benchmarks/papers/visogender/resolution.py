"""Tables 2 and 4, Figures 2, 4, 5, 6 and 8 of the VisoGender paper: which pronoun for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from evenhand.benchmarks.benchmark import Artifact, Made
from evenhand.benchmarks.papers.rows import (
    EVEN,
    NO_IMAGES,
    NUMBERS,
    OURS,
    PAPER,
    ZERO_SHOT,
    Row,
    frame,
    is_paper_mode,
    named_by_tags,
    numbers,
)
from evenhand.benchmarks.papers.visogender import published
from evenhand.benchmarks.papers.visogender.rows import (
    PAIR_TITLES,
    RESOLUTION_RUNS,
    SETTING_TITLES,
    mode_notes,
    part_of,
    zero_shot_of,
)
from evenhand.benchmarks.tidy import find
from evenhand.benchmarks.visogender.data.taxonomy import FEMININE, MASCULINE, OCCUPATIONS
from evenhand.core.figure import Figure
from evenhand.core.findings import Finding, Part
from evenhand.runs.run_folder import RunFolder

_COLUMNS = ("source", "model", ZERO_SHOT, "setting", "quantity", "measure", *NUMBERS, "reason")
_NULL = "95% of the same choices dealt to others; of a gap: of genders exchanged at random"
_OVERALL = "Overall: the mean of single and two persons, as in the paper; all images: every image alike."
_NAMES = {"accuracy": "RA", "gap": "gap", "neutral": "neutral", "misgendered": "misgendered"}
_METRICS = {
    "accuracy": "resolution_accuracy",
    "gap": "resolution_gap",
    "neutral": "neutral_rate",
    "neutral gap": "neutral_gap",
    "misgendered": "misgendering_rate",
    "misgendered gap": "misgendering_gap",
}
# Setting and whose part: gender pairs of the two templates, the first letter the occupation's.
_PAIRS = {
    "occ_first": {
        "m": ("single", MASCULINE), "f": ("single", FEMININE),
        "mm": ("same", MASCULINE), "ff": ("same", FEMININE),
        "mf": ("different", MASCULINE), "fm": ("different", FEMININE),
    },
    "par_first": {
        "mm": ("same", MASCULINE), "ff": ("same", FEMININE),
        "mf": ("different", FEMININE), "fm": ("different", MASCULINE),
    },
}  # fmt: skip
_TEMPLATES = {"occ_first": "occupation first", "par_first": "participant first"}


def measure_title(setting: str, quantity: str) -> str:
    """Such as ``single RA`` or ``same gap``."""
    return f"{SETTING_TITLES[setting]} {_NAMES.get(quantity, quantity)}"


def accuracy_rows(
    runs: Sequence[RunFolder], published_rows: published.Numbers, extra: Sequence[tuple[str, str]] = ()
) -> list[Row]:
    """Rows of Table 2: the paper's and ours.

    ``published_rows`` are in the order of ``published.RESOLUTION_MEASURES``; ``extra`` measures are ours.
    """
    rows = list(_paper_rows(published_rows, published.RESOLUTION_MEASURES))
    measures = [*published.RESOLUTION_MEASURES, *extra]
    for model, run in named_by_tags(runs):
        rows += [_our_row(model, run, setting, quantity) for setting, quantity in measures]
    return rows


def _paper_rows(table: published.Numbers, measures: Sequence[tuple[str, str]]) -> Iterator[Row]:
    for model, values in table.items():
        for (setting, quantity), value in zip(measures, values, strict=True):
            yield {
                "source": PAPER, "model": model, ZERO_SHOT: published.IMAGENET.get(model),
                "setting": SETTING_TITLES[setting],
                "quantity": quantity, "measure": measure_title(setting, quantity), "value": float(value),
            }  # fmt: skip


def _our_row(model: str, run: RunFolder, setting: str, quantity: str) -> Row:
    cells = _overall(run, quantity) if setting == "overall" else numbers(_finding(run, setting, quantity))
    lead = {"source": OURS, "model": model, ZERO_SHOT: zero_shot_of(run), "setting": SETTING_TITLES[setting]}
    return {**lead, "quantity": quantity, "measure": measure_title(setting, quantity), **cells}


def _finding(run: RunFolder, setting: str, quantity: str, template: str = "occ_first") -> Finding | None:
    return find(run, _METRICS[quantity], setting=setting, template=template)


def _overall(run: RunFolder, quantity: str) -> Row:
    """The mean of both contexts; in paper mode as it was rounded."""
    overall = _finding(run, "all", quantity)
    halves = [_finding(run, setting, quantity) for setting in ("single", "two_person")]
    values = [half.value for half in halves if half is not None and half.value is not None]
    if len(values) < len(halves) or overall is None:
        return numbers(None, "needs images of single persons and of two")
    value = overall.value if is_paper_mode(run) else sum(values) / len(values)
    return {**dict.fromkeys(NUMBERS), "value": value, "n": overall.n, "reason": None}


def _table2(runs: Sequence[RunFolder]) -> Made:
    rows = accuracy_rows(runs, published.TABLE2, [("all", "accuracy"), ("all", "gap")])
    return Made(frame(rows, _COLUMNS), (_OVERALL, *mode_notes(runs)))


def _table4(runs: Sequence[RunFolder]) -> Made:
    order = [(s, "neutral" if q == "accuracy" else "neutral gap") for s, q in published.RESOLUTION_MEASURES]
    rows = list(_paper_rows(published.TABLE4, order))
    wrong = [(s, q.replace("neutral", "misgendered")) for s, q in order]
    for model, run in named_by_tags(runs):
        rows += [_our_row(model, run, setting, quantity) for setting, quantity in [*order, *wrong]]
    for row in rows:
        row["part"] = "misgendered" if row["quantity"].startswith("misgendered") else "neutral"
    note = (
        "With his, her and their, a wrong answer is neutral or misgenders: both gaps add up to that of "
        "Table 2, negated."
    )
    return Made(frame(rows, ("source", "part", *_COLUMNS[1:])), (note, _OVERALL, *mode_notes(runs)))


def _figure2(runs: Sequence[RunFolder]) -> Made:
    rows = list(_derived_pairs())
    for model in ("CLIP", "BLIP-2"):
        printed = _paper_rows({model: published.TABLE2[model]}, published.RESOLUTION_MEASURES)
        rows += [{**row, "part": "gap"} for row in printed if row["quantity"] == "gap"]
    for model, run in named_by_tags(runs):
        rows += [
            {**row, "part": "accuracy", "setting": PAIR_TITLES[str(row["gender_pair"])]}
            for row in _pair_rows(model, run, "occ_first")
        ]
        for setting in ("single", "two_person", "same", "different"):
            rows.append({**_our_row(model, run, setting, "gap"), "part": "gap"})
    note = "The paper's accuracies by pair are its printed means and gaps, RA ± gap/2: right to about 0.01."
    columns = ("source", "model", "part", "setting", "gender_pair", *NUMBERS, "reason")
    return Made(frame(rows, columns), (note, *mode_notes(runs)))


def _derived_pairs() -> Iterator[Row]:
    for model in ("CLIP", "BLIP-2"):
        values = dict(zip(published.RESOLUTION_MEASURES, published.TABLE2[model], strict=True))
        for pair, (setting, gender) in _PAIRS["occ_first"].items():
            half = values[setting, "gap"] / 2
            value = values[setting, "accuracy"] + (half if gender == MASCULINE else -half)
            yield {"source": PAPER, "model": model, "part": "accuracy", "setting": PAIR_TITLES[pair],
                   "gender_pair": pair, "value": value}  # fmt: skip


def _pair_rows(model: str, run: RunFolder, template: str) -> Iterator[Row]:
    """Accuracy of each gender pair under a template."""
    for pair, (setting, gender) in _PAIRS[template].items():
        part = part_of(_finding(run, setting, "accuracy", template), "gender", gender)
        yield {"source": OURS, "model": model, "gender_pair": pair, "subject_gender": gender, **numbers(part)}


def _figure8(runs: Sequence[RunFolder]) -> Made:
    rows: list[Row] = []
    for model, run in named_by_tags(runs):
        there = {finding.params.get("template") for finding in run.findings.findings}
        pairs = find(run, "resolution_accuracy", setting="two_person") is not None
        for template, title in _TEMPLATES.items():
            for row in _pair_rows(model, run, template):
                if len(str(row["gender_pair"])) == 2:
                    other = pairs and template not in there
                    reason = "the run has only the other template" if other else row["reason"]
                    pair = PAIR_TITLES[str(row["gender_pair"])]
                    rows.append({**row, "template": title, "gender_pair": pair, "reason": reason})
    columns = ("source", "model", "gender_pair", "template", "subject_gender", *NUMBERS, "reason")
    note = "Pairs are occupation | participant; the pronoun is that of whoever stands first."
    return Made(frame(rows, columns), (note, *mode_notes(runs)))


def _gaps(level: str, runs: Sequence[RunFolder]) -> Made:
    """Gap by sector, specialisation or occupation, in the order of the files."""
    rows: list[Row] = []
    for model, run in named_by_tags(runs):
        finding = find(run, "resolution_gap", level, setting="all", template="occ_first")
        parts: dict[str, Part] = {
            str(part.key): part for part in (finding.parts if finding else []) if part.kind == level
        }
        if not parts:
            rows.append({"source": OURS, "model": model, "name": level, **numbers(None, NO_IMAGES)})
        for name in sorted(parts, key=lambda part_name: (_places(level).get(part_name, 99), part_name)):
            part = parts[name]
            lead = {"source": OURS, "model": model, "name": name.replace("_", " "), **numbers(part)}
            rows.append({**lead, "p_adjusted": part.p_adjusted})
    columns = ("source", "model", "name", *NUMBERS, "p_adjusted", "reason")
    return Made(frame(rows, columns), mode_notes(runs))


def _places(level: str) -> Mapping[str, int]:
    """The order of the files."""
    names = (
        name if level == "occupation" else getattr(occupation, level)
        for name, occupation in OCCUPATIONS.items()
    )
    return {name: index for index, name in enumerate(dict.fromkeys(names))}


_TITLES = {"value": "", "measure": "", "model": "model", ZERO_SHOT: "ImageNet zero-shot, %"}
_INTERVALS = "95% intervals over occupations"


def spread_table(title: str = "", **only: str) -> Figure:
    """Models as rows, measures as columns."""
    return Figure(
        "table", x="measure", value="value", levels=("model",), titles=_TITLES, title=title, only=only
    )


def _forest(quantity: str, title: str, value: str) -> Figure:
    even = (EVEN,) if "gap" in quantity else ()
    return Figure(
        "dots", x="value", y="setting", colour="model", low="low", high="high", null_low="null_low",
        null_high="null_high", only={"source": OURS, "quantity": quantity}, title=title, references=even,
        titles={"value": value, "setting": "", "model": ""}, interval=_INTERVALS, null=_NULL,
    )  # fmt: skip


def _named(level: str, title: str) -> Artifact:
    figure = Figure(
        "dots", x="value", y="name", colour="model", low="low", high="high", null_low="null_low",
        null_high="null_high", references=(EVEN,), interval="95% intervals",
        null="95% of genders exchanged at random",
        titles={"value": "gap: RA masculine − RA feminine", "name": "", "model": ""},
    )  # fmt: skip
    number = {"sector": 4, "specialisation": 5, "occupation": 6}[level]
    make = partial(_gaps, level)
    return Artifact(f"visogender/figure{number}", title, make, (figure,), (RESOLUTION_RUNS,))


TABLE2 = Artifact(
    "visogender/table2",
    "Resolution accuracy and gap: overall, single person, two persons, same and different genders",
    _table2,
    (
        Figure(
            "table", x="measure", value="value", levels=("model", ZERO_SHOT), titles=_TITLES,
            formats={ZERO_SHOT: "text"},
        ),
        Figure(
            "scatter", x=ZERO_SHOT, y="value", label="model", only={"measure": "overall RA"},
            title="Overall accuracy against the tag imagenet_zero_shot",
            titles={"value": "overall RA", ZERO_SHOT: "ImageNet zero-shot, %"},
        ),
        _forest("accuracy", "Ours: accuracy", "RA"),
        _forest("gap", "Ours: gap", "gap: RA masculine − RA feminine"),
    ),
    (RESOLUTION_RUNS,),
)  # fmt: skip
TABLE4 = Artifact(
    "visogender/table4",
    "How often a neutral pronoun is chosen, and for whom; misgendering beside it",
    _table4,
    (spread_table(part="neutral"), spread_table("Ours: misgendering, apart", part="misgendered")),
    (RESOLUTION_RUNS,),
)
FIGURE2 = Artifact(
    "visogender/figure2",
    "Resolution accuracy by perceived gender pair, and the gap by setting",
    _figure2,
    tuple(
        Figure(
            "bars", x="setting", y="value", colour="model", low="low", high="high", null_low="null_low",
            null_high="null_high", only={"part": part}, references=references, domain=domain,
            titles={"value": value, "setting": title, "model": ""}, interval=_INTERVALS, null=_NULL,
        )
        for part, value, title, references, domain in (
            ("accuracy", "RA", "occupation | participant", (), {"y": (0.0, 1.0)}),
            ("gap", "gap", "", (EVEN,), {}),
        )
    ),
    (RESOLUTION_RUNS,),
)  # fmt: skip
FIGURE4 = _named("sector", "Resolution gap by sector")
FIGURE5 = _named("specialisation", "Resolution gap by specialisation")
FIGURE6 = _named("occupation", "Resolution gap by occupation")
FIGURE8 = Artifact(
    "visogender/figure8",
    "Resolution accuracy with the template flipped",
    _figure8,
    (
        Figure(
            "bars", x="gender_pair", y="value", colour="template", facet="model", low="low", high="high",
            null_low="null_low", null_high="null_high", domain={"y": (0.0, 1.0)}, columns=2,
            titles={"value": "RA", "gender_pair": "occupation | participant", "template": ""},
            interval=_INTERVALS, null=_NULL,
        ),
    ),
    (RESOLUTION_RUNS,),
)  # fmt: skip
