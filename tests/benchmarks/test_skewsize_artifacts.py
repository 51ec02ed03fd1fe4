"""Tables and figures of SkewSize from real small runs, each beside a plain recomputation of its numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from PIL import Image
from scipy import stats
from typer.testing import CliRunner

import evenhand as eh
from evenhand.benchmarks.catalogue import ARTIFACTS
from evenhand.benchmarks.papers.skewsize import published
from evenhand.cli.main import app
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.predictions.counts import Counts
from evenhand.report.figures.draw import drawing_engine
from evenhand.workflows.outputs.artifact import artifact, write_artifact
from evenhand.workflows.outputs.result import Run

CLASSES = ["Writer", "Doctor", "Biologist", "Maid", "Model", "Pilot", "Judge", "Cook", "Guard"]
GENDERS = ["female", "male"]
MADE = ["table3", "table4", "table6", "table7", *(f"figure{number}" for number in range(1, 7))]
BANDS = ["negligible", "small", "medium", "large", "undefined"]


def predictions(seed: int, skew: float, n: int = 60, groups=GENDERS) -> pd.DataFrame:
    """Classes with accuracies of their own; ``skew`` is how far groups are mistaken differently."""
    rng = np.random.default_rng(seed)
    rows = []
    for place, name in enumerate(CLASSES):
        accuracy = 1.0 if name == "Guard" else rng.uniform(0.3, 0.9)
        alike = rng.dirichlet(np.full(len(CLASSES), 0.4))
        for group in groups:
            chances = alike * (1 - skew) + rng.dirichlet(np.full(len(CLASSES), 0.4)) * skew
            chances[place] = 0
            chances = chances / chances.sum() * (1 - accuracy)
            chances[place] = accuracy
            rows += [(name, group, CLASSES[found]) for found in rng.choice(len(CLASSES), n, p=chances)]
    return pd.DataFrame(rows, columns=["truth", "gender", "prediction"])


def audited(table: pd.DataFrame, folder, by="gender", **options):
    """An audit of a table, written to a folder."""
    evidence = eh.Predictions.from_frame(table, truth="truth", prediction="prediction")
    return eh.audit(evidence, by=by, out=folder, **options)


pytestmark = pytest.mark.usefixtures("no_pages")


@pytest.fixture(scope="module")
def tables():
    return [predictions(1, 0.1), predictions(2, 0.9)]


@pytest.fixture(scope="module")
def runs(tables, tmp_path_factory):
    """Two audits of one set of classes."""
    folder = tmp_path_factory.mktemp("skewsize")
    for place, table in enumerate(tables, 1):
        audited(table, folder / f"model-{place}")
    return [folder / "model-1", folder / "model-2"]


@pytest.fixture(scope="module")
def worded(tables, tmp_path_factory):
    """A run with answers in words: raw texts are split over two spellings each."""
    folder = tmp_path_factory.mktemp("worded") / "blip"
    raw = tables[1].copy()
    raw["prediction"] = [f"a {p}" if k % 2 else p for k, p in enumerate(raw["prediction"])]
    both = [
        eh.Predictions.from_frame(one, truth="truth", prediction="prediction").count(["gender"])
        for one in (tables[1], raw)
    ]
    run = eh.audit(both[0], by="gender")
    manifest = {**run.manifest, "benchmark": "skewsize/occupations", "model": "hf:org/blip",
                "tags": {"parameters": "3.8B"}}  # fmt: skip
    counts = {"predictions": both[0], "predictions_raw": both[1]}
    Run(run.findings, manifest, counts, run.tables).save(folder)
    return folder, raw


def make_artifact(name, runs, **parameters):
    return artifact(f"skewsize/{name}", runs, parameters=parameters)


def rows(table: pl.DataFrame, **wanted) -> list[dict]:
    """Our rows with these values."""
    for column, value in {"source": "ours", **wanted}.items():
        table = table.filter(pl.col(column) == value)
    return table.to_dicts()


def plain_v(table: pd.DataFrame, mev: float = 0.0, rule: str = "min") -> float:
    """Cramér's V of one class, written out; labels that expect too few rows are left out first."""
    codes = [np.unique(table[name], return_inverse=True) for name in ("gender", "prediction")]
    crossed = np.zeros([len(levels) for levels, _ in codes])
    np.add.at(crossed, tuple(places for _, places in codes), 1)
    if mev:
        expected = stats.contingency.expected_freq(crossed)
        crossed = crossed[:, getattr(expected, rule)(axis=0) >= mev]
        crossed = crossed[crossed.sum(axis=1) > 0]
    least = min(crossed.shape) - 1
    if least < 1:
        return float("nan")
    chi2 = stats.chi2_contingency(crossed, correction=False)[0]
    return float(np.sqrt(chi2 / (crossed.sum() * least)))


def effects(table: pd.DataFrame, **mev) -> dict[str, float]:
    return {name: plain_v(part, **mev) for name, part in table.groupby("truth")}


def skewness(table: pd.DataFrame, **mev) -> float:
    return float(stats.skew([v for v in effects(table, **mev).values() if not np.isnan(v)]))


def accuracies(table: pd.DataFrame) -> tuple[float, float, float]:
    """Accuracy, that of the worst group, and their distance."""
    right = table["truth"] == table["prediction"]
    worst = right.groupby(table["gender"]).mean().min()
    return right.mean(), worst, right.mean() - worst


def test_all_13_are_there():
    names = [name for name in ARTIFACTS.names() if name.startswith("skewsize/")]
    wanted = [*(f"table{number}" for number in range(1, 8)), *(f"figure{number}" for number in range(1, 7))]
    assert sorted(names) == sorted(f"skewsize/{name}" for name in wanted)


@pytest.mark.parametrize("name", MADE)
def test_each_is_written_and_one_in_every_format(name, runs, worded, tmp_path):
    few = {"classes": "Doctor,Writer,Guard"} if name in ("table3", "figure1") else {}  # every text costs
    found = make_artifact(name, [worded[0]] if name == "table6" else runs, **few)
    assert drawing_engine().vegalite_to_vega(found.spec())
    ends = (
        ".csv",
        ".html",
        ".svg",
        ".png",
    )  # pictures of one; of each in tests/gallery
    for end in ends if name == "figure4" else ends[:2]:
        path = tmp_path / f"{name}{end}"
        write_artifact(found, path)
        first = path.read_bytes()
        assert len(first) > 500
        write_artifact(found, path)
        assert path.read_bytes() == first
    assert pl.read_csv(tmp_path / f"{name}.csv").height == found.table.height


def test_table3_is_accuracy_gap_and_effect_size_by_class(runs, tables):
    found = make_artifact("table3", runs).table
    for model, table in zip(("model-1", "model-2"), tables, strict=True):
        mine = rows(found, model=model)
        assert {row["class"] for row in mine} == set(CLASSES)
        for row in mine:
            part = table[table["truth"] == row["class"]]
            accuracy, _, gap = accuracies(part)
            assert row["accuracy"] == pytest.approx(accuracy)
            assert row["accuracy_gap"] == pytest.approx(gap)
            assert (row["effect_size"] is None) == (row["class"] == "Guard")
            if row["class"] != "Guard":
                assert row["effect_size"] == pytest.approx(plain_v(part))
        assert next(row for row in mine if row["class"] == "Guard")["reason"] == "constant"
        values = [row["effect_size"] for row in mine if row["effect_size"] is not None]
        assert values == sorted(values, reverse=True)
    paper = found.filter(pl.col("source") == "paper")
    assert set(paper["class"]) == {"writer", "doctor", "biologist", "maid", "model"}
    assert paper.filter(pl.col("class") == "maid")["effect_size"].item() == 0.556


def test_table3_of_chosen_classes(runs):
    found = make_artifact("table3", runs, classes="doctor, Writer").table
    assert [row["class"] for row in rows(found)] == ["Doctor", "Writer"] * 2
    with pytest.raises(UnknownName, match="no class of these runs 'Astronaut'"):
        make_artifact("table3", runs, classes="Astronaut")


def test_table4_prints_both_settings_with_what_stands_beside(runs, tables, worded):
    found = make_artifact("table4", [*runs, worded[0]], inference="none").table
    for model, table in zip(("model-1", "model-2"), tables, strict=True):
        for mev in (0.0, 5.0):
            (row,) = rows(found, model=model, mev=mev)
            usable = [v for v in effects(table, mev=mev).values() if not np.isnan(v)]
            assert row["skewsize"] == pytest.approx(skewness(table, mev=mev))
            assert row["cramers_v_mean"] == pytest.approx(np.mean(usable))
            assert row["cramers_v_median"] == pytest.approx(np.median(usable))
            assert row["cramers_v_max"] == pytest.approx(np.max(usable))
            assert row["classes_used"] == len(usable)
            assert row["classes"] == len(CLASSES)
    assert found.filter(pl.col("mev") == 5)["setting"].str.contains("min").any()
    for answers, table in (("normalised", tables[1]), ("raw", worded[1])):
        (row,) = rows(found, benchmark="occupations", mev=0.0, answers=answers)
        assert row["skewsize"] == pytest.approx(skewness(table))
        assert row["tags"] == "parameters=3.8B"
    paper = found.filter(pl.col("source") == "paper", pl.col("benchmark") == "sports")
    assert paper["skewsize"].to_list() == [1.205, 0.360, 1.255]


def test_table6_sets_raw_beside_normalised(runs, tables, worded):
    found = make_artifact("table6", [worded[0], runs[0]], inference="none").table
    for answers, table in (("normalised", tables[1]), ("raw", worded[1])):
        for mev in (0.0, 5.0):
            (row,) = rows(found, benchmark="occupations", answers=answers, mev=mev)
            assert row["skewsize"] == pytest.approx(skewness(table, mev=mev))
    (other,) = rows(found, model="model-1")
    assert "no answers in words; type: evenhand run skewsize/occupations" in other["reason"]
    paper = found.filter(pl.col("source") == "paper", pl.col("answers") == "raw")
    assert paper["skewsize"].to_list() == [-0.005, -0.130, 0.124]
    with pytest.raises(InputError, match="none of these runs has answers in words; type: evenhand run"):
        make_artifact("table6", runs)


@pytest.mark.parametrize("rule", ["min", "mean", "max"])
def test_table7_sweeps_the_minimum_expected_value(rule, tmp_path):
    table = predictions(2, 0.9, n=120)
    # uneven groups, so that the rules differ
    table = table[(table["gender"] == "female") | (np.arange(len(table)) % 3 == 0)]
    audited(table, tmp_path / "uneven", inference="none")
    found = make_artifact("table7", [tmp_path / "uneven"], mev_rule=rule, inference="none")
    mine = rows(found.table)
    assert [row["mev"] for row in mine] == [6, 5, 4, 3, 2]
    for row in mine:
        usable = [v for v in effects(table, mev=row["mev"], rule=rule).values() if not np.isnan(v)]
        assert row["skewsize"] == pytest.approx(stats.skew(usable))
        assert row["classes_used"] == len(usable)
        assert row["classes_lost"] == len(CLASSES) - 1 - len(usable)  # one class is always right
    assert any(f"Rule: {rule}" in note for note in found.notes)
    paper = found.table.filter(pl.col("source") == "paper", pl.col("mev") == 6)
    assert paper["skewsize"].to_list() == [0.235, -0.031, 0.625]


def test_figure1_counts_predictions_and_says_what_metrics_say(runs, tables):
    chosen = ["Writer", "Doctor", "Biologist"]
    found = make_artifact("figure1", runs, classes=",".join(chosen), top="3").table
    for model, table in zip(("M1", "M2"), tables, strict=True):
        for name in chosen:
            part = table[table["truth"] == name]
            mine = rows(found, part="counts", column=model, **{"class": name})
            assert sum(row["n"] for row in mine) == len(part)
            for row in mine:
                if row["prediction"] != "(others)":
                    same = (part["gender"] == row["group"]) & (part["prediction"] == row["prediction"])
                    assert row["n"] == same.sum()
            assert len({row["prediction"] for row in mine}) == 5
        for name, parts in [*((one, [one]) for one in chosen), ("all", chosen)]:
            part = table[table["truth"].isin(parts)]
            value = {
                row["measure"]: row["value"] for row in rows(found, part="metrics", column=model)
                if row["class"] == name
            }  # fmt: skip
            wanted = accuracies(part)
            assert (value["accuracy"], value["worst group"], value["gap"]) == pytest.approx(wanted)
            v = list(effects(part).values())
            assert value["V"] == pytest.approx(np.mean(v))
            if name == "all":
                assert value["SkewSize"] == pytest.approx(stats.skew(v))
                assert value["- SkewSize"] == pytest.approx(-stats.skew(v))
            else:
                assert value["SkewSize"] is None
                assert value["- SkewSize"] == pytest.approx(-v[0])
    first, second, more = (
        rows(found, part="metrics", column=column, measure="accuracy", **{"class": "all"})[0]["value"]
        for column in ("M1", "M2", "M2 − M1")
    )
    assert more == pytest.approx(second - first)
    paper = found.filter(pl.col("source") == "paper", pl.col("class") == "all", pl.col("column") == "M2")
    assert dict(paper.select("measure", "value").iter_rows())["- SkewSize"] == -0.71


def test_figure1_chooses_classes_in_which_v_differs_most(runs, tables):
    found = make_artifact("figure1", runs).table
    first, second = (effects(table) for table in tables)
    wanted = sorted((n for n in first if n != "Guard"), key=lambda name: -abs(first[name] - second[name]))
    assert list(dict.fromkeys(row["class"] for row in rows(found, part="counts"))) == wanted[:3]
    assert "paper" not in make_artifact("figure1", runs[:1]).table["source"].to_list()
    assert make_artifact("figure1", [*runs, runs[0]]).table["column"].n_unique() == 3


def test_figure2_has_one_point_a_model_in_three_panels(runs, tables, worded):
    found = make_artifact("figure2", [*runs, worded[0]]).table
    assert len(found) == 9
    for model, table in zip(("model-1", "model-2"), tables, strict=True):
        names = ("accuracy", "worst-group accuracy", "gap")
        for measure, value in zip(names, accuracies(table), strict=True):
            (row,) = rows(found, model=model, measure=measure)
            assert row["value"] == pytest.approx(value)
            assert row["left"] <= row["value"] <= row["right_end"]
            assert row["skewsize"] == pytest.approx(skewness(table))
            assert row["low"] < row["high"]
    spec = make_artifact("figure2", runs).spec()
    drawn = [name for rows in spec["datasets"].values() for name in rows]
    assert sum(row.get("left") is not None and row.get("low") is not None for row in drawn) >= 6
    by_tag = make_artifact("figure2", [*runs, worded[0]], colour="parameters").table
    assert set(by_tag["colour"]) == {"3.8B", "not tagged"}
    with pytest.raises(UnknownName, match="tag of these runs 'size'"):
        make_artifact("figure2", [worded[0]], colour="size")


def test_figure3_shows_the_first_predictions_of_two_groups(runs, tables):
    found = make_artifact("figure3", runs[1:], **{"class": "Doctor", "groups": "male,female"}).table
    part = tables[1][tables[1]["truth"] == "Doctor"]
    for group in ("male", "female"):
        counted = part[part["gender"] == group]["prediction"].value_counts()
        mine = rows(found, group=group)
        assert [row["n"] for row in mine] == counted.head(3).tolist()
        assert all(counted[row["prediction"]] == row["n"] for row in mine)
        assert mine[0]["group_accuracy"] == pytest.approx(counted["Doctor"] / counted.sum())
        assert all((row["right"] == "right") == (row["prediction"] == "Doctor") for row in mine)


def test_figure3_finds_the_planted_class_and_groups(tmp_path):
    alike = {"good": 90, "dull": 10}
    planted = [("sock", "a", {"sock": 85, "shoe": 15}), ("sock", "b", {"sock": 84, "glove": 16}),
               ("sock", "c", {"sock": 85, "shoe": 8, "glove": 7})]  # fmt: skip
    rest = [(name, group, {name: alike["good"], "dull": alike["dull"]}) for name in ("cup", "pen", "hat")
            for group in "abc"]  # fmt: skip
    cells = [(t, g, p) for t, g, found in [*planted, *rest] for p, n in found.items() for _ in range(n)]
    audited(pd.DataFrame(cells, columns=["truth", "gender", "prediction"]), tmp_path / "planted")
    found = make_artifact("figure3", [tmp_path / "planted"]).table
    assert set(found["class"]) == {"sock"}
    assert list(dict.fromkeys(found["group"])) == ["a", "b"]


def test_figure3_needs_two_groups_that_differ(tmp_path):
    cells = [("cup", group, "cup") for group in "aabb"]
    cells += [("pen", group, label) for group in "ab" for label in "xy"]
    table = pd.DataFrame(cells, columns=["truth", "gender", "prediction"])
    audited(table, tmp_path / "flat", inference="none")
    with pytest.raises(InputError, match="'cup' is taken for one thing in all groups"):
        make_artifact("figure3", [tmp_path / "flat"], **{"class": "cup"})


def test_figure3_takes_pictures_only_when_asked(tmp_path):
    names = [f"{label}{number}.png" for label in ("cat", "dog") for number in range(12)]
    for place, name in enumerate(names):
        Image.new("RGB", (64, 48), (place * 10, 90, 90)).save(tmp_path / name)
    table = {"path": names, "label": ["cat"] * 12 + ["dog"] * 12, "light": ["day", "night"] * 12}
    pl.DataFrame(table).write_csv(tmp_path / "images.csv")

    class Guesses:
        labels = ("cat", "dog", "fox")

        def classify(self, images):
            return np.array([[1, 0, 0] if image[0, 0, 0] % 3 else [0, 1, 0.5] for image in images], float)

    given = {"image": "path", "truth": "label", "by": "light"}
    out = tmp_path / "run"
    eh.run("classification", model=Guesses(), data=tmp_path / "images.csv", parameters=given, out=out)
    plain = make_artifact("figure3", [out], **{"class": "cat", "groups": "day,night"}).table
    assert "picture" not in plain.columns
    asked = {"class": "cat", "groups": "day,night", "images": "yes", "of_each": "2"}
    found = artifact("skewsize/figure3", [out], data=tmp_path, parameters=asked)
    pictures = found.table.filter(pl.col("part") == "pictures")
    assert pictures.group_by("group", "prediction").len()["len"].max() <= 2
    assert pictures["picture"].str.starts_with("data:image/jpeg").all()
    for row in pictures.to_dicts():
        assert row["sample"].startswith("cat")
        assert (int(row["sample"][3:-4]) % 2 == 0) == (row["group"] == "day")
    write_artifact(found, tmp_path / "figure.png")
    with pytest.raises(InputError, match="add --data FOLDER"):
        artifact("skewsize/figure3", [out], data=tmp_path / "run", parameters=asked)


def test_figure4_counts_classes_in_bands(runs, tables, worded):
    found = make_artifact("figure4", [*runs, worded[0]]).table
    for model, table in zip(("model-1", "model-2"), tables, strict=True):
        v = np.array(list(effects(table).values()))
        bands = pd.cut(v, [0, 0.1, 0.3, 0.5, 1.0001], right=False, labels=BANDS[:4])
        wanted = {**pd.Series(bands).value_counts().to_dict(), "undefined": int(np.isnan(v).sum())}
        mine = rows(found, model=model)
        assert {row["band"]: row["n"] for row in mine} == wanted
        assert sum(row["share"] for row in mine) == pytest.approx(1)
        assert sum(row["share_of_defined"] or 0 for row in mine) == pytest.approx(1)
        assert mine[-1]["reason"] == "constant (1)"
    assert {row["panel"] for row in rows(found)} == {"audit by gender", "occupations by gender"}


def test_figure5_correlates_v_with_what_stands_beside_it(runs, tables):
    found = make_artifact("figure5", runs).table
    for model, table in zip(("model-1", "model-2"), tables, strict=True):
        each = rows(found, model=model, part="classes")
        for row in each:
            rates = {}
            for group in GENDERS:
                mine = table[table["gender"] == group]
                own = mine["truth"] == row["class"]
                said = mine["prediction"] == row["class"]
                rates[group] = (said.mean(), said[own].mean(), said[~own].mean())
            dp, tpr, fpr = (abs(a - b) for a, b in zip(*rates.values(), strict=True))
            assert row["DP"] == pytest.approx(dp)
            assert row["EO"] == pytest.approx((tpr + fpr) / 2)
        usable = [row for row in each if row["V"] is not None]
        assert len(usable) == len(CLASSES) - 1
        for measure in ("accuracy", "EO", "gap", "DP"):
            r = stats.pearsonr([row["V"] for row in usable], [row[measure] for row in usable])
            (row,) = rows(found, model=model, part="correlations", measure=measure)
            assert (row["r"], row["p"]) == pytest.approx((r.statistic, r.pvalue))
            interval = r.confidence_interval(0.95)
            assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
    paper = found.filter(pl.col("source") == "paper")
    assert dict(paper.select("measure", "r").iter_rows()) == {
        name: r for name, (r, _) in published.FIGURE5.items()
    }


def test_figure6_shows_effect_sizes_and_what_chance_gives(runs, tables):
    found = make_artifact("figure6", runs).table
    for model, table in zip(("model-1", "model-2"), tables, strict=True):
        observed = {row["class"]: row["V"] for row in rows(found, model=model, series="observed")}
        assert observed.pop("Guard") is None
        assert observed == pytest.approx({k: v for k, v in effects(table).items() if k != "Guard"})
        chance = found.filter(pl.col("model") == model, pl.col("series") == "by chance")
        assert chance.group_by("class").len()["len"].unique().to_list() == [20]
        # groups exchanged by hand give about the same mean
        rng = np.random.default_rng(0)
        part = table[table["truth"] == "Doctor"].copy()
        drawn = []
        for _ in range(200):
            part["gender"] = rng.permutation(part["gender"].to_numpy())
            drawn.append(plain_v(part))
        doctor = chance.filter(pl.col("class") == "Doctor")["V"].mean()
        assert doctor == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(200))
    assert set(make_artifact("figure6", runs, chance="no").table["series"]) == {"observed"}


def test_groupings_and_order_are_chosen(tables, worded, tmp_path):
    table = tables[0].assign(race=np.where(np.arange(len(tables[0])) % 3, "x", "y"))
    audited(table, tmp_path / "two", by=["gender", "race", ("gender", "race")], inference="none")
    assert set(make_artifact("figure4", [tmp_path / "two"]).table["by"]) == {"gender"}
    assert set(make_artifact("figure4", [tmp_path / "two"], by="race").table["by"]) == {"race"}
    crossed = make_artifact(
        "table3", [tmp_path / "two"], by="age,gender+race", classes="Doctor", inference="none"
    )
    assert crossed.table.filter(pl.col("source") == "ours")["by"].unique().to_list() == ["gender+race"]
    part = table[table["truth"] == "Doctor"]
    v = plain_v(part.assign(gender=part["gender"] + part["race"]))
    assert crossed.table.filter(pl.col("source") == "ours")["effect_size"].item() == pytest.approx(v)
    with pytest.raises(UnknownName, match="did you mean 'race'"):
        make_artifact("figure4", [tmp_path / "two"], by="rice")
    ordered = make_artifact("figure4", [tmp_path / "two", worded[0]], order="parameters").table
    assert list(dict.fromkeys(ordered["model"])) == ["hf:org/blip", "two"]


def test_the_settings_of_the_run_are_kept(tables, tmp_path):
    audited(tables[1], tmp_path / "paper", mode="paper", mev=3.0, inference="none")
    found = make_artifact("table3", [tmp_path / "paper"], inference="none")
    run = Run.read(tmp_path / "paper")
    parts = {str(part.key): part.value for part in run.finding("skewsize", "gender").parts}
    assert {row["class"]: row["effect_size"] for row in rows(found.table)} == parts
    assert any("MEV 3 (min), paper mode" in note for note in found.notes)
    changed = make_artifact("table3", [tmp_path / "paper"], mev="0", inference="none")
    assert any("all labels, paper mode" in note for note in changed.notes)


def test_what_cannot_be_made_is_told(runs, tmp_path):
    with pytest.raises(ParameterError, match="give a number of 0"):
        make_artifact("figure4", runs, mev="-1")
    with pytest.raises(ParameterError, match="-p mev is empty"):
        make_artifact("table7", runs, mev=" ")
    run = Run.read(runs[0])
    Run(run.findings, {**run.manifest, "benchmark": "visogender/resolution"}, {}, {}).save(tmp_path / "no")
    with pytest.raises(InputError, match=r"counts of predictions, which .* has not; type: evenhand audit"):
        make_artifact("table4", [tmp_path / "no"])
    counts = Counts.load(runs[0] / "counts" / "predictions.parquet")
    bare = eh.audit(counts, by="gender", inference="none")
    found = make_artifact(
        "table7", [Run(bare.findings, bare.manifest, bare.counts)], mev="2", inference="none"
    )
    assert rows(found.table)[0]["model"] == "audit"


def test_the_command_line_makes_them(runs, tmp_path):
    words = ["artifact", "skewsize/figure4", *map(str, runs), "-p", "mev=2", "-o", str(tmp_path / "f.svg")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "<svg" in (tmp_path / "f.svg").read_text()
