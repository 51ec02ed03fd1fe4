"""Numbers in text files, object columns, ids, ranks, folders of partitions."""

import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError
from tests.conftest import make_frame

COLUMNS = {"truth": "truth", "prediction": "prediction"}


def read(folder, rows, **more):
    path = folder / "table.csv"
    path.write_text("truth,prediction,group\n" + "\n".join(rows) + "\n")
    return eh.Predictions.read(path, **COLUMNS, **more)


def test_integers_that_a_frame_wrote_as_floats_are_the_same_labels(tmp_path):
    counts = read(tmp_path, ["97,97.0,a", "98,,b", "98,97.0,a", "97,98.0,b"]).count(["group"])
    assert counts.axis("truth").levels == counts.axis("prediction").levels == ("97", "98")
    assert eh.metrics.accuracy(counts, by="group").value == pytest.approx(1 / 3)


def test_text_that_looks_like_versions_stays_as_it_is(tmp_path):
    counts = read(tmp_path, ["1.0,1.0,a", "v2,1.0,b"]).count(["group"])
    assert counts.axis("truth").levels == ("1.0", "v2")


def test_fractional_truth_in_a_text_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"fractional numbers such as 0\.25"):
        read(tmp_path, ["0.25,1,a", "0.5,0,b"]).count(["group"])


def test_numbers_against_words_are_refused(tmp_path):
    with pytest.raises(InputError, match="numbers and words never agree"):
        read(tmp_path, ["0,cat,a", "1,dog,b"]).count(["group"])


@pytest.mark.parametrize("values", [[True, False, None, True], [1, 2, None, 1]], ids=["booleans", "integers"])
def test_object_columns_with_a_gap_get_their_one_kind(values):
    frame = pd.DataFrame({"truth": values, "prediction": values, "group": list("abab")}, dtype=object)
    found = eh.metrics.accuracy(eh.Predictions.from_frame(frame, **COLUMNS), by="group")
    assert found.value == 1
    assert [(d.reason, d.count) for d in found.dropped] == [("missing truth", 1)]


def test_a_folder_of_partitions_keeps_its_partition_column(tmp_path):
    frame = make_frame()
    for (group,), part in frame.group_by("group"):
        folder = tmp_path / f"group={group}"
        folder.mkdir()
        part.drop("group").write_parquet(folder / "part.parquet")
    read_back = eh.Predictions.read(tmp_path, **COLUMNS).count(["group"])
    assert read_back == eh.Predictions.from_frame(frame, **COLUMNS).count(["group"])


def test_a_file_whose_name_holds_brackets_is_read(tmp_path):
    make_frame().write_parquet(tmp_path / "a[1].parquet")
    assert eh.Predictions.read(tmp_path / "a[1].parquet", **COLUMNS).count([]).n_total == 600


def test_ranks_that_start_at_zero_are_refused():
    frame = make_frame().with_columns(rank=pl.lit(0), image=pl.int_range(pl.len()))
    ranked = eh.Predictions.from_frame(frame, **COLUMNS, id="image", rank="rank")
    with pytest.raises(InputError, match="start at 0"):
        ranked.count(["group"])


def test_repeated_ids_are_told_and_kept():
    frame = make_frame().with_columns(image=pl.int_range(pl.len()) // 2)
    run = eh.audit(eh.Predictions.from_frame(frame, **COLUMNS, id="image"), by="group", inference="none")
    assert run.manifest["repeated_ids"] == 300
    assert run.finding("accuracy", "group").n == 600


def test_labels_of_dropped_rows_do_not_dilute_means():
    frame = make_frame()
    lost = pl.DataFrame({"truth": ["zz"], "prediction": ["zz"], "group": [None], "other": ["h0"]})
    both = pl.concat([frame, lost.cast(frame.schema)])
    for name in ("demographic_parity", "equalized_odds"):
        metric = getattr(eh.metrics, name)
        values = [
            metric(
                eh.Predictions.from_frame(f, **COLUMNS), by="group", aggregate="mean", inference="none"
            ).value
            for f in (frame, both)
        ]
        assert values[0] == values[1]


def test_crossing_many_attributes_with_many_levels_does_not_overflow():
    n = 300
    frame = pl.DataFrame(
        {"truth": ["a", "b"] * (n // 2), "prediction": ["a"] * n}
        | {f"x{i}": [(row * (i + 7)) % 4_000 for row in range(n)] for i in range(8)}
    )
    names = [f"x{i}" for i in range(8)]
    finding = eh.metrics.accuracy(eh.Predictions.from_frame(frame, **COLUMNS), by=names)
    assert {tuple(map(int, g.key)) for g in finding.groups} == set(frame.select(names).rows())


def test_rows_that_the_minimum_expected_value_removes_are_counted():
    counts = eh.Predictions.from_frame(make_frame(n=300), **COLUMNS).count(["group"])
    finding = eh.metrics.skewsize(counts, by="group", mev=5, inference="none")
    removed = {d.reason: d.count for d in finding.dropped}["prediction below minimum expected value"]
    used = sum(part.details.get("n_used", part.n) for part in finding.parts)
    assert removed > 0
    assert used + removed == finding.n
