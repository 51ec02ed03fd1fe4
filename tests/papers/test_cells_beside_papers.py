"""Every number of ours that ``reproduce`` sets beside a paper's is found again by its full setting."""

from __future__ import annotations

import csv

import pytest

from evenhand.benchmarks.catalogue import RECIPES
from tests.papers.beside_cells import EXPECTED
from tests.papers.beside_runs import reproduced
from tests.papers.beside_visogender import About, chance_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("paper", sorted(EXPECTED))
def test_each_number_beside_a_papers_is_that_of_its_own_setting(paper, tmp_path) -> None:
    out = reproduced(paper, tmp_path)
    with (out / "beside-the-paper.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected: dict[tuple[str, ...], float | None] = {}
    for key, value in EXPECTED[paper](out, tmp_path / "data"):
        assert expected.setdefault(key, value) is value, f"two numbers for {key}"
    shown, wrong = set(), []
    for row in rows:
        key = tuple(row[name] for name in ("artifact", "of", "measure", "setting"))
        if row["model"].startswith("chance"):
            value = chance_of(row["of"].partition(",")[0], row["measure"])
        elif row["reason"] == "not measured":
            assert not any(place[:3] == key[:3] for place in expected), key
            continue
        else:
            value = expected[key]
            shown.add(key)
        wrong += [(key, row["ours"], value)] if not _alike(row["ours"], value) else []
        if row["held_out"]:
            value = expected[key[0], key[1], f"{row['measure']}, held out", ""]
            wrong += [(key, row["held_out"], value)] if not _alike(row["held_out"], value) else []
    assert wrong == [], wrong
    printed = {tuple(row[name] for name in ("artifact", "of", "measure")) for row in rows}
    assert {key for key in expected if key[:3] in printed} == shown
    compared = {key[0] for key in shown if expected[key] is not None}
    assert compared == set(RECIPES.get(paper).compared), "each artifact with a paper's column has a number"


def _alike(text: str, value: float | None) -> bool:
    if value is None or text == "":
        return value is None and text == ""
    within = value.within if isinstance(value, About) else 1e-9 * max(1.0, abs(value))
    return abs(float(text) - value) <= within
