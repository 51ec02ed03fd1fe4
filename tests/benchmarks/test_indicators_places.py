"""Dollar Street in its two layouts and in tables of one's own; which labels name what a household has."""

import json
import math
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from evenhand.benchmarks.datasets.download_source import DATA
from evenhand.benchmarks.indicators.households import dollar_street
from evenhand.benchmarks.indicators.households import samples as household_samples
from evenhand.benchmarks.indicators.households.concept_maps import NO_CLASS, NO_THING, map_concepts
from evenhand.benchmarks.indicators.households.dollar_street import image_checksum, read_list
from evenhand.benchmarks.indicators.households.layouts import HOUSEHOLD_KINDS, read_households
from evenhand.cli.commands.data import data_app
from evenhand.core.errors import Incomplete, InputError, ParameterError, UnknownName
from evenhand.evidence.household_hits import HouseholdHits
from tests.benchmarks.people_layouts import picture, write_csv

VECTORS = Path(__file__).resolve().parents[1] / "papers" / "vectors" / "indicators" / "geo_diversity.json"

HEADER = [
    "id", "country.name", "country.id", "region.id", "type", "imageRelPath", "topics", "place", "income",
    "imagenet_synonyms", "imagenet_sysnet_id",
]  # fmt: skip


def row(id_, country, region, topics, place, income, synonyms, classes, *, kind="image", ending="jpg"):
    path = f"assets/{id_}/{id_}.{ending}"
    return [id_, country, country[:2].lower(), region, kind, path, topics, place, income, synonyms, classes]


MLCOMMONS = [
    row("5d4b", "China", "as", "['lock on front door', 'front door']", "liu", "4734", "['padlock']", "[695]",
        ending="JPG"),
    row("aa", "China", "as", "['beds']", "liu", "4734", "['studio couch', 'quilt']", "[831, 750]"),
    row("bb", "Burundi", "af", "['toothbrushes']", "liu", "26.99", "[]", "[]"),
    row("cc", "France", "eu", "['stoves']", "marc", "90.02", "['stove']", "[827]"),
    row("dd", "Brazil", "am", "['stoves']", "ana", "2000", "['stove']", "[827]"),
    row("ee", "Brazil", "am", "['stoves']", "ana", "2000", "['stove']", "[827]", kind="video", ending="mp4"),
    row("ff", "Brazil", "am", "__import__('os')", "ana", "2000", "[]", "[]"),
    row("gg", "Brazil", "am", "['stoves']", "ana", "2000", "['stove']", "[827]"),
]  # fmt: skip


def entry(household, label, checksum, income=45.5, country="India", region="Asia"):
    url = f"http://x/media/{country}%201/image/{household}/480x480-{checksum}.jpg"
    return {
        "_id": household,
        "label": label,
        "country": country,
        "region": region,
        "income": income,
        "url": url,
    }


VISSL = [
    entry("h1", "cups", "c0"),
    entry("h1", "plates", "c0"),
    entry("h1", "beds", "c1"),
    entry("h2", "plates_of_food", "c2", 27, "Burundi", "Africa"),
    entry("h3", "stoves/hobs", "c3", "1808.05", "USA", "The Americas"),
    entry("h4", "beds", "c4", 0, "USA", "The Americas"),
    entry("h5", "beds", "c5", 40_000, "Sweden", "Europe"),
]


def vissl(folder, entries=VISSL, name="metadata_full_dollar_street.json", images=True):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(entries), encoding="utf-8")
    for each in entries if images else ():
        seed = sum(map(ord, each["url"].rpartition("-")[2]))
        picture(folder / "images" / each["label"] / f"{each['_id']}.jpg", seed=seed)
    return folder


def mlcommons(folder, rows=MLCOMMONS, name="images_v2_imagenet_test.csv"):
    write_csv(folder / name, HEADER, rows)
    for seed, row in enumerate(rows):
        if row[4] == "image" and row[0] != "gg":
            picture(folder / row[5], seed=seed)
    return folder


def own(folder):
    rows = [
        ["a.png", "1", "stove", "50"],
        ["b.png", "1", "['stove', 'pan']", "50"],
        ["a.png", "1", "oven", "50"],
    ]
    for seed, name in enumerate(("a.png", "b.png")):
        picture(folder / name, seed=seed)
    return write_csv(folder / "mine.csv", ["image", "household", "concept", "income"], rows).parent


WRITERS = {"dollar_street": vissl, "dollar_street_mlcommons": mlcommons, "table": own}
each_layout = pytest.mark.parametrize(("kind", "write"), WRITERS.items(), ids=WRITERS)


@each_layout
def test_every_layout_is_recognised_and_has_one_shape(kind, write, tmp_path):
    assert list(HOUSEHOLD_KINDS) == list(WRITERS)
    found = read_households(write(tmp_path))
    assert found.name == kind
    assert found.annotations.columns == [
        "sample", "image", "household", "country", "region", "income", "income_bucket", "concepts",
        "imagenet_classes",
    ]  # fmt: skip
    assert found.annotations["sample"].n_unique() == found.annotations.height == len(found.images) > 0
    for index in range(len(found.images)):
        assert found.images.load(index).shape == (8, 8, 3)
    assert read_households(tmp_path, kind).annotations.equals(found.annotations)


def test_an_image_under_several_labels_is_one_that_shows_all_of_them(tmp_path):
    found = read_households(vissl(tmp_path))
    first = found.annotations.row(0, named=True)
    assert first["sample"] == "cups/h1.jpg"
    assert first["concepts"] == ["cups", "plates"]
    assert found.notes[household_samples.SAME_IMAGE] == found.notes[household_samples.SEVERAL_CONCEPTS] == 1
    assert (found.annotations.height, found.dropped) == (6, {})
    assert [(each.present, each.expected) for each in found.coverage] == [(7, 7)]


def test_the_released_code_has_a_sample_for_each_label(tmp_path):
    found = read_households(vissl(tmp_path), duplicates="keep")
    assert found.annotations["sample"].to_list()[:3] == ["cups/h1.jpg", "plates/h1.jpg", "beds/h1.jpg"]
    assert found.annotations["image"].to_list()[:3] == ["0", "0", "1"]
    assert found.annotations["concepts"].list.len().to_list() == [1] * 7
    assert household_samples.SAME_IMAGE not in found.notes


def test_incomes_are_put_into_buckets_and_those_outside_are_counted(tmp_path):
    found = read_households(vissl(tmp_path))
    buckets = dict(found.annotations.select("household", "income_bucket").rows())
    assert buckets == {"h1": "low", "h2": "low", "h3": "high", "h4": None, "h5": None}
    assert found.counts("income_bucket") == {"high": 1, "low": 2}
    assert found.notes[household_samples.NO_INCOME] == 1
    assert found.notes[household_samples.OUTSIDE] == 1


def test_an_image_that_is_missing_is_counted_unless_its_twin_is_there(tmp_path):
    vissl(tmp_path)
    (tmp_path / "images" / "cups" / "h1.jpg").unlink()
    (tmp_path / "images" / "beds" / "h1.jpg").unlink()
    found = read_households(tmp_path)
    twin = found.annotations.filter(sample="plates/h1.jpg").row(0, named=True)
    assert twin["concepts"] == ["cups", "plates"]
    assert found.dropped == {household_samples.NO_IMAGE: 1}
    assert [(each.present, each.expected) for each in found.coverage] == [(6, 7)]
    kept = read_households(tmp_path, duplicates="keep")
    assert kept.dropped == {household_samples.NO_IMAGE: 2}


def test_households_with_several_incomes_are_several(tmp_path):
    entries = [
        entry("h1", "cups", "c0", 40),
        entry("h1", "beds", "c1", 2000),
        entry("h1#2", "beds", "c2", 40),
    ]
    found = read_households(vissl(tmp_path, entries))
    assert found.annotations["household"].to_list() == ["h1", "h1#3", "h1#2"]
    assert found.notes[household_samples.SPLIT] == 1


def test_rows_that_say_the_same_and_images_of_several_households_are_counted(tmp_path):
    entries = [
        entry("h1", "cups", "c0"),
        entry("h1", "cups", "c0"),
        entry("h1", "cups", "other"),
        entry("h2", "cups", "c0"),
    ]
    found = read_households(vissl(tmp_path, entries))
    assert found.annotations["household"].to_list() == ["h1", "h2"]
    assert found.dropped == {household_samples.LISTED_TWICE: 1, household_samples.SAME_FILE: 1}
    assert found.notes[household_samples.SHARED] == 1


def test_broken_entries_are_counted_and_a_foreign_file_is_refused(tmp_path):
    entries = [*VISSL, {"_id": "h9"}, 7, {**VISSL[0], "label": None}]
    vissl(tmp_path, VISSL)
    (tmp_path / "metadata_full_dollar_street.json").write_text(json.dumps(entries), encoding="utf-8")
    found = read_households(tmp_path)
    assert found.dropped["entry that is not as released"] == 2
    assert found.dropped[household_samples.NO_IMAGE] == 1
    for content in ('{"a": 1}', "[]", "[1]", "nonsense"):
        (tmp_path / "metadata_full_dollar_street.json").write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=r"is no list|has no entry|is no JSON"):
            read_households(tmp_path)


def test_the_table_of_mlcommons_has_households_regions_and_classes(tmp_path):
    found = read_households(mlcommons(tmp_path))
    table = found.annotations
    assert table["household"].to_list() == ["ch/liu", "ch/liu", "bu/liu", "fr/marc", "br/ana"]
    assert table["region"].to_list() == ["Asia", "Asia", "Africa", "Europe", "The Americas"]
    assert table["income_bucket"].to_list() == ["high", "high", "low", "medium", "high"]
    assert table["concepts"].to_list()[0] == ["lock on front door", "front door"]
    assert table["imagenet_classes"].to_list() == [[695], [831, 750], [], [827], [827]]
    assert found.imagenet_names == {695: "padlock", 831: "studio couch", 750: "quilt", 827: "stove"}
    assert found.dropped == {
        "row of something else than an image": 1,
        "cell that is no list of Python": 1,
        household_samples.NO_IMAGE: 1,
    }


def test_equal_content_is_one_image_of_a_household(tmp_path):
    mlcommons(tmp_path)
    bed, lock = (tmp_path / row[5] for row in (MLCOMMONS[1], MLCOMMONS[0]))
    bed.write_bytes(lock.read_bytes())
    found = read_households(tmp_path)
    assert found.annotations["concepts"].to_list()[0] == ["lock on front door", "front door", "beds"]
    assert found.annotations["imagenet_classes"].to_list()[0] == [695, 831, 750]
    assert found.annotations.height == 4
    assert read_households(tmp_path, duplicates="keep").annotations.height == 5


def test_of_several_tables_the_test_split_is_read(tmp_path):
    mlcommons(tmp_path)
    write_csv(tmp_path / "images_v2.csv", HEADER, MLCOMMONS)
    write_csv(tmp_path / "images_v2_imagenet_train.csv", HEADER, MLCOMMONS[:1])
    assert read_households(tmp_path).annotations.height == 5
    assert read_households(tmp_path, split="train").annotations.height == 1
    assert read_households(tmp_path / "images_v2_imagenet_train.csv").annotations.height == 1
    assert read_households(tmp_path, split="all").paper_counts == {}
    table = tmp_path / "images_v2_imagenet_test.csv"
    assert (
        read_households(table, split="test").annotations.height == read_households(table).annotations.height
    )
    for split in ("train", "all"):
        with pytest.raises(InputError, match=f"not the table of split='{split}'; give the folder"):
            read_households(table, split=split)
    with pytest.raises(ParameterError, match="choose one of"):
        read_households(table, split="foo")
    with pytest.raises(UnknownName, match="split 'val'; did you mean 'all'"):
        read_households(tmp_path, split="val")
    with pytest.raises(InputError, match="has no splits"):
        read_households(vissl(tmp_path / "v"), split="test")


def test_lists_of_python_are_read_and_nothing_is_evaluated():
    assert read_list("['a', 'b\\'s']") == ["a", "b's"]
    assert read_list("") == read_list("[]") == []
    for text in ("__import__('os').system('true')", "['a'", "{'a': 1}", "3", "(" * 5000, "['x']" * 50_000):
        assert read_list(text) is None


def test_the_end_of_a_url_is_what_the_released_code_knows_an_image_by():
    assert image_checksum("http://x/media/India%201/image/h1/480x480-ab12.final.jpg") == "ab12"
    assert image_checksum("") == ""


def test_a_table_of_ones_own_may_have_a_row_for_each_concept(tmp_path):
    found = read_households(own(tmp_path))
    assert found.annotations["concepts"].to_list() == [["stove", "oven"], ["stove", "pan"]]
    assert found.annotations["imagenet_classes"].null_count() == 2
    kept = read_households(tmp_path, duplicates="keep")
    assert kept.annotations["sample"].to_list() == ["a.png", "b.png", "a.png#2"]
    table = pl.DataFrame({"Image": ["a.png"], "Place": [3], "Labels": [["x", "y"]], "Income": [50.0]})
    table.write_parquet(tmp_path / "mine.parquet")
    found = read_households(tmp_path / "mine.parquet")
    assert found.annotations.select("household", "concepts", "income").row(0) == ("3", ["x", "y"], 50.0)


def test_tables_with_the_columns_of_either_form_are_read_as_that_form(tmp_path):
    folder = vissl(tmp_path / "a")
    (folder / "metadata_full_dollar_street.json").unlink()
    rows = [[str(each[name]) for name in VISSL[0]] for each in VISSL]
    found = read_households(write_csv(folder / "mine.csv", list(VISSL[0]), rows).parent)
    assert (found.name, found.annotations.height) == ("dollar_street", 6)
    folder = mlcommons(tmp_path / "b", name="mine.csv")
    found = read_households(folder)
    assert (found.name, found.annotations["household"].to_list()[0]) == ("dollar_street_mlcommons", "ch/liu")
    lists = ("topics", "imagenet_synonyms", "imagenet_sysnet_id")
    table = pl.read_csv(folder / "mine.csv", infer_schema=False)[:5]
    table = table.with_columns(pl.Series(name, [read_list(text) for text in table[name]]) for name in lists)
    table.write_parquet(folder / "mine.parquet")
    again = read_households(folder / "mine.parquet")
    assert again.annotations.equals(found.annotations)


def test_what_cannot_be_used_is_refused_with_a_hint(tmp_path):
    with pytest.raises(InputError, match=r"none of the layouts that are read: dollar_street: metadata"):
        read_households(tmp_path)
    with pytest.raises(UnknownName, match="did you mean 'dollar_street'"):
        read_households(tmp_path, "dollarstreet")
    with pytest.raises(InputError, match=r"no image of .* \(no such image: 6|no such image: 7"):
        read_households(vissl(tmp_path / "a", images=False))
    with pytest.raises(ParameterError, match="duplicates='drop' is not possible"):
        read_households(vissl(tmp_path / "b"), duplicates="drop")
    write_csv(tmp_path / "c.csv", ["image", "label"], [["a.png", "x"]])
    with pytest.raises(InputError, match="no column for the household"):
        read_households(tmp_path / "c.csv")


LABELS = [f"thing {number}" for number in range(1000)]
for number, word in ((695, "padlock"), (831, "studio couch, day bed"), (750, "quilt"), (827, "stove")):
    LABELS[number] = word


def test_the_classes_that_the_table_gives_are_the_default_map(tmp_path):
    found = read_households(mlcommons(tmp_path))
    mapped = map_concepts(found, labels=LABELS)
    assert mapped.name == "imagenet"
    assert mapped.classes["studio couch, day bed"] == ("831 studio couch",)
    assert mapped.annotations["concepts"].to_list()[1] == ["831 studio couch", "750 quilt"]
    assert "imagenet_classes" not in mapped.annotations.columns
    shifted = map_concepts(found, labels=["background", *LABELS])
    assert shifted.classes == mapped.classes
    ids = [f"n{number:08d}" for number in range(1000)]
    by_id = map_concepts(found, labels=LABELS, wordnet_ids=ids, answers=ids)
    assert by_id.classes["n00000695"] == ("695 padlock",)
    with pytest.raises(InputError, match="not the classes of ImageNet-1k in their order"):
        map_concepts(found, labels=LABELS[::-1])
    with pytest.raises(InputError, match="not the classes of ImageNet-1k in their order"):
        map_concepts(found, labels=LABELS, wordnet_ids=ids[::-1])
    with pytest.raises(InputError, match="this one has 3 labels"):
        map_concepts(found, "imagenet", labels=LABELS[:3])


def test_labels_may_be_called_as_concepts_are(tmp_path):
    found = read_households(vissl(tmp_path))
    mapped = map_concepts(found, labels=["Plates of food", "bed, beds", "sofa"])
    assert mapped.classes == {"Plates of food": ("plates_of_food",), "bed, beds": ("beds",)}
    with pytest.raises(InputError, match="labels are such as 'sofa', concepts such as 'beds'"):
        map_concepts(found, "names", labels=["sofa"])
    with pytest.raises(InputError, match="needs a table with the classes"):
        map_concepts(found, "imagenet", labels=LABELS)


def test_a_file_may_name_classes_by_number_name_or_id(tmp_path):
    found = read_households(vissl(tmp_path / "data"))
    labels, ids = ["n03147509 cup", "plate", "bed", "bed"], ["n03147509", "", "", ""]

    def of(content, **more):
        path = tmp_path / "map.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return map_concepts(found, str(path), labels=labels, wordnet_ids=ids, **more)

    numbered = of({"0": ["cups", "plates"], "1": ["plates"], "107": ["beds"]})
    assert numbered.classes == {"n03147509 cup": ("cups", "plates"), "plate": ("plates",)}
    assert numbered.notes == {NO_CLASS: 1}
    assert numbered.name == "map"
    named = of({"n03147509": "cups", "Plate": ["plates of food", "trucks"], "bed": ["beds"]})
    assert named.classes == {"n03147509 cup": ("cups",), "plate": ("plates_of_food",), "bed": ("beds",)}
    assert named.notes == {NO_THING: 1}
    answered = of({"cup": ["cups"]}, answers=["n03147509", "b", "c", "d"])
    assert answered.classes == {"n03147509": ("cups",)}
    for content in ({}, [], {"a": 3}, {"a": [3]}, "text"):
        with pytest.raises(InputError, match=r"is no concept map; give .*class"):
            of(content)
    with pytest.raises(InputError, match=r"no class of .* is both a label of the model"):
        of({"nothing": ["cups"]})
    with pytest.raises(InputError, match="there is no concept map 'imagenett'"):
        map_concepts(found, "imagenett", labels=labels)


@pytest.mark.parametrize(
    ("duplicates", "expected"), [("paper", "paper_dedup_by_image"), ("keep", "released_code_no_dedup")]
)
@pytest.mark.parametrize("threshold", ["0.0", "0.2"])
def test_the_files_of_the_vector_give_its_rates(duplicates, expected, threshold, tmp_path):
    """From a folder as released to rates by household: reader, map and hits together."""
    if not VECTORS.is_file():
        pytest.skip(f"needs {VECTORS}")
    vector = json.loads(VECTORS.read_text(encoding="utf-8"))
    found = read_households(vissl(tmp_path, vector["metadata"]), duplicates=duplicates)
    (tmp_path / "map.json").write_text(json.dumps(vector["id_to_dollar_street_labels"]), encoding="utf-8")
    labels = [f"class {number}" for number in range(8)]
    mapped = map_concepts(found, str(tmp_path / "map.json"), labels=labels)
    logits = dict(
        zip(("/".join(path.split("/")[-2:]) for path in vector["image_paths"]), vector["logits"], strict=True)
    )
    merged = duplicates == "paper"
    keep = read_households(tmp_path, duplicates="keep") if merged else found
    rows = [
        (sample, labels[place], rank, math.exp(logits[sample][place]) / sum(map(math.exp, logits[sample])))
        for sample in keep.annotations["sample"]
        for rank, place in enumerate(sorted(range(8), key=lambda each: -logits[sample][each]), 1)
    ]
    answers = pl.DataFrame(rows, schema=["sample", "prediction", "rank", "confidence"], orient="row").lazy()
    table = keep.annotations.drop("imagenet_classes") if merged else mapped.annotations
    hits = HouseholdHits.from_predictions(answers, table, mapped.classes, top=vector["topk"], digits=5)
    pairs = hits.at(float(threshold)).images if merged else hits.at(float(threshold)).table
    rates = dict(pairs.group_by("household").agg(pl.col("hit").mean()).rows())
    wanted = vector["expected"][expected][threshold]["per_household"]
    assert rates == pytest.approx(wanted, abs=1e-6)
    by_bucket = pairs.group_by("household", "income_bucket").agg(pl.col("hit").mean())
    income = dict(by_bucket.group_by("income_bucket").agg(pl.col("hit").mean()).rows())
    assert income == pytest.approx(vector["expected"][expected][threshold]["income"], abs=1e-6)


def command(*words):
    return CliRunner().invoke(data_app, [str(word) for word in words])


def lines_of(done):
    return [" ".join(line.split()) for line in done.stdout.splitlines()]


def test_the_command_sets_counts_beside_those_of_the_paper(tmp_path):
    assert DATA.get("dollar_street").name == "dollar_street"
    done = command("check", "dollar_street", "--data", vissl(tmp_path))
    assert done.exit_code == 0
    lines = lines_of(done)
    assert "rows with an image 7 of 7" in lines
    assert "images 6 paper or release: 15222" in lines
    assert "households of income_bucket low 2 paper or release: 62" in lines
    assert "households of income_bucket medium 0 paper or release: 177" in lines
    assert "households of region Africa 1" in lines
    assert "note: image that shows several concepts 1" in lines


def test_the_command_names_what_is_missing(tmp_path):
    done = command("check", "dollar_street_mlcommons", "--data", mlcommons(tmp_path))
    assert isinstance(done.exception, Incomplete)
    assert "rows with an image 5 of 6" in lines_of(done)
    assert "left out: no such image 1" in lines_of(done)
    assert dollar_street.MLCOMMONS_LAYOUT in str(done.exception)
    done = command("check", "dollar_street", "--data", tmp_path / "none")
    assert isinstance(done.exception, InputError)
    assert "\n" not in str(done.exception)
