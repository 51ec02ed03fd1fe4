"""``onnx:``: real networks on real faces, preprocessing, sidecars that are missing or wrong."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evenhand.core.capabilities import ClassifiesImages, EmbedsImages
from evenhand.core.errors import InputError, ParameterError, UserError
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from tests.conftest import ROOT, SHARED

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

GENDER = {
    "input": {"name": "image", "size": [112, 112], "filter": "bilinear", "scale": "0-255"},
    "classify": {"output": "t113", "gives": "logits", "labels": ["male", "female"]},
}
SIZE = (6, 8)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


def network(path, *, batch="N", layout="nchw", softmax=False, dtype="float32", external=False):
    """Mean of each channel as ``vector``, times a fixed matrix as ``classes``."""
    helper, kinds = onnx.helper, onnx.TensorProto
    height, width = SIZE
    shape = [batch, 3, height, width] if layout == "nchw" else [batch, height, width, 3]
    kind = {"float32": kinds.FLOAT, "float16": kinds.FLOAT16, "uint8": kinds.UINT8}[dtype]
    axes = [2, 3] if layout == "nchw" else [1, 2]
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4) / 12
    nodes = [
        helper.make_node("Cast", ["pixels"], ["x"], to=kinds.FLOAT),
        helper.make_node("ReduceMean", ["x"], ["vector"], axes=axes, keepdims=0),
        helper.make_node("MatMul", ["vector", "matrix"], ["raw"]),
        helper.make_node("Softmax" if softmax else "Identity", ["raw"], ["classes"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("pixels", kind, shape)],
        [
            helper.make_tensor_value_info("vector", kinds.FLOAT, [batch, 3]),
            helper.make_tensor_value_info("classes", kinds.FLOAT, [batch, 4]),
        ],
        [onnx.numpy_helper.from_array(matrix, "matrix")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if external:
        options = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 0}
        onnx.save_model(model, path, **options)
    else:
        onnx.save_model(model, path)
    return matrix


def sidecar(path, *, classify=True, embed=True, gives="logits", labels="abcd", **image):
    content = {"input": {"size": SIZE, **image}}
    if classify:
        content["classify"] = {"output": "classes", "gives": gives, "labels": list(labels)}
    if embed:
        content["embed"] = {"output": "vector"}
    Path(f"{path}.json").write_text(json.dumps(content))
    return f"onnx:{path}"


def ask(uri, images, method):
    model = resolve(uri).load()
    return getattr(model, method)([model.prepare(image) for image in images])


def noise(count, size=SIZE):
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for _ in range(count)]


def test_gender_of_real_faces_is_recognised_as_well_as_published(faces, tmp_path):
    file = SHARED / "assets" / "models" / "age_gender.onnx"
    if not file.is_file():
        pytest.skip(f"needs {file}")
    described = tmp_path / "gender.json"
    described.write_text(json.dumps(GENDER))
    source = resolve(f"onnx:{file}@{described}")  # the folder of the network cannot be written to
    assert source.capabilities() == ("classifies_images",)
    model = source.load()
    with faces.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 1004
    rows, right = rows[1::2], 0
    for start in range(0, len(rows), 64):
        part = rows[start : start + 64]
        logits = model.classify([model.prepare(face(faces.parent, row["img_path"])) for row in part])
        assert logits.dtype == np.float32
        assert np.isfinite(logits).all()
        said = [model.labels[index] for index in logits.argmax(axis=1)]
        right += sum(guess == row["true_gender"].lower() for guess, row in zip(said, part, strict=True))
    assert right / len(rows) == pytest.approx(0.84, abs=0.01)


def face(folder, name):
    path = folder / name
    path = path if path.is_file() else folder / "extra_val" / path.name
    return np.asarray(Image.open(path).convert("RGB"))


def test_the_sidecars_in_the_documentation_are_those_that_are_tested():
    text = (ROOT / "docs" / "models.md").read_text()
    blocks = [json.loads(block.split("```")[0]) for block in text.split("```json\n")[1:]]
    assert GENDER in blocks


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
def test_pixels_arrive_as_they_are(tmp_path, layout, dtype):
    path = tmp_path / "n.onnx"
    matrix = network(path, layout=layout, dtype=dtype)
    uri, images = sidecar(path, layout=layout, dtype=dtype), noise(3)
    means = np.stack([image.mean(axis=(0, 1)) for image in images])
    assert ask(uri, images, "embed_images") == pytest.approx(means, rel=1e-5)
    assert ask(uri, images, "classify") == pytest.approx(means @ matrix, rel=1e-5)


def test_scale_mean_std_and_channel_order(tmp_path):
    path = tmp_path / "n.onnx"
    network(path)
    mean, std = [0.5, 0.4, 0.3], [0.1, 0.2, 0.3]
    uri, images = sidecar(path, scale="0-1", channels="bgr", mean=mean, std=std), noise(2)
    expected = np.stack([(image[:, :, ::-1] / 255 - mean) / std for image in images]).mean(axis=(1, 2))
    assert ask(uri, images, "embed_images") == pytest.approx(expected, abs=1e-5)


def test_squash_uses_the_whole_image_and_crop_its_centre(tmp_path):
    path = tmp_path / "n.onnx"
    network(path)
    image = np.zeros((30, 80, 3), np.uint8)
    image[:, 20:60] = 200  # the centre, as wide as a crop
    assert ask(sidecar(path), [image], "embed_images")[0, 0] == pytest.approx(100, abs=2)
    assert ask(sidecar(path, resize="crop"), [image], "embed_images")[0, 0] == pytest.approx(200, abs=8)
    tall = np.zeros((90, 40, 3), np.uint8)
    tall[30:60] = 100  # a crop of the centre is 40 wide and 30 high
    assert ask(sidecar(path, resize="crop"), [tall], "embed_images")[0, 0] == pytest.approx(100, abs=5)
    assert ask(sidecar(path, resize="crop", crop_fraction=0.5), [tall], "embed_images")[
        0, 0
    ] == pytest.approx(100)


@pytest.mark.parametrize("name", ["nearest", "bilinear", "bicubic", "lanczos"])
def test_resizing_is_that_of_pillow(tmp_path, name):
    path = tmp_path / "n.onnx"
    network(path)
    image = noise(1, (37, 53))[0]
    model = resolve(sidecar(path, filter=name)).load()
    filtered = Image.fromarray(image).resize((8, 6), Image.Resampling[name.upper()])
    assert np.array_equal(model.prepare(image), np.asarray(filtered, np.float32).transpose(2, 0, 1))


@pytest.mark.parametrize("batch", [1, 4])
def test_a_fixed_batch_gives_the_same_answers(tmp_path, batch):
    free, fixed = tmp_path / "free.onnx", tmp_path / "fixed.onnx"
    network(free)
    network(fixed, batch=batch)
    images = noise(7)
    answers = [ask(sidecar(path), images, "classify") for path in (free, fixed)]
    assert answers[1].shape == (7, 4)
    assert answers[1] == pytest.approx(answers[0], rel=1e-6)


def test_probabilities_become_logits_and_never_infinite(tmp_path):
    path = tmp_path / "n.onnx"
    matrix = network(path, softmax=True)
    black, white = np.zeros((*SIZE, 3), np.uint8), np.full((*SIZE, 3), 255, np.uint8)
    logits = ask(sidecar(path, gives="probabilities"), [black, white], "classify")
    assert logits[0] == pytest.approx(np.log(np.full(4, 0.25)), abs=1e-6)
    assert np.isfinite(logits).all()
    assert logits[1].argmax() == (np.full(3, 255) @ matrix).argmax()
    assert logits[1].min() == pytest.approx(np.log(np.finfo(np.float32).tiny))


def test_it_can_what_the_sidecar_names(tmp_path):
    path = tmp_path / "n.onnx"
    network(path)
    kinds = {}
    for classify, embed in ((True, False), (False, True), (True, True)):
        source = resolve(sidecar(path, classify=classify, embed=embed))
        model = source.load()
        assert (
            isinstance(model, ClassifiesImages) == classify == ("classifies_images" in source.capabilities())
        )
        assert isinstance(model, EmbedsImages) == embed == ("embeds_images" in source.capabilities())
        kinds[type(model)] = True
    assert len(kinds) == 3


def test_labels_may_be_a_file_and_are_part_of_the_identity(tmp_path):
    path = tmp_path / "n.onnx"
    network(path)
    (tmp_path / "names.txt").write_text("one\ntwo\nthree\nfour\n")
    content = {
        "input": {"size": SIZE},
        "classify": {"output": "classes", "gives": "logits", "labels": "names.txt"},
    }
    Path(f"{path}.json").write_text(json.dumps(content))
    source = resolve(f"onnx:{path}")
    assert source.load().labels == ("one", "two", "three", "four")
    before = source.identity()
    (tmp_path / "names.txt").write_text("one\ntwo\nthree\nfive\n")
    after = resolve(f"onnx:{path}").identity()
    assert {name for name in before if before[name] != after[name]} == {"sha256 of labels"}


def test_identity_follows_every_byte_that_matters_and_not_the_folder(tmp_path):
    path = tmp_path / "n.onnx"
    network(path, external=True)
    source = resolve(sidecar(path))
    before = source.identity()
    assert len(source.load().embed_images([source.load().prepare(noise(1)[0])])) == 1
    shutil.copytree(
        tmp_path, tmp_path.with_name(tmp_path.name + "_moved"), ignore=shutil.ignore_patterns("home")
    )
    assert resolve(f"onnx:{tmp_path}_moved/n.onnx").identity() == before
    weights = tmp_path / "weights.bin"
    weights.write_bytes(bytes(reversed(weights.read_bytes())))
    changed = resolve(f"onnx:{path}").identity()
    assert {name for name in before if before[name] != changed[name]} == {"sha256 of weights weights.bin"}
    sidecar(path, scale="0-1")
    again = resolve(f"onnx:{path}").identity()
    assert {name for name in changed if changed[name] != again[name]} == {"sha256 of sidecar"}


def test_identity_and_capabilities_load_no_runtime(tmp_path):
    path = tmp_path / "n.onnx"
    network(path)
    code = (
        "import sys; from evenhand.models.resolve import resolve;"
        f"s = resolve({sidecar(path)!r}); s.identity(); s.capabilities();"
        "print(sorted({'torch', 'onnxruntime', 'onnx', 'PIL'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_sidecar_is_answered_with_what_to_write(tmp_path):
    path = tmp_path / "n.onnx"
    network(path)
    with pytest.raises(InputError) as refused:
        resolve(f"onnx:{path}")
    message = str(refused.value)
    for part in (
        "'pixels' float N x 3 x 6 x 8",
        "'vector' float N x 3",
        "'classes'",
        f"{path}.json",
        "@SIDECAR",
    ):
        assert part in message
    assert "\n" not in message
    begin = message.index("such as ") + len("such as ")
    suggested, _ = json.JSONDecoder().raw_decode(message[begin:])
    suggested["classify"]["labels"] = list("abcd")  # the one thing that only the user can know
    Path(f"{path}.json").write_text(json.dumps(suggested))
    assert ask(f"onnx:{path}", noise(2), "classify").shape == (2, 4)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"input": {"size": [6]}}, "input.size"),
        ({"input": {"size": SIZE, "fliter": "bicubic"}}, "there is no field 'input.fliter'"),
        ({"input": {"size": SIZE, "filter": "cubic"}}, "input.filter"),
        ({"input": {"size": SIZE, "std": [1, 0, 1]}}, "std holds a zero"),
        ({"input": {"size": [8192, 8192]}}, "805 MB for each image of a batch; at most 2048 x 2048"),
        ({"input": {"size": SIZE, "dtype": "uint8", "scale": "0-1"}}, "uint8"),
        ({"classify": None}, "neither 'classify' nor 'embed'"),
        ({"classify": {"output": "classes", "gives": "odds", "labels": ["a", "b"]}}, "classify.gives"),
        ({"classify": {"output": "classes", "gives": "logits", "labels": ["a", "a"]}}, "'a' twice"),
        ({"classify": {"output": "classes", "gives": "logits", "labels": "no.txt"}}, "no.txt"),
    ],
)
def test_a_wrong_sidecar_is_refused_in_one_line(tmp_path, change, says):
    path = tmp_path / "n.onnx"
    network(path)
    content = {
        "input": {"size": SIZE},
        "classify": {"output": "classes", "gives": "logits", "labels": list("abcd")},
    }
    Path(f"{path}.json").write_text(json.dumps(content | change))
    with pytest.raises(InputError) as refused:
        resolve(f"onnx:{path}")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "image"}, "'pixels' float"),
        ({"size": [8, 6]}, "N x 3 x 6 x 8"),
        ({"layout": "nhwc"}, "input.layout"),
        ({"dtype": "uint8"}, "float32"),
        ({"labels": "abc"}, "3 labels"),
    ],
)
def test_a_sidecar_that_does_not_fit_names_the_network(tmp_path, change, says):
    path = tmp_path / "n.onnx"
    network(path)
    with pytest.raises(UserError) as refused:
        resolve(sidecar(path, **change)).load()
    assert says in str(refused.value)


def test_files_that_are_no_networks(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        resolve(f"onnx:{tmp_path / 'none.onnx'}")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a network")
    with pytest.raises(InputError, match="cannot be run as ONNX"):
        resolve(f"onnx:{broken}")
    with pytest.raises(InputError, match="cannot be run as ONNX"):
        resolve(sidecar(broken)).load()


def test_device_and_dtype(tmp_path):
    path = tmp_path / "n.onnx"
    network(path)
    uri = sidecar(path)
    assert len(ask(uri, noise(2), "embed_images")) == 2
    with pytest.raises(ParameterError, match="possible: auto"):
        resolve(uri, LoadOptions(device="tpu")).load()
    with pytest.raises(ParameterError, match="precision of its own"):
        resolve(uri, LoadOptions(dtype="float16"))
    assert resolve(uri, LoadOptions(device="cpu")).load().labels == tuple("abcd")
