"""One figure of each kind over synthetic columns."""

from __future__ import annotations

import base64
import io

import numpy as np
import polars as pl
from PIL import Image

from evenhand.core.figure import Figure, Reference

OCCUPATIONS = ["nurse", "engineer", "doctor", "teacher", "chef", "clerk", "surgeon", "plumber"]
SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"{SCRIPT} \u202edatum.x' \"}}}} [a](javascript:alert(1)) <img src=http://evil.example/x.png>"
HOSTILE_COLUMN = "a.b['c']:Q"


def pairs() -> pl.DataFrame:
    """Accuracy by gender pair of the paper's model and two of ours; one value is undefined."""
    rng = np.random.default_rng(0)
    rows = [
        {"source": source, "model": model, "pair": pair, "accuracy": float(rng.uniform(0.5, 1))}
        for source, model in (("paper", "CLIP"), ("ours", "CLIP"), ("ours", "mine"))
        for pair in ("masculine–masculine", "masculine–feminine", "feminine–masculine", "feminine–feminine")
    ]
    rows[-1]["accuracy"] = None
    value = pl.col("accuracy")
    return pl.DataFrame(rows).with_columns(
        low=value - 0.05,
        high=value + 0.05,
        null_low=pl.lit(0.45),
        null_high=pl.lit(0.55),
        reason=pl.lit(None),
    )


def shares() -> pl.DataFrame:
    """Bias of occupations against the share of women, three runs with their correlations."""
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        [
            {
                "run": run, "occupation": name, "share": float(rng.uniform(3, 97)),
                "bias": float(rng.normal(0, 0.3)), "r": r, "tau": r and r / 2, "p": p,
            }
            for run, r, p in (("CLIP", -0.42, 0.0123), ("SLIP", 0.08, 0.71), ("mine", None, None))
            for name in OCCUPATIONS
        ]
    )  # fmt: skip


def areas() -> pl.DataFrame:
    """Areas of images of three classes."""
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {"class": np.repeat(["one", "two", "three"], 300), "area": rng.normal(250, 60, 900).round(3)}
    )


def rates() -> pl.DataFrame:
    """Rates by income and region, one of them undefined; and by size of the data."""
    rng = np.random.default_rng(3)
    rows = [
        {"region": region, "income": income, "rate": float(rng.uniform(0.2, 0.9)), "images": 10**power}
        for region in ("Africa", "Asia", "Europe")
        for income, power in (("low", 6), ("middle", 7), ("high", 9))
    ]
    rows[4]["rate"] = float("nan")
    return pl.DataFrame(rows).with_columns(low=pl.col("rate") - 0.05, high=pl.col("rate") + 0.05)


def taxonomy() -> pl.DataFrame:
    """Occupations in their specialisations and sectors."""
    names = [("Service", "Food", "waiter"), ("Service", "Food", "chef"), ("Legal", "Courts", "lawyer")]
    return pl.DataFrame(names, schema=["sector", "specialisation", "occupation"], orient="row").with_columns(
        images=pl.lit(30)
    )


def photos() -> pl.DataFrame:
    """Pictures inside the table, one that is missing, and an address that is never fetched."""
    made = []
    for level in (40, 90):
        stream = io.BytesIO()
        Image.new("RGB", (30, 20), (level, level, level)).save(stream, "PNG")
        made.append("data:image/png;base64," + base64.b64encode(stream.getvalue()).decode())
    rows = [("first", "mine", made[0]), ("first", "mine", made[1]), ("second", "other", made[0])]
    rows += [("second", "none", None), ("second", "far", "https://photos.example/1.png")]
    return pl.DataFrame(rows, schema=["kind", "group", "photo"], orient="row")


INTERVALS = {"low": "low", "high": "high"}
CHANCE = {"null_low": "null_low", "null_high": "null_high"}
KINDS: dict[str, tuple[Figure, pl.DataFrame, list[str]]] = {
    "bars": (
        Figure(
            "bars", x="pair", y="accuracy", colour="model", **INTERVALS, **CHANCE,
            references=(Reference(0.5, "chance"),), formats={"accuracy": "percent"}, domain={"y": (0, 1)},
        ),
        pairs(),
        ["masculine–feminine", "mine", "chance", "80%", "not estimable: feminine–feminine · mine"],
    ),
    "lying bars": (Figure("bars", x="accuracy", y="pair", colour="model"), pairs(), ["feminine–masculine"]),
    "stacked": (
        Figure("stacked", x="accuracy", y="model", colour="pair"), pairs(), ["masculine–feminine", "CLIP"]
    ),
    "dots": (
        Figure("dots", x="accuracy", y="pair", colour="model", **INTERVALS, **CHANCE),
        pairs(),
        ["Hollow marks: values published in the paper.", "Thin lines: intervals.", "Grey: "],
    ),
    "scatter": (
        Figure(
            "scatter", x="share", y="bias", facet="run", label="occupation", fit=True,
            annotate=("r", "tau", "p"), columns=2, titles={"tau": "τ", "share": "women (%)"},
        ),
        shares(),
        ["nurse", "r −0.420", "τ −0.210", "p 0.012", "r –", "women (%)", "least-squares"],
    ),
    "lines": (
        Figure(
            "lines", x="images", y="rate", colour="region", **INTERVALS, log=("x",),
            formats={"images": "short"}, references=(Reference(0.5, "threshold"),),
        ),
        rates(),
        ["1B", "10M", "Africa", "threshold", "1 value not estimable: Asia"],
    ),
    "heatmap": (
        Figure("heatmap", x="income", y="region", value="rate", formats={"rate": "percent"}),
        rates(),
        ["Europe", "middle", "1 value not estimable: Asia · middle", ">–<"],
    ),
    "nested": (
        Figure("nested", levels=("sector", "specialisation", "occupation"), value="images"),
        taxonomy(),
        ["Service 60", "Courts 30", "lawyer 30", "specialisation"],
    ),
    "pictures": (
        Figure("pictures", y="group", value="photo", facet="kind"), photos(), ["mine", "second", "data:image"]
    ),
    "histogram": (
        Figure("histogram", x="area", facet="class", fit=True),
        areas(),
        ["three", "count", "normal distribution"],
    ),
    "density": (Figure("density", x="area", colour="class"), areas(), ["three", "density"]),
    "table": (
        Figure("table", levels=("source", "model", "pair", "accuracy"), formats={"accuracy": "percent"}),
        pairs(),
        ["accuracy", "masculine–feminine", "%", "Slanted rows", "–: no value"],
    ),
    "spread table": (
        Figure("table", levels=("source", "model"), x="pair", value="accuracy", **INTERVALS),
        pairs(),
        ["masculine–", "[0.", "In brackets"],
    ),
}  # fmt: skip


def hostile() -> tuple[tuple[Figure, ...], pl.DataFrame]:
    """Every text, and the name of a column, tries to be something else."""
    table = pl.DataFrame(
        {
            HOSTILE_COLUMN: [f"{HOSTILE} {place}" for place in range(4)] + [""],
            "image": [f"http://evil.example/{place}.png" for place in range(5)],
            "v<b>": [1.0, 2.0, 3.0, float("inf"), None],
            "source": ["ours", "ours", "paper", "ours", "ours"],
            "reason": [None, None, None, HOSTILE, "no <i>images</i>"],
        }
    )
    words = {"titles": {"v<b>": HOSTILE}, "title": HOSTILE, "notes": (HOSTILE,), "interval": HOSTILE}
    figures = (
        Figure("bars", x=HOSTILE_COLUMN, y="v<b>", colour="image", **words),
        Figure("scatter", x="v<b>", y="v<b>", label=HOSTILE_COLUMN, facet="source", colour="image", **words),
        Figure("heatmap", x="source", y=HOSTILE_COLUMN, value="v<b>", **words),
        Figure("nested", levels=("source", HOSTILE_COLUMN), value="v<b>", **words),
        Figure("table", **words),
    )
    return figures, table
