"""A small real run of every kind, with labels that pages, spreadsheets and XML would act on."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import polars as pl

import evenhand as eh
from tests.benchmarks import visogender_release
from tests.benchmarks.indicator_models import Answers, Classifies, numbered_image
from tests.benchmarks.mmbias_planted import planted as planted_tests
from tests.benchmarks.skewsize_layouts import ask, generated
from tests.cli.test_score import CASES, write
from tests.conftest import make_frame
from tests.runner import debias_runs

EVIL = {
    "c0": "=1+1", "c1": "@octocat https://x.org", "c2": "<b>|`*]]>", "c3": "line\nbreak\x00\u202e",
    "c4": "{{7*7}}", "g0": "-g@x.org", "g1": "www.x.org",
}  # fmt: skip
OCCUPATIONS = ("teacher", "doctor", "lawyer", "engineer", "baker", "painter")
NAME = "=run <b>@octocat |x"  # a folder's name; a slash or colon cannot be in one


def audit(folder: Path, bias: float = 0.9, seed: int = 0) -> Path:
    """An audit of a table; both columns of a grouping are of people."""
    frame = make_frame(bias=bias, seed=seed).with_columns(pl.all().replace(EVIL))
    frame = frame.rename({"group": "sex", "other": "race"})
    made = eh.audit(
        eh.Predictions.from_frame(frame, truth="truth", prediction="prediction"), by=["sex", ("sex", "race")]
    )
    return made.save(folder / NAME)


def numbered(folder: Path, count: int = 60, **columns: list[str]) -> Path:
    """A table of numbered images."""
    paths = [numbered_image(folder / f"{number}.png", number).name for number in range(count)]
    pl.DataFrame({"path": paths, **columns}).write_csv(folder / "t.csv", quote_style="non_numeric")
    return folder / "t.csv"


def classification(folder: Path) -> Path:
    """A classifier on own images."""
    rng = np.random.default_rng(0)
    truth = [EVIL["c0"] if one else EVIL["c1"] for one in rng.random(60) < 0.5]
    data = numbered(folder, what=truth, g=[EVIL["g0"], EVIL["g1"]] * 30)
    model = Classifies(rng.normal(size=(60, 2)), [EVIL["c0"], EVIL["c1"]])
    given = {"image": "path", "truth": "what", "by": "g"}
    eh.run("classification", model=model, data=data, parameters=given, out=folder / NAME)
    return folder / NAME


def sprites(folder: Path) -> Path:
    """The demonstration that needs no data."""
    eh.run("sprites", model=AlwaysHeart(), limit=60, out=folder / NAME)
    return folder / NAME


class AlwaysHeart:
    """Says of every sprite that it is a heart."""

    version = "1"

    @property
    def labels(self):
        """The labels in their order."""
        from evenhand.benchmarks.sprites.factors import SHAPES

        return SHAPES

    def classify(self, images):
        """Logits of the labels."""
        return np.tile(np.float32([0, 0, 1]), (len(images), 1))


def skewsize(folder: Path) -> Path:
    """Occupations, answered in words."""
    table = generated(folder / "images")
    ask(
        "occupations",
        Answers([f"{one} @octocat" for one in table["truth"]]),
        folder / "images",
        out=folder / NAME,
    )
    return folder / NAME


class Own:
    """A dual encoder that says something else about every image and text, always the same."""

    logit_scale = 1.0

    def __init__(self, version: str) -> None:
        self.version = version

    def embed_images(self, images):
        """By what an image shows."""
        return self.embed_texts(map(visogender_release.sample_of, images))

    def embed_texts(self, texts):
        """By every letter."""
        seeds = [zlib.crc32(f"{self.version} {text}".encode()) for text in texts]
        return np.stack([np.random.default_rng(seed).normal(size=24) for seed in seeds]).astype("f4")


def visogender(folder: Path, benchmark: str = "resolution", version: str = "1", name: str = NAME) -> Path:
    """Pronouns of six occupations."""
    if not (folder / "data").exists():
        visogender_release.release(folder / "data", OCCUPATIONS)
    eh.run(f"visogender/{benchmark}", model=Own(version), data=folder / "data", out=folder / name)
    return folder / name


def mmbias(folder: Path) -> Path:
    """A test of one's own."""
    data = planted_tests(folder / "tests")
    eh.run("mmbias/association", model=f"{folder / 'tests' / 'own.py'}:Both", data=data, out=folder / NAME)
    return folder / NAME


def indicators(folder: Path) -> Path:
    """Labels on people of one's own table."""
    subject = np.arange(60)
    gender = [EVIL["g0"] if number < 30 else EVIL["g1"] for number in subject]
    data = numbered(folder, gender=gender, subject=subject.astype(str).tolist())
    logits = np.random.default_rng(0).normal(size=(60, 8))
    model = Classifies(logits, ["people", "swine", *"abcdef"])
    eh.run(
        "indicators/label_association", model=model, data=data, parameters={"by": "gender"}, out=folder / NAME
    )
    return folder / NAME


def debias(folder: Path) -> Path:
    """A mitigation, measured on the half that it was not fitted on."""
    groups = ("north @octocat", "=south")
    run = debias_runs.write_run(folder / "run", debias_runs.planted(items=20, words=10, groups=groups))
    return eh.debias(run, method="mean_difference").save(folder / NAME)


def compare(folder: Path) -> Path:
    """Two audits held against each other."""
    runs = [audit(folder / name, bias, seed) for seed, (name, bias) in enumerate((("a", 0.9), ("b", 0.0)))]
    return eh.compare(runs).save(folder / NAME)


def side_by_side(folder: Path, first: Path) -> Path:
    """A run without predictions held against another of its kind."""
    return eh.compare([first, visogender(folder, version="2", name="run 2")]).save(folder / NAME)


def geography(folder: Path) -> Path:
    """Things of households, some poor and some rich."""
    rows, named = [], []
    rng = np.random.default_rng(0)
    for number in range(80):
        poor = number % 2 == 0
        country = f"{'poor' if poor else 'rich'} {number % 6} @octocat"
        rows.append({"household": str(number // 2), "concept": ("stove", "bed")[number % 2],
                     "income": 100 if poor else 9000, "country": country,
                     "region": "=Africa" if poor else "Europe"})  # fmt: skip
        named.append(rng.random() < (0.3 if poor else 0.8))
    data = numbered(folder, 80, **{name: [row[name] for row in rows] for name in rows[0]})
    logits = np.where(np.array(named)[:, None] == (np.arange(80)[:, None] % 2 == np.arange(2)), 3.0, 0.0)
    model = Classifies(logits, ["stove", "bed"])
    eh.run("indicators/geography", model=model, data=data, parameters={"top": "1"}, out=folder / NAME)
    return folder / NAME


def score(folder: Path) -> Path:
    """Answers that were made elsewhere."""
    case = next(case for case in CASES if case["experiment"].upper() == "CLIP")
    return eh.score("visogender/resolution", evidence=write(case, folder / "given")).save(folder / NAME)


KINDS = {
    "audit": audit,
    "classification": classification,
    "sprites": sprites,
    "skewsize": skewsize,
    "visogender resolution": visogender,
    "visogender retrieval": lambda folder: visogender(folder, "retrieval"),
    "mmbias": mmbias,
    "indicators": indicators,
    "geography": geography,
    "debias": debias,
    "compare": compare,
    "compare without predictions": side_by_side,
    "score": score,
}
