"""``evenhand debias --mode paper``: Table 3 of MMBias as the paper made it, and what holds out beside it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli.summaries.mitigations import print_debias
from evenhand.core.errors import InputError, UnknownName
from evenhand.stats.mutual_information import binned_information
from tests.runner.debias_runs import planted, write_run

VECTORS = Path(__file__).parents[1] / "papers" / "vectors" / "mmbias"
DIMENSIONS, REMOVED = 24, 3  # 10.5 % of 24, as 54 of 512
GROUPS = ("muslim", "christian", "arab", "american", "hindu", "buddhist")
SETS = planted(seed=4, dimensions=DIMENSIONS, items=12, words=8, strength=0.25, groups=GROUPS)


def bias(x, y, a, b, kept) -> float:
    """Eq. 1 of the paper in plain loops, of the dimensions that are left."""

    def cosine(v, w):
        v, w = v[kept], w[kept]
        return v @ w / np.sqrt((v @ v) * (w @ w))

    phi = [
        [np.mean([cosine(v, w) for w in a]) - np.mean([cosine(v, w) for w in b]) for v in s] for s in (x, y)
    ]
    return (np.mean(phi[0]) - np.mean(phi[1])) / np.std(phi[0] + phi[1], ddof=1)


def algorithm1(x, y, a, b, information, threshold, n) -> list[int]:
    """Algorithm 1 as printed: candidates below both limits, sorted by psi, the first N of them."""
    everything = list(range(DIMENSIONS))
    total = bias(x, y, a, b, everything)
    candidates = []
    for d in everything:
        if information[d] < threshold:
            psi = bias(x, y, a, b, [other for other in everything if other != d])
            if psi < total:
                candidates.append((psi, d))
    return [d for _, d in sorted(candidates)[:n]]


def vectors(part: str, name: str) -> np.ndarray:
    return SETS[part][name].astype(np.float32).astype(np.float64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("runs") / "association", SETS)


@pytest.fixture(scope="module")
def debiased(folder):
    return eh.debias(folder, mode="paper")


def naive(x: str, y: str, labelled: np.ndarray, labels: np.ndarray) -> list[int]:
    information = binned_information(labelled, labels)
    threshold = np.quantile(information, 0.5)
    words = [vectors("attributes", name) for name in ("unpleasant", "pleasant")]
    return algorithm1(vectors("images", x), vectors("images", y), *words, information, threshold, REMOVED)


ALL_IMAGES = np.concatenate([vectors("images", name) for name in GROUPS])
ALL_GROUPS = np.repeat(np.arange(len(GROUPS)), 12)


def test_the_dimensions_are_those_of_algorithm_1_over_all_items(debiased) -> None:
    table = debiased.tables["before_after"]
    assert table.select("x", "y").rows() == [GROUPS[:2], GROUPS[2:4]]
    for row in table.iter_rows(named=True):
        x, y = row["x"], row["y"]
        dimensions = naive(x, y, ALL_IMAGES, ALL_GROUPS)
        facts = debiased.mitigations[f"{x}--{y}"].facts
        assert facts["dimensions"] == dimensions
        assert (facts["labels"], facts["removed"], row["removed"]) == ("groups", REMOVED, REMOVED)
        left = [d for d in range(DIMENSIONS) if d not in dimensions]
        items = [vectors("images", x), vectors("images", y)]
        items += [vectors("attributes", name) for name in ("unpleasant", "pleasant")]
        for stage, kept in (("before", list(range(DIMENSIONS))), ("after", left)):
            d = bias(*items, kept)
            assert row[stage] == pytest.approx(d, abs=1e-9)
            targets = [x, y]
            finding = debiased.finding("association_effect_size", stage=stage, half="all", targets=targets)
            assert finding.value == pytest.approx(d, abs=1e-9)


def test_what_holds_out_stands_beside_and_was_chosen_without_the_held_out_half(debiased) -> None:
    held_out = debiased.tables["halves"].filter(half="held_out", role="target")["sample"].to_list()
    x, y = GROUPS[:2]
    dimensions = set(debiased.mitigations[f"{x}--{y}--held-out"].facts["dimensions"])
    rows = {name: [n for n in range(12) if f"{name}/{n}" not in held_out] for name in (x, y)}
    assert all(len(numbers) == 6 for numbers in rows.values())
    row = debiased.tables["before_after"].row(0, named=True)
    words = debiased.tables["halves"].filter(half="held_out", role="attribute")["sample"].to_list()
    items = [np.delete(vectors("images", name), rows[name], axis=0) for name in (x, y)]
    for name in ("unpleasant", "pleasant"):
        kept = [n for n in range(8) if f"{name} attribute {n}" in words]
        items.append(vectors("attributes", name)[kept])
    left = [d for d in range(DIMENSIONS) if d not in dimensions]
    assert row["held_out_after"] == pytest.approx(bias(*items, left), abs=1e-9)
    assert row["chosen_on"] == "all items"


def test_the_terminal_shows_both_protocols(debiased, tmp_path, capsys) -> None:
    print_debias(debiased, tmp_path, verbose=True)
    printed = capsys.readouterr().out
    assert "as in the paper: before" in printed
    assert "held out: before" in printed
    row = debiased.tables["before_after"].row(0, named=True)
    (line,) = (line for line in printed.splitlines() if line.startswith("muslim : christian"))
    assert line.split()[3:5] == [f"{row['before']:.3f}", f"{row['after']:.3f}"]


def test_labels_of_the_users_own_choose_what_may_go(folder, tmp_path, debiased) -> None:
    lines, codes = ["sample,label"], []
    for name in GROUPS[:4]:
        for number in range(12):
            codes.append(number % 3)
            lines.append(f"{name}/{number},kind {number % 3}")
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    run = eh.debias(folder, mode="paper", labels=tmp_path / "labels.csv", tests=["muslim:christian"])
    facts = run.mitigations["muslim--christian"].facts
    images = np.concatenate([vectors("images", name) for name in GROUPS[:4]])
    assert facts["dimensions"] == naive("muslim", "christian", images, np.array(codes))
    assert facts["labels"] == run.manifest["labels"] == "labels.csv"


def test_without_labels_the_order_is_that_of_the_reference_vectors(tmp_path) -> None:
    expected = json.loads((VECTORS / "pruning.json").read_text())
    with np.load(VECTORS / "pruning.npz") as arrays:
        targets, words = arrays["U"], arrays["W"]
    x, a = expected["nx"], expected["na"]
    sets = {
        "images": {"muslim": targets[:x], "christian": targets[x:]},
        "phrases": {"muslim": targets[:x], "christian": targets[x:]},
        "attributes": {"unpleasant": words[:a], "pleasant": words[a:]},
    }
    folder = write_run(tmp_path / "run", sets, numbers=np.float64)
    run = eh.debias(folder, mode="paper", labels="none", remove=expected["N"])
    facts = run.mitigations["muslim--christian"].facts
    assert (facts["information"], facts["dimensions"]) == ("none", expected["signed"]["one_shot"])
    row = run.tables["before_after"].row(0, named=True)
    assert row["before"] == pytest.approx(expected["base_d"], abs=1e-9)
    assert row["after"] == pytest.approx(expected["signed"]["one_shot_d"], abs=1e-9)


@pytest.mark.parametrize(
    ("options", "problem", "words"),
    [
        ({"method": "leace"}, InputError, "--mode paper is the protocol of --method pruning"),
        ({"labels": "nowhere.csv"}, InputError, "give groups, none, a run folder"),
        ({"labels": "strange.csv"}, InputError, "its items are called like 'american/0'"),
        ({"labels": "wrong.csv"}, UnknownName, "label"),
        ({"labels": "single.csv"}, InputError, "fewer than two"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    folder, tmp_path, monkeypatch, options, problem, words
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strange.csv").write_text("sample,label\nx,1\ny,2\n")
    (tmp_path / "single.csv").write_text("sample,label\narab/0,1\n")
    (tmp_path / "wrong.csv").write_text("sample,kind\nx,1\n")
    with pytest.raises(problem, match=words) as told:
        eh.debias(folder, mode="paper", **options)
    assert "\n" not in str(told.value)
