"""Tables 2 and 4, Figures 2, 4, 5, 6 and 8 of the VisoGender paper: which pronoun for whom."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made
from evenhand.benchmarks.papers.measured import beside, filled, measured
from evenhand.benchmarks.papers.printed import printed_cells
from evenhand.benchmarks.papers.rows import (
    EVEN,
    NO_IMAGES,
    NUMBERS,
    OURS,
    ZERO_SHOT,
    Row,
    Runs,
    frame,
    is_paper_mode,
    named_by_tags,
    numbers,
)
from evenhand.benchmarks.papers.visogender.rows import (
    CELL,
    GENDERS,
    PAIR_TITLE,
    PAIRS,
    RESOLUTION_RUNS,
    SETTING_TITLE,
    finish,
    interval_figure,
    with_titles,
)
from evenhand.benchmarks.tidy import find, tags_of
from evenhand.benchmarks.visogender.data.taxonomy import MASCULINE, OCCUPATIONS, SINGLE, TWO
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder

_COLUMNS = ("source", "model", ZERO_SHOT, "setting", "quantity", "measure", *NUMBERS, "reason")
_NULL = "95% of the same choices dealt to others; of a gap: of genders exchanged at random"
_OVERALL = "Overall: the mean of single and two persons, as in the paper; all images: every image alike."
_METRICS = {
    "accuracy": "resolution_accuracy",
    "gap": "resolution_gap",
    "neutral": "neutral_rate",
    "neutral gap": "neutral_gap",
    "misgendered": "misgendering_rate",
    "misgendered gap": "misgendering_gap",
}
_TEMPLATES = {"occ_first": "occupation first", "par_first": "participant first"}
# Whose accuracy in which setting that of a pair is, under each template: of whoever stands first.
_PAIRS = pl.DataFrame(
    [
        ("accuracy", template, pair, setting, "gender", GENDERS[pair[first]])
        for first, template in enumerate(_TEMPLATES)
        for pair, setting in {"m": "single", "f": "single", **PAIRS}.items()
        if first < len(pair)
    ],
    schema=["quantity", "template", "gender_pair", "setting", "kind", "key"],
    orient="row",
)


def _zero_shot(run: RunFolder) -> float | None:
    """The tag ``imagenet_zero_shot`` as a number, if it is one."""
    try:
        return float(tags_of(run)[ZERO_SHOT])
    except (KeyError, ValueError):
        return None


def accuracy_table(runs: Runs, paper: pl.DataFrame, *more: tuple[str, str]) -> pl.DataFrame:
    """Numbers that the paper prints of settings and quantities, then ours of these and of ``more``."""
    rows = [
        {"source": OURS, "model": model, ZERO_SHOT: _zero_shot(run), "setting": setting,
         "quantity": quantity, **_numbers(run, setting, _METRICS[quantity])}
        for model, run in named_by_tags(runs)
        for setting, quantity in dict.fromkeys([*paper.select(CELL).rows(), *more])
    ]  # fmt: skip
    tags = printed_cells(__file__, "imagenet", ("of",)).rename({"value": ZERO_SHOT})
    paper = paper.join(tags, on="model", how="left", maintain_order="left")
    return with_titles(beside(paper, frame(rows, _COLUMNS)))


def _numbers(run: RunFolder, setting: str, metric: str) -> Row:
    """What was measured; ``overall`` is the mean of both contexts, in paper mode as it was rounded."""
    of = partial(find, run, metric, template="occ_first")
    if setting != "overall":
        return numbers(of(setting=setting))
    every, contexts = of(setting="all"), (of(setting=SINGLE), of(setting=TWO))
    values = [context.value for context in contexts if context and context.value is not None]
    if every is None or len(values) < len(contexts):
        return numbers(None, "needs images of single persons and of two")
    return {"value": every.value if is_paper_mode(run) else sum(values) / 2, "n": every.n}


def _table2(runs: Runs) -> Made:
    """Accuracy and gap of each setting."""
    paper = printed_cells(__file__, "table2", CELL)
    table = accuracy_table(runs, paper, ("all", "accuracy"), ("all", "gap"))
    return finish(runs, table, _COLUMNS, _OVERALL)


def _table4(runs: Runs) -> Made:
    """Neutral and misgendering rates, with their gaps."""
    paper = printed_cells(__file__, "table4", CELL).with_columns(pl.col("quantity").str.strip_suffix(" rate"))
    wrong = paper.select("setting", pl.col("quantity").str.replace("neutral", "misgendered")).rows()
    table = accuracy_table(runs, paper, *wrong)
    table = table.with_columns(part=pl.col("quantity").str.strip_suffix(" gap"))
    note = (
        "With his, her and their, a wrong answer is neutral or misgenders: both gaps add up to that of "
        "Table 2, negated."
    )
    return finish(runs, table, ("source", "part", *_COLUMNS[1:]), note, _OVERALL)


def _figure2(runs: Runs) -> Made:
    """Accuracy by gender pair, then the gap by setting; by pair the paper's are derived."""
    named_runs, pairs = named_by_tags(runs), _PAIRS.filter(template="occ_first").drop("template")
    paper = printed_cells(__file__, "table2", CELL).filter(pl.col("model").is_in(["CLIP", "BLIP-2"]))
    half = pl.when(key=MASCULINE).then(0.5).otherwise(-0.5) * pl.col("gap")
    by_pair = (
        paper.pivot("quantity", index=["model", "setting"], values="value")
        .join(pairs, on="setting", maintain_order="left_right")
        .with_columns(value=pl.col("accuracy") + half)
    )
    gaps = {
        "quantity": "gap",
        "setting": ["single", "two_person", "same", "different"],
        "kind": "",
        "key": "",
    }
    results = measured(named_runs, "resolution_accuracy", "resolution_gap", template="occ_first")
    results = results.filter(by="").with_columns(quantity=pl.col("metric").str.strip_prefix("resolution_"))
    ours = filled(results, dict(named_runs), pl.concat([pairs, pl.DataFrame(gaps)], how="diagonal"))
    table = beside(pl.concat([by_pair, paper.filter(quantity="gap")], how="diagonal"), ours)
    setting, part = pl.coalesce(PAIR_TITLE, SETTING_TITLE), pl.col("quantity").alias("part")
    columns = ("source", "model", part, setting.alias("setting"), "gender_pair", *NUMBERS, "reason")
    note = "The paper's accuracies by pair are its printed means and gaps, RA ± gap/2: right to about 0.01."
    return finish(runs, table, columns, note)


def _figure8(runs: Runs) -> Made:
    """Accuracy by gender pair under each template."""
    named_runs = named_by_tags(runs)
    results = measured(named_runs, "resolution_accuracy").filter(by="")
    parts = pl.col("n").count()
    other = (parts.over("model") > 0) & (parts.over("model", "template") == 0)
    missing = pl.when(other).then(pl.lit("the run has only the other template")).otherwise(pl.lit(NO_IMAGES))
    table = filled(results, dict(named_runs), _PAIRS.filter(pl.col("setting") != "single"), missing)
    template = pl.col("template").replace(_TEMPLATES)
    columns = (
        "source",
        "model",
        PAIR_TITLE,
        template,
        pl.col("key").alias("subject_gender"),
        *NUMBERS,
        "reason",
    )
    note = "Pairs are occupation | participant; the pronoun is that of whoever stands first."
    return finish(runs, table, columns, note)


def _gaps(level: str, runs: Runs) -> Made:
    """Gap by sector, specialisation or occupation, in the order of the files."""
    named_runs = named_by_tags(runs)
    places = {
        name if level == "occupation" else getattr(occupation, level): index
        for index, (name, occupation) in enumerate(OCCUPATIONS.items())
    }  # occupations of a sector or specialisation stand together
    results = measured(named_runs, "resolution_gap", setting="all", template="occ_first")
    results = results.filter(by=level, kind=level).sort(
        pl.col("key").replace_strict(places, default=99), "key"
    )
    name = pl.col("key").str.replace_all("_", " ").fill_null(level)
    columns = ("source", "model", name.alias("name"), *NUMBERS, "p_adjusted", "reason")
    return finish(runs, filled(results, dict(named_runs)), columns)


SPREAD = Figure(
    "table", x="measure", value="value", levels=("model",),
    titles={"value": "", "measure": "", "model": "model", ZERO_SHOT: "ImageNet zero-shot, %"},
)  # fmt: skip
"""Models as rows, measures as columns."""
_GAP = "gap: RA masculine − RA feminine"
_FOREST = interval_figure(
    "dots", x="value", y="setting", colour="model", null=_NULL, title="Ours: accuracy",
    only={"source": OURS, "quantity": "accuracy"}, titles={"value": "RA", "setting": "", "model": ""},
)  # fmt: skip
_BARS = interval_figure(
    "bars", x="setting", y="value", colour="model", null=_NULL, only={"part": "accuracy"},
    domain={"y": (0.0, 1.0)}, titles={"value": "RA", "setting": "occupation | participant", "model": ""},
)  # fmt: skip
_NAMED = interval_figure(
    "dots", x="value", y="name", colour="model", references=(EVEN,), interval="95% intervals",
    null="95% of genders exchanged at random", titles={"value": _GAP, "name": "", "model": ""},
)  # fmt: skip
_artifact = partial(Artifact, benchmarks=(RESOLUTION_RUNS,))

TABLE2 = _artifact(
    "visogender/table2",
    "Resolution accuracy and gap: overall, single person, two persons, same and different genders",
    _table2,
    (
        replace(SPREAD, levels=("model", ZERO_SHOT), formats={ZERO_SHOT: "text"}),
        Figure(
            "scatter", x=ZERO_SHOT, y="value", label="model", only={"measure": "overall RA"},
            title="Overall accuracy against the tag imagenet_zero_shot",
            titles={"value": "overall RA", ZERO_SHOT: "ImageNet zero-shot, %"},
        ),
        _FOREST,
        replace(
            _FOREST, only={"source": OURS, "quantity": "gap"}, title="Ours: gap", references=(EVEN,),
            titles={"value": _GAP, "setting": "", "model": ""},
        ),
    ),
)  # fmt: skip
TABLE4 = _artifact(
    "visogender/table4",
    "How often a neutral pronoun is chosen, and for whom; misgendering beside it",
    _table4,
    (
        replace(SPREAD, only={"part": "neutral"}),
        replace(SPREAD, only={"part": "misgendered"}, title="Ours: misgendering, apart"),
    ),
)
FIGURE2 = _artifact(
    "visogender/figure2",
    "Resolution accuracy by perceived gender pair, and the gap by setting",
    _figure2,
    (
        _BARS,
        replace(
            _BARS, only={"part": "gap"}, references=(EVEN,), domain={},
            titles={"value": "gap", "setting": "", "model": ""},
        ),
    ),
)  # fmt: skip
FIGURE4, FIGURE5, FIGURE6 = (
    _artifact(f"visogender/figure{number}", f"Resolution gap by {level}", partial(_gaps, level), (_NAMED,))
    for number, level in enumerate(("sector", "specialisation", "occupation"), 4)
)
FIGURE8 = _artifact(
    "visogender/figure8",
    "Resolution accuracy with the template flipped",
    _figure8,
    (
        replace(
            _BARS, x="gender_pair", colour="template", facet="model", columns=2, only={},
            titles={"value": "RA", "gender_pair": "occupation | participant", "template": ""},
        ),
    ),
)  # fmt: skip
