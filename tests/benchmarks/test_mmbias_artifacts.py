"""Every table and figure of MMBias, made from real small runs, with its numbers checked."""

from __future__ import annotations

import base64
import io
import re
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

import evenhand as eh
from evenhand.benchmarks.catalogue import ARTIFACTS
from evenhand.benchmarks.mmbias.data.groups import PAPER_PAIRS, TARGETS
from evenhand.benchmarks.papers.mmbias import published
from evenhand.benchmarks.papers.mmbias.embedding_map import principal_components, separability
from evenhand.cli.main import app
from evenhand.core.errors import InputError
from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.mitigate.mitigation import Mitigation
from evenhand.report.figures.draw import drawing_engine
from evenhand.report.figures.table import sheet
from evenhand.workflows.outputs.artifact import artifact, write_artifact
from tests.benchmarks.mmbias_release import release

NAMES = [name for name in ARTIFACTS.names() if name.startswith("mmbias/")]
WIDTH = 16
pytestmark = pytest.mark.usefixtures("no_pages")


class Own:
    """Vectors from a hash of what is asked; words and images of one colour channel lean to one side."""

    version, logit_scale = "1", 10.0

    def _vector(self, key: str, lean: float) -> np.ndarray:
        vector = np.random.default_rng(zlib.crc32(key.encode())).normal(size=WIDTH)
        vector[0] += lean
        return vector.astype(np.float32)

    def embed_images(self, images):
        return np.stack(
            [self._vector(image.tobytes().hex(), float(image[0, 0, 0]) / 100) for image in images]
        )

    def embed_texts(self, texts):
        leans = [2.0 if "bad" in text or "muslim" in text else -1.0 for text in texts]
        return np.stack([self._vector(text, lean) for text, lean in zip(texts, leans, strict=True)])


class Matches:
    version = "1"

    def match(self, images, texts):
        keys = [image.tobytes() + text.encode() for image, text in zip(images, texts, strict=True)]
        return np.array([zlib.crc32(key) / 2**32 for key in keys], dtype=np.float32)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return release(tmp_path_factory.mktemp("mmbias"), phrases=6, words=10, images=6)


@pytest.fixture(scope="module")
def run_folders(data, tmp_path_factory) -> dict[str, Path]:
    """One run of each kind."""
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("runs")
    few = {"pairs": "muslim:christian,arab:american,lgbt:heterosexual"}
    eh.run("mmbias/association", model=Own(), data=data, parameters=few, out=folder / "association")
    eh.run("mmbias/matching", model=Matches(), data=data, parameters=few, out=folder / "matching")
    given = {"remove": 3, "form": "cross-modal", "parameters": {"stop_at_zero": False}}
    eh.debias(folder / "association", method="pruning", out=folder / "debias", **given)
    return {name: folder / name for name in ("association", "matching", "debias")}


def inputs_of(name: str, run_folders: dict[str, Path], data: Path) -> dict[str, object]:
    runs = {
        "table2": ["association", "matching"], "table3": ["debias"], "tradeoff": ["debias"],
        "figure4": ["association", "debias"], "figure5": ["association"],
    }.get(name.rpartition("/")[2], [])  # fmt: skip
    return {"runs": [run_folders[one] for one in runs], "data": None if runs else data}


@pytest.mark.parametrize("name", NAMES)
def test_each_is_made_and_is_the_same_again(name, run_folders, data, tmp_path):
    found = artifact(name, **inputs_of(name, run_folders, data))
    assert found.table.height > 0
    assert drawing_engine().vegalite_to_vega(found.spec())  # tests/gallery draws each, at night
    again = artifact(name, **inputs_of(name, run_folders, data))
    assert again.table.equals(found.table)
    for end in (".html", ".csv", ".json", ".parquet"):
        write_artifact(found, tmp_path / f"made{end}")
        assert (tmp_path / f"made{end}").stat().st_size > 100


def test_the_eight_of_the_specification_are_there():
    assert NAMES == [
        "mmbias/figure2", "mmbias/figure3", "mmbias/figure4", "mmbias/figure5", "mmbias/table1",
        "mmbias/table2", "mmbias/table3", "mmbias/tradeoff",
    ]  # fmt: skip


def test_table1_counts_groups_phrases_and_images(data):
    table = artifact("mmbias/table1", [], data=data).table
    ours = table.filter(pl.col("source") == "ours")
    assert ours.height == 20
    groups = ours.filter(pl.col("class") != "Valence")
    assert groups.height == 18
    assert (groups["phrases"] == 6).all()
    assert dict(ours.select("group", "images").iter_rows())["French"] == 0
    assert groups["images"].sum() == 14 * 6
    paper = table.filter(pl.col("source") == "paper")
    assert paper["phrases"].sum() == 350
    assert paper["images"].sum() == 3500
    assert dict(paper.select("group", "class").iter_rows())["LGBTQ"] == "Sexual Orientation"


def test_what_the_paper_prints_is_complete():
    assert tuple(published.TABLE2) == PAPER_PAIRS
    columns = list(zip(*published.TABLE2.values(), strict=True))
    assert [sum(value is not None for value in column) for column in columns] == [15, 19, 15, 15, 15]
    groups = {name for names in published.CLASSES.values() for name in names}
    assert groups == {group.name for group in TARGETS}
    for pair, (before, after, percent) in published.TABLE3.items():
        assert before == published.TABLE2[pair][0]
        assert abs(100 * (1 - after / before) - percent) < 2


def test_table2_has_the_findings_of_each_run_beside_the_paper(run_folders):
    runs = [eh.Run.read(run_folders[name]) for name in ("association", "matching")]
    table = artifact("mmbias/table2", runs).table
    ours = table.filter(pl.col("source") == "ours")
    assert sorted(ours["form"].unique()) == ["cross-modal", "matching", "textual", "visual"]
    assert ours.height == 12
    for row in ours.to_dicts():
        run = runs[row["form"] == "matching"]
        name = "match_association" if row["form"] == "matching" else "association_effect_size"
        more = {"reading": "per_image_joint"} if row["form"] == "matching" else {"form": row["form"]}
        finding = run.finding(name, targets=[row["x"], row["y"]], **more)
        assert row["value"] == finding.value
        assert row["low"] == finding.interval.low
        assert row["p_adjusted"] == finding.p_adjusted
    printed = table.filter(
        (pl.col("x") == "muslim") & (pl.col("y") == "christian") & (pl.col("source") == "paper")
    )
    assert printed["value"].to_list() == [1.72, 1.48, 1.61, 0.37, 0.45]
    assert table["pair"].n_unique() == 19
    only = artifact("mmbias/table2", runs[1:]).table
    assert set(only["form"]) == {"matching"}


def test_figure5_has_the_likeliest_words_and_their_sentiment(run_folders):
    run = eh.Run.read(run_folders["association"])
    found = artifact("mmbias/figure5", [run], parameters={"k": "4"})
    assert sorted(found.table["group"].unique()) == [
        "American",
        "Arab",
        "Christian",
        "Hetero.",
        "LGBTQ",
        "Muslim",
    ]
    assert (found.table.group_by("group").len()["len"] == 4).all()
    images = pl.read_parquet(run_folders["association"] / "evidence/images/*.parquet")
    texts = pl.read_parquet(run_folders["association"] / "evidence/texts/*.parquet")
    words = [f"{kind} {n}" for kind in ("bad", "good") for n in range(10)]
    vectors = dict(texts.select("sample", "vector").iter_rows())
    group = images.filter(pl.col("sample").str.starts_with("muslim/"))
    assert group.height == 6
    cosines = (
        normalised(np.array(group["vector"].to_list())) @ normalised(np.array([vectors[w] for w in words])).T
    )
    likely = np.exp(10 * cosines)
    mean = (likely / likely.sum(1, keepdims=True)).mean(0)
    order = np.argsort(-mean)[:4]
    muslim = found.table.filter(pl.col("group") == "Muslim").sort("rank")
    assert muslim["word"].to_list() == [words[place] for place in order]
    np.testing.assert_allclose(muslim["value"], mean[order], rtol=1e-6)
    assert muslim["sentiment"].to_list() == ["unpleasant" if place < 10 else "pleasant" for place in order]
    pleasant = sum(place >= 10 for place in order)
    assert f"Muslim {pleasant} of 4" in found.notes[1]
    with pytest.raises(InputError, match="possible: auto, softmax, argmax, cosine"):
        artifact("mmbias/figure5", [run], parameters={"reading": "loud"})


def test_table3_shows_the_held_out_half(run_folders):
    run = eh.Run.read(run_folders["debias"])
    table = artifact("mmbias/table3", [run]).table.filter(part="association")
    ours, paper = (table.filter(pl.col("source") == source) for source in ("ours", "paper"))
    assert paper.height == 10
    assert paper["less"].to_list()[0] == 0.66
    assert ours.height == 3
    rows = {(row["x"], row["y"]): row for row in run.tables["before_after"].to_dicts()}
    for row in ours.to_dicts():
        of = rows[row["x"], row["y"]]
        assert row["held_out_after"] == of["held_out_after"]
        assert row["reduction"] == pytest.approx(abs(of["held_out_before"]) - abs(of["held_out_after"]))
        assert row["removed"] == 3


def test_table3_has_the_accuracy_that_a_mitigation_costs(run_folders):
    run = eh.Run.read(run_folders["debias"])
    of_cifar = run.tables["utility"].filter(pl.col("measure").str.ends_with("accuracy"))
    of_cifar = of_cifar.with_columns(on=pl.lit("my-cifar100"), before=pl.lit(0.9), after=pl.lit(0.75))
    tables = {**run.tables, "utility": pl.concat([run.tables["utility"], of_cifar])}
    table = artifact("mmbias/table3", [eh.Run(run.findings, run.manifest, run.counts, tables)]).table
    table = table.filter(part="accuracy")
    printed = {row["form"]: row for row in table.filter(source="paper").to_dicts()}
    assert printed["accuracy on MMBias"]["lost"] == 0.011
    assert [printed["accuracy on CIFAR-100"][name] for name in ("before", "after")] == [0.801, 0.788]
    cells = table.filter(source="ours").select("form", "measure", "pair", "before", "after", "lost").rows()
    expected = {
        (f"accuracy on {data}", row["measure"].replace("_", " "), None, row["before"], row["after"])
        for on, data in (("groups", "MMBias"), ("my-cifar100", "CIFAR-100"))
        for row in tables["utility"].to_dicts()
        if row["on"] == on and row["measure"].endswith("accuracy")
    }
    assert {cell[:5] for cell in cells} == expected
    assert all(lost == before - after for *_, before, after, lost in cells)


def stood(run, x, y, p_value):
    """A run whose held-out association before, of one pair, has this p."""
    findings = [
        one.model_copy(update={"p_value": p_value, "p_adjusted": p_value, "interval": None})
        if (one.name, one.params.get("stage"), one.params.get("half"), one.params.get("targets"))
        == ("association_effect_size", "before", "held_out", [x, y])
        else one
        for one in run.findings.findings
    ]
    return eh.Run(
        run.findings.model_copy(update={"findings": findings}), run.manifest, run.counts, run.tables
    )


def test_table3_has_no_share_of_what_chance_explains(run_folders):
    run = eh.Run.read(run_folders["debias"])
    of = run.tables["before_after"].to_dicts()[0]
    for p_value, less, reason in (
        (0.001, pytest.approx(1 - abs(of["after"]) / abs(of["before"])), None),
        (0.2, None, "the association before is within chance on held-out items"),
    ):
        found = artifact("mmbias/table3", [stood(run, of["x"], of["y"], p_value)])
        mine = (pl.col("source") == "ours") & (pl.col("x") == of["x"]) & (pl.col("y") == of["y"])
        row = found.table.filter(mine).to_dicts()[0]
        assert (row["less"], row["reason"]) == (less, reason)
    shown = sheet(found.figures[0], found.table)
    place = shown.headings.index("less")
    assert {cells[place] for cells in shown.cells} >= {"66.0%", "–"}
    assert all(re.fullmatch(r"–|−?\d+\.\d%", cells[place]) for cells in shown.cells)


def test_tradeoff_has_both_halves_random_removal_and_utility(run_folders):
    table = artifact("mmbias/tradeoff", [eh.Run.read(run_folders["debias"])]).table
    assert set(table["part"]) == {"association", "utility"}
    series = set(table.filter(pl.col("part") == "association")["series"])
    assert series == {"held-out", "fit", "held-out, random", "fit, random"}
    assert table["amount"].min() == 0
    start = table.filter((pl.col("amount") == 0) & (pl.col("part") == "association"))
    held = dict(start.select("series", "value").iter_rows())
    assert held["held-out"] == pytest.approx(held["held-out, random"]), "nothing removed, nothing changed"
    with pytest.raises(InputError, match="has no mitigation 'x'; it has mitigation"):
        artifact("mmbias/tradeoff", [run_folders["debias"]], parameters={"mitigation": "x"})


def test_figure4_is_before_and_after_with_numbers(run_folders):
    found = artifact("mmbias/figure4", [run_folders["association"], run_folders["debias"]])
    points = found.table.filter(pl.col("part") == "map")
    assert points["stage"].unique(maintain_order=True).to_list() == ["before", "after pruning"]
    assert (points.group_by("stage").len()["len"] == 36).all()
    numbers = found.table.filter(pl.col("part") == "separability")
    images = pl.read_parquet(run_folders["association"] / "evidence/images/*.parquet")
    order = points.filter(pl.col("stage") == "before")
    vectors = dict(images.select("sample", "vector").iter_rows())
    own = np.array([vectors[sample] for sample in order["sample"]])
    for stage, change in (
        ("before", None),
        ("after pruning", run_folders["debias"] / "mitigation.safetensors"),
    ):
        after = own if change is None else Mitigation.load(change).transform(own, "image")
        far = separability(principal_components(np.asarray(after, dtype=float)), order["group"].to_list())
        told = dict(numbers.filter(pl.col("stage") == stage).select("measure", "value").iter_rows())
        assert told["kNN accuracy, components"] == far["knn_accuracy"]
        assert told["silhouette, components"] == pytest.approx(far["silhouette"])
    again = artifact("mmbias/figure4", [run_folders["association"]], parameters={"modality": "text"})
    assert set(again.table["stage"]) == {"before"}
    with pytest.raises(InputError, match="from one run of mmbias/association"):
        artifact("mmbias/figure4", [run_folders["debias"]])


def test_figure4_takes_one_of_a_runs_mitigations_by_name(run_folders, tmp_path):
    eh.debias(run_folders["association"], remove=3, form="cross-modal", pairs="each", out=tmp_path / "each",
              parameters={"stop_at_zero": False})  # fmt: skip
    runs = [run_folders["association"], tmp_path / "each"]
    found = artifact("mmbias/figure4", runs, parameters={"mitigation": "arab--american"})
    assert set(found.table["stage"]) == {"before", "after pruning of arab--american"}
    for choice in ("", "arab--chinese"):
        with pytest.raises(InputError, match=r"mitigation=NAME: arab--american, lgbt--heterosexual, muslim"):
            artifact("mmbias/figure4", runs, parameters={"mitigation": choice})


def test_separability_of_known_points():
    rng = np.random.default_rng(0)
    names = ["a"] * 40 + ["b"] * 40
    apart = np.concatenate([rng.normal(0, 1, (40, 3)), rng.normal(50, 1, (40, 3))])
    assert separability(apart, names)["knn_accuracy"] == 1
    assert separability(apart, names)["silhouette"] > 0.9
    mixed = separability(rng.normal(size=(80, 3)), names)
    assert 0.25 < mixed["knn_accuracy"] < 0.75
    assert abs(mixed["silhouette"]) < 0.1
    vectors = rng.normal(size=(30, 8))
    points = principal_components(vectors)
    unit = normalised(vectors)
    np.testing.assert_allclose(
        np.linalg.norm(points[:, None] - points[None], axis=2),
        np.linalg.norm(unit[:, None] - unit[None], axis=2),
        atol=1e-12,
    )


def test_figure3_measures_every_image(data):
    found = artifact("mmbias/figure3", [], data=data)
    assert found.table.height == 16 * 6
    assert (found.table["area"] == 0.064).all()
    assert set(found.table["class"]) == {*published.CLASSES, "Valence"}


def test_pictures_come_only_when_asked_for_and_are_small(data, tmp_path):
    listed = artifact("mmbias/figure2", [], data=data)
    assert "picture" not in listed.table.columns
    assert "add -p images=yes" in listed.notes[0]
    assert "data:image" not in listed.html()
    shown = artifact("mmbias/figure2", [], data=data, parameters={"images": "yes", "of_each": "2"})
    assert shown.table.height == 16 * 2
    assert shown.table["picture"].str.starts_with("data:image/jpeg;base64,").all()
    with Image.open(io.BytesIO(base64.b64decode(shown.table["picture"][0].partition(",")[2]))) as image:
        assert max(image.size) <= 96
    assert "do not pass this file on" in shown.notes[0]
    assert shown.table["url"][0].startswith("https://photos.example/")
    assert "<td>data:image" not in shown.html()


def test_what_is_missing_is_told_in_one_line(run_folders, data, tmp_path):
    runner = CliRunner()

    def refusal(*arguments: str) -> str:
        result = runner.invoke(app, ["artifact", *arguments, "-o", str(tmp_path / "made.png")])
        assert isinstance(result.exception, InputError), result.output
        assert "\n" not in str(result.exception)
        return str(result.exception)

    assert "needs the table 'before_after'" in refusal("mmbias/table3", str(run_folders["association"]))
    assert "evenhand debias RUN --method" in refusal("mmbias/tradeoff", str(run_folders["association"]))
    assert "needs effect sizes of pairs" in refusal("mmbias/table2", str(run_folders["debias"]))
    assert "made from the benchmark's data; add --data DIR" in refusal("mmbias/figure2")
    phrases = tmp_path / "phrases"
    phrases.mkdir()
    (phrases / "textual_phrases.txt").write_bytes((data / "data" / "textual_phrases.txt").read_bytes())
    assert "--data has none; put the image zips there" in refusal("mmbias/figure3", "--data", str(phrases))
