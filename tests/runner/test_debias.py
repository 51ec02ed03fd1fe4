"""``evenhand debias``: fitted on one half, measured on the other, and told as it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.mitigate import Map, Mitigation
from evenhand.workflows.debias.fitting import make_fitter, parameters_of
from evenhand.workflows.debias.items import SourceRun, read_items
from evenhand.workflows.debias.measures import Removal, Units, cosines
from evenhand.workflows.debias.split import part_of, split_halves
from evenhand.workflows.debias.tradeoff import names_of_tests
from tests.runner.debias_runs import planted, write_run

pytestmark = pytest.mark.usefixtures("without_pages")

PAIR = {"targets": ["north", "south"], "attributes": ["unpleasant", "pleasant"]}
FOUR = ("north", "south", "east", "west")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "planted", planted(seed=1))


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "four", planted(seed=2, groups=FOUR))


@pytest.fixture(scope="module")
def pruned(run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[eh.Run, Path]:
    out = tmp_path_factory.mktemp("out") / "pruned"
    made = eh.debias(run, method="pruning", parameters={"strategy": "greedy"}, out=out)
    return made, out


def d_by_hand(run: Path, half: str, made: eh.Run, mitigation: Mitigation | None) -> float:
    """d in one half from the run's files alone, in plain loops."""
    halves = made.tables["halves"].filter(pl.col("half") == half)["sample"].to_list()
    members = eh.Run.read(run).tables["members"]
    vectors = {}
    for name, modality in (("images", "image"), ("texts", "text")):
        table = pl.read_parquet(run / "evidence" / name / "*.parquet")
        array = np.stack(table["vector"].to_list()).astype(np.float64)
        if mitigation is not None:
            array = mitigation.transform(array, modality)
        vectors |= dict(zip(table["sample"], normalised(array), strict=True))

    def of(name: str, modality: str) -> list[np.ndarray]:
        chosen = members.filter((pl.col("set") == name) & (pl.col("modality") == modality))
        return [vectors[sample] for sample in chosen["sample"] if sample in halves]

    bad, good = of("unpleasant", "text"), of("pleasant", "text")
    phi = {
        name: [np.mean([x @ a for a in bad]) - np.mean([x @ b for b in good]) for x in of(name, "image")]
        for name in ("north", "south")
    }
    both = [*phi["north"], *phi["south"]]
    return (np.mean(phi["north"]) - np.mean(phi["south"])) / np.std(both, ddof=1)


def test_pruning_finds_the_planted_dimensions_and_the_held_out_reduction_is_the_held_out_one(
    run, pruned
) -> None:
    made, _ = pruned
    mitigation = made.mitigations["mitigation"]
    assert set(mitigation.facts["dimensions"][:2]) == {3, 11}
    row = made.tables["before_after"].row(0, named=True)
    for half in ("fit", "held_out"):
        for stage, one in (("before", None), ("after", mitigation)):
            by_hand = d_by_hand(run, half, made, one)
            assert row[f"{half}_{stage}"] == pytest.approx(by_hand, abs=1e-9)
            finding = made.finding("association_effect_size", stage=stage, half=half)
            assert finding.value == pytest.approx(by_hand, abs=1e-9)
    reduction = made.finding("association_reduction")
    held_out = abs(row["held_out_before"]) - abs(row["held_out_after"])
    assert reduction.value == pytest.approx(held_out, abs=1e-12)
    assert reduction.value != pytest.approx(abs(row["fit_before"]) - abs(row["fit_after"]), abs=1e-3)
    assert reduction.interval.low < reduction.value < reduction.interval.high
    assert reduction.interval.low > 0.5
    assert row["gained"]
    assert row["random_after"] > 1.5  # as many dimensions at random change next to nothing


def test_halves_share_no_item_and_have_equal_sets(pruned, run) -> None:
    table = pruned[0].tables["halves"]
    assert table["sample"].n_unique() == len(table) == 112
    members = eh.Run.read(run).tables["members"].unique(["sample", "set"])
    counts = table.join(members, on="sample").group_by("set", "half").len()
    for name in ("north", "south", "unpleasant", "pleasant"):
        sizes = counts.filter(pl.col("set") == name)["len"].to_list()
        assert sizes[0] == sizes[1]


def test_the_run_folder_holds_what_was_measured(pruned) -> None:
    made, out = pruned
    loaded = Mitigation.load(out / "mitigation.safetensors")
    assert loaded.fingerprint() == made.mitigations["mitigation"].fingerprint()
    assert json.loads((out / "mitigation.json").read_text())["name"] == "pruning"
    again = eh.Run.read(out)
    assert again.findings == made.findings
    assert again.manifest["kind"] == "debias"
    assert again.manifest["mitigations"] == {"mitigation": loaded.fingerprint()}
    assert set(again.tables) == {
        "before_after", "tradeoff", "utility", "norm_share", "halves", "artifacts", "mmbias-table3",
        "mmbias-tradeoff",
    }  # fmt: skip
    assert (out / "report.html").stat().st_size > 1_000
    assert again.manifest["model"] == "planted"


def test_equal_seeds_give_equal_bytes_and_others_give_other_halves(run, pruned) -> None:
    given = {"method": "pruning", "parameters": {"strategy": "greedy"}}
    assert eh.debias(run, **given).findings.dump() == pruned[0].findings.dump()
    other = eh.debias(run, **given, seed=1)
    assert not other.tables["halves"].equals(pruned[0].tables["halves"])


def test_findings_are_unique_and_the_reduction_comes_first(pruned) -> None:
    findings = pruned[0].findings.findings
    keys = [(one.name, json.dumps(one.params, sort_keys=True)) for one in findings]
    assert len(set(keys)) == len(keys) == 7
    assert len({one.metric for one in findings}) == 7
    assert findings[0].name == "association_reduction"
    assert findings[0].null.mean < 0.2


def test_overfitting_is_told_nothing_was_gained(tmp_path) -> None:
    noise = planted(seed=3, dimensions=256, items=16, words=12, strength=0.0)
    made = eh.debias(write_run(tmp_path / "run", noise), parameters={"strategy": "greedy"})
    row = made.tables["before_after"].row(0, named=True)
    assert abs(row["fit_before"]) - abs(row["fit_after"]) > 0.1  # on its own half it looks like a success
    assert not row["gained"]
    assert "cannot be told from 0" in " ".join(made.finding("association_reduction").notes)


@pytest.mark.parametrize("method", ["pruning", "mean_difference", "leace"])
def test_a_fair_encoder_is_not_made_unfair_beyond_the_interval(tmp_path, method) -> None:
    stronger = 0
    for seed in range(6):
        fair = planted(seed=100 + seed, dimensions=24, items=24, words=12, strength=0.0)
        made = eh.debias(write_run(tmp_path / f"{method}{seed}", fair), method=method)
        stronger += made.finding("association_reduction").interval.high < 0
    assert stronger == 0


def test_removing_nothing_changes_nothing(run) -> None:
    made = eh.debias(run, method="pruning", remove=0)
    row = made.tables["before_after"].row(0, named=True)
    assert row["held_out_before"] == row["held_out_after"] == pytest.approx(row["random_after"])
    assert (row["reduction"], row["removed"], row["gained"]) == (0.0, 0, False)
    utility = made.tables["utility"]
    assert utility["before"].to_list() == utility["after"].to_list()
    assert made.tables["norm_share"]["share"].abs().max() < 1e-12


@pytest.mark.parametrize(
    "method",
    ["clip_clip", "orthogonal_projection", "mean_difference", "inlp", "leace"],
)
def test_every_method_lowers_a_planted_association_on_held_out_items(run, method) -> None:
    remove = 2 if method == "clip_clip" else None
    made = eh.debias(run, method=method, remove=remove)
    assert made.finding("association_reduction").interval.low > 0
    curve = made.tables["tradeoff"].filter(pl.col("measure") == "absolute_effect_size")
    held_out = curve.filter((pl.col("half") == "held_out") & (pl.col("series") == "mitigation"))
    assert held_out["value"][-1] < held_out["value"][0] * 0.7


def test_calibrated_projection_takes_pairs_from_the_whole_lists(run) -> None:
    made = eh.debias(run, method="calibrated_projection", form="textual")
    assert made.mitigations["mitigation"].facts["paired"] == "as given"
    items = read_items(SourceRun.read(run), form="textual")
    fit, _ = split_halves(items, 0)
    material = part_of(items.material, fit)
    names = [items.targets[row] for row in fit.targets]
    for one, other in material.positive_pairs:
        assert names[one].replace("north", "south") == names[other]


def test_utility_and_leakage_stand_beside(pruned) -> None:
    utility = pruned[0].tables["utility"]
    assert utility["measure"].to_list() == [
        "linear_probe_accuracy",
        "zero_shot_accuracy",
        "recall_at_1",
        "recall_at_5",
        "rank_stability",
        "group_leakage",
    ]
    told = {row["measure"]: row for row in utility.iter_rows(named=True)}
    assert told["linear_probe_accuracy"]["before"] > 0.95
    assert told["linear_probe_accuracy"]["after"] < 0.75  # the planted dimensions alone told the groups
    assert told["group_leakage"]["chance"] == 0.5
    assert (told["group_leakage"]["x"], told["group_leakage"]["y"]) == ("north", "south")
    assert told["zero_shot_accuracy"]["before"] > 0.95
    assert 0 < told["rank_stability"]["after"] < 1
    share = pruned[0].tables["norm_share"]
    assert share["share"].is_between(0.05, 0.6).all()


def test_the_curve_holds_every_amount_and_series(pruned) -> None:
    curve = pruned[0].tables["tradeoff"]
    assert curve["amount"].min() == 0
    assert curve["amount"].max() >= 3
    assert set(curve["series"]) == {"mitigation", "random"}
    assert set(curve["half"]) == {"fit", "held_out"}
    assert {"linear_probe_accuracy", "zero_shot_accuracy", "recall_at_1"} <= set(curve["measure"])
    nothing = curve.filter((pl.col("amount") == 0) & (pl.col("measure") == "association_effect_size"))
    fit = nothing.filter(pl.col("half") == "fit")
    assert fit["value"].max() == pytest.approx(
        fit["value"].min(), rel=1e-12
    )  # nothing removed is nothing removed at random
    random = curve.filter((pl.col("series") == "random") & (pl.col("measure") == "absolute_effect_size"))
    assert (random["low"] <= random["value"] + 1e-12).all()


@pytest.mark.parametrize(("method", "remove"), [("inlp", 3), ("inlp", None), ("pruning", 7), ("leace", None)])
def test_what_is_handed_out_is_a_point_of_its_own_curve(four, method, remove) -> None:
    made = eh.debias(four, method=method, remove=remove)
    facts = made.mitigations["mitigation"].facts
    chosen = facts["rounds"] if method == "inlp" else facts["removed"]
    if method == "inlp" and remove:
        assert (facts["rounds"], facts["removed"]) == (3, 9)  # three directions a round
    curve = made.tables["tradeoff"]
    if remove:
        assert curve["amount"].max() == remove
    there = curve.filter(
        (pl.col("amount") == chosen)
        & (pl.col("measure") == "absolute_effect_size")
        & (pl.col("series") == "mitigation")
    )
    rows = made.tables["before_after"]
    for half in ("fit", "held_out"):
        assert there.filter(half=half)["value"].item() == pytest.approx(rows[f"{half}_after"].abs().mean())


@pytest.mark.parametrize("method", ["leace", "mean_difference", "orthogonal_projection"])
def test_removing_the_whole_space_is_refused(tmp_path, method) -> None:
    names = tuple(f"g{number}" for number in range(18))
    sets = planted(seed=4, dimensions=12, items=8, groups=names)
    tests = tuple((x, y) for x in names for y in names if x < y)
    folder = write_run(tmp_path / "run", sets, pairs=tests)
    with pytest.raises(ParameterError, match="span all 12 dimensions and nothing would be left; give remove"):
        eh.debias(folder, method=method)
    assert eh.debias(folder, method=method, remove=3, tests=["g0:g1"]).mitigations


@pytest.mark.parametrize("size", [-200, 200])
def test_vectors_of_extreme_length_are_fitted_and_measured_like_others(tmp_path, size) -> None:
    sets = planted(seed=8)
    scaled = {part: {name: one * 10.0**size for name, one in of.items()} for part, of in sets.items()}
    folder = write_run(tmp_path / "run", scaled, numbers=np.float64)
    made = eh.debias(folder, method="leace")
    plain = eh.debias(write_run(tmp_path / "plain", sets, numbers=np.float64), method="leace")
    rows = [one.tables["before_after"].row(0, named=True) for one in (made, plain)]
    assert rows[0]["before"] == pytest.approx(rows[1]["before"], rel=1e-9)  # halves are drawn by content
    assert made.finding("association_reduction").interval.low > 0
    assert made.tables["norm_share"]["share"].is_between(0, 1).all()


def test_each_pair_has_its_own_mitigation(four, tmp_path) -> None:
    made = eh.debias(four, method="mean_difference", pairs="each", out=tmp_path / "out")
    assert set(made.mitigations) == {"north--south", "east--west"}
    for name, mitigation in made.mitigations.items():
        loaded = Mitigation.load(tmp_path / "out" / "mitigations" / f"{name}.safetensors")
        assert loaded.fingerprint() == mitigation.fingerprint()
    joint = eh.debias(four, method="mean_difference")
    assert joint.tables["before_after"]["mitigation"].unique().to_list() == ["mitigation"]
    assert len(joint.tables["before_after"]) == 2


def test_names_of_files_are_unique_whatever_sets_are_called() -> None:
    tests = [("a/b", "c", "p", "q"), ("a_b", "c", "p", "q"), ("a_b", "c", "p/", "q"), ("a_b", "c", "p_", "q")]
    assert list(names_of_tests(tests).values()) == [
        "a_b--c",
        "a_b--c--p--q",
        "a_b--c--p_--q",
        "a_b--c--p_--q--2",
    ]


def test_tests_and_forms_can_be_chosen(four) -> None:
    made = eh.debias(four, method="mean_difference", tests=["east:west"], form="textual")
    row = made.tables["before_after"].row(0, named=True)
    assert (row["form"], row["x"], row["y"]) == ("textual", "east", "west")
    with pytest.raises(UnknownName, match="did you mean 'east:west'"):
        eh.debias(four, method="mean_difference", tests=["east:wets"])
    with pytest.raises(UnknownName, match="'cross-modal', 'textual'"):
        eh.debias(four, method="mean_difference", form="visual")


def test_the_same_photo_under_two_names_goes_to_one_half_and_out_of_its_pair(tmp_path) -> None:
    sets = planted(seed=5, items=12)
    sets["images"]["south"][3] = sets["images"]["north"][7]  # in both groups
    sets["images"]["north"][1] = sets["images"]["north"][2]  # twice in one
    source = SourceRun.read(write_run(tmp_path / "run", sets))
    items = read_items(source)
    x, y, _, _ = items.compared["north", "south", "unpleasant", "pleasant"]
    assert (len(x), len(y)) == (11, 11)
    for seed in range(10):
        halves = split_halves(items, seed)
        for one, other in (("north/7", "south/3"), ("north/1", "north/2")):
            rows = [items.targets.index(name) for name in (one, other)]
            assert sum(np.isin(rows, half.targets).all() for half in halves) == 1


def _halves(made: eh.Run) -> set[tuple[str, str, str]]:
    return set(made.tables["halves"].select("role", "sample", "half").rows())


def test_halves_go_by_id_whatever_numbers_the_vectors_are(tmp_path, pruned) -> None:
    made, _ = pruned
    for name, sets, numbers in (
        (
            "scaled",
            planted(seed=1),
            lambda vectors: vectors.astype(np.float32).astype(np.float64) * (1 + 1e-6),
        ),
        ("half", planted(seed=1), lambda vectors: vectors.astype(np.float16).astype(np.float64)),
        ("other model", planted(seed=99, dimensions=48), lambda vectors: vectors),
    ):
        changed = {part: {group: numbers(of) for group, of in sets[part].items()} for part in sets}
        again = eh.debias(
            write_run(tmp_path / name, changed, numbers=np.float64), parameters={"strategy": "greedy"}
        )
        assert _halves(again) == _halves(made), name
        if name == "scaled":
            one, other = (each.tables["before_after"]["reduction"] for each in (made, again))
            np.testing.assert_allclose(other, one, atol=1e-4)


def test_an_item_without_a_vector_moves_one_other_of_its_set_at_most(tmp_path) -> None:
    sets = planted(seed=6, items=13)
    whole = split_halves(read_items(SourceRun.read(write_run(tmp_path / "all", sets))), 0)
    ids = [f"north/{index}" for index in range(13)] + [f"south/{index}" for index in range(13)]
    fit = {ids[row] for row in whole[0].targets}
    for gone in (0, 5, 12):
        fewer = planted(seed=6, items=13)
        fewer["images"]["north"][gone] = 0
        items = read_items(SourceRun.read(write_run(tmp_path / str(gone), fewer)))
        left = {items.targets[row] for row in split_halves(items, 0)[0].targets}
        assert len((left ^ fit) - {f"north/{gone}"}) <= 1


def test_items_without_a_usable_vector_are_counted(tmp_path) -> None:
    sets = planted(seed=6, items=12)
    sets["images"]["north"][0] = np.nan
    sets["images"]["north"][1] = 0
    folder = write_run(tmp_path / "run", sets)
    file = folder / "evidence" / "images" / "part-00000.parquet"
    table = pl.read_parquet(file)
    gone = pl.col("sample") == "south/2"
    table.with_columns(vector=pl.when(~gone).then("vector")).write_parquet(file)
    made = eh.debias(folder, method="mean_difference")
    dropped = {one.reason: one.count for one in made.finding("association_reduction").dropped}
    assert dropped == {"no answer": 1, "vector that is not finite": 1, "vector of length 0": 1}


def test_sets_too_small_to_be_halved_are_one_line(tmp_path) -> None:
    folder = write_run(tmp_path / "run", planted(seed=7, items=3))
    with pytest.raises(InputError, match=r"'north' has 3 usable items, and a fit half .* need 4"):
        eh.debias(folder, method="mean_difference", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_without_embeddings_or_tests_is_one_line(tmp_path, run) -> None:
    with pytest.raises(InputError, match="no run folder"):
        eh.debias(tmp_path, method="mean_difference")
    source = eh.Run.read(run)
    bare = eh.Run.read(run).__class__(source.findings, source.manifest)
    assert bare.save(tmp_path / "bare")
    with pytest.raises(InputError, match="holds no embeddings"):
        eh.debias(tmp_path / "bare", method="mean_difference")


@pytest.mark.parametrize(
    ("method", "parameters", "remove", "message"),
    [
        ("prunning", {}, None, "did you mean 'pruning'"),
        ("pruning", {"strateg": "greedy"}, None, "did you mean 'strategy'"),
        ("pruning", {"strategy": "greddy"}, None, "choose one of 'one_shot', 'greedy'"),
        ("pruning", {"remove": "many"}, None, "give int or none"),
        ("pruning", {"stop_at_zero": "perhaps"}, None, "give bool"),
        ("pruning", {"quantile": "x"}, None, "give float"),
        ("pruning", {"remove": "3"}, 3, "say the same"),
        ("pruning", {}, -1, "give 0"),
    ],
)
def test_parameters_are_checked(method, parameters, remove, message) -> None:
    with pytest.raises((ParameterError, UnknownName), match=message):
        make_fitter(method, parameters, remove)


def test_parameters_are_read_by_their_types() -> None:
    text = {"remove": "none", "strategy": "greedy", "stop_at_zero": "no", "quantile": "0.25"}
    told = parameters_of(make_fitter("pruning", text))
    assert (told["remove"], told["strategy"]) == (None, "greedy")
    assert (told["stop_at_zero"], told["quantile"]) == (False, 0.25)


OWN = '''
from dataclasses import dataclass
import numpy as np
from evenhand.mitigate import Map, Mitigation

@dataclass(frozen=True)
class First:
    """Leaves out the first dimensions."""
    name = "first"
    remove: int = 1

    def fit(self, material, *, seed=0):
        keep = np.arange(material.dimensions) >= self.remove
        facts = {"removed": self.remove, "dimensions": list(range(self.remove))}
        maps = {modality: Map(keep=keep) for modality in ("image", "text")}
        return Mitigation(self.name, {"remove": self.remove}, maps, facts)
'''


def test_a_fitter_of_ones_own_works_like_the_others(run, tmp_path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    made = eh.debias(run, method=f"{tmp_path}/own.py:First", parameters={"remove": "4"}, out=tmp_path / "out")
    assert made.tables["before_after"]["removed"].to_list() == [4]
    assert Mitigation.load(tmp_path / "out" / "mitigation.safetensors").name == "first"


def test_random_removal_takes_as_much_and_no_more(run) -> None:
    material = read_items(SourceRun.read(run)).material
    units = Units.of(material)
    rng = np.random.default_rng(0)
    for kind in ("dimensions", "directions"):
        none = Removal(kind, 0, ("image", "text")).at_random(units, rng)
        assert np.allclose(none, cosines(material), atol=1e-12)
        many = Removal(kind, 31, ("image", "text")).at_random(units, rng)
        assert np.allclose(np.abs(many), 1, atol=1e-6)  # one dimension is left: all vectors lie along it
        texts = Removal(kind, 31, ("text",)).at_random(units, rng)
        assert not np.allclose(np.abs(texts), 1)


def test_random_removal_is_that_of_vectors_made_anew(run) -> None:
    material = read_items(SourceRun.read(run)).material
    chosen = np.random.default_rng(5).permutation(32)[:6]
    keep = {name: Map(keep=~np.isin(np.arange(32), chosen)) for name in ("image", "text")}
    anew = cosines(material, Mitigation("own", {}, keep, {}))
    quick = Removal("dimensions", 6, ("image", "text")).at_random(
        Units.of(material), np.random.default_rng(5)
    )
    assert np.allclose(anew, quick, atol=1e-12)
