"""The registry: built in names, ``module:object`` and ``file.py:object``."""

import json
import os.path

import pytest

import evenhand as eh
from evenhand.core.errors import InputError, UnknownName, UserError
from evenhand.core.registry import Registry, load_object

REGISTRY = Registry("thing", {"dumps": "json:dumps", "join": "os.path:join"}, "evenhand.no_such_group")


def test_built_in_names():
    assert REGISTRY.names() == ["dumps", "join"]
    assert REGISTRY.get("dumps") is json.dumps


def test_module_and_object():
    assert REGISTRY.get("os.path:join") is os.path.join


def test_an_unknown_name_suggests():
    with pytest.raises(UnknownName, match="there is no thing 'dmps'; did you mean 'dumps'"):
        REGISTRY.get("dmps")


def test_entry_points_add_names(tmp_path, monkeypatch):
    class Point:
        name = "theirs"

        def load(self):
            return 42

    monkeypatch.setattr("evenhand.core.registry.entry_points", lambda group: [Point()])
    registry = Registry("thing", REGISTRY.builtin, "evenhand.their_group")
    assert "theirs" in registry.names()
    assert registry.get("theirs") == 42
    monkeypatch.setattr("evenhand.core.registry.entry_points", lambda group: [])
    assert "theirs" in registry.names()
    (tmp_path / "new.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert "theirs" not in registry.names(), "what is installed is read again once that changes"


def test_file_and_object(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n@dataclass\nclass Mine:\n    x: int = 3\n"
    )
    assert load_object(f"{tmp_path / 'mine.py'}:Mine")().x == 3


def test_a_missing_file_module_or_object_is_one_clear_line(tmp_path):
    (tmp_path / "mine.py").write_text("value = 1\ndef predict(): pass\n")
    with pytest.raises(InputError, match=r"there is no file .*absent\.py"):
        load_object(f"{tmp_path / 'absent.py'}:x")
    with pytest.raises(InputError, match=r"no Python module 'nosuchmodule\.deep'"):
        load_object("nosuchmodule.deep:x")
    with pytest.raises(UnknownName, match="did you mean 'predict'"):
        load_object(f"{tmp_path / 'mine.py'}:predit")


def test_a_module_that_lacks_its_own_dependency_says_so_itself(tmp_path, monkeypatch):
    (tmp_path / "needs_more.py").write_text("import nosuchdependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nosuchdependency"):
        load_object("needs_more:x")


@pytest.mark.parametrize("reference", ["", ":x", ".relative:x", "..:x"])
def test_references_without_a_module_are_the_users_mistake(reference):
    with pytest.raises(UserError):
        load_object(reference)


def test_a_misspelled_metric_is_an_attribute_error_with_the_closest_names():
    with pytest.raises(AttributeError, match="there is no metric 'accuracygap'; did you mean 'accuracy_gap'"):
        eh.metrics.accuracygap  # noqa: B018
    assert not hasattr(eh.metrics, "another")
