r"""A drive is no scheme: ``C:\models\x.py:Model`` names a file, ``C:\models`` a folder, on every system."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from evenhand.core.errors import InputError, UserError
from evenhand.core.registry import load_object
from evenhand.display.text.model_names import model_names
from evenhand.models.resolve import resolve
from evenhand.workflows.suite import entries
from evenhand.workflows.suite.suite_files import SuiteBenchmark

FOLDER = PureWindowsPath(r"C:\models\clip")
FILE = PureWindowsPath(r"C:\models\own.py")


@pytest.mark.parametrize("path", [FOLDER, FILE, FOLDER.as_posix()], ids=str)
def test_a_path_without_a_scheme_is_no_model_and_no_object(path):
    with pytest.raises(UserError, match="is no model URI; possible: hf:org/name"):
        resolve(str(path))
    with pytest.raises(InputError, match=r"names no object; give module:object or file\.py:object"):
        load_object(str(path))


@pytest.mark.parametrize("find", [resolve, load_object])
def test_the_colon_before_the_object_is_the_last_one(find):
    with pytest.raises(InputError) as refused:
        find(f"{FILE}:Model")
    assert str(refused.value).startswith(f"there is no file {str(FILE)!r}")


def test_names_of_models_leave_drives_and_folders_out():
    addresses = [f"hf:{FOLDER}", f"{FILE}:Model", r"onnx:D:\nets\small.onnx"]
    assert model_names(addresses) == ["clip", "own.py:Model", "small.onnx"]


def test_a_benchmark_of_a_file_is_named_after_file_and_object(monkeypatch):
    monkeypatch.setattr(entries, "Path", PureWindowsPath)
    assert entries._of_benchmark(SuiteBenchmark(f"{FILE}:HALVES")) == "own-HALVES"
