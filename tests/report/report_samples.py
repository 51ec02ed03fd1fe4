"""Runs made by hand for the report's tests; the numbers are plausible, not computed from rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.cards import Source
from evenhand.core.findings import Band, Contrast, Dropped, Finding, Findings, GroupSize, Interval, Null, Part
from evenhand.metrics.catalogue import with_cards
from evenhand.report.content import DrawnTable, ReportInput
from tests.report.figure_samples import KINDS
from tests.report.figure_samples import hostile as hostile_figures

OCCUPATIONS = [
    "nurse",
    "engineer",
    "doctor",
    "teacher",
    "cashier",
    "chef",
    "pilot",
    "librarian",
    "plumber",
    "judge",
    "dancer",
    "firefighter",
]
GROUPS = {
    ("perceived_gender",): ["female", "male"],
    ("perceived_gender", "age"): [
        f"{gender} × {age}" for gender in ("female", "male") for age in ("young", "old")
    ],
}
SKEWSIZE = Source(paper="SkewSize (ICML 2024)", equation="eq. 4, Appendix G.2")
MANIFEST: dict[str, Any] = {
    "manifest_id": "a1b2c3",
    "created": "2025-03-04T10:12:00+00:00",
    "evenhand": "0.1.0",
    "command": ["evenhand", "audit", "predictions.parquet", "--by", "perceived_gender"],
    "versions": {"python": "3.11.9", "numpy": "2.3.1"},
    "source": {"path": "data/predictions.parquet", "size": 482113, "sha256": "9f" * 32},
    "model": "resnet50.a1_in1k",
    "benchmark": None,
    "rows": 4812,
    "seed": 0,
    "mode": "default",
    "alpha": 0.05,
    "mev": None,
    "by": ["perceived_gender", "perceived_gender+age"],
    "truth": "label",
    "prediction": "prediction",
    "card": None,
}


def band(value: float) -> Band:
    names: list[Band] = ["negligible", "small", "medium", "large"]
    return names[int(np.digitize(value, [0.1, 0.3, 0.5]))]


def interval(value: float, half: float) -> Interval:
    low, high = max(0.0, value - half), min(1.0, value + half)
    return Interval(low=low, high=high, method="delta")


def null(mean: float, half: float) -> Null:
    return Null(mean=mean, low=max(0.0, mean - half), high=mean + half, method="permutation moments")


def class_part(label: str, value: float, n: int, accuracy: float) -> Part:
    floor = (4 / n) ** 0.5
    excess = max(0.0, value - floor) / floor
    p = float(np.exp(-3 * excess))
    return Part(
        kind="class",
        key=label,
        value=value,
        corrected=0.97 * value,
        chance_at=0.0,
        interval=interval(value * 0.97, 0.9 * floor),
        null=null(floor, 0.7 * floor),
        p_value=p,
        p_adjusted=min(1.0, 12 * p),
        mde=2.2 * floor,
        band=band(value),
        n=n,
        details={"accuracy": accuracy, "accuracy_gap": round(value / 4, 4)},
    )


def lost(label: str, reason: str, n: int = 41) -> Part:
    return Part(kind="class", key=label, value=None, reason=reason, n=n, details={"accuracy": 1.0})


def skewsize(by: tuple[str, ...], parts: list[Part], value: float | None = 0.812) -> Finding:
    return Finding(
        metric=f"skewsize(by={'+'.join(by)})",
        name="skewsize",
        by=list(by),
        value=value,
        interval=Interval(low=0.31, high=1.44, method="spread over resamples", replicates=999)
        if value is not None
        else None,
        null=Null(mean=0.02, low=-0.91, high=0.97, method="gamma draws") if value is not None else None,
        adjustment="holm",
        reason=None if value is not None else "no_usable_class",
        n=4790,
        groups=[
            GroupSize(key=group, n=2400 - 7 * place) for place, group in enumerate(GROUPS.get(by, ["a", "b"]))
        ],
        parts=parts,
        dropped=[
            Dropped(reason="missing perceived_gender", count=22),
            Dropped(reason="class: constant", count=1),
        ],
        direction="descriptive",
        source=SKEWSIZE,
        contrasts=[
            Contrast(
                label="paper mode",
                value=0.655,
                reason="the paper’s listing applies Yates’s correction to tables of two by two",
            )
        ],
        notes=[f"{sum(part.value is not None for part in parts)} of {len(parts)} classes were usable."],
    )


def plain(name: str, by: tuple[str, ...], value: float | None, direction: str, **more: Any) -> Finding:
    params = more.pop("params", {})
    shown = ", ".join([f"by={'+'.join(by)}", *(f"{key}={entry}" for key, entry in params.items())])
    finding = Finding.model_validate(
        {
            "metric": f"{name}({shown})",
            "name": name,
            "params": params,
            "by": list(by),
            "value": value,
            "n": 4790,
            "direction": direction,
            "source": Source(paper="Fairness metrics of classification"),
            "dropped": [Dropped(reason="missing perceived_gender", count=22)],
            **more,
        }
    )
    return with_cards([finding])[0]


def companions(by: tuple[str, ...], parts: list[Part]) -> list[Finding]:
    """Every other finding of an audit, for one grouping."""
    groups = GROUPS.get(by, ["a", "b"])
    values = [part.value for part in parts if part.value is not None] or [0.0]
    accuracies = [0.871 - 0.021 * place for place in range(len(groups))]
    by_group = [
        Part(
            kind="group",
            key=group,
            value=accuracy,
            interval=interval(accuracy, 0.013),
            null=null(0.861, 0.012),
            n=2400,
        )
        for group, accuracy in zip(groups, accuracies, strict=True)
    ]
    small = {"interval": interval(0.021, 0.012), "null": null(0.012, 0.011), "fair_at": 0.0}
    aggregates = [{"aggregate": "max"}, {"aggregate": "mean"}]
    return [
        plain("accuracy", by, 0.861, "higher is better", interval=interval(0.861, 0.01), parts=by_group),
        plain("mean_group_accuracy", by, 0.86, "higher is better"),
        plain("worst_group_accuracy", by, accuracies[-1], "higher is better"),
        plain("worst_class_group_accuracy", by, 0.412, "higher is better"),
        plain("accuracy_gap", by, 0.011, "lower is fairer", **small),
        plain("accuracy_range", by, 0.021, "lower is fairer", p_value=0.031, p_adjusted=0.062, **small),
        *(
            plain("demographic_parity", by, 0.031, "lower is fairer", params=one, **small)
            for one in aggregates
        ),
        *(
            plain("equalized_odds", by, 0.18, "lower is fairer", params={"eo": "max", **one}, fair_at=0.0)
            for one in aggregates
        ),
        plain("cramers_v_mean", by, float(np.mean(values)), "lower is fairer", null=null(0.1, 0.02)),
        plain("cramers_v_median", by, float(np.median(values)), "lower is fairer", null=null(0.1, 0.02)),
        plain("cramers_v_max", by, float(np.max(values)), "lower is fairer", null=null(0.2, 0.05)),
        plain(
            "cramers_v",
            by,
            0.071,
            "lower is fairer",
            p_value=0.0001,
            p_adjusted=0.0004,
            null=null(0.04, 0.01),
            corrected=0.059,
            interval=interval(0.059, 0.02),
            fair_at=0.0,
            role="primary",
        ),
        plain("cramers_v_corrected", by, 0.058, "lower is fairer"),
        plain("phi", by, 0.071, "lower is fairer"),
        plain("skewsize_sufficiency", by, None, "descriptive", reason="one_usable_class"),
        plain(
            "future_metric_rate", by, 12.5, "higher is fairer", interval=Interval(low=9, high=16, method="x")
        ),
    ]


def mistakes(
    by: str, labels: list[str], groups: list[str], *, strangers: list[str] | None = None
) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    wrong = strangers or labels
    lines = []
    for order, truth in enumerate(labels):
        for group in groups:
            shares = rng.dirichlet([9, 2.5, 1.2, 0.8])
            others = [label for label in wrong if label != truth]
            picked = [truth, *rng.choice(others, size=3, replace=False).tolist()]
            lines += [
                {
                    "by": by,
                    "truth": truth,
                    "order": order,
                    "group": group,
                    "prediction": prediction,
                    "n": float(round(share * 200)),
                    "share": float(share),
                    "class_accuracy": 0.74,
                    "group_accuracy": float(shares[0]),
                    "effect_size": 0.61 - 0.02 * order,
                }
                for prediction, share in zip(picked, shares, strict=True)
            ]
    return pl.DataFrame(lines)


def content(
    findings: list[Finding], tables: dict[str, pl.DataFrame] | None = None, **changed: Any
) -> ReportInput:
    return ReportInput(
        findings=Findings(manifest_id="a1b2c3", findings=with_cards(findings)),
        manifest={**MANIFEST, **changed},
        tables=tables or {},
    )


def realistic() -> ReportInput:
    """Twelve occupations, two groupings, one class that cannot be estimated."""
    rng = np.random.default_rng(3)
    findings, frames = [], []
    for by, groups in GROUPS.items():
        values = np.sort(np.concatenate([rng.uniform(0.05, 0.16, 7), [0.22, 0.34, 0.41, 0.58]]))[::-1]
        parts = [
            class_part(label, float(value), int(n), float(accuracy))
            for label, value, n, accuracy in zip(
                OCCUPATIONS, values, rng.integers(180, 620, 11), rng.uniform(0.55, 0.97, 11), strict=False
            )
        ]
        parts.append(lost(OCCUPATIONS[-1], "constant"))
        findings += [skewsize(by, parts), *companions(by, parts)]
        frames.append(mistakes("+".join(by), OCCUPATIONS[:8], groups))
    return content(findings, {"mistakes": pl.concat(frames)})


def thousand() -> ReportInput:
    """A thousand classes and two groupings."""
    rng = np.random.default_rng(5)
    labels = [f"n{place:08d} class {place}" for place in range(1000)]
    findings, frames = [], []
    for by in (("gender",), ("gender", "race")):
        values = rng.beta(1.4, 9, 1000)
        accuracies = np.clip(0.9 - values + rng.normal(0, 0.08, 1000), 0, 1)
        parts = [
            class_part(label, float(value), int(n), float(accuracy))
            for label, value, n, accuracy in zip(
                labels, values, rng.integers(40, 1300, 1000), accuracies, strict=True
            )
        ]
        parts[10:60] = [
            lost(part.key if isinstance(part.key, str) else "", "constant") for part in parts[10:60]
        ]
        findings += [skewsize(by, parts), *companions(by, parts)]
        frames.append(mistakes("+".join(by), labels[:100], ["a", "b", "c"]))
    return content(findings, {"mistakes": pl.concat(frames)})


def undefined() -> ReportInput:
    """Nothing could be estimated."""
    by = ("gender",)
    parts = [lost("cat", "constant"), lost("dog", "single_group"), lost("owl", "empty", 0)]
    others = [
        plain(name, by, None, "lower is fairer", reason="empty")
        for name in ("accuracy", "accuracy_gap", "cramers_v_mean", "cramers_v")
    ]
    return content([skewsize(by, parts, None), *others], model=None)


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "{{7*7}}",
    "{% raw %}",
    "line one\nline two",
    "عربي عبرית",
    "\u202egnirts desrever",
    "👩🏽‍⚕️ nurse",
    "\"quoted\" & 'single'",
    "\x00\x1b[31m",
    "<!--<script>",
    "${alert(3)}",
    "long " * 2000,
    "long " * 1999 + "other",
]


def hostile() -> ReportInput:
    """Labels, columns, notes and manifest entries that try to become markup."""
    evil = HOSTILE[0]
    by = ("<b>gender</b>",)
    parts = [class_part(label, 0.6 - 0.03 * place, 300, 0.8) for place, label in enumerate(HOSTILE)]
    groups = [Part(kind="group", key=label, value=0.8, n=20) for label in HOSTILE[:5]]
    strange = plain(
        evil,
        by,
        0.5,
        "lower is fairer",
        notes=[evil],
        reason=evil,
        parts=[Part(kind=evil, key=[evil, "b"], value=None, reason=evil, n=3, details={evil: evil})],
        contrasts=[Contrast(label=evil, value=None, reason=evil)],
        dropped=[Dropped(reason=evil, count=2.5)],
        source=Source(paper=evil, equation=evil),
    )
    accuracy = plain("accuracy", by, 0.8, "higher is better", parts=groups)
    table = mistakes("+".join(by), HOSTILE, HOSTILE[:3])
    return content(
        [skewsize(by, parts), accuracy, strange],
        {"mistakes": table, evil: table},
        model=evil,
        card=f"# {evil}\n\n{{{{7*7}}}}",
        command=[evil],
        versions={evil: evil},
        source={"path": evil, "size": 1, "sha256": evil},
        extra="\ud800 lone",
    )


def rested() -> ReportInput:
    """As ``realistic``, with the counts that it rests on; one group of nurses has nine rows."""
    run = realistic()
    lines = [
        {
            "truth": truth,
            "perceived_gender": gender,
            "age": age,
            "prediction": prediction,
            "n": 9 if (truth, gender, age, prediction) == ("nurse", "male", "old", "judge") else 100 + place,
        }
        for place, truth in enumerate(OCCUPATIONS)
        for gender in ("female", "male")
        for age in ("young", "old")
        for prediction in (truth, "judge" if truth != "judge" else "chef")
    ]
    findings = [with_few(one) for one in run.findings.findings]
    evidence = {"predictions": pl.DataFrame(lines)}
    return ReportInput(Findings(manifest_id="a1b2c3", findings=findings), MANIFEST, run.tables, evidence)


def with_few(finding: Finding) -> Finding:
    """With twelve rows in the last group of accuracies by group."""
    if finding.name != "accuracy":
        return finding
    few = finding.parts[-1].model_copy(update={"n": 12.0})
    return finding.model_copy(update={"parts": [*finding.parts[:-1], few]})


def ten_models() -> ReportInput:
    """Ten models, a thousand classes, 23 groups, and the cells of the counts behind them."""
    rng = np.random.default_rng(11)
    labels = [f"n{place:08d} class {place}" for place in range(1000)]
    groups = [f"region {place}" for place in range(23)]
    GROUPS[("origin",)] = groups
    findings = []
    for model in range(10):
        drawn = zip(labels, rng.beta(1.4, 9, 1000), rng.integers(40, 1300, 1000), strict=True)
        parts = [class_part(label, float(value), int(n), 0.8) for label, value, n in drawn]
        own = [skewsize(("origin",), parts), *companions(("origin",), parts)]
        findings += [one.model_copy(update={"model": f"model-{model}"}) for one in own]
    del GROUPS[("origin",)]
    cells = pl.DataFrame({"truth": labels}).join(pl.DataFrame({"origin": groups}), how="cross")
    cells = cells.join(pl.DataFrame({"prediction": ["right", "wrong"], "n": [30, 4]}), how="cross")
    made = content(findings)
    return ReportInput(made.findings, made.manifest, evidence={"predictions": cells})


def drawn() -> ReportInput:
    """A figure of every kind, and hostile ones, as a benchmark's tables."""
    made = [DrawnTable(f"paper/{kind}", kind, table, [figure]) for kind, (figure, table, _) in KINDS.items()]
    figures, table = hostile_figures()
    return replace(realistic(), drawn=[*made, DrawnTable("paper/<hostile>", HOSTILE[0], table, figures)])
