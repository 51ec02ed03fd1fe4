"""Runs for the tests of exports, and what says that they are valid."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import jsonschema
from pydantic import ValidationError
from sarif_pydantic import Sarif

from evenhand.core.findings import Findings
from evenhand.report.exports.exported import Gate, RunView
from tests.report import report_samples

SCHEMAS = Path(__file__).parent / "schemas"


def exported(content, name="run", gates=()):
    """A run as exports see it, from a report's sample."""
    findings: Findings = content.findings
    return RunView(name, findings, content.manifest, gates=gates, content=findings.dump())


def samples():
    """A usual run, one where nothing could be estimated, and one of labels that try to become markup."""
    return {
        "usual": exported(report_samples.realistic(), "usual"),
        "undefined": exported(report_samples.undefined(), "undefined"),
        "hostile": exported(report_samples.hostile(), '<b>]]>\n{{0}} [a](b) "run"'),
    }


def with_gates(run):
    """The run with one gate that held and one that broke."""
    first, second = run.findings.findings[:2]
    gates = [Gate("skewsize>9", first), Gate("accuracy<0.99", second, "accuracy = 0.8 < 0.99")]
    return RunView(run.name, run.findings, run.manifest, gates=gates, content=run.content)


def problems_of_sarif(made):
    """What a model of SARIF 2.1.0 made from its schema objects to, and the schema itself where it is here."""
    try:
        Sarif.model_validate(made)
    except ValidationError as problem:
        return [str(problem)]
    return _problems(made, "sarif-2.1.0-rtm.5.json", "Draft4Validator")


def problems_of_every_eval_ever(made):
    """What its schema objects to, where it is here."""
    return _problems(made, "every-eval-ever-0.3.0.json", "Draft7Validator")


def _problems(made, name, kind):
    """Schemas of others are not part of this project: see schemas/README.md."""
    folder = os.environ.get("EVENHAND_SCHEMAS")
    return list(_validator(Path(folder) / name, kind).iter_errors(made)) if folder else []


@cache
def _validator(path, kind):
    schema = json.loads(path.read_text(encoding="utf-8"))
    made = getattr(jsonschema, kind)
    made.check_schema(schema)
    return made(schema)
