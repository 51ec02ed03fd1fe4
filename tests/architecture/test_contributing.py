"""The metric that CONTRIBUTING shows how to add works as it is printed."""

import importlib.util
import re

import pytest

from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics import accuracy
from tests.conftest import ROOT, make_frame

HEADER = """
from evenhand.core.findings import Finding, Part
from evenhand.core.metric import metric
from evenhand.metrics.estimates import build, number
from evenhand.metrics.prepared import BoundCounts, By, Evidence
"""


def test_the_printed_metric_works(tmp_path):
    printed = re.search(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert printed is not None
    assert printed[1].count("\n") <= 20
    (tmp_path / "printed_metric.py").write_text(HEADER + printed[1])
    spec = importlib.util.spec_from_file_location("printed_metric", tmp_path / "printed_metric.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    evidence = Predictions.from_frame(make_frame(), truth="truth", prediction="prediction")
    finding = module.error_rate(evidence, by="group")
    assert finding.value == pytest.approx(1 - accuracy(evidence, by="group").value)
    assert len(finding.parts) == 2
    assert (finding.direction, finding.source.paper) == ("lower is fairer", "1 - accuracy")
    assert finding.card.title == "Error rate"
