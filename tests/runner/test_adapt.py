"""``eh.adapt``: probes, fine-tuning and zero-shot heads; what they are fitted on, and refuse to be asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import InputError, ParameterError, UnknownName, UserError
from evenhand.core.requests import Question
from evenhand.files.images.chained import ChainedImages
from evenhand.files.images.cropped import CroppedImages
from evenhand.files.images.sources import ImageFiles
from evenhand.models.resolve import resolve
from evenhand.runs.manifest import adaptation_warnings
from evenhand.workflows.adapt.head_classes import ClassSelection
from evenhand.workflows.adapt.stable_uris import lasting_uri
from evenhand.workflows.adapt.training_images import read_training
from evenhand.workflows.execution.leakage import hashes_of, refuse_training_images
from tests.benchmarks.people_layouts import casual_conversations
from tests.models.tiny import build
from tests.runner.adapting import picture, write_extractor, write_folders, write_tars

pytestmark = pytest.mark.usefixtures("without_pages")

COUNTS = {"red": 30, "green": 12, "blue": 12}
SWINE, SLUG, MOTOR = "n02395003", "n01945685", "n03791053"


@pytest.fixture
def extractor(tmp_path: Path) -> str:
    return write_extractor(tmp_path)


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_folders(tmp_path / "train", COUNTS)


def content_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_planted_classes_are_learnt_and_the_new_model_is_measured(tmp_path, extractor, train):
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "model")
    assert made.uri == f"adapted:{tmp_path / 'model'}"
    assert made.card["fit"]["validation_accuracy"] == 1.0
    assert made.card["fit"]["validation_images"] == 3 + 1 + 1
    assert [one["images"] for one in made.card["classes"]] == [12, 12, 30]  # blue, green, red
    test = write_folders(tmp_path / "test", {"red": 8, "green": 8, "blue": 8}, seed=1)
    run = eh.run("classification", model=made.uri, data=test, parameters={"truth": ""})
    assert run.finding("accuracy").value == 1.0
    identity = run.manifest["model_identity"]
    assert identity["adaptation"] == "probe"
    assert json.loads(identity["adaptation recipe"])["class_weights"] == "balanced"


def test_a_second_adaptation_asks_nothing_and_a_seed_repeats_to_the_byte(tmp_path, extractor, train):
    (first,) = eh.adapt(extractor, train=train, out=tmp_path / "a", parameters={"l2": "0.01"})
    (second,) = eh.adapt(extractor, train=train, out=tmp_path / "b", parameters={"l2": "0.01"})
    assert (first.asked, second.asked) == (sum(COUNTS.values()), 0)
    assert content_of(tmp_path / "a") == content_of(tmp_path / "b")
    (other,) = eh.adapt(extractor, train=train, out=tmp_path / "c", parameters={"l2": "0.01"}, seed=1)
    assert other.asked == 0
    assert content_of(tmp_path / "c")["head.safetensors"] != content_of(tmp_path / "a")["head.safetensors"]


def test_several_seeds_are_several_models(tmp_path, extractor, train):
    made = eh.adapt(extractor, train=train, out=tmp_path / "models", seeds=3, seed=4)
    assert [one.folder.name for one in made] == ["seed-4", "seed-5", "seed-6"]
    assert [one.card["seed"] for one in made] == [4, 5, 6]
    identities = [resolve(one.uri).identity() for one in made]
    assert len({one["sha256 of head"] for one in identities}) == 3
    assert len({one["adaptation recipe"] for one in identities}) == 1
    assert len({one["adaptation images"] for one in identities}) == 1


def test_halves_depend_on_contents_alone(tmp_path, train):
    rows = [(path.relative_to(train), path.parent.name) for path in sorted(train.rglob("*.png"))]
    frame = pl.DataFrame({"file": [str(path) for path, _ in rows], "what": [name for _, name in rows]})
    frame.sample(fraction=1, shuffle=True, seed=3).write_csv(train / "table.csv")
    one = read_training(train / "table.csv", image="file", truth="what")
    shutil.copytree(train, tmp_path / "copy", ignore=shutil.ignore_patterns("*.csv"))
    other = read_training(tmp_path / "copy")
    chosen = []
    for training in (one, other):
        fit, validation = training.halves(0.3, seed=7)
        assert not set(fit.tolist()) & set(validation.tolist())
        assert len(fit) + len(validation) == len(training)
        assert set(training.codes[fit].tolist()) == {0, 1, 2}
        assert np.bincount(training.codes[validation]).tolist() == [4, 4, 9]
        chosen.append({training.digests[row] for row in validation.tolist()})
    assert chosen[0] == chosen[1]


def test_one_content_counts_once_and_never_under_two_labels(tmp_path, extractor):
    train = write_folders(tmp_path / "train", {"red": 6, "green": 6})
    shutil.copy(train / "red" / "0.png", train / "red" / "again.png")
    shutil.copy(train / "red" / "1.png", train / "green" / "wrong.png")
    (train / "green" / "broken.png").write_bytes(b"no image")
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m", parameters={"validation": "0", "l2": ".1"})
    dropped = {one["reason"]: one["count"] for one in made.card["dropped"]}
    assert dropped.pop("copies of another image") == 1
    assert dropped.pop("one content under several labels") == 2
    assert sum(dropped.values()) == 1
    assert made.card["training"]["images"] == 11
    assert made.card["fit"]["validation_accuracy"] is None


def test_images_without_an_answer_are_counted(tmp_path, train):
    write_extractor(tmp_path)
    bright = picture((255, 255, 255), np.random.default_rng(0), noise=2)
    bright.save(train / "red" / "bright.png")
    (made,) = eh.adapt(f"{tmp_path / 'own.py'}:Silent", train=train, out=tmp_path / "m")
    assert made.card["dropped"] == [{"reason": "too bright", "count": 1}]
    assert made.card["training"]["images"] == sum(COUNTS.values())
    model = resolve(made.uri).load()
    answers = model.classify([np.asarray(bright), np.zeros((4, 4, 3), np.uint8)])
    assert isinstance(answers[0], NotAnswered)
    assert answers[1].shape == (3,)


def test_the_model_is_not_asked_about_what_it_was_fitted_on(tmp_path, extractor, train):
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m")
    test = write_folders(tmp_path / "test", {"red": 5, "green": 5}, seed=1)
    shutil.copy(train / "blue" / "3.png", test / "red" / "renamed.png")
    with pytest.raises(InputError, match=r"was fitted on 1 of these images, such as 'red/renamed.png'"):
        eh.run("classification", model=made.uri, data=test)
    (test / "red" / "renamed.png").unlink()
    assert eh.run("classification", model=made.uri, data=test).finding("accuracy").n == 10
    with pytest.raises(InputError, match=r"on 54 of these images, such as 'blue/0.png'"):
        eh.run("classification", model=made.uri, data=train)


def test_a_crop_counts_as_its_image_and_chains_are_looked_through(tmp_path, extractor, train):
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m")
    source = resolve(made.uri)
    other = tmp_path / "other.png"
    picture((9, 9, 9), np.random.default_rng(5)).save(other)
    files = ImageFiles([other, train / "red" / "2.png"])
    whole = (0.0, 0.0, 1.0, 0.5)
    for images, refused in (
        (CroppedImages(files, [0, 0], [whole, whole]), False),
        (CroppedImages(files, [0, 1], [whole, whole]), True),
        (ChainedImages([ImageFiles([other]), CroppedImages(files, [1], [whole])]), True),
    ):
        question = Question("q", "classifies_images", ["a", "b"][: len(images)], images)
        if not refused:
            refuse_training_images(source, [question])
            continue
        with pytest.raises(InputError, match=r"such as 'b'"):
            refuse_training_images(source, [question])
    assert len(list(hashes_of(CroppedImages(files, [0, 0], [whole, whole])))) == 3


def test_what_will_be_measured_on_is_not_trained_on(tmp_path, extractor, train):
    test = write_folders(tmp_path / "test" / "deep", {"red": 3}, seed=1)
    eh.adapt(extractor, train=train, out=tmp_path / "m", evaluation=[tmp_path / "test"])
    shutil.copy(test / "red" / "0.png", train / "red" / "mine.png")
    with pytest.raises(InputError, match=r"1 of 55 training images are in --evaluation .* 'red/mine.png'"):
        eh.adapt(extractor, train=train, out=tmp_path / "m2", evaluation=[tmp_path / "test"])
    assert not (tmp_path / "m2").exists()


def test_an_adapted_model_can_be_adapted_and_remembers_both(tmp_path, extractor, train):
    (first,) = eh.adapt(extractor, train=train, out=tmp_path / "m")
    more = write_folders(
        tmp_path / "more", {"dark": 9, "light": 9}, 3, {"dark": (9, 9, 9), "light": (230, 230, 230)}
    )
    (second,) = eh.adapt(first.uri, train=more, out=tmp_path / "m2")
    assert len(resolve(second.uri).training_hashes()) == 54 + 18
    with pytest.raises(InputError, match="was fitted on"):
        eh.run("classification", model=second.uri, data=train, parameters={"spelling": "any"})
    with pytest.raises(InputError, match="was fitted on"):
        eh.adapt(first.uri, train=train, out=tmp_path / "m3")


@pytest.mark.parametrize("form", ["folders", "tars", "named folders"])
def test_a_taxonomy_picks_its_classes_from_any_copy_of_imagenet(tmp_path, extractor, form):
    counts = {SLUG: 8, SWINE: 9, MOTOR: 7}
    if form == "tars":
        train = write_tars(tmp_path / "in21k", counts)
    elif form == "folders":
        train = write_folders(tmp_path / "in21k", counts)
    else:
        train = write_folders(tmp_path / "in21k", {f"{id_}_what_it_is": n for id_, n in counts.items()})
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m", classes="casual-conversations")
    named = [(one["label"], one["wordnet_id"], one["images"]) for one in made.card["classes"]]
    assert named == [("slug", SLUG, 8), ("swine", SWINE, 9)]
    assert "people (n07942152)" in made.card["not_found"]
    assert len(made.card["not_found"]) == 22
    model = resolve(made.uri).load()
    assert model.labels == ["slug", "swine"]
    assert model.wordnet_ids == [SLUG, SWINE]


def test_hyponyms_are_classes_too(tmp_path, extractor):
    train = write_folders(tmp_path / "in21k", {"n02396427": 6, SLUG: 6, MOTOR: 6})  # a wild boar
    with pytest.raises(InputError, match="1 are in"):
        eh.adapt(extractor, train=train, out=tmp_path / "m", classes="openimages-miap")
    (tmp_path / "is_a.txt").write_text(f"{SWINE} n02396427\n")
    parameters = {"hyponyms": str(tmp_path / "is_a.txt")}
    (made,) = eh.adapt(
        extractor, train=train, out=tmp_path / "m", classes="openimages-miap", parameters=parameters
    )
    assert [one["wordnet_id"] for one in made.card["classes"]] == [SLUG, "n02396427"]


def test_classes_from_a_list_and_by_their_words(tmp_path, extractor, train):
    (tmp_path / "classes.txt").write_text("Red\tcrimson\nblue\nviolet\n")
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m", classes=str(tmp_path / "classes.txt"))
    assert [one["label"] for one in made.card["classes"]] == ["blue", "crimson"]
    assert made.card["not_found"] == ["violet"]
    assert made.card["dropped"] == [{"reason": "label outside of the classes", "count": 12}]
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"warm": ["red"], "cold": ["blue", "n03791053"]}))
    assert ClassSelection.read(str(own)).chosen(["red", "Blue", "green", MOTOR]) == {
        "red": "red", "Blue": "blue", MOTOR: MOTOR,
    }  # fmt: skip


def test_labels_that_stand_for_two_classes_get_their_id(tmp_path, extractor):
    (tmp_path / "classes.txt").write_text(f"{SLUG}\tslug\nn04237423\tslug\n")
    train = write_folders(tmp_path / "in21k", {SLUG: 8, "n04237423": 8})
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m", classes=str(tmp_path / "classes.txt"))
    assert [one["label"] for one in made.card["classes"]] == [f"slug ({SLUG})", "slug (n04237423)"]


def test_per_class_takes_the_same_images_wherever_they_lie(tmp_path, train):
    shutil.copytree(train, tmp_path / "copy")
    one, other = (read_training(place, per_class=5) for place in (train, tmp_path / "copy"))
    assert one.per_class().tolist() == [5, 5, 5]
    assert one.samples == other.samples
    assert one.dropped == {"beyond per_class": 54 - 15}


def test_zero_shot_heads_say_what_zero_shot_classification_says(tmp_path):
    test = write_folders(tmp_path / "test", {"doctor": 6, "nurse": 6, "dog": 6})
    model = f"hf:{build('clip')}"
    (tmp_path / "classes.txt").write_text("doctor\nnurse\ndog\n")
    templates = {"templates": "a photo of the {label}|the {label} is in the street"}
    (made,) = eh.adapt(
        model,
        method="zero_shot",
        classes=str(tmp_path / "classes.txt"),
        parameters=templates,
        out=tmp_path / "m",
    )
    assert made.card["training"]["images"] == 0
    asked = eh.run(
        "classification",
        model=model,
        data=test,
        parameters={**templates, "labels": str(tmp_path / "classes.txt")},
    )
    headed = eh.run("classification", model=made.uri, data=test)
    assert len(set(asked.counts["predictions"].axis("prediction").levels)) >= 1
    assert headed.finding("accuracy").value == asked.finding("accuracy").value
    left, right = (one.counts["predictions"] for one in (headed, asked))
    assert left.n.tolist() == right.n.tolist()
    with pytest.raises(UserError, match="embeds_texts"):
        eh.adapt(f"hf:{build('vit')}", method="zero_shot", classes="openimages-miap", out=tmp_path / "m2")


@pytest.mark.parametrize("name", ["vit_features", "resnet", "convnext"])
def test_fine_tuning_learns_and_leaves_a_folder_that_hf_opens(tmp_path, train, name):
    recipe = {"epochs": "6", "learning_rate": "1e-3", "head_learning_rate": "1e-2", "batch": "8"}
    (made,) = eh.adapt(
        f"hf:{build(name)}", train=train, method="fine_tuning", out=tmp_path / "m", parameters=recipe
    )
    assert made.card["fit"]["fit_accuracy"] > 0.8
    assert all("classifier" in weight for weight in made.card["fit"]["new_weights"])
    assert not (tmp_path / "m" / "head.safetensors").exists()
    history = pl.read_parquet(tmp_path / "m" / "history.parquet")
    assert history["fit_loss"][-1] < history["fit_loss"][0]
    assert history["epoch"].to_list() == list(range(1, len(history) + 1))
    images = [np.asarray(Image.open(path)) for path in sorted(train.rglob("*.png"))[:3]]
    adapted = resolve(made.uri).load()
    plain = resolve(f"hf:{tmp_path / 'm' / 'network'}").load()
    assert adapted.labels == plain.labels == ["blue", "green", "red"]
    prepared = [adapted.prepare(image) for image in images]
    assert np.array_equal(adapted.classify(prepared), plain.classify(prepared))
    test = write_folders(tmp_path / "test", {"red": 6, "green": 6, "blue": 6}, seed=2)
    assert eh.run("classification", model=made.uri, data=test).finding("accuracy").value > 0.8
    with pytest.raises(InputError, match="was fitted on"):
        eh.run("classification", model=made.uri, data=train)


def test_fine_tuning_repeats_with_its_seed_and_stops_by_validation(tmp_path):
    rng = np.random.default_rng(0)
    train = tmp_path / "noise"
    for name in ("a", "b"):
        (train / name).mkdir(parents=True)
        for index in range(12):
            picture((128, 128, 128), rng).save(train / name / f"{index}.png")
    recipe = {"epochs": "40", "learning_rate": "1e-3", "validation": ".5", "patience": "2", "batch": "4"}
    made = []
    for out in ("one", "two"):
        how = {"train": train, "method": "fine_tuning", "parameters": recipe}
        (model,) = eh.adapt(f"hf:{build('vit_features')}", out=tmp_path / out, **how)
        made.append(model.card)
    assert made[0] == made[1]
    assert made[0]["fit"]["stopped_because"] == "validation"
    history = pl.read_parquet(tmp_path / "one" / "history.parquet")
    best = history["validation_loss"].arg_min() + 1
    assert made[0]["fit"]["epochs"] == best
    assert len(history) == best + 2
    weights = [content_of(tmp_path / out)["network/model.safetensors"] for out in ("one", "two")]
    assert weights[0] == weights[1]


def test_a_network_without_its_weights_is_not_fine_tuned(tmp_path, train):
    safetensors = pytest.importorskip("safetensors.numpy")
    folder = shutil.copytree(build("vit_features"), tmp_path / "hollow")
    weights = safetensors.load_file(folder / "model.safetensors")
    kept = {name: weights[name] for name in list(weights)[:3]}
    safetensors.save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="more than a new head"):
        eh.adapt(f"hf:{folder}", train=train, method="fine_tuning", out=tmp_path / "m")


def test_only_models_of_two_libraries_are_fine_tuned(tmp_path, extractor, train):
    with pytest.raises(UserError, match="give an hf: or timm: model, or adapt it with --method probe"):
        eh.adapt(extractor, train=train, method="fine_tuning", out=tmp_path / "m")
    with pytest.raises(UserError, match="cannot be given a new head"):
        eh.adapt(f"hf:{build('git')}", train=train, method="fine_tuning", out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"method": "linear"}, ParameterError, "choose one of 'probe'"),
        ({"parameters": {"epochs": "3"}}, UnknownName, "there is no parameter of probe 'epochs'"),
        ({"parameters": {"l2": "much"}}, ParameterError, "give auto, or a number"),
        ({"parameters": {"l2": "auto", "validation": "0"}}, ParameterError, "needs a validation share"),
        ({"parameters": {"validation": "1"}}, ParameterError, r"\[0, 1\)"),
        ({"parameters": {"validation": "0.01"}}, ParameterError, "leave none for validation"),
        ({"seeds": 0}, ParameterError, "1 or more"),
        ({"train": None}, ParameterError, "give --train IMAGES"),
        ({"method": "zero_shot", "train": None}, UserError, "embeds_texts"),
        ({"classes": "casual-conversation"}, UnknownName, "did you mean 'casual-conversations'"),
        ({"classes": "casual-conversations"}, InputError, "0 are in"),
        ({"truth": "label"}, InputError, "annotations.csv"),
    ],
)
def test_mistakes_teach_and_write_nothing(tmp_path, extractor, train, changes, kind, message):
    with pytest.raises(kind, match=message):
        eh.adapt(extractor, **{"train": train, "out": tmp_path / "m", **changes})
    assert not (tmp_path / "m").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path, extractor, train):
    with pytest.raises(InputError, match="holds other files"):
        eh.adapt(extractor, train=train, out=train)
    with pytest.raises(UserError, match="cannot be loaded again"):
        eh.adapt(object(), train=train, out=tmp_path / "m")


def test_comparisons_say_what_was_not_adapted_alike(tmp_path, extractor, train):
    few = write_folders(tmp_path / "few", {"red": 9, "green": 9}, seed=8)
    made = {
        "a": eh.adapt(extractor, train=train, out=tmp_path / "a")[0],
        "b": eh.adapt(extractor, train=train, out=tmp_path / "b", seed=9)[0],
        "c": eh.adapt(extractor, train=train, out=tmp_path / "c", parameters={"vectors": "unit"})[0],
        "d": eh.adapt(extractor, train=few, out=tmp_path / "d")[0],
    }
    told = {
        name: {"model": name, "model_identity": resolve(one.uri).identity()} for name, one in made.items()
    }
    plain = {"model": "plain", "model_identity": {"name": "x"}}
    assert adaptation_warnings([told["a"], told["b"]]) == []
    assert adaptation_warnings([plain, plain]) == []
    (recipes,) = adaptation_warnings([told["a"], told["c"]])
    assert "vectors raw and unit" in recipes
    classes, images = adaptation_warnings([told["a"], told["d"]])
    assert "'a' and 'd' were adapted to other classes" in classes
    assert "on other training images" in images
    assert "'plain' was not" in adaptation_warnings([told["a"], plain])[0]


def test_uris_hold_wherever_they_are_typed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vit").mkdir()
    for name in ("net.onnx", "own.py", "w.safetensors"):
        (tmp_path / name).touch()
    assert lasting_uri("hf:vit") == f"hf:{tmp_path}/vit"
    assert lasting_uri("hf:org/name@main") == "hf:org/name@main"
    assert lasting_uri("onnx:net.onnx") == f"onnx:{tmp_path}/net.onnx"
    assert lasting_uri("own.py:Model") == f"{tmp_path}/own.py:Model"
    assert lasting_uri("timm:resnet50@w.safetensors") == f"timm:resnet50@{tmp_path}/w.safetensors"
    assert lasting_uri("openclip:ViT-B-32/w.safetensors") == f"openclip:ViT-B-32/{tmp_path}/w.safetensors"
    assert lasting_uri("py:package.module:Model") == "py:package.module:Model"


def test_an_adapted_extractor_answers_label_association(tmp_path, extractor):
    """From an extractor without any label to rates by group: the point of it all."""
    train = write_folders(tmp_path / "in21k", {"n07942152": 12, SWINE: 12, "n04005630": 12})
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m", classes="casual-conversations")
    people = casual_conversations(tmp_path / "people")
    run = eh.run("indicators/label_association", model=made.uri, data=people, parameters={"threshold": "0"})
    found = {one.params.get("association"): one for one in run.findings.findings if one.value is not None}
    assert {"human", "non_human", "crime"} <= set(found)
    assert run.manifest["model_identity"]["adaptation"] == "probe"
    test = write_folders(tmp_path / "test", {"n07942152": 5, SWINE: 4}, seed=5)
    assert eh.run("classification", model=made.uri, data=test).finding("accuracy").value == 1.0
    shutil.copy(next(people.rglob("*.jpg")), train / SWINE / "a face.jpg")
    (again,) = eh.adapt(extractor, train=train, out=tmp_path / "m2", classes="casual-conversations")
    with pytest.raises(InputError, match="was fitted on 1 of these images"):
        eh.run("indicators/label_association", model=again.uri, data=people)


def test_vectors_are_asked_for_once_for_all_heads(tmp_path, extractor, train):
    test = write_folders(tmp_path / "test", {"red": 8, "green": 8, "blue": 8}, seed=1)
    made = eh.adapt(extractor, train=train, out=tmp_path / "m", seeds=2, parameters={"validation": ".4"})
    runs = [eh.run("classification", model=one.uri, data=test) for one in made]
    assert [run.manifest["asking"]["questions"][0]["asked"] for run in runs] == [24, 0]
    evidence = runs[0].evidence["predictions"].collect().sort("sample")
    model = resolve(made[0].uri).load()
    images = [np.asarray(Image.open(test / sample)) for sample in evidence["sample"]]
    said = [model.labels[code] for code in model.classify(images).argmax(1)]
    assert evidence["prediction"].to_list() == said
    logits = model.classify(images).astype(np.float64)
    share = np.exp(logits - logits.max(1, keepdims=True))
    expected = share.max(1) / share.sum(1)
    np.testing.assert_allclose(evidence["confidence"].to_numpy(), expected, rtol=1e-5)
