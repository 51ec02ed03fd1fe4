"""Similarities: exact cosines, sets, what is dropped and counted, and what is refused."""

import time

import numpy as np
import polars as pl
import pytest

from evenhand import Similarities
from evenhand.core.errors import InputError, ParameterError, UnknownName


def vectors(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def table(rows, dtype=pl.Float64):
    """Embeddings of {sample: vector}."""
    vectors = [None if vector is None else list(vector) for vector in rows.values()]
    schema = {"sample": pl.String, "modality": pl.String, "vector": pl.List(dtype)}
    return pl.DataFrame({"sample": list(rows), "modality": "text", "vector": vectors}, schema=schema).lazy()


def cosine(u, w):
    return float(np.dot(u, w) / (np.linalg.norm(u) * np.linalg.norm(w)))


def test_vectors_give_cosines_in_float64():
    x, y, a, b = vectors(0, 3, 5), vectors(1, 2, 5), vectors(2, 4, 5), vectors(3, 1, 5)
    made = Similarities.from_vectors({"X": x, "Y": y}, {"A": a, "B": b}, form="textual")
    expected = [[cosine(u, w) for w in (*a, *b)] for u in (*x, *y)]
    np.testing.assert_allclose(made.values, expected, atol=1e-15)
    assert made.values.dtype == np.float64
    assert made.targets == ("X/0", "X/1", "X/2", "Y/0", "Y/1")
    assert made.target_rows("Y").tolist() == [3, 4]
    assert made.attribute_columns("B").tolist() == [4]
    assert (made.kind, made.form, made.dropped) == ("cosine", "textual", {})


def test_embeddings_give_the_same_as_vectors_in_any_order_of_rows():
    x, a = vectors(0, 6, 8), vectors(1, 4, 8)
    rows = {f"x{i}": v for i, v in enumerate(x)}
    columns = {f"a{i}": v for i, v in enumerate(a)}
    sets = {"X": ["x0", "x1", "x2"], "Y": ["x3", "x4", "x5"]}
    words = {"A": ["a0", "a1"], "B": ["a2", "a3"]}
    made = Similarities.from_embeddings(table(rows), sets, table(columns), words)
    direct = Similarities.from_vectors({"X": x[:3], "Y": x[3:]}, {"A": a[:2], "B": a[2:]})
    np.testing.assert_array_equal(made.values, direct.values)
    turned = Similarities.from_embeddings(
        table(dict(reversed(rows.items()))), sets, table(dict(reversed(columns.items()))), words
    )
    np.testing.assert_array_equal(turned.values, made.values)
    assert turned.targets == made.targets


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64, pl.Int32])
def test_single_precision_and_whole_numbers_are_taken_as_they_are(dtype):
    u, w = [3, 4], [1, 7]
    made = Similarities.from_embeddings(table({"u": u}, dtype), {"X": ["u"]}, table({"w": w}), {"A": ["w"]})
    assert made.values[0, 0] == pytest.approx(cosine(u, w), abs=1e-15)


def test_vectors_of_fixed_width_are_lists_too():
    rows = pl.DataFrame({"sample": ["u", "v"], "vector": vectors(0, 2, 3)})
    assert isinstance(rows["vector"].dtype, pl.Array)
    made = Similarities.from_embeddings(rows.lazy(), {"X": ["u", "v"]}, rows.lazy(), {"A": ["v"]})
    assert made.values[1, 0] == pytest.approx(1)


def test_an_item_may_belong_to_several_sets_and_counts_once_in_each():
    rows = table({"u": [1, 0], "v": [0, 1], "other": [1, 1]})
    made = Similarities.from_embeddings(
        rows, {"X": ["u", "v", "u"], "Y": ["v"]}, rows, {"A": ["v"], "B": ["u"]}
    )
    assert made.targets == ("u", "v")
    assert [made.target_rows(name).tolist() for name in "XY"] == [[0, 1], [1]]
    np.testing.assert_array_equal(made.values, [[0, 1], [1, 0]])


def test_unusable_items_are_dropped_and_counted_by_set():
    rows = table({"ok": [1, 2], "zero": [0, 0], "nan": [1, float("nan")], "gap": [1, None], "null": None,
                  "huge": [1e200, 1e200], "inf": [float("inf"), 0]})  # fmt: skip
    sets = {"X": ["ok", "zero", "nan", "absent"], "Y": ["gap", "null", "zero", "huge", "inf"], "Z": ["ok"]}
    made = Similarities.from_embeddings(rows, sets, rows, {"A": ["ok"], "B": ["zero"]})
    assert made.targets == ("ok",)
    assert made.dropped == {"vector of length 0": 2, "vector that is not finite": 4, "no answer": 2}
    assert made.dropped_from("XY", "A") == {
        "vector of length 0": 1, "vector that is not finite": 4, "no answer": 2,
    }  # fmt: skip
    assert made.dropped_from("Z", "A") == {}
    assert made.dropped_from("Z", "B") == {"vector of length 0": 1}
    assert made.lost_targets["X"] == {
        "zero": "vector of length 0", "nan": "vector that is not finite", "absent": "no answer",
    }  # fmt: skip
    assert made.target_rows("Y").tolist() == []


def test_nothing_at_all_is_no_error():
    made = Similarities.from_vectors({"X": np.zeros((0, 3)), "Y": []}, {"A": np.zeros((2, 3))})
    assert made.values.shape == (0, 0)
    assert made.dropped == {"vector of length 0": 2}
    nothing = pl.DataFrame(schema={"sample": pl.String, "vector": pl.List(pl.Float32)}).lazy()
    made = Similarities.from_embeddings(nothing, {"X": ["u"]}, table({"w": [1, 2]}), {"A": ["w"]})
    assert made.values.shape == (0, 1)
    assert made.dropped == {"no answer": 1}


def test_attributes_without_any_usable_vector_leave_targets_counted():
    made = Similarities.from_vectors({"X": vectors(0, 3, 2)}, {"A": [[0, 0]]})
    assert made.values.shape == (3, 0)
    assert len(made.targets) == 3


def test_other_dimensions_are_refused_in_one_line():
    with pytest.raises(InputError, match="targets have 3 dimensions and attributes 4; embed both"):
        Similarities.from_vectors({"X": vectors(0, 2, 3)}, {"A": vectors(0, 2, 4)})
    with pytest.raises(InputError, match="'X' have 3 dimensions and those of 'Y' 2"):
        Similarities.from_vectors({"X": vectors(0, 2, 3), "Y": vectors(0, 2, 2)}, {"A": vectors(0, 2, 3)})
    with pytest.raises(InputError, match="vectors of 2 and of 3 dimensions stand in one table"):
        Similarities.from_embeddings(table({"u": [1, 2], "v": [1, 2, 3]}), {"X": ["u", "v"]}, table({}), {})
    with pytest.raises(InputError, match=r"the vectors of 'X' have shape \(3,\); give \(items, dimensions\)"):
        Similarities.from_vectors({"X": [1.0, 2.0, 3.0]}, {"A": vectors(0, 1, 3)})
    with pytest.raises(InputError, match="the vectors of 'X' are no table of numbers"):
        Similarities.from_vectors({"X": [["a", "b"]]}, {"A": vectors(0, 1, 2)})
    text = pl.DataFrame({"sample": ["u"], "vector": ["1 2"]}).lazy()
    with pytest.raises(InputError, match="'vector' holds String, not lists of numbers"):
        Similarities.from_embeddings(text, {"X": ["u"]}, table({}), {})


def scores(rows):
    schema = {"sample": pl.String, "candidate": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").lazy()


def test_scores_fill_the_table_and_incomplete_targets_are_dropped():
    given = scores([
        ("u", "a", 0.1), ("u", "b", 0.9), ("v", "b", 0.3), ("v", "a", 0.4), ("w", "a", 0.5), ("n", "a", None),
        ("n", "b", 0.2), ("u", "elsewhere", 0.7), ("stranger", "a", 0.5), ("u", "a", 0.8),
    ])  # fmt: skip
    made = Similarities.from_scores(
        given, {"X": ["u", "w"], "Y": ["n", "v"]}, {"A": ["a"], "B": ["b", "none"]}
    )
    assert made.targets == ("u", "v")
    assert made.attributes == ("a", "b")
    np.testing.assert_array_equal(made.values, [[0.1, 0.9], [0.4, 0.3]])
    assert (made.kind, made.form) == ("probability", "matching")
    assert made.dropped == {"no answer": 3}  # w, n, and the word that nobody was asked about
    assert made.lost_attributes["B"] == {"none": "no answer"}


def test_scores_of_another_kind_are_refused():
    given = scores([("u", "a", -0.1), ("u", "b", 0.9)])
    with pytest.raises(
        InputError, match=r"scores from -0.1 to 0.9 are no probability \(0 to 1\); give kind='cosine'"
    ):
        Similarities.from_scores(given, {"X": ["u"]}, {"A": ["a", "b"]})
    assert (
        Similarities.from_scores(given, {"X": ["u"]}, {"A": ["a", "b"]}, kind="cosine").values[0, 0] == -0.1
    )
    with pytest.raises(InputError, match=r"scores from 3 to 3 are no cosine"):
        Similarities.from_scores(scores([("u", "a", 3.0)]), {"X": ["u"]}, {"A": ["a"]}, kind="cosine")
    with pytest.raises(ParameterError, match="kind='logit' is not possible"):
        Similarities.from_scores(given, {"X": ["u"]}, {"A": ["a"]}, kind="logit")


def test_unknown_sets_name_the_closest():
    made = Similarities.from_vectors({"muslim": vectors(0, 2, 3)}, {"pleasant": vectors(0, 2, 3)})
    with pytest.raises(UnknownName, match="there is no set of targets 'moslim'; did you mean 'muslim'"):
        made.target_rows("moslim")
    with pytest.raises(UnknownName, match="there is no set of attributes 'x'; possible: 'pleasant'"):
        made.attribute_columns("x")


def test_many_targets_are_taken_together():
    count, ids = 200_000, [f"i{place}" for place in range(200_000)]
    vector = pl.Series(vectors(0, count, 16).astype(np.float32)).cast(pl.List(pl.Float32))
    rows = pl.DataFrame({"sample": ids, "vector": vector}).lazy()
    words = table({f"w{i}": v for i, v in enumerate(vectors(1, 10, 16))})
    start = time.perf_counter()
    made = Similarities.from_embeddings(
        rows, {"X": ids[::2], "Y": ids[1::2]}, words, {"A": [f"w{i}" for i in range(10)]}
    )
    print(f"{count} targets: {time.perf_counter() - start:.2f} s")
    assert made.values.shape == (count, 10)
    last = rows.filter(pl.col("sample") == ids[-1]).collect()["vector"][0].to_numpy().astype(float)
    word = words.collect()["vector"][3].to_numpy()
    assert made.values[made.target_rows("Y")[-1], 3] == pytest.approx(cosine(last, word), abs=1e-14)
