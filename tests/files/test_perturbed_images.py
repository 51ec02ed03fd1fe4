"""Changed images: what is changed and what is not, who they are to the cache, and two runs compared."""

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.benchmarks.benchmark import PERTURBING
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.core.errors import ParameterError, UserError
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.perturbed import (
    NO_REGION,
    Perturbation,
    PerturbedImages,
    Region,
    perturbed,
    read_regions,
)
from evenhand.files.images.sources import ImageFiles
from evenhand.workflows.execution.leakage import hashes_of

PERSON, LAMP, CHAIR = (
    Region("person", (2, 2, 10, 14)),
    Region("object", (8, 0, 16, 8)),
    Region("object", (16, 8, 24, 16)),
)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Three noisy pictures."""
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for number in range(3):
        Image.fromarray(rng.integers(1, 256, (16, 24, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    return ImageFiles(sorted(folder.glob("*.png")))


def changed(before, after):
    return (before != after).any(axis=2)


@pytest.mark.parametrize("text", ["blur:3", "black", "mask:1"])
def test_the_pixels_of_persons_stay(images, text):
    before = images.load(0)
    after = Perturbation.parse(text).of(before, [PERSON, LAMP, CHAIR])
    person, lamp = PERSON.inside(16, 24), LAMP.inside(16, 24)
    assert not changed(before, after)[person].any()
    assert changed(before, after)[lamp & ~person].mean() > 0.9
    nothing_there = ~(person | lamp | CHAIR.inside(16, 24))
    assert changed(before, after)[nothing_there].any() == (text != "mask:1")


def test_a_share_of_the_objects_is_masked_by_seed_and_image(images):
    before = images.load(0)

    def masked(seed, key):
        after = Perturbation.parse("mask:0.5", seed).of(before, [PERSON, LAMP, CHAIR], key)
        return tuple(
            bool((after[r.inside(16, 24) & ~PERSON.inside(16, 24)] == 0).all()) for r in (LAMP, CHAIR)
        )

    seen = {masked(seed, key) for seed in range(4) for key in "ab"}
    assert seen == {(True, False), (False, True)}
    assert masked(1, "a") == masked(1, "a")


def test_a_changed_image_is_another_image(images):
    ways = [
        PerturbedImages(images, Perturbation.parse(text), [[PERSON, LAMP]] * 3, ["a", "b", "c"])
        for text in ("jpeg:50", "jpeg:51", "blur:2", "blur:3", "black", "mask:1")
    ]
    moved = PerturbedImages(images, Perturbation.parse("black"), [[LAMP]] * 3)
    digests = [images.digest(0), moved.digest(0), *(way.digest(0) for way in ways)]
    assert len(set(digests)) == len(digests)
    assert [way.digests(0, 3)[1] for way in ways] == [way.digest(1) for way in ways]
    assert {digest for digest, _ in hashes_of(ways[0])} == {digest for digest, _ in hashes_of(images)}
    without = PerturbedImages(images, Perturbation.parse("black"), [[PERSON], None, [PERSON]])
    assert [isinstance(digest, UnreadableImage) for digest in without.digests(0, 3)] == [False, True, False]


def test_boxes_and_masks_of_a_table(tmp_path):
    ends = np.zeros((4, 6), dtype=np.uint8)
    ends[1, 2] = 9
    Image.fromarray(ends).save(tmp_path / "hand.png")
    file = tmp_path / "regions.csv"
    file.write_text("sample,what,left,top,right,bottom,mask\na,object,0,0,2,2,\na,,,,,,hand.png\n")
    lamp, hand = read_regions(str(file))["a"]
    assert (lamp.what, lamp.inside(4, 6).sum(), hand.what, hand.inside(4, 6).sum()) == (
        "object",
        4,
        "person",
        1,
    )
    with pytest.raises(UnreadableImage, match="another size"):
        hand.inside(5, 6)
    for rows, problem in (("a,cat,0,0,2,2,\n", "'cat'"), ("a,person,0,0,2,,\n", "row 1")):
        file.write_text("sample,what,left,top,right,bottom,mask\n" + rows)
        with pytest.raises(UserError, match=problem):
            read_regions(str(file))


@pytest.mark.parametrize(
    ("text", "regions"), [("jpeg:0", ""), ("jpeg", ""), ("fog:3", ""), ("blur:3", ""), ("jpeg:50", "r.csv")]
)
def test_what_is_not_possible_is_said(images, text, regions):
    asked = [eh.Question("q", "embeds_images", ["a"] * 3, images)]
    with pytest.raises(ParameterError, match=r"perturb=.* (areas|jpeg:QUALITY|choose)"):
        perturbed(asked, {"perturb": text, "areas": regions}, 0)


class Background:
    """Calls by the brightest pixel of the lower half."""

    labels, version = ("dark", "light"), "1"

    def classify(self, images):
        light = [float(image[8:].max() > 100) for image in images]
        return np.array([[1 - number, number] for number in light], np.float32)


class Lights(eh.Benchmark):
    """Is the lower half light? A person stands above it."""

    name = "lights"

    def plan(self, setting):
        paths = sorted(setting.data.glob("*.png"))
        names, truth = [path.name for path in paths], [path.name.split("-")[1] for path in paths]
        rows = pl.DataFrame({"sample": names, "truth": truth, "group": [name[-5] for name in names]})
        asked = eh.Question("predictions", "classifies_images", names, ImageFiles(paths), truth=truth)
        return eh.Plan(rows, [asked], by=[("group",)])

    def measure(self, answered):
        rows = answered.evidence["predictions"].join(
            answered.plan.annotations.drop("truth").lazy(), on="sample"
        )
        counts = eh.Predictions.from_frame(rows, truth="truth", prediction="prediction").count(["group"])
        return eh.Measured([eh.metrics.accuracy(counts, by="group")], {"predictions": counts})


LIGHTS = Lights()


def test_runs_on_changed_images_share_no_answer_and_are_compared_sample_by_sample(tmp_path):
    regions = []
    for number in range(24):
        truth, group = ("light", "dark")[number % 2], "ab"[number // 2 % 2]
        picture = np.full((16, 16, 3), 20, dtype=np.uint8)
        picture[12:] = 200 if truth == "light" else 20  # below the person
        picture[0, 0] = number
        name = f"{number:02}-{truth}-{group}.png"
        Image.fromarray(picture).save(tmp_path / name)
        regions += [{"sample": name, "left": 4, "top": 4, "right": 12, "bottom": 11}] if number else []
    pl.DataFrame(regions).write_csv(tmp_path / "regions.csv")

    def run(out=None, **parameters):
        options = {"data": tmp_path, "parameters": parameters, "out": out and tmp_path / out}
        return eh.run(f"{__file__}:LIGHTS", model=Background(), **options)

    def asked_and_reused(result):
        (question,) = result.manifest["asking"]["questions"]
        return question["asked"], question["reused"]

    first, again = run("plain"), run()
    assert (asked_and_reused(first), asked_and_reused(again)) == ((24, 0), (0, 24))
    assert "perturb" not in first.manifest["parameters"]
    changes = {"perturb": "black", "areas": str(tmp_path / "regions.csv")}
    black, again = run("black", **changes), run(**changes)
    assert (asked_and_reused(black), asked_and_reused(again)) == ((23, 0), (0, 23))
    assert black.unanswered.select("sample", "reason").rows() == [("00-light-a.png", NO_REGION)]
    plain, without = (
        next(f.value for f in result.findings if f.name == "accuracy") for result in (first, black)
    )
    assert (plain, without) == (1.0, 12 / 23)
    compared = eh.compare([tmp_path / "plain", tmp_path / "black"], metrics=["accuracy"])
    (change,) = [f for f in compared.findings if f.name == "accuracy_difference"]
    assert (change.value, change.n) == (pytest.approx(-11 / 23), 23)
    assert change.p_value < 0.01
    assert change.interval.high < 0
    with pytest.raises(ParameterError, match="areas"):
        run(areas="x.csv")


def test_no_benchmark_has_a_parameter_of_these_names():
    own = {name: BENCHMARKS.get(name).parameters.keys() & PERTURBING.keys() for name in BENCHMARKS.names()}
    assert {name: names for name, names in own.items() if names} == {}
