"""Table 3 of the MMBias paper with held-out columns, and what is paid for a lower association."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.mmbias.data.groups import plain
from evenhand.benchmarks.papers.mmbias import published
from evenhand.benchmarks.papers.mmbias.rows import PAIR, RUNS, needed_table, with_paper
from evenhand.benchmarks.papers.rows import OURS, PAPER, Row, frame, named_by_tags
from evenhand.benchmarks.tidy import find
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure, Reference
from evenhand.core.significance import alpha_of, uncorrected
from evenhand.runs.run_folder import RunFolder

WITHIN_CHANCE = "the association before is within chance on held-out items"
_COMMAND = "evenhand debias RUN --method pruning -o DIR"
_TABLE3 = (
    "source", "model", "part", "form", "x", "y", "pair", "before", "after", "less", "fit_before", "fit_after",
    "held_out_before", "held_out_after", "random_after", "reduction", "reduction_low", "reduction_high",
    "removed", "gained", "chosen_on", "measure", "lost", "chance", "n", "reason",
)  # fmt: skip
_PAPER_MODEL = {"source": PAPER, "model": "CLIP (paper)"}
_PRINTED = [
    {**_PAPER_MODEL, "part": "association", "form": "cross-modal", "x": x, "y": y, "before": before,
     "after": after, "less": percent / 100, "removed": published.REMOVED}
    for (x, y), (before, after, percent) in published.TABLE3.items()
]  # fmt: skip
_PRINTED_ACCURACIES = [{**_PAPER_MODEL, "part": "accuracy", **row} for row in published.ACCURACY]
_CHOSEN_ON = {
    "all items": "Before and after: all items; the removal was chosen on them too, as in the paper.",
    "fit half": "Before and after: all items, on half of which the removal was chosen; the paper's numbers "
    "are of the items that it was chosen on.",
}
_NOTES = (
    "Held-out: chosen on the other half, with the same settings; read these.",
    "Less: by how much of |before|; where the association of the held-out items was within chance "
    "before, it is a ratio to nothing, and left out but in paper mode.",
    "Accuracy: on held-out items.",
)
_NOTES_OF_PAPER = (
    "The paper's percentages are not exactly those of its rounded numbers.",
    "The paper does not say of which classifier its accuracies are, nor after which pair's mitigation. "
    "Of CIFAR-100: evenhand debias --utility RUN, with a run of classification in a folder of that name.",
)
_TRADEOFF = (
    "source", "part", "model", "panel", "measure", "on", "half", "series", "amount", "value", "low", "high",
)  # fmt: skip
_ASSOCIATIONS = Figure(
    "table", only={"part": "association"}, formats={"removed": "count", "less": "percent"},
    levels=("pair", "model", "before", "after", "less", "held_out_before", "held_out_after", "reduction",
            "reduction_low", "reduction_high", "random_after", "fit_before", "fit_after", "removed",
            "gained"),
    titles={"pair": "X – Y", "held_out_before": "held-out before", "held_out_after": "held-out after",
            "fit_before": "fit half before", "fit_after": "fit half after",
            "random_after": "|d| after random removal", "reduction": "held-out reduction",
            "reduction_low": "from", "reduction_high": "to", "removed": "removed"},
)  # fmt: skip
_ACCURACIES = Figure(
    "table", only={"part": "accuracy"}, title="Accuracy before and after",
    levels=("form", "pair", "model", "measure", "before", "after", "lost", "chance", "n"),
    titles={**_ASSOCIATIONS.titles, "form": "", "measure": "", "lost": "points lost", "chance": "by chance",
            "n": "items"},
    formats={"n": "count", "before": "percent", "after": "percent", "lost": "percent", "chance": "percent"},
)  # fmt: skip
_CURVES = Figure(
    "lines", x="amount", y="value", colour="series", facet="model", low="low", high="high", columns=2,
    only={"part": "association"}, references=(Reference(0.0, ""),), title="Association",
    interval="lowest and highest of 20 random removals",
    order={"series": ("held-out", "fit", "held-out, random", "fit, random")},
    titles={"amount": "removed", "value": "", "series": "", "model": ""},
)  # fmt: skip
_UTILITY = Figure(
    "lines", x="amount", y="value", colour="model", facet="panel", independent=("y",), titles=_CURVES.titles,
    only={"part": "utility"}, title="What the embeddings are still good for",
)  # fmt: skip


def _table3(runs: Sequence[RunFolder]) -> Made:
    """Associations by pair, then accuracies; the paper's beside them where we have one of its pairs."""
    named_runs = _named(runs)
    rows = [row for name, run in named_runs for row in _associations(name, run)]
    associations = with_paper(frame(rows, _TABLE3), frame(_PRINTED, _TABLE3))
    has_pair = PAPER in associations["source"]
    accuracies = [row for name, run in named_runs for row in _accuracies(name, run, has_pair)]
    accuracy = frame([*(_PRINTED_ACCURACIES if has_pair else []), *accuracies], _TABLE3)
    lost = pl.coalesce("lost", pl.col("before") - pl.col("after"))
    table = pl.concat([associations, accuracy.with_columns(lost=lost)]).with_columns(
        PAIR, pl.col("measure").str.replace_all("_", " ")
    )
    chosen_on = [sentence for where, sentence in _CHOSEN_ON.items() if where in table["chosen_on"]]
    return Made(table, (*chosen_on, *_NOTES, *(_NOTES_OF_PAPER if has_pair else ())))


def _associations(name: str, run: RunFolder) -> Iterator[Row]:
    """Before and after of each pair; only paper mode has a share of what chance explains."""
    in_paper_mode = run.manifest.get("mode") == "paper"
    for row in needed_table(run, "before_after", "mmbias/table3", _COMMAND).to_dicts():
        pair = [row["x"], row["y"]]
        finding = find(run, "association_effect_size", stage="before", half="held_out", targets=pair)
        beyond = finding is not None and uncorrected(finding, alpha_of(run.manifest)).beyond
        before, after, less = row.get("before"), row.get("after"), None
        if (beyond or in_paper_mode) and before and after is not None:
            less = 1 - abs(after / before)
        yield {
            **row,
            "source": OURS,
            "model": name,
            "part": "association",
            "less": less,
            "gained": {True: "yes", False: "no", None: None}[row.get("gained")],
            "reason": None if beyond and less is not None else WITHIN_CHANCE,
        }


def _accuracies(name: str, run: RunFolder, of_mmbias: bool) -> Iterator[Row]:
    """Accuracy before and after each mitigation, and the pair it is of where it is of one alone."""
    pairs = run.tables["before_after"].select("mitigation", "x", "y").unique()
    alone = pairs.unique("mitigation", keep="none").rows_by_key("mitigation", unique=True)
    titles = {"groups": "MMBias"} if of_mmbias else {}
    for row in run.tables.get("utility", pl.DataFrame()).to_dicts():
        if row["measure"] in ("linear_probe_accuracy", "zero_shot_accuracy"):
            x, y = alone.get(row["mitigation"], (None, None))
            # the folder of a run may spell it in many ways
            data = "CIFAR-100" if "cifar100" in plain(row["on"]) else titles.get(row["on"], row["on"])
            lead = {"source": OURS, "model": name, "part": "accuracy", "form": f"accuracy on {data}"}
            yield {**row, **lead, "x": x, "y": y}


def _named(runs: Sequence[RunFolder]) -> list[tuple[str, RunFolder]]:
    """Runs by model and method, numbered where those agree."""
    names = []
    for run in runs:
        [(name, _)], facts = named_by_tags([run]), run.manifest
        mode = ", paper mode" if facts.get("mode") == "paper" else ""
        names.append(f"{name} · {facts.get('method') or 'mitigation'}{mode}")
    return [
        (name if names.count(name) == 1 else f"{name} ({names[:index].count(name) + 1})", run)
        for index, (name, run) in enumerate(zip(names, runs, strict=True))
    ]


def _tradeoff(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """The mean association, and each measure of utility; d of single tests stays in the run's table."""
    rows, mitigation = [], setting.text("mitigation")
    for name, run in _named(runs):
        table = needed_table(run, "tradeoff", "mmbias/tradeoff", _COMMAND)
        mitigations = table["mitigation"].unique(maintain_order=True)
        if mitigation and mitigation not in mitigations:
            raise InputError(
                f"mmbias/tradeoff: {name} has no mitigation {mitigation!r}; it has {', '.join(mitigations)}"
            )
        curves = table.filter(pl.col("measure") != "association_effect_size")
        for row in (curves.filter(mitigation=mitigation) if mitigation else curves).to_dicts():
            bias, half = row["measure"] == "absolute_effect_size", row["half"].replace("_", "-")
            words = row["measure"].replace("_", " ")
            utility = words if row["on"] in ("", "groups") else f"{words}: {row['on']}"
            new = {
                "source": OURS,
                "part": "association" if bias else "utility",
                "model": name if len(mitigations) == 1 else f"{name} · {row['mitigation']}",
                "panel": "association, |d|" if bias else utility,
                "half": half,
                "series": f"{half}, random" if row["series"] == "random" else half,
            }
            rows.append({**row, **new})
    panels = tuple(dict.fromkeys(row["panel"] for row in rows if row["part"] == "utility"))
    notes = (
        "|d|: the mean over the tests of what is left of the association; 0 is even. The held-out half was "
        "not used to choose what is removed. Random: as much removed at random, 20 times.",
        "Utility is measured on held-out items.",
    )
    utilities = [replace(_UTILITY, order={"panel": panels})] if panels else []
    return Made(frame(rows, _TRADEOFF), notes, (_CURVES, *utilities))


TABLE3 = Artifact(
    "mmbias/table3",
    "Association before and after a mitigation, with held-out columns",
    _table3,
    (_ASSOCIATIONS, _ACCURACIES),
    benchmarks=(RUNS,),
)
TRADEOFF = Artifact(
    "mmbias/tradeoff",
    "Association and utility against how much is removed",
    _tradeoff,
    benchmarks=(RUNS,),
    parameters={"mitigation": Parameter("", help="one of a run with several, such as muslim--christian")},
)
