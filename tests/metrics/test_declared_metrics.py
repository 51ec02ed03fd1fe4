"""A metric of another package: declared once, known everywhere, shown where it is not installed."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import evenhand as eh
from evenhand import metrics
from evenhand.core.cards import MetricCard
from evenhand.core.errors import InputError, UnknownName
from evenhand.core.findings import Finding
from evenhand.core.metric import of_family
from evenhand.metrics import catalogue
from evenhand.metrics.estimates import build, number
from evenhand.metrics.prepared import BoundCounts
from evenhand.runs.gates import check_gate_names
from evenhand.workflows.listings import names_of_kind, own_cards
from tests.conftest import make_frame

DEFAULT = MetricCard.model_fields["order"].default


@eh.metric(
    title="Error rate",
    summary="share of rows whose prediction is not the truth",
    formula="1 - accuracy",
    range=(0, 1),
    direction="lower is fairer",
    source="1 - accuracy",
    unit="share",
    compared="counts",
)
def error_rate(evidence: Any, *, by: Any, seed: int = 0) -> Finding:
    """Wrong rows over usable rows."""
    bound = BoundCounts.of(evidence, by, seed)
    return build(bound, "error_rate", {}, number(1 - bound.confusion.accuracy()))


@dataclass
class Point:
    """What stands in a package's metadata."""

    thing: Any
    value: str = "package:error_rate"

    def load(self) -> Any:
        return self.thing


@pytest.fixture
def installed(monkeypatch) -> Iterator[Any]:
    """Install entry points; what was known before comes back."""

    def install(*things: Any) -> None:
        monkeypatch.setattr(catalogue, "entry_points", lambda group: [Point(thing) for thing in things])
        catalogue.declared_metrics.cache_clear()
        catalogue.known_cards.cache_clear()

    yield install
    monkeypatch.undo()
    catalogue.declared_metrics.cache_clear()
    catalogue.known_cards.cache_clear()


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> eh.Run:
    """Written and read again, where nothing of the metric is installed."""
    folder = tmp_path_factory.mktemp("declared") / "run"
    columns = {"truth": "truth", "prediction": "prediction", "by": "group"}
    eh.audit(make_frame(), **columns, metrics=["accuracy", error_rate], out=folder)
    return eh.Run.read(folder)


def test_the_declaration_fills_in_the_finding(run) -> None:
    finding = run["error_rate"]
    assert finding.value == pytest.approx(1 - run["accuracy"].value)
    assert (finding.direction, finding.source.paper, finding.fair_at) == (
        "lower is fairer",
        "1 - accuracy",
        None,
    )


def test_its_card_travels_with_the_run(run) -> None:
    assert catalogue.card_of("error_rate") is None
    assert run["error_rate"].card == error_rate.card
    saved = json.loads((run.folder / "metrics.json").read_text())
    assert [card["name"] for card in saved] == ["accuracy", "error_rate"]
    page = run.html()
    assert error_rate.card.title in page
    assert error_rate.card.summary in page


def test_a_run_of_before_has_no_cards_and_is_read(run, tmp_path) -> None:
    run.save(tmp_path / "old")
    for name in ("metrics.json", "hashes.json"):
        (tmp_path / "old" / name).unlink()
    old = eh.Run.read(tmp_path / "old")
    assert old["accuracy"].card.title == "Accuracy"
    assert (old["error_rate"].card.title, old["error_rate"].is_declared) == ("Error rate", False)
    assert "Error rate" in old.html()


def test_an_entry_point_makes_it_known_to_listings_gates_and_comparisons(installed) -> None:
    with pytest.raises(UnknownName, match="error_rate"):
        check_gate_names(["error_rate>0.1"])
    installed(error_rate)
    check_gate_names(["error_rate>0.1", "error_rate_difference>0.1"])
    assert "error_rate" in names_of_kind("metrics")
    difference = catalogue.card_of("error_rate_difference")
    assert difference is not None
    assert difference.of == error_rate.card
    assert catalogue.card_of("error_rate_seed_spread").title == "Error rate, spread of seeds"


@pytest.mark.parametrize(
    ("thing", "said"),
    [(lambda evidence: None, "is no metric"), (eh.metrics.accuracy, "has the name of another one")],
    ids=["a function", "a name twice"],
)
def test_an_entry_point_that_is_none_is_refused(installed, thing, said) -> None:
    installed(thing)
    with pytest.raises(InputError, match=said):
        catalogue.known_cards()


def test_every_card_says_what_it_means() -> None:
    lacking = {
        name: field
        for name, metric in catalogue.declared_metrics().items()
        for field in ("title", "summary", "formula", "unit")
        if not getattr(metric.card, field)
    }
    assert lacking == {}
    orders = [metric.card.order for metric in catalogue.declared_metrics().values()]
    chosen = [order for order in orders if order != DEFAULT]  # tables show all others last
    assert len(set(chosen)) == len(chosen)


def test_values_lie_in_the_range_that_is_declared() -> None:
    evidence = eh.Predictions.from_frame(make_frame(), truth="truth", prediction="prediction")
    for finding in eh.audit(evidence, by="group").findings:
        low, high = finding.card.range
        if finding.value is not None:
            assert low is None or finding.value >= low, finding.metric
            assert high is None or finding.value <= high, finding.metric


def test_a_gate_knows_the_metrics_of_a_benchmark_in_a_file(tmp_path) -> None:
    (tmp_path / "lamps.py").write_text(
        "import evenhand as eh\n"
        "@eh.metric(title='Dark', summary='dark lamps', formula='dark / all', range=(0, 1), "
        "direction='lower is fairer', source='ours', unit='share')\n"
        "def dark_share(evidence):\n    return None\n"
        "class Lamps(eh.Benchmark):\n"
        "    name = 'lamps'\n    metrics = (dark_share,)\n"
        "    def plan(self, setting): return None\n    def measure(self, answered): return None\n"
        "LAMPS = Lamps()\n"
    )
    known = own_cards(f"{tmp_path / 'lamps.py'}:LAMPS")
    assert [card.name for card in known] == ["dark_share"]
    check_gate_names(["dark_share>0.1"], known)
    with pytest.raises(UnknownName, match="did you mean 'dark_share'"):
        check_gate_names(["dark_shar>0.1"], known)


def test_metrics_of_a_family_have_its_arguments_and_a_function_of_their_own():
    def scaled(factor: Any, evidence: float, *, times: int = 2) -> Finding:
        params = {"times": times}
        return Finding.model_validate(
            {
                "metric": factor.__name__,
                "name": factor.__name__,
                "params": params,
                "value": evidence * factor(),
            }
            | {"direction": "descriptive", "source": {"paper": "none"}, "n": 1, "by": []}
        )

    @of_family(scaled)
    def tripled() -> float:
        """Three times as much."""
        return 3.0

    assert str(inspect.signature(tripled)).startswith("(evidence: 'float', *, times: 'int' = 2)")
    assert (tripled.__name__, tripled.__doc__) == ("tripled", "Three times as much.")
    finding = tripled(1.5, times=4)
    assert (finding.name, finding.value, finding.params) == ("tripled", 4.5, {"times": 4})
    assert inspect.unwrap(tripled)() == 3.0


def test_a_metric_is_imported_by_its_name_and_a_misspelled_one_gets_the_closest():
    assert metrics.__getattr__("accuracy_gap") is metrics.accuracy_gap
    with pytest.raises(AttributeError, match="accuracy_gap"):
        metrics.__getattr__("accuracy_gab")
