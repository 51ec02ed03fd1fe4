"""Same-attribute retrieval from files to findings: two tables or one that is split; what is refused."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName, UserError
from evenhand.mitigate.maps import Map
from evenhand.mitigate.mitigation import Mitigation
from tests.benchmarks import people_layouts as layouts
from tests.benchmarks.indicator_models import Embeds, ask, keys_of, numbered_image
from tests.models.tiny import build

VECTOR = Path(__file__).parents[1] / "papers" / "vectors" / "indicators" / "similarity_precision_at_k.json"
GROUPINGS = {
    "gender": ("gender",),
    "age": ("age",),
    "skintone": ("perceived_skin_tone",),
    "gender_skintone": ("gender", "perceived_skin_tone"),
}


def table(folder, genders, start=0, name="people.csv", **columns):
    """A table of images numbered from ``start`` with a gender each."""
    paths = [
        numbered_image(folder / f"{number}.png", number).name for number in range(start, start + len(genders))
    ]
    pl.DataFrame({"path": paths, "gender": list(genders), **columns}).write_csv(folder / name)
    return folder / name


def by_gender(genders, spread=0.3, seed=0):
    """Vectors of which those of one gender lie near to each other."""
    rng = np.random.default_rng(seed)
    centre = {"female": [1, 0, 0, 0], "male": [0, 1, 0, 0], "other": [0, 0, 1, 0]}
    return np.array([centre[gender] for gender in genders]) + spread * rng.normal(size=(len(genders), 4))


def test_the_released_code_is_met_from_files_to_precisions(tmp_path):
    """Queries in the released list, a database in a table: at every K and for every grouping."""
    case = json.loads(VECTOR.read_text(encoding="utf-8"))
    queries = tmp_path / "queries"
    queries.mkdir()
    (queries / "CasualConversations.json").write_text(json.dumps(case["query_metadata"]), encoding="utf-8")
    for number, row in enumerate(case["query_metadata"]):
        numbered_image(queries / "/".join(row["img_path"].split("/")[-3:]), number)
    (tmp_path / "database").mkdir()
    count = len(case["query_metadata"])
    data = table(tmp_path / "database", case["db_gender"], start=count)
    model = Embeds([*case["query_features"], *case["db_features"]])
    by = ",".join("+".join(columns) for columns in GROUPINGS.values())
    run = ask("retrieval", model, data, mode="paper", by=by, queries=queries)
    for k in case["k"]:
        expected = case["expected"][f"precision@{k}"]
        assert run.finding("precision_at_k", "gender", k=k).value == pytest.approx(
            expected["overall"], abs=1e-12
        )
        for grouping, columns in GROUPINGS.items():
            found = keys_of(run.finding("precision_at_k", columns, k=k))
            wanted = {"unknown" if key == "-1" else key: value for key, value in expected[grouping].items()}
            assert {key: part.value for key, part in found.items()} == pytest.approx(wanted, abs=1e-12)
            sizes = {
                "unknown" if key == "-1" else key: n for key, n in case["counts"].get(grouping, {}).items()
            }
            assert not sizes or {key: part.n for key, part in found.items()} == sizes


def test_one_table_is_split_by_content_and_no_image_is_on_both_sides(tmp_path):
    genders = ["female", "male"] * 60
    data = table(tmp_path, genders)
    for number in (100, 101, 102):  # copies of earlier images, under other names
        numbered_image(tmp_path / f"{number}.png", number - 100)
    run = ask("retrieval", Embeds(by_gender(genders)), data, k="1,5")
    roles = dict(run.annotations.select("sample", "role").iter_rows())
    queries = [sample for sample, role in roles.items() if role == "query"]
    assert 20 < len(queries) < 55
    for number in range(3):
        assert roles[f"{number}.png"] == roles[f"{100 + number}.png"]
    near = run.tables["neighbours"]
    assert set(near["query"]) == set(queries)
    assert not set(near["sample"]) & set(queries)
    finding = run.finding("precision_at_k", "gender", k=5)
    assert finding.value > 0.9
    assert finding.details["chance"] == pytest.approx(0.5, abs=0.1)
    assert ask("retrieval", Embeds(by_gender(genders)), data, k="1,5").findings == run.findings


def test_the_split_is_the_same_whatever_the_order_and_the_folder(tmp_path):
    genders = ["female", "male"] * 30
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    one = table(tmp_path / "a", genders)
    other = table(tmp_path / "b", genders)
    pl.read_csv(other).reverse().write_csv(other)
    model = Embeds(by_gender(genders))
    runs = [ask("retrieval", model, data, k=1) for data in (one, other)]
    sides = [set(run.annotations.filter(pl.col("role") == "query")["sample"]) for run in runs]
    assert sides[0] == sides[1]


def test_all_images_of_a_person_are_on_one_side(tmp_path):
    genders = ["female", "male"] * 40
    subjects = [f"p{number // 2 % 20}" for number in range(80)]
    data = table(tmp_path, genders, subject=subjects)
    run = ask("retrieval", Embeds(by_gender(genders)), data, k=1)
    sides = run.annotations.group_by("subject").agg(pl.col("role").n_unique())
    assert sides["role"].to_list() == [1] * 20


def test_a_database_that_holds_queries_loses_them(tmp_path):
    genders = ["female", "male"] * 20
    database = table(tmp_path, genders)
    (tmp_path / "q").mkdir()
    queries = table(tmp_path / "q", genders[:10])  # the same images
    run = ask("retrieval", Embeds(by_gender(genders)), database, queries=queries, k=1)
    finding = run.finding("precision_at_k", "gender", k=1)
    assert finding.n == 10
    assert {drop.reason: drop.count for drop in finding.dropped} == {"database: also a query": 10}
    assert all(sample.startswith("database/") for sample in run.tables["neighbours"]["sample"])


def test_queries_whose_group_the_database_lacks_stand_apart(tmp_path):
    database = table(tmp_path, ["female", "male"] * 20)
    (tmp_path / "q").mkdir()
    genders = ["female", "male"] * 20 + ["female"] * 6 + ["male"] * 6 + ["other"] * 3
    queries = table(tmp_path / "q", genders[40:], start=40)
    run = ask("retrieval", Embeds(by_gender(genders)), database, queries=queries, k=1)
    finding = run.finding("precision_at_k", "gender", k=1)
    assert finding.value == 1
    assert finding.part("other").reason == "not in the database"
    paper = ask("retrieval", Embeds(by_gender(genders)), database, queries=queries, k=1, mode="paper")
    assert paper.finding("precision_at_k", "gender", k=1).value == pytest.approx(12 / 15)


def test_official_splits_can_be_the_two_sides(tmp_path):
    run = ask(
        "retrieval", f"hf:{build('vit')}", layouts.fairface(tmp_path), split="val:train", k=1, by="gender"
    )
    roles = dict(run.annotations.select("split", "role").unique().iter_rows())
    assert roles == {"train": "query", "val": "database"}


def test_two_data_sets_are_matched_by_what_both_annotate(tmp_path):
    """Casual Conversations as queries, UTKFace as the database, as in the paper."""
    queries = layouts.casual_conversations(tmp_path / "cc")
    data = layouts.utkface(tmp_path / "utk")
    run = ask("retrieval", f"hf:{build('vit')}", data, queries=queries, k="1,3")
    finding = run.finding("precision_at_k", "gender", k=1)
    assert finding.params["match"] == "gender"
    assert {group.key for group in finding.groups} >= {"female", "male"}
    mix = run.tables["database_mix"].filter(pl.col("role") == "database")
    assert dict(mix.select("group", "n").iter_rows()) == {"female": 2, "male": 3}
    with pytest.raises(UnknownName, match="both have"):
        ask("retrieval", f"hf:{build('vit')}", data, queries=queries, match="race")
    fairface = layouts.fairface(tmp_path / "ff")
    with pytest.raises(InputError, match="mean different groups"):
        ask("retrieval", f"hf:{build('vit')}", data, queries=fairface, match="age")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"k": "0"}, ParameterError, "whole numbers from 1"),
        ({"k": "2.5"}, ParameterError, "whole numbers from 1"),
        ({"share": "1.5"}, ParameterError, "share of queries"),
        ({"split": "train"}, ParameterError, "DATABASE:QUERIES"),
        ({"split": "train:val"}, InputError, "has no splits"),
        ({"match": "race"}, UnknownName, "attribute of both"),
        ({"share": "0.0001"}, UserError, "nobody on one side"),
    ],
)
def test_what_is_not_possible_is_refused(given, error, message, tmp_path):
    genders = ["female", "male"] * 10
    with pytest.raises(error, match=message):
        ask("retrieval", Embeds(by_gender(genders)), table(tmp_path, genders), **given)


def test_vectors_made_elsewhere_and_a_mitigation(tmp_path):
    """The evidence of one run as a table of answers; and a change of vectors before the search."""
    genders = ["female", "male"] * 30
    data = table(tmp_path, genders)
    first = ask("retrieval", Embeds(by_gender(genders)), data, tmp_path / "run", k=5)
    again = ask("retrieval", f"table:{tmp_path / 'run' / 'evidence'}", data, k=5)
    assert [one.value for one in again.findings.findings] == [one.value for one in first.findings.findings]
    rest = Map(keep=np.array([False, False, True, True]))  # without the two axes that hold gender
    blind = Mitigation("pruning", {}, {"image": rest})
    vectors = Embeds(by_gender(genders))
    run = eh.run("indicators/retrieval", model=vectors, data=data, parameters={"k": "5"}, mitigation=blind)
    assert first.finding("precision_at_k", "gender", k=5).value > 0.9
    assert run.finding("precision_at_k", "gender", k=5).value < 0.7
