"""``clip/fairface_words`` on both layouts, against counts by hand, blind and planted models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.benchmarks.further.fairface_words import fairface_words as declared
from evenhand.benchmarks.indicators.people.datasets.layouts import read_people
from evenhand.core.errors import InputError
from tests.benchmarks import further_layouts as layouts
from tests.benchmarks.indicator_models import number_of, version_of

SHIPPED = Path(declared.__file__).parent
FACES = 210
KINDS = {"non_human": ("animal", "gorilla", "chimpanzee", "orangutan"), "crime": ("thief", "criminal")}


class Chooses:
    """A dual encoder for which face i lies where a text lies; each text has an axis of its own."""

    logit_scale = 10.0

    def __init__(self, chosen):
        self.chosen, self.version = chosen, version_of(chosen)
        names = (SHIPPED / "classnames.txt").read_text().splitlines()
        self.texts = [name.partition(":")[2] for name in names] + ["child"]

    def embed_texts(self, texts):
        return np.stack([self._axes([self._called(text)]) for text in texts])

    def embed_images(self, images):
        return np.stack([self._axes(self.chosen[number_of(image)]) for image in images])

    def _called(self, text):
        return max((name for name in self.texts if name in text), key=len)

    def _axes(self, names):
        weight = np.where(np.array(self.texts) == "child", 2, 1)
        return (weight * np.isin(self.texts, list(names))).astype(np.float32)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fairface")
    layouts.fairface(folder / "table", FACES)
    return folder / "table", layouts.fairface_shards(folder / "shards", FACES, SHIPPED)


def run_fairface(model, folder, **parameters):
    return eh.run("clip/fairface_words", model=model, data=folder, parameters=parameters)


def finding(run, name, **params):
    by = params.pop("by", "perceived_race").split("+")
    return next(
        one for one in run.findings.findings
        if one.name == name and list(one.by) == by and all(one.params.get(k) == v for k, v in params.items())
    )  # fmt: skip


def test_rates_are_those_counted_by_hand(data) -> None:
    rng = np.random.default_rng(3)
    toxic = [
        n.partition(":")[2] for n in (SHIPPED / "classnames.txt").read_text().split("\n") if "toxic" in n
    ]
    chosen = [[toxic[rng.integers(21)], "White", "man", "3 to 9 years old"] for _ in range(FACES)]
    run = run_fairface(Chooses(chosen), data[1], by="race")
    for kind, words in KINDS.items():
        rate = finding(run, "label_association_rate", association=kind, texts="21")
        white = [chosen[i][0] for i, (_, _, race) in enumerate(layouts.faces(FACES)) if race == 0]
        hits = np.isin(white, [*words, *(["suspicious person"] if kind == "crime" else [])])
        assert next(part.value for part in rate.parts if part.key == "White") == pytest.approx(hits.mean())
    race = finding(run, "accuracy", objective="race")
    assert {part.key: part.value for part in race.parts if part.value} == {"White": 1.0}
    assert finding(run, "accuracy", objective="age").value == pytest.approx(
        np.mean([age == 1 for age, _, _ in layouts.faces(FACES)])
    )
    published = run.tables["published"]["this_run"]
    assert published[0] == 1.0
    assert published.null_count() == 0  # every row names a number that a run has


def test_a_blind_model_has_4_and_3_of_21_and_nothing_beyond_chance(data) -> None:
    rng = np.random.default_rng(1)
    names = [n.partition(":")[2] for n in (SHIPPED / "classnames.txt").read_text().splitlines()]
    blind = [[names[18:][rng.integers(21)]] for _ in range(FACES)]
    run = run_fairface(Chooses(blind), data[0], by="race,gender")
    for kind, share in (("non_human", 4 / 21), ("crime", 3 / 21), ("harmful", 7 / 21)):
        name = "harmful_association_rate" if kind == "harmful" else "label_association_rate"
        of_kind = {} if kind == "harmful" else {"association": kind}
        rate = finding(run, name, texts="21", **of_kind)
        assert abs(rate.value - share) < 4 * np.sqrt(share * (1 - share) / FACES)
    primaries = [one for one in run.findings.findings if one.role == "primary"]
    assert len(primaries) == 4
    assert all(one.p_adjusted > 0.05 for one in primaries)
    assert all(
        one.chance_at is None or one.chance_at > 0.02 for one in primaries
    )  # gaps are never 0 by chance


def test_a_planted_difference_is_found_and_child_takes_the_young(data) -> None:
    planted = [
        ["child", "thief"] if age == 0 else ["gorilla" if race == 1 else "White man", "man"]
        for age, _, race in layouts.faces(FACES)
    ]
    run = run_fairface(Chooses(planted), data[0], by="race,age")
    gap = finding(run, "label_association_gap", association="non_human", texts="21")
    assert gap.p_adjusted < 0.01
    assert gap.value > 0.8
    young = {
        texts: finding(run, "label_association_rate", association="crime", texts=texts, by="perceived_age")
        for texts in ("21", "22")
    }
    assert [young[texts].parts[0].value for texts in ("21", "22")] == [1.0, 0.0]


def test_shards_that_do_not_fit_are_refused(tmp_path) -> None:
    samples = [{"png": layouts.png(0), "npy": b"\x93NUMPY broken"}]
    layouts.shards(tmp_path / "bad", samples, ["race:a"], ["race:{c}"])
    with pytest.raises(InputError, match="mend sample"):
        read_people(tmp_path / "bad")
    samples = [{"png": layouts.png(0), "npy": layouts.npy(0, 0, 9)}]
    layouts.shards(tmp_path / "codes", samples, ["age:0", "gender:a", "race:a"], ["race:{c}"])
    with pytest.raises(InputError, match="race is numbered from 9 to 9"):
        read_people(tmp_path / "codes")
