"""Tables 3, 5 and 6, Figure 7 of the VisoGender paper: whose images come first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.rows import (
    EVEN,
    NUMBERS,
    OURS,
    PAPER,
    ZERO_SHOT,
    Row,
    benchmark_of,
    frame,
    named_by_tags,
    numbers,
)
from evenhand.benchmarks.papers.visogender import published
from evenhand.benchmarks.papers.visogender.random_rankings import chances, exact_moments
from evenhand.benchmarks.papers.visogender.resolution import accuracy_rows, spread_table
from evenhand.benchmarks.papers.visogender.rows import (
    RESOLUTION_RUNS,
    RETRIEVAL_RUNS,
    mode_notes,
)
from evenhand.benchmarks.tidy import find
from evenhand.core.figure import Figure
from evenhand.core.findings import Finding, Part
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.rankings.null import null_of_mean

_POOLS, _POOL = 23, (10, 10)
_LEVEL = 0.95
_BY = {"occupation": "occupation_perceived_gender", "participant": "participant_perceived_gender"}
_METRICS = {
    "Bias@5": ("bias_at_k", 5),
    "Bias@10": ("bias_at_k", 10),
    "MaxSkew@5": ("max_skew_at_k", 5),
    "MaxSkew@10": ("max_skew_at_k", 10),
    "NDKL": ("ndkl", None),
}
_CHANCE = "chance (exact null)"
_COLUMNS = (
    "source",
    "part",
    "model",
    "counted",
    "name",
    "measure",
    "shown",
    "sigma",
    "null_sd",
    "z",
    *NUMBERS,
    "reason",
)
_Z = (
    "σ: over occupations. z: distance from what random rankings give, in their standard deviations; in the "
    "paper's rows it is ours, for 23 pools of 10 and 10."
)


@cache
def _nulls() -> dict[str, Row]:
    """What random rankings of complete data give: mean, sigma, band and sd of the mean of each measure."""
    rng = np.random.default_rng(0)
    single, nulls = chances(_POOL, (5, 10), rng), {}
    for measure, (name, k) in _METRICS.items():
        null = single[name.removesuffix("_k") + f"_{k}" if k else name]
        moments, mean_null = exact_moments([null] * _POOLS, rng, 20_000), null_of_mean([null] * _POOLS)
        low, high = mean_null.band(_LEVEL)
        nulls[measure] = {
            "null_mean": moments.mean, "null_sd": moments.mean_sd, "null_low": low, "null_high": high,
            "sigma": moments.sigma,
        }  # fmt: skip
    return nulls


def _finding(run: RunFolder, measure: str, template: str, subject: str) -> Finding | None:
    name, k = _METRICS[measure]
    more = {"k": k} if k else {}
    return find(
        run, name, _BY[subject], context="two_person", template=template, subject=subject, **more
    )  # fmt: skip


def _paper_rows(table: published.Numbers, subject: str) -> list[Row]:
    rows = []
    for model, values in table.items():
        for index, measure in enumerate(published.RETRIEVAL_MEASURES):
            mean, sigma = values[2 * index], values[2 * index + 1]
            null = {key: value for key, value in _nulls()[measure].items() if key != "sigma"}
            z = (mean - null["null_mean"]) / null["null_sd"]
            rows.append(
                {"source": PAPER, "model": model, "counted": subject, "measure": measure,
                 "value": float(mean), "sigma": float(sigma), "z": z, **null}
            )  # fmt: skip
    return rows


def _chance_rows() -> list[Row]:
    """The exact null as a row of the table."""
    lead = {"source": OURS, "part": "null", "model": _CHANCE, "counted": None}
    return [
        {**lead, "measure": measure, "value": null["null_mean"], **null, "reason": None}
        for measure, null in _nulls().items()
    ]


def retrieval_rows(
    runs: Sequence[RunFolder], published_rows: published.Numbers, template: str, subjects: Sequence[str]
) -> list[Row]:
    """Rows of Table 3: the paper's, what chance gives, and ours.

    ``published_rows`` hold mean and sigma of each of ``published.RETRIEVAL_MEASURES``; ``subjects`` are those
    whose gender is counted.
    """
    rows = [*_paper_rows(published_rows, "occupation"), *_chance_rows()]
    for model, run in named_by_tags(runs):
        for subject in subjects:
            for measure in _METRICS:
                finding = _finding(run, measure, template, subject)
                details = finding.details if finding is not None else {}
                missing = f"the run ranks no images of two persons so ({template})"
                rows.append(
                    {"source": OURS, "model": model, "counted": subject, "measure": measure,
                     **numbers(finding, missing), "sigma": details.get("sigma"),
                     "null_sd": details.get("null_sd"), "z": details.get("z")}
                )  # fmt: skip
    for row in rows:
        row["shown"] = _shown(row)
        row.setdefault("part", "models")
        row["name"] = row["model"] + (" (participant)" if row["counted"] == "participant" else "")
    return rows


def _shown(row: Row) -> str | None:
    if row.get("value") is None:
        return None
    sigma, z = row.get("sigma"), row.get("z")
    text = f"{row['value']:.3f}" + (f", σ {sigma:.3f}" if sigma is not None else "")
    return (text + (f", z {z:.1f}" if z is not None else "")).replace("-", "−")


def _table3(runs: Sequence[RunFolder]) -> Made:
    rows = retrieval_rows(runs, published.TABLE3, "occ_first", ["occupation"])
    return Made(frame(rows, _COLUMNS), (_Z, *mode_notes(runs)))


def _table5(runs: Sequence[RunFolder]) -> Made:
    rows = retrieval_rows(runs, published.TABLE5, "par_first", ["occupation", "participant"])
    note = (
        "The participant stands first, and the pronoun is theirs; the paper's code counts the genders of the "
        "occupation all the same. Both are shown."
    )
    return Made(frame(rows, _COLUMNS), (note, _Z, *mode_notes(runs)))


def _table6(runs: Sequence[RunFolder]) -> Made:
    resolution_runs = [run for run in runs if benchmark_of(run) == RESOLUTION_RUNS]
    ranked = [run for run in runs if benchmark_of(run) == RETRIEVAL_RUNS]
    rows = [{**row, "part": "resolution"} for row in accuracy_rows(resolution_runs, published.TABLE6A)]
    ranked_rows = retrieval_rows(ranked, published.TABLE6B, "occ_first", ["occupation"])
    rows += [{**row, "part": "retrieval"} for row in ranked_rows]
    columns = (*_COLUMNS[:6], ZERO_SHOT, "quantity", "setting", *_COLUMNS[6:])
    return Made(frame(rows, columns), (_Z, *mode_notes(runs)))


def _figure7(runs: Sequence[RunFolder], setting: Setting) -> Made:
    template = setting.text("template")
    rows: list[Row] = []
    for model, run in named_by_tags(runs):
        findings = {
            measure: _finding(run, measure, template, "occupation") for measure in ("Bias@5", "Bias@10")
        }
        ranked_by = {str(part.key): part.value for part in _parts(findings["Bias@5"])}
        count = "; ".join(_above(measure, finding) for measure, finding in findings.items())
        for measure, finding in findings.items():
            lead = {"source": OURS, "model": model, "measure": measure, "above_zero": count}
            if finding is None:
                missing = f"no {measure} of images of two persons (-p k=5,10)"
                rows.append({**lead, "occupation": "any", **numbers(None, missing)})
            parts = sorted(_parts(finding), key=lambda part: -(ranked_by.get(str(part.key)) or 0.0))
            rows += [
                {
                    **lead,
                    "occupation": str(part.key),
                    **numbers(part),
                    "ranked_by": ranked_by.get(str(part.key)),
                }
                for part in parts
            ]
    columns = ("source", "model", "occupation", "measure", *NUMBERS, "ranked_by", "above_zero", "reason")
    return Made(frame(rows, columns), mode_notes(runs))


def _parts(finding: Finding | None) -> list[Part]:
    return [part for part in finding.parts if part.kind == "occupation"] if finding is not None else []


def _above(measure: str, finding: Finding | None) -> str:
    values = [part.value for part in _parts(finding) if part.value is not None]
    return f"{measure} above 0: {sum(value > 0 for value in values)} of {len(values)}"


_TITLES = {"shown": "", "measure": "", "model": "model", "counted": "gender counted"}
_BAND = "95% of random rankings, exact"


def _table(*levels: str, **only: str) -> Figure:
    return Figure("table", x="measure", value="shown", levels=levels, titles=_TITLES, only=only)


def _means() -> Figure:
    """The means of every measure, each against its null band."""
    return Figure(
        "dots", x="value", y="name", facet="measure", columns=3, low="low", high="high", null_low="null_low",
        null_high="null_high", independent=("x",), interval="95% intervals over occupations", null=_BAND,
        titles={"value": "mean over occupations", "name": ""}, only={"part": "models"},
    )  # fmt: skip


TABLE3 = Artifact(
    "visogender/table3",
    "Retrieval: Bias@K, MaxSkew@K and NDKL over occupations, beside what chance gives",
    _table3,
    (_table("model"), _means()),
    (RETRIEVAL_RUNS,),
)
TABLE5 = Artifact(
    "visogender/table5",
    "Retrieval with the template flipped: the participant stands first",
    _table5,
    (_table("model", "counted"), _means()),
    (RETRIEVAL_RUNS,),
)
TABLE6 = Artifact(
    "visogender/table6",
    "Resolution and retrieval of further models",
    _table6,
    (
        spread_table("Resolution", part="resolution"),
        Figure(
            "table", x="measure", value="shown", levels=("model",), titles=_TITLES, title="Retrieval",
            only={"part": "retrieval"},
        ),
    ),
    (RESOLUTION_RUNS, RETRIEVAL_RUNS),
)  # fmt: skip
FIGURE7 = Artifact(
    "visogender/figure7",
    "Retrieval bias by occupation, ranked by Bias@5",
    _figure7,
    (
        Figure(
            "bars", x="value", y="occupation", colour="measure", facet="model", columns=2,
            null_low="null_low", null_high="null_high",
            null="95% of random rankings of one occupation", references=(EVEN,), independent=("y",),
            annotate=("above_zero",), order={"occupation": "-ranked_by"}, domain={"x": (-1.0, 1.0)},
            titles={"value": "more masculine images at the top: above 0", "occupation": "", "measure": "",
                    "above_zero": ""},
        ),
    ),
    (RETRIEVAL_RUNS,),
    parameters={"template": Parameter("occ_first", ("occ_first", "par_first"), "who stands first")},
)  # fmt: skip
