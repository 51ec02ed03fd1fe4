"""Someone has a suppressed file alone, in any format, and tries to work the hidden counts out of it."""

from __future__ import annotations

import hashlib
import json
import re
from itertools import product

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.report.content import ReportInput
from evenhand.report.suppression.suppress import suppressed
from evenhand.runs.manifest import make_manifest
from evenhand.runs.run_folder import RunFolder
from evenhand.workflows.outputs.evidence_rows import evidence_of
from evenhand.workflows.outputs.export import export
from tests.report.suppression_attack import Attack, secrets

FEWEST = 10
TEXTS = ["json", "csv", "markdown", "every-eval-ever", "junit", "sarif", "controls", "model-card", "html"]
COLUMNS = {"truth": "truth", "prediction": "prediction"}


def grouped(counts):
    """Cells of truth, prediction and group as a table."""
    rows = [(*cell, n) for cell, n in counts.items()]
    return pl.DataFrame(
        [(truth, said, group) for truth, said, group, n in rows for _ in range(n)],
        schema=["truth", "prediction", "group"], orient="row",
    )  # fmt: skip


CELLS = {
    ("cat", "cat", "f"): 60, ("cat", "dog", "f"): 40, ("dog", "dog", "f"): 50, ("dog", "cat", "f"): 12,
    ("cat", "cat", "m"): 80, ("cat", "dog", "m"): 21, ("dog", "dog", "m"): 55, ("dog", "cat", "m"): 15,
    ("cat", "cat", "x"): 4, ("cat", "dog", "x"): 2, ("dog", "dog", "x"): 3, ("dog", "cat", "x"): 1,
}  # fmt: skip


def identity(counts, manifest):
    """What the manifest's identity would be of these counts: the guess that a reader can check."""
    settings = {
        name: manifest[name]
        for name in ("kind", "benchmark", "model", "truth", "prediction", "by", "rows", "seed", "mode", "mev",
                     "mev_rule", "rare", "alpha", "adjustment", "inference")
    }  # fmt: skip
    counted = Predictions.from_frame(grouped(counts), **COLUMNS).count(["group"])
    return make_manifest({"predictions": counted}, settings)["manifest_id"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    path = folder / "table.csv"
    grouped(CELLS).write_csv(path)
    made = eh.audit(str(path), **COLUMNS, by="group", inference="none", out=folder / "run")
    return RunFolder.read(made.folder if getattr(made, "folder", None) else folder / "run")


def shared(run, format, suppress=FEWEST):
    """The text of a file that is given away."""
    if format == "html":
        from evenhand.workflows.outputs.result import Run

        return Run.read(run.folder).html(suppress=suppress)
    if format == "model-card":
        pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    made = export([run], format=format, suppress=suppress, parameters={}).content
    return made.decode("utf-8")


def guesses(low=0, high=6):
    """Every split of the hidden group into its four cells that a reader would try."""
    keys = [cell for cell in CELLS if cell[2] == "x"]
    for values in product(range(low, high), repeat=len(keys)):
        if sum(values) == 10:
            yield CELLS | dict(zip(keys, values, strict=True))


def test_the_identity_of_a_whole_run_checks_a_guess_and_that_of_a_suppressed_one_none(run):
    whole = json.loads(shared(run, "json", suppress=0))["manifest_id"]
    assert identity(CELLS, run.manifest) == whole  # so that an attack on it would be one
    hidden = json.loads(shared(run, "json"))["manifest_id"]
    tried = [{cell: n for cell, n in guess.items() if n} for guess in guesses()]
    assert CELLS in tried
    assert hidden not in {identity(guess, run.manifest) for guess in tried[:20]}
    assert hidden not in {whole, identity(CELLS, run.manifest)}


@pytest.mark.parametrize("format", TEXTS)
def test_no_format_has_a_hash_or_a_size_that_checks_a_guess(run, format):
    text = shared(run, format)
    source = run.manifest["source"]
    known = {
        "identity": run.findings.manifest_id,
        "table": source["sha256"],
        "findings": hashlib.sha256((run.folder / "findings.json").read_bytes()).hexdigest(),
        "counts": hashlib.sha256((run.folder / "counts" / "predictions.parquet").read_bytes()).hexdigest(),
    }
    for finding in run.findings.findings:  # what formats derive from the identity
        key = f"{run.findings.manifest_id} {finding.benchmark} {finding.model} {finding.metric}"
        known[finding.metric] = hashlib.sha256(key.encode()).hexdigest()
    for what, digest in known.items():
        assert digest[:12] not in text, what
    assert not re.search(rf"(?<![\d.]){source['size']}(?![\d.])", text)
    assert "sha256" not in re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    again = shared(run, format)
    assert again == text  # equal runs give equal bytes


def test_a_run_without_a_folder_is_not_called_by_the_hash_of_its_counts():
    made = eh.audit(grouped(CELLS), **COLUMNS, by="group", inference="none")
    text = export([made], format="csv", suppress=FEWEST).content.decode()
    assert made.findings.manifest_id[:12] not in text


def test_trackers_and_tables_get_no_hash_of_what_was_counted(run, tmp_path):
    export([run], format="parquet", suppress=FEWEST, out=str(tmp_path / "t.parquet"))
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert run.findings.manifest_id not in table["manifest_id"].to_list()
    pytest.importorskip("mlflow", reason="needs evenhand[mlflow]")
    (tmp_path / "store").mkdir()
    export([run], format="mlflow", suppress=FEWEST, out=f"sqlite:///{tmp_path}/store/mlflow.db")
    files = [file for file in (tmp_path / "store").rglob("*") if file.is_file()]
    assert files
    for file in files:
        content = file.read_bytes()
        assert run.findings.manifest_id.encode() not in content, file.name
        assert run.manifest["source"]["sha256"].encode() not in content, file.name


def lacking(first, both, seed=0):
    """A table in which many rows lack a race, and few of them a gender too."""
    rng = np.random.default_rng(seed)
    sizes = {("f", "a"): 70, ("f", "b"): 62, ("m", "a"): 50, ("m", "b"): 50, ("f", None): first // 2}
    sizes |= {("m", None): first - first // 2, (None, "a"): 30, (None, "b"): 30, (None, None): both}
    rows = [
        (truth, truth if rng.random() < 0.8 else "dog", *group)
        for group, n in sizes.items()
        for truth in rng.choice(["cat", "dog"], n)
    ]
    return pl.DataFrame(rows, schema=["truth", "prediction", "gender", "race"], orient="row")


def content_of(table, by):
    made = eh.audit(Predictions.from_frame(table, **COLUMNS), by=by, inference="none")
    return ReportInput(made.findings, made.manifest, made.tables, evidence_of(made))


def test_groupings_that_subtract_to_a_small_count_are_not_shown_together():
    """36 rows lack a race, 264 have a gender, 232 have both: 36 - (264 - 232) = 4 lack both."""
    content = content_of(lacking(32, 4), ["race", ("gender", "race"), "gender"])
    whole = {finding.grouping: finding for finding in content.findings.findings}
    used = {by: finding.n for by, finding in whole.items()}
    lost = next(each.count for each in whole["race"].dropped if each.reason == "missing race")
    assert (lost, used["gender"], used["gender+race"]) == (36, 264, 232)
    assert lost - (used["gender"] - used["gender+race"]) == 4
    shown = suppressed(content, FEWEST)
    low, high = Attack(shown, content.evidence["predictions"], ["gender", "race"]).range(
        {"gender": None, "race": None}
    )
    assert high - low >= 1
    refused = [warning for warning in shown.findings.warnings if warning.code == "grouping_suppressed"]
    assert all("is hidden: beside the other groupings of this run" in each.message for each in refused)
    for grouping in {"+".join(each.columns) for each in refused}:
        hidden = [finding for finding in shown.findings.findings if finding.grouping == grouping]
        assert {finding.reason for finding in hidden} == {"suppressed"}
        assert {finding.n for finding in hidden} == {-FEWEST}
        assert not [finding for finding in hidden if finding.parts or finding.groups or finding.dropped]


def nested(seed):
    """Ages in two widths, some rare, beside genders that are sometimes unknown."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 700))
    fine = rng.choice(["20-29", "30-39", "40-49", "50-59"], n, p=rng.dirichlet([4, 2, 2, 0.4]))
    gender = rng.choice(["f", "m", "x"], n, p=rng.dirichlet([5, 4, 0.6])).astype(object)
    gender[rng.random(n) < 0.03 * (seed % 2)] = None
    truth = rng.choice(["cat", "dog"], n)
    return pl.DataFrame(
        {
            "truth": truth,
            "prediction": np.where(rng.random(n) < 0.85, truth, rng.choice(["cat", "dog"], n)),
            "fine": fine,
            "coarse": np.where(np.isin(fine, ["20-29", "30-39"]), "young", "old"),
            "gender": gender.tolist(),
        }
    )


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 8])
def test_groupings_of_which_one_is_coarser_tell_no_small_group(seed):
    by = [["fine", "coarse"], ["fine", ("coarse", "gender")], ["coarse", ("fine", "gender")]][seed % 3]
    fewest = (5, 10, 20)[seed // 3 % 3]
    content = content_of(nested(seed), by)
    shown = suppressed(content, fewest)
    used = sorted({name for each in by for name in ([each] if isinstance(each, str) else each)})
    attack = Attack(shown, content.evidence["predictions"], used)
    young = [own["fine"] in ("20-29", "30-39") for own in attack.named]
    impossible = [
        None in (own["fine"], own["coarse"]) or is_young != (own["coarse"] == "young")
        for own, is_young in zip(attack.named, young, strict=True)
    ]
    attack.left = np.vstack([attack.left, [*map(float, impossible), 0.0]])  # which age is which is known
    counts = content.evidence["predictions"]
    for name in used:
        for value, n in counts.drop_nulls(name).group_by(name).agg(pl.col("n").sum()).iter_rows():
            if 0 < n < fewest:
                low, high = attack.range({name: value})
                assert high - low >= 1 - 1e-6, (name, value, n, low, high)


HELD = [" × ", "·", "|", "+", ", ", "*"]


@pytest.mark.parametrize("held", HELD)
def test_labels_that_hold_a_separator_protect_as_others_do(held):
    rng = np.random.default_rng(0)
    n = 400
    genders, races = ["f", f"f{held}a", "m"], ["a", f"a{held}b", "b"]
    truths = ["cat", f"cat{held}f", "dog"]
    truth = rng.choice(truths, n)
    plain = {"truth": truth, "prediction": np.where(rng.random(n) < 0.8, truth, rng.choice(truths, n))}
    plain |= {"gender": rng.choice(genders, n, p=[0.6, 0.02, 0.38]), "race": rng.choice(races, n)}
    table = pl.DataFrame(plain)
    by = ["gender", ("gender", "race")]
    content = content_of(table, by)
    shown = suppressed(content, FEWEST)
    attack = Attack(shown, content.evidence["predictions"], ["gender", "race"])
    for told, asked, count in secrets(content, shown, FEWEST):
        low, high = attack.range(asked)
        assert low - 1e-6 <= count <= high + 1e-6
        assert high - low >= 1 - 1e-6, (told, count, low, high)
    names = {label: f"{index}" for index, label in enumerate([*genders, *races, *truths])}
    simple = table.with_columns(pl.all().replace_strict(names))
    same = suppressed(content_of(simple, by), FEWEST)
    assert [finding.n for finding in same.findings.findings] == [
        finding.n for finding in shown.findings.findings
    ]


def test_attributes_called_like_our_own_axes_are_protected():
    rng = np.random.default_rng(0)
    truth = rng.choice(["cat", "dog"], 400)
    columns = {
        "class": rng.choice(["f", "m", "x"], 400, p=[0.5, 0.48, 0.02]),
        "words": rng.choice(["a", "b"], 400),
    }
    said = np.where(rng.random(400) < 0.8, truth, "dog")
    content = content_of(
        pl.DataFrame({"truth": truth, "prediction": said, **columns}), ["class", ("class", "words")]
    )
    shown = suppressed(content, FEWEST)
    attack = Attack(shown, content.evidence["predictions"], ["class", "words"])
    for told, asked, count in secrets(content, shown, FEWEST):
        low, high = attack.range(asked)
        assert high - low >= 1 - 1e-6, (told, count, low, high)
