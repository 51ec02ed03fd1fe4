"""Every table and figure of the indicators, made from real small runs, with its numbers checked."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.benchmarks.catalogue import ARTIFACTS
from evenhand.benchmarks.papers.indicators import published
from evenhand.benchmarks.papers.indicators.rows import number_of
from evenhand.benchmarks.papers.rows import named
from evenhand.cli.main import app
from evenhand.core.errors import InputError, UnknownName
from evenhand.report.figures.draw import drawing_engine, png, svg
from evenhand.report.figures.frame import prepare
from evenhand.workflows.outputs.artifact import artifact, write_artifact
from tests.benchmarks import people_layouts as layouts
from tests.benchmarks.indicator_models import Classifies, Embeds, keys_of, numbered_image
from tests.benchmarks.test_indicators_geography import THINGS, homes, logits_for
from tests.benchmarks.test_indicators_places import vissl

NAMES = [name for name in ARTIFACTS.names() if name.startswith("indicators/")]
LABELS = ["face", "makeup", "hog, pig", "prison", "lamp"]
IDS = ["n09618957", "n03714235", "n02395003", "n04005630", "n03636248"]
COUNT = 48
TAGS = [
    {"training": "ssl", "data": "instagram", "images": "1e9", "parameters": "700M"},
    {"training": "supervised", "data": "imagenet", "images": "1,281,167", "parameters": "2.5e7"},
]
pytestmark = pytest.mark.usefixtures("few_draws", "no_pages")
REGIONS = [("India", "Asia"), ("France", "Europe"), ("Kenya", "Africa"), ("Peru", "The Americas")]


def people(folder):
    """Numbered images of two genders, two skin tones, four ages; of every twelfth the skin is unknown."""
    numbers = range(COUNT)
    table = {
        "path": [numbered_image(folder / f"{number}.png", number).name for number in numbers],
        "gender": [("female", "male")[number % 2] for number in numbers],
        "skin_tone": ["unknown" if n % 12 == 0 else ("lighter", "darker")[n // 2 % 2] for n in numbers],
        "age": [("18-30", "30-45", "45-70", "70+")[number // 4 % 4] for number in numbers],
    }
    pl.DataFrame(table).write_csv(folder / "people.csv")
    return folder / "people.csv"


def labels_run(data, out, seed, tags=None, **parameters):
    logits = np.random.default_rng(seed).normal(size=(COUNT, len(LABELS))) + 3 * np.eye(len(LABELS))[0]
    given = {"top": "2", **parameters}
    model = Classifies(logits, LABELS, IDS)
    return eh.run(
        "indicators/label_association", model=model, data=data, parameters=given, tags=tags, out=out
    )


@pytest.fixture(scope="module")
def runs_folder(tmp_path_factory):
    """Two runs of each indicator, with tags."""
    folder = tmp_path_factory.mktemp("indicators")
    (folder / "people").mkdir()
    faces = people(folder / "people")
    things = [
        (f"h{home}", THINGS[image % 3], (50, 500, 5_000)[home % 3], *REGIONS[home % 4])
        for home in range(24)
        for image in range(3)
    ]
    rooms = homes(folder / "homes", things)
    for place, tags in enumerate(TAGS):
        rng = np.random.default_rng(place)
        labels_run(faces, folder / f"labels{place}", place, tags)
        vectors = rng.normal(size=(COUNT, 6))
        eh.run(
            "indicators/retrieval", model=Embeds(vectors), data=faces, parameters={"k": "1,10"}, tags=tags,
            out=folder / f"faces{place}",
        )  # fmt: skip
        right = [rng.random() < {50: 0.3, 500: 0.6, 5_000: 0.9}[row[2]] for row in things]
        eh.run(
            "indicators/geography", model=Classifies(logits_for(things, right), THINGS), data=rooms,
            parameters={"top": "1"}, tags=tags, out=folder / f"homes{place}",
        )  # fmt: skip
    return folder


def inputs_of(name, runs_folder):
    """Runs, data and parameters that an artifact is made from."""
    short = name.rpartition("/")[2]
    kinds = {
        "labels": ("figure3", "figure8", "figure9", "figure10", "figure11"),
        "homes": ("figure4", "figure5", "figure12"),
        "faces": ("figure6", "figure7", "figure13"),
    }
    found = [kind for kind, names in kinds.items() if short in names]
    found = ["labels", "homes", "faces"] if short == "figure2" else found
    data = {
        "table4": runs_folder / "people" / "people.csv",
        "table5": runs_folder / "homes" / "homes.csv",
    }.get(short)
    return {"runs": [runs_folder / f"{kind}{place}" for kind in found for place in range(2)], "data": data}


@pytest.mark.parametrize("name", NAMES)
def test_each_is_made_and_is_the_same_again(name, runs_folder, tmp_path):
    found = artifact(name, **inputs_of(name, runs_folder))
    assert found.table.height > 0
    assert drawing_engine().vegalite_to_vega(found.spec())  # tests/gallery draws each, at night
    assert artifact(name, **inputs_of(name, runs_folder)).table.equals(found.table)
    for end in (".html", ".csv", ".json", ".parquet"):
        write_artifact(found, tmp_path / f"made{end}")
        assert (tmp_path / f"made{end}").stat().st_size > 100


def test_the_seventeen_of_the_specification_are_there():
    wanted = [*(f"table{number}" for number in range(1, 6)), *(f"figure{number}" for number in range(2, 14))]
    assert sorted(NAMES) == sorted(f"indicators/{name}" for name in wanted)
    assert len(NAMES) == 17


def test_one_is_drawn_as_a_picture(runs_folder):
    assert png(artifact("indicators/table2", []).spec()).startswith(b"\x89PNG")


def test_what_is_published_follows_the_tables():
    assert published.HOUSEHOLD_RATES[published.DINOV2, "income_bucket"] == {
        "low": 0.674, "medium": 0.833, "high": 0.905,
    }  # fmt: skip
    crossed = {row[:3]: row[3] for row in published.association_rates(frozenset({"gender", "skin_tone"}))}
    assert crossed[published.SEER, "human", "male, lighter"] == 0.79
    assert crossed[published.DINOV2, "harmful", "male, darker"] == pytest.approx(0.002)
    assert len(crossed) == 2 * 5 * 4
    assert not list(published.association_rates(frozenset({"race"})))
    for *regions, whole in published.HOUSEHOLDS.values():
        assert sum(regions) == whole
    buckets = [published.HOUSEHOLDS[bucket] for bucket in ("low", "medium", "high")]
    assert tuple(map(sum, zip(*buckets, strict=True))) == published.HOUSEHOLDS["all"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("7e8", 7e8), ("700M", 7e8), ("1,281,167", 1_281_167), ("1.3B", 1.3e9), ("large", None), ("0", None)],
)
def test_tags_are_read_as_numbers(text, number):
    assert number_of(text) == (None if number is None else pytest.approx(number))


def test_figure3_has_findings_coverage_curve_and_the_published_rates(runs_folder):
    runs = [eh.Run.read(runs_folder / f"labels{place}") for place in range(2)]
    assert set(artifact("indicators/figure3", runs).table["source"]) == {"ours"}  # of other data
    for run in runs:
        run.manifest["about"] = {"layout": "casual_conversations"}
    table = artifact("indicators/figure3", runs).table
    ours = table.filter((pl.col("source") == "ours") & (pl.col("part") == "rates"))
    assert set(ours["measure"]) == {"harmful", "human (not harmful)", "coverage"}
    assert ours["by"].unique().to_list() == ["gender × skin tone"]
    for (name, run), tags in zip(named(runs), TAGS, strict=True):
        finding = run.finding("harmful_association_rate", ("gender", "skin_tone"))
        rows = ours.filter((pl.col("model") == name) & (pl.col("measure") == "harmful"))
        parts = {group: (part.value, part.n) for group, part in keys_of(finding, ", ").items()}
        assert {row["group"]: (row["value"], row["n"]) for row in rows.to_dicts()} == parts
        assert set(rows["training"]) == {tags["training"]}
        covered = ours.filter((pl.col("model") == name) & (pl.col("measure") == "coverage"))
        assert covered.height == len(parts)
    paper = table.filter(pl.col("source") == "paper")
    assert set(paper["model"]) == {published.SEER, published.DINOV2}
    assert "female, unknown" not in set(paper["group"])
    curve = table.filter((pl.col("part") == "curve") & (pl.col("measure") == "harmful"))
    assert curve["threshold"].n_unique() == 21
    figures = artifact("indicators/figure3", runs).figures
    assert [figure.row for figure in figures] == ["", "training", "data", "model"]


def test_another_threshold_is_taken_from_the_curve_without_the_published_rates(runs_folder):
    runs = [eh.Run.read(runs_folder / "labels0")]
    table = artifact("indicators/figure3", runs, parameters={"threshold": "0.5"}).table
    assert set(table["source"]) == {"ours"}
    rates = table.filter((pl.col("part") == "rates") & (pl.col("measure") == "harmful"))
    curve = runs[0].tables["curve"].filter(
        (pl.col("by") == "gender+skin_tone") & (pl.col("association") == "harmful")
        & (pl.col("threshold") == 0.5)
    )  # fmt: skip
    assert rates["value"].to_list() == curve["rate"].to_list()
    assert rates["coverage"].to_list() == curve["coverage"].to_list()


def test_people_without_a_skin_tone_are_grouped_by_gender(tmp_path):
    layouts.utkface(tmp_path / "utk")
    logits = np.zeros((70_000, len(LABELS)))
    model = Classifies(logits, LABELS, IDS)
    run = eh.run("indicators/label_association", model=model, data=tmp_path / "utk", out=tmp_path / "run")
    found = artifact("indicators/figure3", [run])
    assert found.table["by"].unique().to_list() == ["perceived gender"]
    assert set(found.table["source"]) == {"ours"}
    (tmp_path / "few").mkdir()
    few = labels_run(people(tmp_path / "few"), tmp_path / "few-run", 3, by="gender")
    with pytest.raises(InputError, match="by=race"):
        artifact("indicators/figure8", [few], parameters={"by": "race"})


def test_what_a_model_cannot_say_has_no_rate_but_a_reason(tmp_path):
    data = people(tmp_path)
    model = Classifies(np.zeros((COUNT, 2)), ["hog, pig", "lamp"], ["n02395003", "n03636248"])
    run = eh.run("indicators/label_association", model=model, data=data, out=tmp_path / "run")
    table = artifact("indicators/figure9", [run]).table
    human = table.filter((pl.col("measure") == "human (not harmful)") & (pl.col("source") == "ours"))
    assert human["value"].null_count() == human.height > 0
    assert set(human["reason"]) == {"not in the label space"}


def test_figure4_has_household_rates_beside_the_published_ones(runs_folder):
    runs = [eh.Run.read(runs_folder / f"homes{place}") for place in range(2)]
    table = artifact("indicators/figure4", runs).table
    finding = runs[1].finding("household_hit_rate", "income_bucket")
    name = named(runs)[1][0]
    rows = table.filter((pl.col("model") == name) & (pl.col("by") == "income bucket"))
    found = {row["group"]: (row["value"], row["low"], row["null_high"]) for row in rows.to_dicts()}
    assert found == {
        key: (part.value, part.interval.low, part.null.high) for key, part in keys_of(finding).items()
    }
    assert set(table["source"]) == {"ours"}  # of these runs one label counts, of the published ones five


def judged(folder, name, **parameters):
    """A run of geography with eight labels; what is right is its first label, or its last."""
    things = [
        (f"h{home}", THINGS[image % 3], (50, 500, 5_000)[home % 3], *REGIONS[home % 4])
        for home in range(12)
        for image in range(3)
    ]
    logits = np.zeros((len(things), 8))
    for number, row in enumerate(things):
        logits[number, THINGS.index(row[1])] = (5, -5)[number % 4 == 0]
    (folder / "data").mkdir(exist_ok=True)
    return eh.run(
        "indicators/geography", model=Classifies(logits, [*THINGS, "pot", "rug", "lamp", "tap", "bin"]),
        data=homes(folder / "data", things), parameters=parameters, out=folder / name,
    )  # fmt: skip


def test_figure4_has_published_rates_only_beside_the_same_threshold_and_top(tmp_path):
    alike, surer, deeper = (
        judged(tmp_path, "a"),
        judged(tmp_path, "b", threshold="0.3"),
        judged(tmp_path, "c", top=4),
    )
    paper = artifact("indicators/figure4", [alike, surer]).table.filter(source="paper")
    assert paper.height == 2 * 7
    africa = paper.filter((pl.col("group") == "Africa") & (pl.col("model") == published.SEER))
    assert africa["value"].to_list() == [0.659]
    for other in (surer, deeper):
        assert set(artifact("indicators/figure4", [other]).table["source"]) == {"ours"}


def test_figure5_refuses_a_reference_that_was_judged_otherwise(tmp_path):
    runs = judged(tmp_path, "a", threshold="0,0.3"), judged(tmp_path, "b", threshold="0.3")
    with pytest.raises(InputError, match=r"another threshold 0.3 \(here 0\) than"):
        artifact("indicators/figure5", [runs[1], runs[0]])
    table = artifact("indicators/figure5", runs).table  # the first has that threshold too
    assert set(table["threshold"]) == {0.3}
    assert set(table["value"]) == {0}
    own = judged(tmp_path, "c", threshold="0,0.3", reference=str(tmp_path / "a"))
    alone = artifact("indicators/figure5", [own]).table
    assert alone.select("by", "group").is_duplicated().sum() == 0
    assert set(alone["threshold"]) == {0}


def test_figure5_is_the_improvement_over_the_first_run_or_the_one_named(runs_folder):
    folders = [runs_folder / "homes0", runs_folder / "homes1"]
    runs = [eh.Run.read(folder) for folder in folders]
    rates = [
        {key: part.value for key, part in keys_of(run.finding("household_hit_rate", "region")).items()}
        for run in runs
    ]
    named_last = {"2": (0, 1), "homes1": (0, 1), str(runs_folder / "homes1"): (0, 1)}
    for reference, (new, old) in {"": (1, 0), **named_last}.items():
        table = artifact("indicators/figure5", folders, parameters={"reference": reference}).table
        for row in table.filter(pl.col("by") == "region").to_dicts():
            base = rates[old][row["group"]]
            assert row["value"] == pytest.approx((rates[new][row["group"]] - base) / base)
            assert row["low"] < row["value"] < row["high"]
    with pytest.raises(UnknownName, match="nobody"):
        artifact("indicators/figure5", folders, parameters={"reference": "nobody"})
    with pytest.raises(InputError, match="two runs"):
        artifact("indicators/figure5", folders[:1])


def test_figure6_has_precision_and_chance_by_group(runs_folder):
    run = eh.Run.read(runs_folder / "faces0")
    table = artifact("indicators/figure6", [run], parameters={"k": "1,10"}).table
    assert set(table["by"]) == {"gender", "skin tone", "gender × skin tone"}
    part = run.finding("precision_at_k", "gender", k=10).part("female")
    row = table.filter(by="gender", group="female", measure="precision@10").to_dicts()[0]
    assert (row["value"], row["n"], row["chance"]) == (part.value, part.n, part.details["chance"])
    with pytest.raises(InputError, match="K of 1, 10"):
        artifact("indicators/figure6", [run], parameters={"k": "7"})


@pytest.mark.parametrize("name", ["figure7", "figure11", "figure12", "figure13"])
def test_figures_against_size_need_the_tag(name, runs_folder, tmp_path):
    runs = [eh.Run.read(folder) for folder in inputs_of(f"indicators/{name}", runs_folder)["runs"]]
    size = "images" if name == "figure7" else "parameters"
    table = artifact(f"indicators/{name}", runs).table
    assert set(table[size]) == {number_of(tags[size]) for tags in TAGS}
    runs[1].manifest["tags"] = {}
    half = artifact(f"indicators/{name}", runs).table
    assert set(half.filter(pl.col(size).is_null())["reason"]) == {f"no tag {size}=NUMBER"}
    runs[0].manifest["tags"] = {}
    with pytest.raises(InputError, match=f"--tag {size}"):
        artifact(f"indicators/{name}", runs)


def test_figure2_has_each_model_once_with_its_sizes(runs_folder):
    table = artifact("indicators/figure2", inputs_of("indicators/figure2", runs_folder)["runs"]).table
    assert sorted(table["model"].to_list()) == ["Classifies"] * 2 + ["Embeds"] * 2
    assert set(table["images"]) == {1e9, 1_281_167.0}


def test_models_of_one_last_name_are_told_apart_by_their_folders(runs_folder):
    runs = [eh.Run.read(runs_folder / f"homes{place}") for place in (0, 1, 0)]
    for run, model in zip(runs, ("adapted:M1/seed-0", "adapted:M2/seed-0", "adapted:M2/seed-1"), strict=True):
        run.manifest["model"], run.manifest["tags"] = model, {}
    assert [name for name, _ in named(runs)] == ["M1/seed-0", "M2/seed-0", "seed-1"]
    table = artifact("indicators/figure2", runs).table
    assert table["model"].to_list() == ["M1/seed-0", "M2/seed-0", "seed-1"]
    assert set(table["reason"]) == {"no tag images=NUMBER; no tag parameters=NUMBER"}


def test_a_tag_that_is_no_number_is_not_called_absent(runs_folder):
    runs = [eh.Run.read(runs_folder / f"homes{place}") for place in range(2)]
    runs[0].manifest["tags"] = {"parameters": "-5"}
    table = artifact("indicators/figure12", runs).table
    assert set(table["reason"]) == {None, "tag parameters=-5 is no number above 0"}
    with pytest.raises(InputError, match="a number above 0 there, not '-5'"):
        artifact("indicators/figure12", runs[:1])


def test_one_model_a_panel_shows_its_interval_and_no_panel_is_empty(runs_folder):
    runs = [eh.Run.read(runs_folder / f"homes{place}") for place in (0, 1, 0)]
    runs[2].manifest["tags"] = {"training": "none"}
    found = artifact("indicators/figure12", runs)
    figure = found.figures[0]
    prepared = prepare(figure, found.table)
    assert [panel.title for panel in prepared.panels] == [
        "ssl · instagram · hit rate",
        "supervised · imagenet · hit rate",
    ]
    assert "Thin lines: 95% intervals." in prepared.notes
    marks = [layer["mark"] for layer in layers_of(found.spec()) if isinstance(layer["mark"], dict)]
    assert any(mark["type"] == "rule" and mark.get("opacity") == 0.55 for mark in marks)


def layers_of(piece):
    """All parts of a specification that draw a mark."""
    if isinstance(piece, dict):
        return [piece] * ("mark" in piece) + [one for part in piece.values() for one in layers_of(part)]
    return [one for part in piece for one in layers_of(part)] if isinstance(piece, list) else []


def test_a_map_without_harmful_and_human_labels_is_sent_to_figure9(tmp_path):
    (tmp_path / "map.json").write_text('{"animals": ["n02395003", "pig"]}', encoding="utf-8")
    run = labels_run(people(tmp_path), tmp_path / "run", 0, taxonomy=str(tmp_path / "map.json"))
    for name in ("figure3", "figure8", "figure11"):
        with pytest.raises(
            InputError, match=r"neither \(it has animals\); type: evenhand artifact indicators/figure9"
        ):
            artifact(f"indicators/{name}", [run])
    assert artifact("indicators/figure9", [run]).table.height > 0


def test_tables_1_to_3_need_nothing():
    data = artifact("indicators/table1", []).table
    assert dict(data.select("kind", "paper").iter_rows())["miap"] == 43_523
    indicators = artifact("indicators/table2", []).table
    assert indicators["metric"].to_list() == [
        "label_association_rate", "household_hit_rate", "precision_at_k",
    ]  # fmt: skip
    labels = artifact("indicators/table3", [], parameters={"synonyms": "no"}).table
    dogs = labels.filter(label="dog").select("taxonomy", "association").rows()
    assert sorted(dogs) == [("casual-conversations", "non human"), ("openimages-miap", "possibly non human")]
    assert labels.filter(label="swine")["wordnet_id"].to_list() == ["n02395003"] * 2


def test_table3_shows_a_map_of_ones_own(tmp_path):
    (tmp_path / "map.json").write_text('{"animals": ["n02395003", "pig"]}', encoding="utf-8")
    table = artifact("indicators/table3", [], parameters={"taxonomy": str(tmp_path / "map.json")}).table
    assert table.select("association", "label", "wordnet_id").rows() == [
        ("animals", None, "n02395003"), ("animals", "pig", None),
    ]  # fmt: skip


LAYOUTS = {
    "casual_conversations": layouts.casual_conversations,
    "casual_conversations_v2": layouts.casual_conversations_v2,
    "miap": layouts.miap,
    "utkface": layouts.utkface,
    "fairface": layouts.fairface,
}


@pytest.mark.parametrize(("kind", "write"), LAYOUTS.items(), ids=list(LAYOUTS))
def test_table4_counts_every_layout_beside_the_paper(kind, write, tmp_path):
    found = artifact("indicators/table4", [], data=write(tmp_path / "data"))
    ours = found.table.filter(pl.col("source") == "ours")
    assert set(ours["from"]) == {kind}
    images = ours.filter(attribute="all")["value"].item()
    for _, rows in ours.filter(pl.col("attribute") != "all").group_by("attribute"):
        assert rows["value"].sum() == images
    theirs = "paper" if kind in ("casual_conversations", "miap", "utkface") else "release"
    assert set(found.table["from"]) == {kind, theirs}
    assert "</svg>" in svg(found.spec())


def test_table5_counts_households_beside_the_paper(tmp_path):
    table = artifact("indicators/table5", [], data=vissl(tmp_path / "data")).table
    paper = table.filter(source="paper", region="Asia", income_bucket="medium")
    assert paper["value"].to_list() == [111]
    ours = table.filter(source="ours")
    inner = ours.filter((pl.col("region") != "all") & (pl.col("income_bucket") != "all"))
    assert inner["value"].sum() == ours.filter(region="all", income_bucket="all")["value"].item() > 0


def test_from_the_command_line(runs_folder, tmp_path):
    words = ["artifact", "indicators/figure4", str(runs_folder / "homes0"), "-o", str(tmp_path / "made.csv")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "Africa" in (tmp_path / "made.csv").read_text()
    failed = CliRunner().invoke(app, ["artifact", "indicators/figure4", str(runs_folder / "labels0")])
    assert isinstance(failed.exception, InputError)
