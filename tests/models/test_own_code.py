"""Which of the user's own models are the same, and which labels they may have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import UserError
from evenhand.models.adapters.own_code import ObjectSource
from evenhand.models.resolve import require, resolve

CODE = """
class T:
    labels = ("a", "b")
    {version}
    def __init__(self, shift=0):
        self.shift = shift
    def classify(self, images):
        return [[self.shift, 1] for image in images]
"""


def identity(model) -> dict[str, str]:
    return resolve(model).identity()


def written(path: Path, version: str = "", more: str = "") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(CODE.format(version=version) + more)
    return path


@pytest.mark.parametrize("version", ["", "version = '1'"])
def test_files_of_one_name_and_objects_of_one_file_are_apart(tmp_path, version) -> None:
    more = "one = T(1)\nzero = T(0)\n"
    first = written(tmp_path / "A" / "m.py", version, more + "# A")
    other = written(tmp_path / "B" / "m.py", version, more + "# B")
    sources = [resolve(f"{file}:{name}") for file in (first, other) for name in ("T", "one", "zero")]
    found = [tuple(sorted(source.identity().items())) for source in sources]
    assert len(set(found)) == 6
    again = [resolve(f"{file}:{name}") for file in (first, other) for name in ("T", "one", "zero")]
    assert [tuple(sorted(source.identity().items())) for source in again] == found


class Given:
    labels = ("a", "b")

    def __init__(self, held) -> None:
        self.held = held

    def classify(self, images):
        return np.zeros((len(images), 2))


class Versioned(Given):
    version = "1"


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held) -> None:
        self.held = held


@pytest.mark.parametrize("kind", [Given, Versioned, Slotted])
@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 0), ("a", "b"), (np.arange(3), np.arange(3.0)), (Path("x"), Path("y")), ((1,), (2,))],
)
def test_objects_given_in_python_are_told_apart_by_their_attributes(kind, one, other) -> None:
    assert identity(kind(one)) != identity(kind(other))
    assert identity(kind(one)) == identity(kind(one))


class Unreadable:
    def __reduce_ex__(self, protocol):
        raise TypeError("cannot be stored")


def test_what_cannot_be_compared_is_never_shared() -> None:
    one, other = Given(Unreadable()), Given(Unreadable())
    assert identity(one) != identity(other)
    assert identity(one) == identity(one)
    assert identity(Versioned(Unreadable())) == identity(Versioned(Unreadable()))


def test_objects_that_hold_the_same_are_one_model_in_every_process() -> None:
    """Containers and objects of one's own, too, which no text could tell apart."""
    one, again, other = ({"limits": [1, 2], "of": {"a", "b"}, "in": Slotted(3 + n)} for n in (0, 0, 1))
    assert identity(Given(one)) == identity(Given(again)) != identity(Given(other))


def test_functions_of_one_name_are_told_apart_by_what_they_do() -> None:
    first, again, other = (
        (lambda x: x in {"a", "b"}),
        (lambda x: x in {"a", "b"}),
        (lambda x: x in {"a", "c"}),
    )
    assert identity(Given(first)) == identity(Given(again)) != identity(Given(other))
    assert identity(Given(first)) != identity(Given(lambda x: x not in {"a", "b"}))


def test_the_file_that_makes_an_object_of_an_imported_class_counts(tmp_path, monkeypatch) -> None:
    written(tmp_path / "base_of_own.py")
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "makes.py"
    found = []
    for text in ("m = T()", "m = T()\nm.labels = ('b', 'a')"):
        file.write_text(f"from base_of_own import T\n{text}\n")
        found.append(identity(f"{file}:m"))
    assert found[0]["sha256 of makes.py"] != found[1]["sha256 of makes.py"]
    assert "sha256 of base_of_own.py" in found[0]


def test_files_of_one_name_each_count(tmp_path) -> None:
    files = [tmp_path / name / "weights.bin" for name in "xy"]
    for file in files:
        file.parent.mkdir()
        file.write_text(file.parent.name)
    model = Given(0)
    model.files = files
    before = identity(model)
    assert len([name for name in before if "weights.bin" in name]) == 2
    files[0].write_text("changed")
    assert identity(model) != before
    files[0].unlink()
    with pytest.raises(UserError, match=r"weights\.bin"):
        identity(model)


@pytest.mark.parametrize("labels", ["ab", {"a": 1}, {"a"}, (), ("a", "a"), ("a", ""), ("a", None), 3])
def test_labels_that_are_no_distinct_texts_are_refused(labels) -> None:
    model = Given(0)
    model.labels = labels
    with pytest.raises(UserError, match="distinct texts") as problem:
        ObjectSource(model, "Given").load()
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("labels", [["a"], np.array(["a", "b"])])
def test_labels_in_any_sequence_are_taken(labels) -> None:
    model = Given(0)
    model.labels = labels
    assert ObjectSource(model, "Given").load() is model


HALVES = """
class Scaleless:
    version = "1"
    def embed_images(self, images): ...
    def embed_texts(self, texts): ...
class Unlabelled:
    version = "1"
    def classify(self, images): ...
class Likelihoods:
    version = "1"
    def score_continuations(self, images, prefixes, continuations): ...
class Labels:
    version = "1"
    labels = ("a", "b")
    def embed_images(self, images): ...
"""


@pytest.mark.parametrize(
    ("name", "capability", "told"),
    [
        (
            "Scaleless",
            "embeds_texts",
            "Scaleless has embed_texts() but no logit_scale; give it logit_scale = ",
        ),
        ("Unlabelled", "classifies_images", "Unlabelled has classify() but no labels; give it labels"),
        (
            "Likelihoods",
            "scores_continuations",
            "no next_token_logits; give it the method next_token_logits()",
        ),
    ],
)
def test_a_capability_that_is_half_there_is_refused_with_what_to_add(
    tmp_path, name, capability, told
) -> None:
    (tmp_path / "m.py").write_text(HALVES)
    with pytest.raises(UserError) as problem:
        require(resolve(f"{tmp_path / 'm.py'}:{name}"), capability)
    assert told in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_capability_of_which_nothing_is_there_is_refused_without_advice(tmp_path) -> None:
    (tmp_path / "m.py").write_text(HALVES)
    for name, capability in (("Scaleless", "matches_pairs"), ("Labels", "classifies_images")):
        with pytest.raises(UserError) as problem:
            require(resolve(f"{tmp_path / 'm.py'}:{name}"), capability)
        assert "give it" not in str(problem.value)


BESIDE = """
import numpy as np
from parts import lamps

class T:
    labels = lamps.LABELS
    def classify(self, images):
        from parts.late import SHIFT
        return [[SHIFT, 1] for image in images]
"""


def with_neighbours(folder: Path, *labels: str, shift: int = 0) -> str:
    for name, text in {
        "m.py": BESIDE, "parts/__init__.py": "", "parts/lamps.py": f"from names import {labels[0]}\n",
        "names.py": f"{labels[0]} = 1\n", "parts/late.py": f"SHIFT = {shift}\n",
        "numpy.py": "raise SystemExit('the library is meant')\n",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with (folder / "parts" / "lamps.py").open("a") as file:
        file.write(f"LABELS = {labels!r}\n")
    return f"{folder / 'm.py'}:T"


def test_a_file_imports_its_neighbours_which_say_what_model_it_is(tmp_path) -> None:
    first, other = (
        with_neighbours(tmp_path / "A", "a", "b"),
        with_neighbours(tmp_path / "B", "c", "d", shift=7),
    )
    for uri, labels, answer in ((first, ("a", "b"), [0, 1]), (other, ("c", "d"), [7, 1])):
        model = resolve(uri).load()
        assert (model.labels, model.classify([None])) == (labels, [answer])
    before = identity(first)
    assert {"sha256 of lamps.py", "sha256 of late.py", "sha256 of names.py"} <= set(before)
    with_neighbours(tmp_path / "A", "a", "longer")
    assert resolve(first).load().labels == ("a", "longer")
    assert identity(first) != before
