"""mmbias/matching end to end: fusion models on images and words, tables of scores, decoding once."""

from __future__ import annotations

import copy
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.mmbias.data.repeated_images import KEPT, RepeatedImages
from evenhand.benchmarks.mmbias.matching import READINGS
from evenhand.core.requests import UnreadableImage
from tests.benchmarks.mmbias_planted import ITEMS, planted
from tests.cli.test_audit import type_in
from tests.models.tiny import build

PAIR = {"targets": ["left", "right"], "attributes": ["bad", "good"]}
FUSION = ("vilt", "blip_itm")
K = 4


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return planted(tmp_path / "data")


def match(model, data: Path, out: Path | None = None, limit: int | None = None, **parameters: str):
    given = {"k": str(K), **parameters}
    return eh.run("mmbias/matching", model=model, data=data, parameters=given, out=out, limit=limit)


def own(data: Path) -> str:
    return f"{data.parent / 'own.py'}:Matches"


def scores_of(run) -> dict[str, dict[str, float]]:
    """Image to word to probability."""
    found: dict[str, dict[str, float]] = {}
    for sample, candidate, score in run.evidence["matches"].collect().iter_rows():
        found.setdefault(sample, {})[candidate] = score
    return found


def top(scores: dict[str, float], k: int = K) -> dict[str, float]:
    """Each word's chance of one of the k places; words that tie for the last share it."""
    last = sorted(scores.values(), reverse=True)[k - 1]
    above = sum(score > last for score in scores.values())
    level = sum(score == last for score in scores.values())
    return {
        word: 1.0 if score > last else (k - above) / level for word, score in scores.items() if score >= last
    }


def sign(word: str) -> int:
    return 1 if word.startswith("bad") else -1


def joint(scores, k: int = K) -> float:
    return sum(chance * sign(word) * scores[word] for word, chance in top(scores, k).items()) / k


def share(scores) -> float:
    return sum(chance * sign(word) for word, chance in top(scores).items()) / K


def per_set(scores) -> float:
    bad = {word: score for word, score in scores.items() if sign(word) > 0}
    good = {word: score for word, score in scores.items() if sign(word) < 0}
    sides = [sum(chance * one[word] for word, chance in top(one).items()) / K for one in (bad, good)]
    return sides[0] - sides[1]


def naive(run, reading: str) -> float:
    """The raw difference of X and Y by loops."""
    scores = scores_of(run)
    groups = {name: [scores[one] for one in scores if one.startswith(name)] for name in ("left", "right")}
    if reading == "per_group":
        values = [
            joint({word: float(np.mean([one[word] for one in group])) for word in group[0]})
            for group in groups.values()
        ]
        return values[0] - values[1]
    read = {"per_image_joint": joint, "per_image_joint_share": share, "per_image_per_set": per_set}[reading]
    left, right = (np.mean([read(one) for one in group]) for group in groups.values())
    return float(left - right)


@pytest.mark.parametrize("reading", READINGS)
def test_every_reading_of_a_planted_model_equals_a_loop(data, reading):
    run = match(own(data), data, reading=reading, standardised="no")
    finding = run.finding("match_association", reading=reading, **PAIR)
    assert finding.value == pytest.approx(naive(run, reading), abs=1e-9)
    assert finding.value > 0


@pytest.mark.parametrize("family", FUSION)
def test_tiny_fusion_models_equal_a_loop_in_all_readings_raw_and_standardised(data, family):
    run = match(f"hf:{build(family)}", data, reading="all")
    for reading in READINGS:
        finding = run.finding("match_association", reading=reading, **PAIR)
        assert finding.value == pytest.approx(naive(run, reading), abs=1e-9)
    scores = scores_of(run)
    phi = {name: [joint(scores[one]) for one in scores if one.startswith(name)] for name in PAIR["targets"]}
    everyone = [*phi["left"], *phi["right"]]
    d = (np.mean(phi["left"]) - np.mean(phi["right"])) / np.std(everyone, ddof=1)
    finding = run.finding("match_association", reading="per_image_joint", standardised=True, **PAIR)
    assert finding.value == pytest.approx(d, abs=1e-9)


def test_each_pair_is_asked_about_once_and_the_second_time_nothing(data, tmp_path):
    for asked in (2 * ITEMS * 2 * ITEMS, 0):
        run = match(own(data), data, out=tmp_path / "run")
        (question,) = run.manifest["asking"]["questions"]
        assert question["asked"] == asked
    seen = (data.parent / "seen.txt").read_text().splitlines()
    assert len(seen) == len(set(seen)) == 100
    rows = run.evidence["matches"].collect()["sample"].to_list()
    assert rows == sorted(rows)  # image after image, each with all words
    assert (tmp_path / "run" / "report.html").is_file()
    for name in ("members", "tests", "traps"):
        assert (tmp_path / "run" / "tables" / f"{name}.parquet").is_file()


def test_scores_made_elsewhere_say_the_same(data, tmp_path):
    first = match(own(data), data, out=tmp_path / "first")
    again = match(f"table:{tmp_path / 'first' / 'evidence'}", data)
    assert [one.value for one in again.findings.findings] == [one.value for one in first.findings.findings]


def test_an_unreadable_image_is_left_out_and_counted_once(data):
    (data.parent / "pictures" / "left" / "3.png").write_bytes(b"\x89PNG no more")
    run = match(own(data), data, standardised="no")
    finding = run.finding("match_association", **PAIR)
    assert finding.value == pytest.approx(naive(run, "per_image_joint"), abs=1e-9)
    assert sum(one.count for one in finding.dropped) == 1
    assert finding.n == 2 * ITEMS - 1
    assert run.unanswered["sample"].unique().to_list() == ["left/3"]


def test_a_word_without_any_answer_is_left_out_and_told(data):
    run = match(f"{data.parent / 'own.py'}:Forgetful", data, standardised="no")
    finding = run.finding("match_association", **PAIR)
    assert finding.n == 2 * ITEMS
    assert finding.value == pytest.approx(naive(run, "per_image_joint"), abs=1e-9)
    told = {one.reason: one.count for one in finding.dropped}
    assert told == {"answer not finite": 2 * ITEMS, "no answer": 1}


def test_a_limit_takes_the_first_images_of_each_set(data):
    run = match(own(data), data, limit=2, standardised="no")
    assert set(scores_of(run)) == {"left/0", "left/1", "right/0", "right/1"}


def test_a_template_goes_around_the_words(data):
    run = match(own(data), data, attribute_template="A photo of {}.")
    assert all(text.startswith("A photo of ") for text in run.evidence["matches"].collect()["candidate"])
    assert set(run.tables["members"].filter(role="attribute")["item"]) >= {"bad0", "good4"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"reading": "joint"}, "reading='joint' is not possible"),
        ({"reading": ""}, "names none"),
        ({"k": "0"}, "k=0 is not possible"),
        ({"attribute_template": "no"}, "has 0 places"),
        ({"standardised": "perhaps"}, "choose one of 'no', 'yes', 'both'"),
    ],
)
def test_what_is_not_possible_is_one_line(data, monkeypatch, capsys, parameters, message):
    words = ["run", "mmbias/matching", "--data", data, "--model", own(data)]
    given = [word for name, value in parameters.items() for word in ("-p", f"{name}={value}")]
    assert type_in(monkeypatch, *words, *given) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.err.count("\n") == 1


def test_data_without_images_and_models_that_do_not_match_are_refused(tmp_path, monkeypatch, capsys):
    data = planted(tmp_path / "data", images=False)
    words = ["run", "mmbias/matching", "--data", data, "--model", own(data)]
    assert type_in(monkeypatch, *words) == 2
    assert "no images of 'left' and 'right'" in capsys.readouterr().err
    data = planted(tmp_path / "data")
    words = ["run", "mmbias/matching", "--data", data, "--model", f"{data.parent / 'own.py'}:Both"]
    assert type_in(monkeypatch, *words) == 2
    assert "matches_pairs" in capsys.readouterr().err


class Counted:
    """Images that count how often they are decoded; the third fails the first time."""

    def __init__(self, length: int) -> None:
        self.length, self.loads, self.digested = length, Counter(), Counter()
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return self.length

    def digest(self, index: int) -> str:
        self.digested[index] += 1
        if index == 3:
            raise UnreadableImage("no such file")
        return f"digest {index}"

    def load(self, index: int) -> np.ndarray:
        with self.lock:
            self.loads[index] += 1
            first = self.loads[index] == 1
        if index == 2 and first:
            raise UnreadableImage("cannot be decoded")
        return np.full((2, 2, 3), index, dtype=np.uint8)


def test_rows_of_one_image_decode_it_once_from_several_threads():
    source = Counted(50)
    images = RepeatedImages(source, 120)
    assert len(images) == 6_000
    rows = [row for row in range(6_000) if row // 120 != 2]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(images.load, rows))
    assert [int(pixels[0, 0, 0]) for pixels in found] == [row // 120 for row in rows]
    assert sum(source.loads.values()) <= 60  # of 49 images: a thread that slept may find its own forgotten
    assert len(images._decoded) <= KEPT
    with pytest.raises(ValueError, match="read-only"):
        found[0][0, 0, 0] = 1


def test_an_image_that_failed_is_tried_again():
    images = RepeatedImages(Counted(5), 2)
    with pytest.raises(UnreadableImage):
        images.load(4)
    assert int(images.load(5)[0, 0, 0]) == 2


def test_digests_are_made_once_an_image():
    source = Counted(6)
    found = RepeatedImages(source, 3).digests(2, 14)
    assert [one if isinstance(one, str) else one.reason for one in found] == [
        "digest 0", *["digest 1"] * 3, *["digest 2"] * 3, *["no such file"] * 3, *["digest 4"] * 2,
    ]  # fmt: skip
    assert set(source.digested.values()) == {1}


def test_what_it_holds_open_stays_behind_when_it_is_sent_elsewhere():
    original = RepeatedImages(Counted(2), 2)
    original.load(0)
    copied = copy.copy(original)  # by the same way as to another process
    assert copied._decoded == {}
    assert len(copied) == 4
    assert int(copied.load(3)[0, 0, 0]) == 1


def test_words_of_a_group_stand_in_the_order_of_their_mean_probability(data):
    run = match(own(data), data)
    scores = scores_of(run)
    found = run.tables["attribution"].filter(group="left").sort("rank")
    assert set(found["reading"]) == {"probability"}
    means = {
        word: np.mean([one[word] for sample, one in scores.items() if sample.startswith("left")])
        for word in scores["left/0"]
    }
    assert found["word"].to_list() == sorted(means, key=lambda word: -means[word])
    assert found["value"].to_list() == pytest.approx(sorted(means.values(), reverse=True), abs=1e-9)
    assert {word[:3] for word in found.filter(sentiment="bad")["word"]} == {"bad"}


def test_members_name_the_samples_of_the_evidence(data):
    run = match(own(data), data)
    members = run.tables["members"]
    evidence = run.evidence["matches"].collect()
    assert set(members.filter(role="target")["sample"]) == set(evidence["sample"])
    assert set(members.filter(role="attribute")["sample"]) == set(evidence["candidate"])
    assert run.tables["tests"].filter(pl.col("tested"))["form"].to_list() == ["matching"]
