"""Table 2 and Figure 5 of the MMBias paper: effect sizes by pair, and the words nearest to each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.mmbias.data.groups import NAMES, PAPER_PAIRS
from evenhand.benchmarks.papers.mmbias import published
from evenhand.benchmarks.papers.mmbias.rows import (
    MATCHING_RUNS,
    RUNS,
    SIGN,
    is_debias,
    needed_table,
    pair_title,
)
from evenhand.benchmarks.papers.rows import (
    EVEN,
    OURS,
    PAPER,
    Row,
    frame,
    named_by_tags,
    numbers,
)
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.core.findings import Finding
from evenhand.runs.run_folder import RunFolder

MATCHING = "matching"
_FORMS = (*published.FORMS, MATCHING)
_COLUMNS = (
    "source", "model", "form", "class", "x", "y", "pair", "attributes", "value", "low", "high", "null_low",
    "null_high", "p", "p_adjusted", "bound", "cohens_d", "auc", "n", "reason",
)  # fmt: skip
_ATTRIBUTION = ("source", "model", "class", "group", "rank", "word", "sentiment", "value", "reason")
_INTERVALS = "95% intervals over targets and attributes"
_POSITIVE, _NEGATIVE = "pleasant", "unpleasant"


def _table2(runs: Sequence[RunFolder]) -> Made:
    rows = [row for name, run in named_by_tags(runs) for row in _of_run(name, run)]
    if not rows:
        raise InputError(
            "mmbias/table2 needs effect sizes of pairs, and these runs have none; type: "
            "evenhand run mmbias/association --model URI -o DIR"
        )
    paper = list(_printed()) if any((row["x"], row["y"]) in published.TABLE2 for row in rows) else []
    order = {pair: index for index, pair in enumerate(PAPER_PAIRS)}
    all_rows = sorted([*paper, *rows], key=lambda row: order.get((row["x"], row["y"]), len(order)))
    forms = [form for form in _FORMS if any(row["form"] == form for row in rows)]
    form_rows = [row for row in all_rows if row["form"] in forms]
    return Made(frame(form_rows, _COLUMNS), _notes(forms, runs), _figures(forms))


def _of_run(name: str, run: RunFolder) -> Iterator[Row]:
    """One row a pair: d of each form, and the raw difference of match probabilities."""
    for finding in run.findings.findings:
        params = finding.params
        effect = finding.name == "association_effect_size" and "stage" not in params
        match = finding.name == "match_association" and not params.get("standardised")
        if effect or match:
            yield _our_row(name, MATCHING if match else str(params.get("form")), finding)


def _our_row(name: str, form: str, finding: Finding) -> Row:
    x, y = (str(set_name) for set_name in finding.params["targets"])  # type: ignore[union-attr]
    details, reading = finding.details, finding.params.get("reading")
    model = name if reading in (None, "per_image_joint") else f"{name} · {reading}"
    return {
        **numbers(finding),
        "source": OURS,
        "model": model,
        "form": form,
        **_pair(x, y),
        "attributes": " – ".join(str(set_name) for set_name in finding.params["attributes"]),  # type: ignore[union-attr]
        "p_adjusted": finding.p_adjusted,
        **{key: details.get(key) for key in ("bound", "cohens_d", "auc")},
    }


def _printed() -> Iterator[Row]:
    columns = [*(("CLIP", form) for form in published.FORMS), ("ALBEF", MATCHING), ("ViLT", MATCHING)]
    for (x, y), values in published.TABLE2.items():
        for (model, form), value in zip(columns, values, strict=True):
            if value is not None:
                yield {
                    "source": PAPER,
                    "model": f"{model} (paper)",
                    "form": form,
                    **_pair(x, y),
                    "value": value,
                }


def _pair(x: str, y: str) -> Row:
    return {"class": published.class_of(x), "x": x, "y": y, "pair": pair_title(x, y)}


def _notes(forms: Sequence[str], runs: Sequence[RunFolder]) -> tuple[str, ...]:
    notes = [SIGN]
    if any(form != MATCHING for form in forms):
        notes.append(
            "d is bounded (about ±2 for sets of equal size) and flattens near its bound: read Cohen’s d and "
            "AUC beside it. d of two models do not compare."
        )
    if MATCHING in forms:
        notes.append("Matching: differences of match probabilities, not divided by their spread.")
    if any(is_debias(run) for run in runs):
        notes.append("Runs of evenhand debias are shown by mmbias/table3, not here.")
    return tuple(notes)


def _figures(forms: Sequence[str]) -> tuple[Figure, ...]:
    """The table, a forest plot for each form, and what else there is to read beside d."""
    table = Figure(
        "table", x="form", value="value", levels=("class", "pair", "model"), order={"form": _FORMS},
        low="low", high="high", interval=_INTERVALS,
        titles={"class": "", "pair": "X – Y", "model": "", "value": ""},
    )  # fmt: skip
    forests = [
        Figure(
            "dots", x="value", y="pair", colour="model", low="low", high="high", null_low="null_low",
            null_high="null_high", only={"form": form}, references=(EVEN,), title=form.capitalize(),
            interval=_INTERVALS,
            null="95% band of no difference",
            titles={"value": "difference of match probability" if form == MATCHING else "d", "pair": "",
                    "model": ""},
        )
        for form in forms
    ]  # fmt: skip
    beside = Figure(
        "table", only={"source": OURS}, title="Ours: tests, and other scales",
        levels=("pair", "model", "form", "value", "bound", "cohens_d", "auc", "p", "p_adjusted"),
        titles={"pair": "X – Y", "model": "", "form": "", "value": "d", "cohens_d": "Cohen’s d", "auc": "AUC",
                "p_adjusted": "p, adjusted"},
    )  # fmt: skip
    return (table, *forests, beside)


def _figure5(runs: Sequence[RunFolder], setting: Setting) -> Made:
    reading, k = str(setting.parameters["reading"]), int(setting.parameters["k"])
    rows: list[Row] = []
    for name, run in named_by_tags(runs):
        command = "evenhand run mmbias/association --model URI --data DIR -p form=cross-modal -o DIR"
        table = needed_table(run, "attribution", "mmbias/figure5", command)
        readings = list(dict.fromkeys(table["reading"]))
        chosen_reading = (
            reading if reading in readings else readings[0] if reading == "auto" and readings else ""
        )
        if not chosen_reading:
            raise InputError(
                f"mmbias/figure5 has no reading {reading!r} of {name!r}; possible: auto, "
                f"{', '.join(readings)}"
            )
        top_words = table.filter(reading=chosen_reading).filter(
            table.filter(reading=chosen_reading)["rank"] <= k
        )
        rows += [
            {**row, "source": OURS, "model": name, "class": published.class_of(row["group"]),
             "group": NAMES.get(row["group"], row["group"]), "reason": None}
            for row in top_words.sort("group", "rank", maintain_order=True).to_dicts()
        ]  # fmt: skip
    order = [name for names in published.CLASSES.values() for name in names]
    positions = {NAMES[name]: index for index, name in enumerate(order)}
    rows.sort(key=lambda row: (row["model"], positions.get(str(row["group"]), len(positions)), row["rank"]))
    return Made(frame(rows, _ATTRIBUTION), _shares(rows), _bars(rows))


def _shares(rows: Sequence[Row]) -> tuple[str, ...]:
    """How many words of each group are pleasant."""
    groups = list(dict.fromkeys((row["model"], row["group"]) for row in rows))
    models = {model for model, _ in groups}
    counts = []
    for model, group in groups:
        words = [row["sentiment"] for row in rows if (row["model"], row["group"]) == (model, group)]
        lead = f"{model}, {group}" if len(models) > 1 else str(group)
        counts.append(f"{lead} {sum(word == _POSITIVE for word in words)} of {len(words)}")
    note = "Of each group's images, the words that a zero-shot classifier finds most likely."
    return (note, f"Pleasant words: {', '.join(counts)}.") if counts else (note,)


def _bars(rows: Sequence[Row]) -> tuple[Figure, ...]:
    """One figure a model, a panel a group, the words from the likeliest down."""
    sentiments = tuple(dict.fromkeys([_POSITIVE, _NEGATIVE, *(row["sentiment"] for row in rows)]))
    models = list(dict.fromkeys(str(row["model"]) for row in rows))
    return tuple(
        Figure(
            "bars", x="value", y="word", colour="sentiment", facet="group", independent=("y",),
            columns=3, printed=True,
            order={"word": "-value", "sentiment": sentiments}, only={"model": model},
            title=model if len(models) > 1 else "", titles={"value": "", "word": "", "sentiment": ""},
        )
        for model in models
    )  # fmt: skip


TABLE2 = Artifact(
    "mmbias/table2",
    "Effect size by pair of groups: cross-modal, textual, visual, and image-text matching",
    _table2,
    benchmarks=(RUNS, MATCHING_RUNS),
)
FIGURE5 = Artifact(
    "mmbias/figure5",
    "The words that the images of each group are nearest to, by sentiment",
    _figure5,
    benchmarks=(RUNS,),
    parameters={
        "reading": Parameter("auto", help="auto (softmax where known), softmax, argmax or cosine"),
        "k": Parameter(15, help="words of each group"),
    },
)
