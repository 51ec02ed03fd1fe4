"""Table 3 of the MMBias paper with held-out columns, and what is paid for a lower association."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.mmbias import published
from evenhand.benchmarks.papers.mmbias.rows import (
    DEBIAS,
    RUNS,
    needed_table,
    pair_title,
)
from evenhand.benchmarks.papers.rows import (
    OURS,
    PAPER,
    Row,
    frame,
    named_by_tags,
)
from evenhand.benchmarks.tidy import find
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure, Reference
from evenhand.core.significance import ALPHA, Significance, uncorrected
from evenhand.runs.run_folder import RunFolder

_STAGES = (
    "fit_before", "fit_after", "held_out_before", "held_out_after", "random_after", "reduction",
    "reduction_low", "reduction_high",
)  # fmt: skip
_TABLE3 = (
    "source", "model", "part", "form", "x", "y", "pair", "before", "after", "less", *_STAGES, "removed",
    "gained", "chosen_on", "measure", "lost", "chance", "n", "reason",
)  # fmt: skip
_HEADINGS = {
    "pair": "X – Y", "held_out_before": "held-out before",
    "held_out_after": "held-out after", "fit_before": "fit half before", "fit_after": "fit half after",
    "random_after": "|d| after random removal", "reduction": "held-out reduction",
    "reduction_low": "from", "reduction_high": "to", "removed": "removed",
}  # fmt: skip
_ASSOCIATED, _ACCURACY = "association", "accuracy"
_ACCURACIES = ("linear_probe_accuracy", "zero_shot_accuracy")
_HELD_OUT_ITEMS = "Accuracy: on held-out items."
_OF_PAPER = (
    "The paper does not say of which classifier its accuracies are, nor after which pair's mitigation. "
    "Of CIFAR-100: evenhand debias --utility RUN, with a run of classification in a folder of that name."
)
_CHOSEN_ON = {
    "all items": "Before and after: all items; the removal was chosen on them too, as in the paper.",
    "fit half": "Before and after: all items, on half of which the removal was chosen; the paper's numbers "
    "are of the items that it was chosen on.",
}
WITHIN_CHANCE = "the association before is within chance on held-out items"
_ASSOCIATION = "absolute_effect_size"
_GROUPS = "groups"
_TRADEOFF = (
    "source", "part", "model", "panel", "measure", "on", "half", "series", "amount", "value", "low", "high",
)  # fmt: skip


def _table3(runs: Sequence[RunFolder]) -> Made:
    rows: list[Row] = []
    for name, run in _named(runs):
        table = needed_table(run, "before_after", "mmbias/table3", DEBIAS)
        in_paper_mode = run.manifest.get("mode") == "paper"
        rows += [_our_row(name, row, _standing(run, row), in_paper_mode) for row in table.to_dicts()]
    tested_pairs = {(row["x"], row["y"]) for row in rows}
    paper = list(_printed()) if tested_pairs & set(published.TABLE3) else []
    accuracies = [row for name, run in _named(runs) for row in _accuracies(name, run, bool(paper))]
    positions = {pair: index for index, pair in enumerate(published.TABLE2)}
    all_rows = sorted([*paper, *rows], key=lambda row: positions.get((row["x"], row["y"]), len(positions)))
    chosen_on = {row.get("chosen_on") for row in rows}
    lead = [sentence for where, sentence in _CHOSEN_ON.items() if where in chosen_on]
    notes = (
        *lead,
        "Held-out: chosen on the other half, with the same settings; read these.",
        "Less: by how much of |before|; where the association of the held-out items was within chance "
        "before, it is a ratio to nothing, and left out but in paper mode.",
        _HELD_OUT_ITEMS,
        *(
            ["The paper's percentages are not exactly those of its rounded numbers.", _OF_PAPER]
            if paper
            else []
        ),
    )
    all_rows += [*(_printed_accuracies() if paper else ()), *accuracies]
    return Made(frame(all_rows, _TABLE3), notes)


def _standing(run: RunFolder, row: Row) -> Significance:
    """Where the association of the held-out items stood beside chance before the mitigation, by itself."""
    targets = [row["x"], row["y"]]
    finding = find(run, "association_effect_size", stage="before", half="held_out", targets=targets)
    return uncorrected(finding, run.manifest.get("alpha", ALPHA)) if finding is not None else Significance("")


def _our_row(name: str, row: Row, standing: Significance, in_paper_mode: bool) -> Row:
    """Less of an association that chance explains is a ratio to nothing; in paper mode it is said beside."""
    before, after = row.get("before"), row.get("after")
    less = None
    if (standing.beyond or in_paper_mode) and before and after is not None:
        less = 1 - abs(after) / abs(before)
    gained = {True: "yes", False: "no", None: None}[row.get("gained")]
    pair = pair_title(row["x"], row["y"])
    lead = {"source": OURS, "model": name, "part": _ASSOCIATED, "pair": pair, "less": less}
    return {
        **row,
        **lead,
        "gained": gained,
        "reason": None if standing.beyond and less is not None else WITHIN_CHANCE,
    }


def _printed() -> Iterator[Row]:
    for (x, y), (before, after, percent) in published.TABLE3.items():
        yield {
            "source": PAPER, "model": "CLIP (paper)", "part": _ASSOCIATED, "form": "cross-modal", "x": x,
            "y": y, "pair": pair_title(x, y), "before": before, "after": after, "less": percent / 100,
            "removed": float(published.REMOVED),
        }  # fmt: skip


def _accuracies(name: str, run: RunFolder, of_mmbias: bool) -> Iterator[Row]:
    """Accuracy before and after each mitigation, and by how many points it falls."""
    table = needed_table(run, "before_after", "mmbias/table3", DEBIAS)
    pairs: dict[str, set[tuple[str, str]]] = {}
    for row in table.select("mitigation", "x", "y").to_dicts():
        pairs.setdefault(row["mitigation"], set()).add((row["x"], row["y"]))
    for row in run.tables["utility"].to_dicts() if "utility" in run.tables else ():
        if row["measure"] in _ACCURACIES:
            of_pair = pairs.get(row["mitigation"], set())
            x, y = next(iter(of_pair)) if len(of_pair) == 1 else (None, None)
            before, after = row["before"], row["after"]
            yield {
                "source": OURS, "model": name, "part": _ACCURACY, "form": _on(row["on"], of_mmbias),
                "x": x, "y": y, "pair": pair_title(x, y) if x and y else None, "before": before,
                "after": after, "lost": None if before is None or after is None else before - after,
                "measure": row["measure"].replace("_", " "), "chance": row["chance"], "n": row["n"],
                "reason": row["reason"],
            }  # fmt: skip


def _on(data: str, of_mmbias: bool) -> str:
    """What an accuracy is of, such as ``accuracy on CIFAR-100``, which a run folder's name may spell."""
    if data == _GROUPS:
        return f"{_ACCURACY} on {published.MMBIAS if of_mmbias else data}"
    letters = "".join(filter(str.isalnum, data.casefold()))
    return f"{_ACCURACY} on {published.CIFAR100 if 'cifar100' in letters else data}"


def _printed_accuracies() -> Iterator[Row]:
    for data, (before, after, lost) in published.ACCURACY.items():
        yield {
            "source": PAPER, "model": "CLIP (paper)", "part": _ACCURACY, "form": f"{_ACCURACY} on {data}",
            "before": before, "after": after, "lost": lost,
        }  # fmt: skip


def _named(runs: Sequence[RunFolder]) -> list[tuple[str, RunFolder]]:
    """Runs by model and method, numbered where those agree."""
    names = [f"{named_by_tags([run])[0][0]} · {_method(run)}" for run in runs]
    numbers = [names[: index + 1].count(name) for index, name in enumerate(names)]
    return [
        (f"{name} ({number})" if names.count(name) > 1 else name, run)
        for name, number, run in zip(names, numbers, runs, strict=True)
    ]


def _method(run: RunFolder) -> str:
    mode = ", paper mode" if run.manifest.get("mode") == "paper" else ""
    return f"{run.manifest.get('method') or 'mitigation'}{mode}"


def _tradeoff(runs: Sequence[RunFolder], setting: Setting) -> Made:
    mitigation = str(setting.parameters["mitigation"])
    rows: list[Row] = []
    for name, run in _named(runs):
        table = needed_table(run, "tradeoff", "mmbias/tradeoff", DEBIAS)
        mitigations = list(dict.fromkeys(table["mitigation"]))
        if mitigation and mitigation not in mitigations:
            raise InputError(
                f"mmbias/tradeoff: {name} has no mitigation {mitigation!r}; it has {', '.join(mitigations)}"
            )
        rows += _curves(
            name, table.filter(pl.col("mitigation") == mitigation) if mitigation else table, len(mitigations)
        )
    measures = list(dict.fromkeys(row["panel"] for row in rows if row["measure"] != _ASSOCIATION))
    notes = (
        "|d|: the mean over the tests of what is left of the association; 0 is even. The held-out half was "
        "not used to choose what is removed. Random: as much removed at random, 20 times.",
        "Utility is measured on held-out items.",
    )
    return Made(frame(rows, _TRADEOFF), notes, _panels(measures))


def _curves(name: str, table: pl.DataFrame, several: int) -> Iterator[Row]:
    """The mean association, and each measure of utility; d of single tests stays in the run's table."""
    selected = table.filter(pl.col("measure") != "association_effect_size")
    for row in selected.to_dicts():
        bias = row["measure"] == _ASSOCIATION
        half = str(row["half"]).replace("_", "-")
        series = f"{half}, random" if row["series"] == "random" else half
        model = name if several < 2 else f"{name} · {row['mitigation']}"
        words = str(row["measure"]).replace("_", " ")
        panel = (
            "association, |d|" if bias else words if row["on"] in ("", _GROUPS) else f"{words}: {row['on']}"
        )
        part = "association" if bias else "utility"
        lead = {"model": model, "panel": panel, "series": series, "half": half}
        yield {**row, "source": OURS, "part": part, **lead}


def _panels(measures: Sequence[str]) -> tuple[Figure, ...]:
    """Association above, utility beside each other below, over the same amounts."""
    shared = {"titles": {"amount": "removed", "value": "", "series": "", "model": ""}}
    association = Figure(
        "lines", x="amount", y="value", colour="series", facet="model", low="low", high="high",
        only={"part": "association"}, references=(Reference(0.0, ""),), title="Association", columns=2,
        interval="lowest and highest of 20 random removals",
        order={"series": ("held-out", "fit", "held-out, random", "fit, random")}, **shared,  # type: ignore[arg-type]
    )  # fmt: skip
    if not measures:
        return (association,)
    utility = Figure(
        "lines", x="amount", y="value", colour="model", facet="panel", only={"part": "utility"},
        title="What the embeddings are still good for", columns=3, independent=("y",),
        order={"panel": tuple(measures)}, **shared,  # type: ignore[arg-type]
    )  # fmt: skip
    return association, utility


TABLE3 = Artifact(
    "mmbias/table3",
    "Association before and after a mitigation, with held-out columns",
    _table3,
    (
        Figure(
            "table",
            levels=("pair", "model", "before", "after", "less", "held_out_before", "held_out_after",
                    "reduction", "reduction_low", "reduction_high", "random_after", "fit_before", "fit_after",
                    "removed", "gained"),
            titles=_HEADINGS, formats={"removed": "count", "less": "percent"}, only={"part": _ASSOCIATED},
        ),
        Figure(
            "table",
            levels=("form", "pair", "model", "measure", "before", "after", "lost", "chance", "n"),
            titles={**_HEADINGS, "form": "", "measure": "", "lost": "points lost", "chance": "by chance",
                    "n": "items"},
            formats={"n": "count", **dict.fromkeys(("before", "after", "lost", "chance"), "percent")},
            only={"part": _ACCURACY}, title="Accuracy before and after",
        ),
    ),
    benchmarks=(RUNS,),
)  # fmt: skip
TRADEOFF = Artifact(
    "mmbias/tradeoff",
    "Association and utility against how much is removed",
    _tradeoff,
    benchmarks=(RUNS,),
    parameters={"mitigation": Parameter("", help="one of a run with several, such as muslim--christian")},
)
