"""Compiled templates are kept for the next page, and read only where nobody else can write."""

from __future__ import annotations

import os

import pytest

from evenhand.report.inline import page_environment


def test_compiled_templates_are_kept_where_they_can_be(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    page_environment().get_template("suite.html.j2")
    (compiled,) = (tmp_path / "home" / "templates").iterdir()
    written = compiled.stat().st_mtime_ns
    page_environment().get_template("suite.html.j2")
    assert compiled.stat().st_mtime_ns == written
    monkeypatch.setenv("EVENHAND_HOME", str(compiled))  # a file, in which nothing can be kept
    assert page_environment().get_template("suite.html.j2")


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_compiled_templates_that_others_could_have_written_are_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates").chmod(0o777)
    page_environment().get_template("suite.html.j2")
    assert not any((tmp_path / "templates").iterdir())


def test_a_compiled_template_that_was_cut_off_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    page_environment().get_template("suite.html.j2")
    (compiled,) = (tmp_path / "templates").iterdir()
    whole = compiled.read_bytes()
    compiled.write_bytes(whole[:40])
    assert page_environment().get_template("suite.html.j2")
    assert compiled.read_bytes() == whole
