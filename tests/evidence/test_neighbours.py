"""Neighbours: exact in blocks, nothing on both sides, everything left out is counted."""

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.derivation import vector_search
from evenhand.evidence.neighbours import SPARE, Neighbours

RNG = np.random.default_rng(0)
Q, D = RNG.standard_normal((30, 16)), RNG.standard_normal((500, 16))


def people(prefix, count, **columns):
    return pl.DataFrame({"sample": [f"{prefix}{i:03d}" for i in range(count)], **columns})


QUERIES = people("q", 30, perceived_gender=["female", "male", "other"] * 10)
DATABASE = people("d", 500, perceived_gender=["female", "male"] * 250)


def table(samples, vectors, kind=None, modality=True):
    kind = kind or pl.List(pl.Float32)
    columns = {"sample": pl.Series(samples), "vector": pl.Series(list(map(list, vectors)), dtype=kind)}
    if modality:
        columns["modality"] = ["image"] * len(columns["sample"])
    return pl.DataFrame(columns).lazy()


def by_numpy(queries, database, k):
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (queries, database)]
    cosines = unit[0] @ unit[1].T
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(cosines, order, axis=1)


@pytest.mark.parametrize("rows", [10_000, 70, 3])
def test_blocks_find_the_same_as_one_full_sort(monkeypatch, rows):
    monkeypatch.setattr(vector_search, "_CELLS", 16 * rows)
    found = Neighbours.from_vectors(Q, D, QUERIES, DATABASE, k=10)
    ids, cosines = by_numpy(Q, D, 10 + SPARE)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_allclose(found.cosines, cosines, atol=1e-6)
    assert found.database["sample"].to_list() == DATABASE["sample"].to_list()


@pytest.mark.parametrize("kind", [pl.List(pl.Float32), pl.List(pl.Float64), pl.Array(pl.Float32, 16)])
@pytest.mark.parametrize("rows", [10_000, 70])
def test_tables_are_as_arrays(monkeypatch, kind, rows):
    monkeypatch.setattr(vector_search, "_CELLS", 16 * rows)
    sides = table(QUERIES["sample"], Q, kind), table(DATABASE["sample"], D, kind)
    found = Neighbours.from_embeddings(*sides, QUERIES, DATABASE, k=10)
    expected = Neighbours.from_vectors(Q, D, QUERIES, DATABASE, k=10)
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert found.queries.equals(expected.queries)
    assert found.database.equals(expected.database)


def test_files_are_read_in_any_order_of_queries(tmp_path):
    table(QUERIES["sample"][::-1], Q[::-1]).sink_parquet(tmp_path / "queries.parquet")
    table(DATABASE["sample"], D).sink_parquet(tmp_path / "database.parquet")
    sides = (pl.scan_parquet(tmp_path / f"{name}.parquet") for name in ("queries", "database"))
    found = Neighbours.from_embeddings(*sides, QUERIES[::-1], DATABASE, k=10)
    expected = Neighbours.from_vectors(Q, D, QUERIES, DATABASE, k=10)
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert found.queries.equals(expected.queries)


@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1e18, 1e30])
def test_length_does_not_matter(scale):
    found = Neighbours.from_vectors(Q * scale, D * scale, QUERIES, DATABASE, k=10)
    np.testing.assert_array_equal(found.ids, by_numpy(Q, D, 10 + SPARE)[0])


def test_half_precision_is_searched_in_single():
    found = Neighbours.from_vectors(Q.astype(np.float16), D.astype(np.float16), QUERIES, DATABASE, k=5)
    assert found.cosines.dtype == np.float32
    expected = by_numpy(Q.astype(np.float16).astype(float), D.astype(np.float16).astype(float), 5)[1]
    np.testing.assert_allclose(found.cosines[:, :5], expected, atol=1e-6)


def test_a_small_database_gives_what_it_has():
    found = Neighbours.from_vectors(Q, D[:3], QUERIES, DATABASE[:3], k=10)
    assert found.ids.shape == (30, 3)
    assert found.depth == 3


def test_equal_vectors_come_in_the_order_of_the_database():
    found = Neighbours.from_vectors(Q[:1], np.tile(Q[:1], (20, 1)), QUERIES[:1], DATABASE[:20], k=4)
    assert found.ids[0].tolist() == list(range(4 + SPARE))
    assert found.notes == (
        "1 queries have a database sample with the same vector; is it the same image?",
    )  # fmt: skip


def test_unusable_vectors_are_counted():
    queries, database = Q.copy(), D.copy()
    queries[3], queries[4, 2] = 0, np.nan
    database[0], database[1, 0], database[499] = 0, np.inf, 0
    found = Neighbours.from_vectors(queries, database, QUERIES, DATABASE, k=5)
    assert found.dropped == {"vector of length 0": 1, "vector that is not finite": 1}
    assert found.left_out == {"vector of length 0": 2, "vector that is not finite": 1}
    assert found.queries.height == 28
    assert found.database["sample"].to_list() == DATABASE["sample"].to_list()[2:499]
    kept = [row for row in range(30) if row not in (3, 4)]
    np.testing.assert_array_equal(found.ids, by_numpy(Q[kept], D[2:499], 5 + SPARE)[0])


def test_vectors_without_annotations_and_samples_without_vectors_are_counted():
    sides = table(QUERIES["sample"][:20], Q[:20]), table(DATABASE["sample"], D)
    found = Neighbours.from_embeddings(*sides, QUERIES[5:], DATABASE[:400], k=5)
    assert found.dropped == {"no answer": 10, "not annotated": 5}
    assert found.left_out == {"not annotated": 100}
    assert (found.queries.height, found.database.height) == (15, 400)


def test_texts_and_null_vectors_are_no_images():
    both = table(DATABASE["sample"], D).with_columns(
        modality=pl.when(pl.col("sample") < "d250").then(pl.lit("text")).otherwise(pl.col("modality")),
        vector=pl.when(pl.col("sample") == "d499").then(None).otherwise(pl.col("vector")),
    )
    found = Neighbours.from_embeddings(table(QUERIES["sample"], Q), both, QUERIES, DATABASE, k=5)
    assert found.left_out == {"no answer": 251}


def test_database_samples_that_are_queries_are_left_out():
    both = pl.concat([QUERIES[:10], DATABASE[10:]])
    found = Neighbours.from_vectors(Q, D, QUERIES, both, k=5)
    assert found.left_out == {"also a query": 10}
    np.testing.assert_array_equal(found.ids, by_numpy(Q, D[10:], 5 + SPARE)[0])
    with pytest.raises(InputError, match=r"10 samples of the database are queries too, such as 'q000'"):
        Neighbours.from_vectors(Q, D, QUERIES, both, overlap="refuse")


def test_content_decides_where_both_have_one():
    queries = people("q", 30, content=[f"h{i}" for i in range(29)] + [None])
    database = people("q", 500, content=[f"x{i}" for i in range(498)] + ["h7", None])
    found = Neighbours.from_vectors(Q, D, queries, database, k=5)
    # q029 has no hash on one side, so its id decides; all others of equal id have other content
    assert found.left_out == {"also a query": 2}
    assert not set(found.database["sample"]) & {"q029", "q498"}
    assert "content" not in found.queries.columns + found.database.columns


def test_an_empty_database_is_refused():
    with pytest.raises(InputError, match=r"no usable sample is left in the database \(30 with also a query"):
        Neighbours.from_vectors(Q, Q, QUERIES, QUERIES)


def test_no_query_is_no_error():
    found = Neighbours.from_vectors(Q * 0, D, QUERIES, DATABASE, k=5)
    assert found.queries.height == 0
    assert found.dropped == {"vector of length 0": 30}


def test_to_frame_holds_the_ranking():
    found = Neighbours.from_vectors(Q, D, QUERIES, DATABASE, k=10)
    frame = found.to_frame()
    assert frame.columns == ["query", "rank", "sample", "score"]
    assert frame.height == 300
    assert frame["sample"][0] == DATABASE["sample"][int(found.ids[0, 0])]
    assert found.to_frame(3)["rank"].to_list() == [1, 2, 3] * 30


@pytest.mark.parametrize(
    ("problem", "match"),
    [
        (
            lambda: Neighbours.from_vectors(Q[:, :8], D, QUERIES, DATABASE),
            "queries have 8 dimensions and the",
        ),
        (lambda: Neighbours.from_vectors(Q[0], D, QUERIES, DATABASE), r"shape \(16,\); give one row"),
        (lambda: Neighbours.from_vectors(Q[:5], D, QUERIES, DATABASE), "one row for each of 30 rows"),
        (
            lambda: Neighbours.from_embeddings(
                table(QUERIES["sample"], Q), table(["d001", "d001"], D[:2]), QUERIES, DATABASE
            ),
            "sample 'd001' has several vectors",
        ),
        (
            lambda: Neighbours.from_embeddings(
                table(QUERIES["sample"], Q), table(["d001", "d002"], [[1, 2], [3]]), QUERIES, DATABASE
            ),
            "vectors of 2 and of 1 dimensions",
        ),
        (
            lambda: Neighbours.from_embeddings(
                pl.LazyFrame({"sample": ["a"], "vector": ["x"]}), table(["d001"], D[:1]), QUERIES, DATABASE
            ),
            "holds String, not lists of numbers",
        ),
        (
            lambda: Neighbours.from_vectors(Q, D, pl.concat([QUERIES[:15]] * 2), DATABASE),
            "has several rows of annotations",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused(problem, match):
    with pytest.raises(InputError, match=match):
        problem()


def test_a_sample_again_in_a_later_block_is_refused(monkeypatch):
    monkeypatch.setattr(vector_search, "_CELLS", 16 * 2)
    twice = table(["d001", "d002", "d003", "d001"], D[:4])
    with pytest.raises(InputError, match="sample 'd001' has several vectors"):
        Neighbours.from_embeddings(table(QUERIES["sample"], Q), twice, QUERIES, DATABASE)


def test_names_and_options_are_checked():
    with pytest.raises(UnknownName, match="perceived_gender"):
        Neighbours.from_vectors(Q, D, QUERIES, DATABASE, cluster="perceived_gendr")
    with pytest.raises(UnknownName, match="column of embeddings 'vector'"):
        Neighbours.from_embeddings(QUERIES.lazy(), DATABASE.lazy(), QUERIES, DATABASE)
    with pytest.raises(ParameterError, match="overlap='keep'"):
        Neighbours.from_vectors(Q, D, QUERIES, DATABASE, overlap="keep")
    for k in (0, True, 2.5):
        with pytest.raises(ParameterError, match="choose a whole number from 1"):
            Neighbours.from_vectors(Q, D, QUERIES, DATABASE, k=k)
