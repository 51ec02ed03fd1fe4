"""What every mitigation must do: transform, tables, files, and properties shared by all ways to fit one."""

from __future__ import annotations

import json
import os
from dataclasses import fields, replace

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load_file, save_file

from evenhand.core.errors import InputError, ParameterError, UserError
from evenhand.mitigate import MITIGATIONS, Map, Mitigation
from tests.mitigate.planted import DIMENSIONS, effect, planted

LINEAR = ("orthogonal_projection", "mean_difference", "inlp")
AMOUNTS = {"pruning": 2, "clip_clip": 2}
each = pytest.mark.parametrize("name", sorted(MITIGATIONS.builtin))


def material_for(name, seed=0, **options):
    return planted(seed, modality="text" if name == "calibrated_projection" else "image", **options)


def fitted(name, seed=0, **params):
    amount = {"remove": AMOUNTS[name]} if name in AMOUNTS else {}
    return MITIGATIONS.get(name)(**(amount | params)).fit(material_for(name), seed=seed)


def vectors(count=300, dtype=np.float32, seed=9):
    drawn = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)) * 7
    drawn[count // 2] = 0
    return drawn.astype(dtype)


LISTS = pl.List(pl.Float32)


def table(array, modality="image", kind=LISTS):
    modalities = [modality] * len(array) if isinstance(modality, str) else modality
    return pl.DataFrame(
        {
            "sample": [f"s{number}" for number in range(len(array))],
            "modality": pl.Series(modalities, dtype=pl.String),
            "vector": pl.Series(list(array), dtype=pl.List(kind.inner)).cast(kind),
            "other": range(len(array)),
        }
    )


def as_array(series):
    return np.stack([np.asarray(row) for row in series])


# properties of all


@each
def test_every_parameter_has_one_line_of_help_and_the_amount_is_called_remove(name):
    declared = {parameter.name: parameter for parameter in fields(MITIGATIONS.get(name))}
    assert MITIGATIONS.get(name).name == name
    assert "remove" in declared
    for parameter in declared.values():
        assert parameter.metadata["help"]
        assert "\n" not in parameter.metadata["help"]


@each
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_asked_to_remove_nothing_changes_no_bit(name, dtype, tmp_path):
    mitigation = fitted(name, remove=0)
    again = Mitigation.load(mitigation.save(tmp_path / "nothing.safetensors"))
    given = vectors(dtype=dtype)
    given[0, 0] = np.nan
    for one in (mitigation, again):
        assert one.identity
        assert one.facts["removed"] == 0
        for modality in ("image", "text"):
            after = one.transform(given, modality)
            assert after.dtype == dtype
            assert after.tobytes() == given.tobytes()
            assert after is not given
    frame = table(vectors())
    assert again.transform_table(frame.lazy()).collect().equals(frame)


@each
def test_a_file_gives_back_the_same_mitigation(name, tmp_path):
    mitigation = fitted(name)
    path = mitigation.save(tmp_path / "sub" / "m.safetensors")
    again = Mitigation.load(path)
    assert again.fingerprint() == mitigation.fingerprint()
    assert again.card() == mitigation.card() == json.loads(path.with_suffix(".json").read_text())
    for modality in ("image", "text"):
        one, other = (each.transform(vectors(), modality) for each in (mitigation, again))
        assert one.tobytes() == other.tobytes()
    before = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == ["m.json", "m.safetensors"]


@each
def test_the_card_says_what_was_removed_on_what_and_what_it_cannot_promise(name):
    card = fitted(name).card()
    assert card["name"] == name
    assert card["params"]["remove"] == AMOUNTS.get(name)
    assert card["facts"]["removed"] > 0
    assert "dimensions" in card["facts"] or card["facts"]["rank"] > 0
    assert any("held-out" in promise for promise in card["cannot_promise"])


@each
def test_fitting_changes_nothing_it_is_given(name):
    material = material_for(name)
    for array in (material.targets, material.attributes, *material.target_sets.values()):
        array.flags.writeable = False
    before = material.targets.copy(), material.attributes.copy()
    MITIGATIONS.get(name)().fit(material)
    assert np.array_equal(before[0], material.targets)
    assert np.array_equal(before[1], material.attributes)


@each
def test_the_same_seed_gives_the_same_mitigation(name):
    assert fitted(name, seed=3).fingerprint() == fitted(name, seed=3).fingerprint()


@each
def test_the_order_of_items_does_not_matter(name):
    material = material_for(name)
    if name == "calibrated_projection":  # pairs are by place otherwise
        material = replace(material, positive_pairs=np.array([[0, 60], [5, 65]]))
    order = np.random.default_rng(1).permutation(len(material.targets))
    place = np.argsort(order)
    pairs = material.positive_pairs
    shuffled = replace(
        material,
        targets=material.targets[order],
        target_sets={group: place[rows] for group, rows in material.target_sets.items()},
        positive_pairs=None if pairs is None else place[pairs],
    )
    fitter = MITIGATIONS.get(name)(remove=AMOUNTS.get(name))
    for modality in ("image", "text"):
        np.testing.assert_allclose(
            fitter.fit(material).transform(vectors(dtype=np.float64), modality),
            fitter.fit(shuffled).transform(vectors(dtype=np.float64), modality),
            atol=1e-8,
        )


@each
@pytest.mark.parametrize("modality", ["image", "text"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_blocks_and_order_of_rows_change_no_bit(name, modality, dtype):
    mitigation, given = fitted(name), vectors(9000, dtype)
    whole = mitigation.transform(given, modality)
    assert whole.dtype == dtype
    parts = [mitigation.transform(given[start : start + 777], modality) for start in range(0, 9000, 777)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    order = np.random.default_rng(0).permutation(len(given))
    assert mitigation.transform(given[order], modality).tobytes() == whole[order].tobytes()


@each
@pytest.mark.parametrize("modality", ["image", "text"])
def test_vectors_without_length_stay_and_broken_ones_stay_broken(name, modality):
    given = vectors(6, np.float64)
    given[1], given[2, 4], given[3, 5] = 0, np.nan, np.inf
    after = fitted(name).transform(given, modality)
    assert (after[1] == 0).all()
    assert np.isfinite(after[[0, 4, 5]]).all()
    if not fitted(name).map_of(modality).identity:
        assert not np.isfinite(after[2]).all()
        assert not np.isfinite(after[3]).all()


@pytest.mark.parametrize("name", LINEAR)
def test_a_projection_applied_twice_is_the_same_as_once(name):
    mitigation, given = fitted(name), vectors(dtype=np.float64)
    for modality in ("image", "text"):
        once = mitigation.transform(given, modality)
        np.testing.assert_allclose(mitigation.transform(once, modality), once, atol=1e-12)
        np.testing.assert_allclose(mitigation.transform(3 * given, modality), 3 * once, atol=1e-12)


@each
def test_the_planted_association_becomes_smaller_on_other_items(name):
    fit_on, other = material_for(name, 0, size=200), material_for(name, 1, size=200)
    mitigation = MITIGATIONS.get(name)(remove=AMOUNTS.get(name)).fit(fit_on)
    before = effect(other, other.targets, other.attributes)
    after = effect(
        other,
        mitigation.transform(other.targets, other.target_modality),
        mitigation.transform(other.attributes, "text"),
    )
    assert abs(before) > 1.5
    assert abs(after) < 0.6


@each
def test_a_share_of_every_vector_is_gone(name):
    mitigation, given = fitted(name), vectors(5000, np.float64)
    for modality in ("image", "text"):
        change, share = mitigation.map_of(modality), mitigation.removed_share(given, modality)
        assert share.shape == (5000,)
        assert np.isnan(share[2500])
        if change.identity:
            assert np.nanmax(np.abs(share)) == 0
        elif change.keep is not None:
            usual = 1 - np.square(given[:, change.keep]).sum(1) / np.where(
                given.any(1), np.square(given).sum(1), np.nan
            )
            np.testing.assert_allclose(share, usual, atol=1e-12)
        elif name in LINEAR:
            gone = given - given @ change.matrix
            usual = np.square(gone).sum(1) / np.where(given.any(1), np.square(given).sum(1), np.nan)
            np.testing.assert_allclose(share, usual, atol=1e-10)
        assert np.nanmean(share) > 0 or change.identity or name == "leace"


@each
@pytest.mark.parametrize("broken", ["nan", "zero", "empty", "unknown set"])
def test_bad_material_is_answered_in_one_line(name, broken):
    material = material_for(name)
    targets, sets, tests = material.targets.copy(), dict(material.target_sets), material.tests
    if broken == "nan":
        targets[3, 3] = np.nan
    elif broken == "zero":
        targets[3] = 0
    elif broken == "empty":
        sets["g1"] = np.zeros(0, dtype=np.int64)
    else:
        tests = (("g0", "nobody", "a", "b"),)
    with pytest.raises(UserError) as raised:
        MITIGATIONS.get(name)().fit(replace(material, targets=targets, target_sets=sets, tests=tests))
    assert "\n" not in str(raised.value)


@each
def test_one_group_alone_is_refused(name):
    with pytest.raises(InputError, match="give it two different groups"):
        MITIGATIONS.get(name)().fit(replace(material_for(name), tests=(("g0", "g0", "a", "b"),)))


@each
def test_an_amount_below_0_is_refused(name):
    with pytest.raises(ParameterError, match="remove=-1"):
        MITIGATIONS.get(name)(remove=-1).fit(material_for(name))


@each
@pytest.mark.parametrize("remove", [1.5, True, "3"])
def test_an_amount_that_is_no_whole_number_is_refused(name, remove):
    with pytest.raises(ParameterError, match="remove="):
        MITIGATIONS.get(name)(remove=remove).fit(material_for(name))


# tables


@each
@pytest.mark.parametrize(
    "kind", [pl.List(pl.Float32), pl.List(pl.Float64), pl.Array(pl.Float32, DIMENSIONS)], ids=str
)
def test_a_table_is_changed_like_its_arrays(name, kind):
    mitigation, given = fitted(name), vectors()
    modalities = np.where(np.arange(len(given)) % 3 == 0, "image", "text").tolist()
    frame = table(given, modalities, kind)
    lazy = mitigation.transform_table(frame.lazy())
    assert isinstance(lazy, pl.LazyFrame)
    after = lazy.collect()
    assert after.schema == lazy.collect_schema()
    assert after.drop("vector").equals(frame.drop("vector"))
    dtype = np.float64 if kind.inner == pl.Float64 else np.float32
    for modality in ("image", "text"):
        rows = np.flatnonzero(np.array(modalities) == modality)
        expected = mitigation.transform(given[rows].astype(dtype), modality)
        assert [np.asarray(after["vector"][row]).tobytes() for row in rows.tolist()] == [
            row.tobytes() for row in expected
        ]


def test_a_file_is_streamed_with_the_same_result(tmp_path):
    given = vectors(5000)
    modalities = np.random.default_rng(0).choice(["image", "text"], len(given)).tolist()
    frame = table(given, modalities)
    frame.write_parquet(tmp_path / "in.parquet", row_group_size=700)
    mitigation = fitted("leace")
    mitigation.transform_table(pl.scan_parquet(tmp_path / "in.parquet")).sink_parquet(
        tmp_path / "out.parquet"
    )
    assert pl.read_parquet(tmp_path / "out.parquet").equals(
        mitigation.transform_table(frame.lazy()).collect()
    )


def test_missing_vectors_and_other_modalities_stay():
    given = vectors(4)
    frame = table(given, ["image", "audio", None, "image"]).with_columns(
        vector=pl.when(pl.col("other") != 3).then("vector")
    )
    after = fitted("mean_difference").transform_table(frame.lazy()).collect()
    assert not np.array_equal(after["vector"][0].to_numpy(), given[0])
    assert after["vector"][3] is None
    assert after[1:3].equals(frame[1:3])


@pytest.mark.parametrize("name", ["leace", "pruning"])
def test_empty_vectors_stay_and_missing_numbers_are_not_numbers(name):
    lists = [[1.0] * DIMENSIONS, [], [1.0] * (DIMENSIONS - 1) + [None]]
    frame = table(vectors(3)).with_columns(vector=pl.Series(lists, dtype=LISTS))
    after = fitted(name).transform_table(frame.lazy()).collect()["vector"]
    assert np.isfinite(after[0].to_numpy()).all()
    assert len(after[1]) == 0
    assert np.isnan(after[2].to_numpy()).any()


def test_an_empty_table_stays_empty():
    frame = table(vectors(2))[:0]
    for name in ("leace", "pruning"):
        assert fitted(name).transform_table(frame.lazy()).collect().equals(frame)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop("modality"), "no column 'modality'"),
        (lambda frame: frame.drop("vector"), "no column 'vector'"),
        (lambda frame: frame.with_columns(vector=pl.lit("text")), "'vector' holds String"),
        (
            lambda frame: frame.with_columns(vector=pl.col("vector").list.head(7)),
            "7 dimensions.*fitted on 32",
        ),
        (
            lambda frame: frame.with_columns(vector=pl.col("vector").list.head(pl.col("other") + 30)),
            "30 dimensions.*fitted on 32",
        ),
    ],
)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_table_that_does_not_fit_is_answered_in_one_line(change, message, engine):
    with pytest.raises(InputError, match=message):
        fitted("leace").transform_table(change(table(vectors(3))).lazy()).collect(engine=engine)


# arrays


def test_vectors_of_other_dimensions_name_both_numbers():
    for name in sorted(MITIGATIONS.builtin):
        with pytest.raises(InputError, match=r"vectors have 16 dimensions, .* fitted on 32"):
            fitted(name).transform(np.ones((2, 16)), "text")


def test_arrays_that_are_no_vectors_are_refused():
    mitigation = fitted("leace")
    with pytest.raises(InputError, match=r"shape \(32,\)"):
        mitigation.transform(np.ones(32), "image")
    with pytest.raises(InputError, match="not numbers"):
        mitigation.transform([["a"] * 32], "image")
    with pytest.raises(
        ParameterError, match="modality='imgae' is not possible; choose one of 'image', 'text'"
    ):
        mitigation.transform(np.ones((1, 32)), "imgae")
    assert mitigation.transform(np.ones((2, 32), dtype=int), "image").dtype == np.float64
    assert mitigation.transform(np.ones((0, 32)), "image").shape == (0, 32)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"keep": np.zeros(3, dtype=bool)}, "keeps no dimension"),
        ({"keep": np.ones(3)}, "must be bool"),
        ({"keep": np.ones(3, dtype=bool), "matrix": np.eye(3)}, "give one of the two"),
        ({"centre": np.ones(3)}, "centre without a matrix"),
        ({"matrix": np.ones((2, 3))}, r"shape \(2, 3\)"),
        ({"matrix": np.eye(3), "centre": np.ones(2)}, r"shape \(2,\)"),
        ({"matrix": np.full((2, 2), np.nan)}, "not finite"),
    ],
)
def test_a_map_checks_its_parts(parts, message):
    with pytest.raises(InputError, match=message):
        Map(**parts)


# files


@pytest.fixture
def saved(tmp_path):
    return fitted("leace").save(tmp_path / "m.safetensors")


def rewritten(path, *, card=None, **arrays):
    """The file with another card or other arrays."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as stream:
        text = stream.metadata()["evenhand"]
    text = json.dumps(json.loads(text) | card) if isinstance(card, dict) else card or text
    kept = {name: array for name, array in (load_file(path) | arrays).items() if array is not None}
    save_file(kept, path, metadata={"evenhand": text})


def test_files_that_are_no_mitigation_are_answered_in_one_line(tmp_path):
    cases = {"there is no file": tmp_path / "absent.safetensors", "no file '": tmp_path}
    (tmp_path / "text.safetensors").write_text("hello")
    (tmp_path / "empty.safetensors").write_bytes(b"")
    (tmp_path / "huge.safetensors").write_bytes(b"\xff" * 8 + b"{}")
    save_file({"weight": np.ones(3)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    save_file({"weight": np.ones(3)}, tmp_path / "bare.safetensors")
    cases |= {
        "text.safetensors' cannot be read as safetensors": tmp_path / "text.safetensors",
        "empty.safetensors' cannot be read": tmp_path / "empty.safetensors",
        "huge.safetensors' cannot be read": tmp_path / "huge.safetensors",
        "model.safetensors' is safetensors, but not a mitigation": tmp_path / "model.safetensors",
        "bare.safetensors' is safetensors, but not a mitigation": tmp_path / "bare.safetensors",
    }
    for message, path in cases.items():
        with pytest.raises(InputError) as raised:
            Mitigation.load(path)
        assert message in str(raised.value)
        assert "evenhand debias" in str(raised.value)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"card": {"schema_version": "2.0"}},
            "schema version 2.0, and this evenhand reads 1.0.*pip install -U",
        ),
        ({"card": {"kind": "poem"}}, "not a mitigation"),
        ({"card": "[" * 100_000}, "not a mitigation"),
        ({"card": {"maps": {}}}, "damaged"),
        ({"card": {"maps": 7}}, "damaged"),
        ({"card": {"maps": {"image": {"arrays": ["eval"], "unit_before": 0, "unit_after": 0}}}}, "damaged"),
        ({"card": {"facts": {"rank": 0}}}, "not those that its card was made for"),
        ({"image.matrix": None}, "damaged"),
        ({"image.matrix": np.eye(DIMENSIONS)}, "not those that its card was made for"),
        ({"image.matrix": np.ones((4, 5))}, r"damaged.*shape \(4, 5\)"),
        ({"image.centre": np.full(DIMENSIONS, np.inf)}, "damaged.*not finite"),
        ({"more": np.ones(3)}, "not those that its card was made for"),
    ],
)
def test_a_file_that_was_changed_is_refused(saved, change, message):
    rewritten(saved, **change)
    with pytest.raises(InputError, match=message):
        Mitigation.load(saved)


def test_fields_of_a_newer_minor_version_are_ignored(saved):
    before = Mitigation.load(saved)
    rewritten(saved, card={"schema_version": "1.7", "mood": "good"})
    assert Mitigation.load(saved).fingerprint() == before.fingerprint()


def test_a_file_cut_short_is_refused(saved):
    saved.write_bytes(saved.read_bytes()[:-100])
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        Mitigation.load(saved)


def test_saving_writes_whole_files_or_none(tmp_path):
    mitigation = fitted("leace")
    with pytest.raises(ParameterError, match=r"ends in \.safetensors"):
        mitigation.save(tmp_path / "m.json")
    (tmp_path / "findings.json").write_text('{"findings": []}')
    with pytest.raises(InputError, match=r"findings\.json' is something else"):
        mitigation.save(tmp_path / "findings.safetensors")
    assert os.listdir(tmp_path) == ["findings.json"]
    broken = replace(mitigation, maps={"image": Map(matrix=np.eye(3, dtype=np.longdouble))})
    broken.save(tmp_path / "long.safetensors")
    assert Mitigation.load(tmp_path / "long.safetensors").maps["image"].matrix.dtype == np.float64


def test_whatever_facts_hold_is_json_in_the_card(tmp_path):
    facts = {
        "numbers": (np.int64(3), np.float32(0.5), float("nan")), "array": np.arange(3), 7: {"a", "b"},
        "object": Map,
    }  # fmt: skip
    mitigation = Mitigation("own", {"remove": np.int64(1)}, {}, facts)
    again = Mitigation.load(mitigation.save(tmp_path / "own.safetensors"))
    assert again.facts["numbers"] == [3, 0.5, None]
    assert again.facts["array"] == [0, 1, 2]
    assert again.facts["7"] == ["a", "b"]
    assert again.fingerprint() == mitigation.fingerprint()


def test_fingerprints_differ_where_anything_does():
    mitigation = fitted("leace")
    moved = replace(mitigation.maps["image"], centre=mitigation.maps["image"].centre + 1e-12)
    others = [
        replace(mitigation, name="other"),
        replace(mitigation, params={"remove": 1}),
        replace(mitigation, facts={}),
        replace(mitigation, maps={"image": mitigation.maps["image"]}),
        replace(mitigation, maps={**mitigation.maps, "image": moved}),
        replace(mitigation, maps={**mitigation.maps, "image": replace(moved, unit_after=True)}),
    ]
    assert len({one.fingerprint() for one in [mitigation, *others]}) == 7
    assert replace(mitigation, made_with="0.0.1").fingerprint() == mitigation.fingerprint()


@pytest.mark.parametrize(
    "name", ["orthogonal_projection", "mean_difference", "leace"]
)  # inlp draws by content
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_length_beyond_what_squares_can_hold_changes_no_fit(name, size) -> None:
    material = planted(3)
    scaled = replace(material, targets=material.targets * size, attributes=material.attributes * size)
    plain, other = (MITIGATIONS.get(name)().fit(one) for one in (material, scaled))
    assert other.maps["image"].matrix == pytest.approx(plain.maps["image"].matrix, abs=1e-9)
    after = [
        one.transform(vectors, "image")
        for one, vectors in ((plain, material.targets), (other, scaled.targets))
    ]
    unscaled = after[1] if other.maps["image"].unit_before else after[1] / size
    assert unscaled == pytest.approx(after[0], rel=1e-6, abs=1e-9)
    share = other.removed_share(scaled.targets, "image")
    assert share == pytest.approx(plain.removed_share(material.targets, "image"), abs=1e-9)


def test_vectors_of_different_dimensions_are_one_line() -> None:
    with pytest.raises(InputError, match="different numbers of dimensions"):
        fitted("mean_difference").transform([[1.0, 2.0], [1.0]], "image")
