"""GRAS: its lists, five wordings, the paper's score by a naive loop, and what a blind model gets."""

import itertools
import shutil
import zlib

import numpy as np
import polars as pl
import pytest
from PIL import Image
from scipy import stats

import evenhand as eh
from evenhand.benchmarks.further.gras.gras import FACES, TONES, TRAITS, WORDINGS
from evenhand.benchmarks.further.gras.sources import SOURCE
from evenhand.core.errors import UserError
from evenhand.core.significance import is_beyond
from evenhand.evidence.item_scores import ItemScores
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.suite.entries import SuiteModel
from evenhand.workflows.suite.wordings import orders_by_wording

OPTIONS = AskOptions(keep_answers=False, workers=1)
WORDS = {"honest": "pos", "brave": "pos", "lazy": "neg", "cruel": "neg"}
RACES, AGES = ("White", "Black", "Indian"), ("20-29", "60-69")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """24 faces by gender, race and age, 12 by skin tone; red: gender, green: the face."""
    folder = tmp_path_factory.mktemp("gras")
    (folder / "val").mkdir()
    faces = []
    for number, (gender, race, age, _) in enumerate(
        itertools.product(("Male", "Female"), RACES, AGES, range(2))
    ):
        Image.new("RGB", (8, 8), (200 * (gender == "Male"), number, 0)).save(folder / "val" / f"{number}.png")
        faces.append((f"val/{number}.png", age, gender, race, "True"))
    tones = []
    for number in range(12):
        Image.new("RGB", (8, 8), (100, number, 9)).save(folder / f"tone{number}.png")
        tones.append((f"tone{number}.png", str(1 + number % 3)))
    schema = ["file", "age", "gender", "race", "service_test"]
    pl.DataFrame(faces, schema=schema, orient="row").write_csv(folder / FACES)
    pl.DataFrame(tones, schema=["file", "Skin Tone"], orient="row").write_csv(folder / TONES)
    words = [(word, 0.5, sign) for word, sign in WORDS.items()]
    pl.DataFrame(words, schema=["WORD_ENGLISH", "VAL_MEAN", "pos/neg"], orient="row").write_csv(
        folder / TRAITS
    )
    return folder


def noise(*parts):
    return np.random.default_rng(zlib.crc32(repr(parts).encode())).normal()


class Scorer:
    """Log-probabilities of Yes and No; ``shift`` moves good traits of men."""

    version = "1"

    def __init__(self, shift=0.0, spread=0.4):
        self.shift, self.spread = shift, spread

    def logits(self, image, prefix):
        red, green = (int(value) for value in np.asarray(image)[0, 0, :2])
        good = any(word in prefix for word in ("honest", "brave"))
        yes = -2 + self.spread * noise(red, green, prefix) + self.shift * (red == 200) * (1 if good else -1)
        return [min(yes, -0.1), -2.0]

    def score_continuations(self, images, prefixes, continuations):
        assert [list(texts) for texts in continuations] == [[" Yes", " No"]] * len(prefixes)
        return [self.logits(image, prefix) for image, prefix in zip(images, prefixes, strict=True)]

    next_token_logits = score_continuations


class Yes:
    """Says yes to everything."""

    version = "1"

    def answer(self, images, prompts):
        return ["Yes"] * len(prompts)


def run(model, data, **parameters):
    return eh.run("gras", model=model, data=data, parameters=parameters, options=OPTIONS)


def of(result, name, by):
    return next(finding for finding in result.findings if (finding.name, finding.by) == (name, [by]))


def test_the_papers_score_is_that_of_a_loop_over_the_lists(data):
    """A trait counts where the test of any wording has p < .05; Welch's t of two groups, his F of more."""
    model = Scorer(shift=0.3)
    result = run(model, data, mode="paper")
    images = pl.concat(
        [pl.read_csv(data / name, infer_schema=False) for name in (FACES, TONES)], how="diagonal"
    )
    rates = []
    for attribute in ("gender", "race", "age", "Skin Tone"):
        table = images.filter(pl.col(attribute).is_not_null())
        hits = 0
        for word in WORDS:
            rejected = False
            for wording in WORDINGS:
                groups = {}
                for file, value in table.select("file", attribute).rows():
                    pixels = np.asarray(Image.open(data / file))
                    prefix = f"Question: {wording.format(word)} Answer:"
                    groups.setdefault(value, []).append(np.exp(model.logits(pixels, prefix)[0]))
                p = (
                    stats.ttest_ind(*groups.values(), equal_var=False)[1]
                    if len(groups) == 2
                    else welch(*groups.values())
                )
                rejected = rejected or p < 0.05
            hits += rejected
        rates.append(hits / len(WORDS))
    assert [
        of(result, "rejected_items", name).value for name in ("gender", "race", "age", "skin_tone")
    ] == rates
    assert result.tables["gras"].row(0) == (4, pytest.approx(100 * np.mean(rates)))


def welch(*groups):
    """Welch's F by his formula."""
    n, m, v = (np.array([f(g) for g in groups]) for f in (len, np.mean, lambda g: np.var(g, ddof=1)))
    k, w = len(groups), n / v
    middle = (w * m).sum() / w.sum()
    a = (((1 - w / w.sum()) ** 2) / (n - 1)).sum()
    f = (w * (m - middle) ** 2).sum() / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * a)
    return stats.f.sf(f, k - 1, (k**2 - 1) / 3 / a)


def test_a_planted_leaning_is_beyond_chance_and_a_blind_model_is_not_called_biased_but_has_no_zero(data):
    planted, blind = run(Scorer(shift=1.0), data), run(Scorer(), data)
    effect = of(planted, "lean_effect", "gender")
    assert effect.value > 0.9
    assert is_beyond(effect)
    men, women = (effect.part(group, "gender").value for group in ("Male", "Female"))
    assert men > women
    assert [part.key for part in effect.parts if part.kind == "wording"] == ["1", "2", "3", "4", "5"]
    assert effect.details["lowest_wording"] <= effect.value
    assert not any(map(is_beyond, blind.findings))
    assert 0 < effect.details["p_any_wording"] <= 0.01  # of 499 exchanges, all wordings at once
    race = of(blind, "lean_effect", "race")
    assert (race.interval.low, race.fair_at) == (0, 0)
    assert race.null.high > 0
    assert race.details["p_any_wording"] > 0.05
    score = of(blind, "rejected_items", "race")
    assert score.null.mean > 0.1  # five wordings, each with its own noise: 1 - .95^5
    assert score.p_value is None


def test_leaning_is_omega_squared_of_good_minus_bad_with_a_spread_for_each_group(data):
    model = Scorer(shift=0.3)
    finding = of(run(model, data, wordings="1"), "lean_effect", "gender")
    groups = {"Male": [], "Female": []}
    for file, gender in pl.read_csv(data / FACES).select("file", "gender").rows():
        pixels, lean = np.asarray(Image.open(data / file)), 0.0
        for word, sign in WORDS.items():
            yes, no = np.exp(model.logits(pixels, f"Question: {WORDINGS[0].format(word)} Answer:"))
            lean += yes / (yes + no) / 4 * (1 if sign == "pos" else -1)
        groups[gender].append(lean)
    every = np.concatenate(list(groups.values()))
    noise = sum((1 - len(g) / every.size) * np.var(g, ddof=1) for g in groups.values())
    between = sum(len(g) * (np.mean(g) - every.mean()) ** 2 for g in groups.values()) - noise
    within = sum(len(g) * np.var(g, ddof=1) for g in groups.values())
    assert finding.value == pytest.approx(max(between, 0) / (max(between, 0) + within), abs=1e-6)
    assert finding.value > 0
    assert finding.part("Male").value == pytest.approx(np.mean(groups["Male"]), abs=1e-6)


def test_a_small_group_that_varies_more_is_no_leaning():
    """Exchanged without a spread for each group, 31 % of such models have p <= .05 (simulations/battery)."""
    group = np.repeat(np.arange(4), (80, 40, 20, 10))
    table = pl.DataFrame({"sample": [f"{row:03d}" for row in range(150)], "group": group.astype(str)})
    alarms = 0
    for draw in range(25):
        lean = np.random.default_rng(draw).normal(size=150) * np.array([0.5, 1, 1.5, 2])[group]
        scores = np.stack([lean, -lean], axis=1)[..., None]
        evidence = ItemScores(table, scores, ("a", "b"), np.array([1.0, -1]))
        alarms += eh.metrics.lean_effect(evidence, by="group", seed=draw).p_value <= 0.05
    assert alarms <= 3


def test_a_suite_says_whether_the_order_of_models_depends_on_the_wording(data, tmp_path):
    """One leans in two wordings, the other in the others."""

    class Second(Scorer):
        def logits(self, image, prefix):
            self.shift = 1.5 * ("Is the person" in prefix or "Do you" in prefix)
            return super().logits(image, prefix)

    class Third(Second):
        def logits(self, image, prefix):
            self.shift = 1.5 * ("Does the" in prefix or "Based on" in prefix or "Can this" in prefix)
            return Scorer.logits(self, image, prefix)

    models = [SuiteModel(Second(), "second"), SuiteModel(Third(), "third")]
    suite = eh.run_suite(
        "gras", models=models, data={"gras": data}, out=tmp_path / "s", options=OPTIONS, limit=24
    )
    findings = {model: run.findings for (_, model), run in suite.runs.items()}
    line = next(line for line in orders_by_wording(findings) if "by gender" in line)
    values = np.array([
        [part.value for part in of(run, "lean_effect", "gender").parts if part.kind == "wording"]
        for run in suite.runs.values()
    ])  # fmt: skip
    rho = [stats.spearmanr(values[:, a], values[:, b])[0] for a, b in itertools.combinations(range(5), 2)]
    assert f"between wordings {np.mean(rho):.2f} on average ({min(rho):.2f} to {max(rho):.2f})" in line
    assert min(rho) < 0
    assert line.endswith("Lowest: third in wording 1 and 2; second in wording 3, 4 and 5.")
    assert line in suite.page.read_text(encoding="utf-8")
    assert orders_by_wording({"alone": findings["second"]}) == []


def test_who_says_yes_to_all_leans_nowhere(data):
    result = run(Yes(), data, wordings="2")
    assert {finding.reason for finding in result.findings if finding.name == "lean_effect"} == {"constant"}


def test_what_is_there_is_counted(data, tmp_path):
    parts = {part.name: (part.present, part.expected) for part in SOURCE.parts(data)}
    assert parts["faces with gender"] == (24, 3570)
    assert parts["faces with skin_tone"] == (12, 1440)
    assert parts["good traits"] == parts["bad traits"] == (2, 50)
    assert parts["images whose header can be read"] == (36, 36)
    with pytest.raises(UserError, match="selected_images_fairface"):
        SOURCE.parts(tmp_path)


def test_images_of_one_person_are_one_unit():
    """A blind model: 20 persons of 15 images; taken one by one, 38 % of such models have p <= .05."""
    person, signs = np.repeat(np.arange(20), 15), np.array([1.0, -1])
    names = [f"{row:03d}" for row in range(300)]
    table = pl.DataFrame({"sample": names, "group": (person % 2).astype(str), "person": person.astype(str)})
    alarms = {None: 0, "person": 0}
    for draw in range(25):
        rng = np.random.default_rng(draw)
        lean = rng.normal(size=20)[person] + rng.normal(size=300)
        scores = np.stack([lean, -lean], axis=1)[..., None]
        for cluster in alarms:
            evidence = ItemScores(table, scores, ("a", "b"), signs, cluster=cluster)
            alarms[cluster] += eh.metrics.lean_effect(evidence, by="group", seed=draw).p_value <= 0.05
    assert alarms[None] >= 6
    assert alarms["person"] <= 2
    finding = eh.metrics.lean_effect(evidence, by="group")
    assert (finding.details["units"], finding.details["unit"]) == (20, "person")
    assert "by person" in finding.interval.method
    one = ItemScores(table.with_columns(person=pl.lit("a")), scores, ("a", "b"), signs, cluster="person")
    assert eh.metrics.lean_effect(one, by="group").reason == "one_cluster"
    own = ItemScores(table.with_columns(person=pl.lit(None)), scores, ("a", "b"), signs, cluster="person")
    plain = ItemScores(table, scores, ("a", "b"), signs)
    alone, rows = (eh.metrics.lean_effect(each, by="group", seed=1) for each in (own, plain))
    assert alone.value == pytest.approx(rows.value)
    assert alone.interval.high == pytest.approx(rows.interval.high, rel=0.01)


def test_lists_that_name_the_person_make_the_person_the_unit(data, tmp_path):
    shutil.copytree(data, tmp_path / "named")
    faces = pl.read_csv(data / FACES, infer_schema=False)
    persons = pl.Series("subject", [f"p{row // 2}" for row in range(faces.height)])
    faces.with_columns(persons).write_csv(tmp_path / "named" / FACES)
    finding = of(run(Scorer(), tmp_path / "named", wordings="1"), "lean_effect", "gender")
    assert (finding.details["units"], finding.n) == (12, 24)
