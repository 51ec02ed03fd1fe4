"""What a newcomer's tools read is valid and agrees with the project: hooks, workflow, citation."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))


def read(*parts: str) -> dict:
    """A file of YAML."""
    return yaml.safe_load(ROOT.joinpath(*parts).read_text(encoding="utf-8"))


def commands_of(*targets: str) -> list[str]:
    """What make types for targets, without the folder of the environment."""
    recipes = [re.search(rf"^{re.escape(target)}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)[1] for target in targets]
    lines = [line.strip().removeprefix("$(BIN)/") for recipe in recipes for line in recipe.splitlines()]
    return [line for line in lines if not line.startswith("touch")]


def test_the_workflow_runs_what_make_test_runs():
    job = read(".github", "workflows", "test.yml")["jobs"]["test"]
    typed = [step["run"] for step in job["steps"] if "run" in step]
    targets = re.search(r"^test: (.+)$", MAKEFILE, re.MULTILINE)[1].split()
    assert typed[0] == commands_of("$(BIN)/python")[-1].removeprefix("$(BIN)/")
    assert typed[1:] == commands_of("$(VENV)/test.done", *targets)
    assert len(typed) == 6


def test_the_workflow_covers_every_supported_python_on_three_systems():
    matrix = read(".github", "workflows", "test.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    assert matrix["python"] == [f"3.{minor}" for minor in range(11, 15)]
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_hooks_run_lint_and_types_of_the_environment():
    hooks = read(".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == [f".venv/bin/{line}" for line in commands_of("lint", "types")]


def test_the_citation_is_of_this_version():
    citation = read("CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["abstract"] == PROJECT["description"]
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["authors"]


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_forms_ask_what_they_need(form):
    content = read(".github", "ISSUE_TEMPLATE", form.name)
    assert content["name"]
    assert content["description"]
    fields = {field["id"]: field for field in content["body"]}
    assert len(fields) == len(content["body"])
    assert all(field["attributes"]["label"] and field["validations"]["required"] for field in fields.values())
