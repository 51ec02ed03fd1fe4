"""Metrics as declarations: what a metric means stands once, beside the function that computes it.

Every table, text and export reads the card that a finding carries. Cards are saved beside findings, so that a
run can be shown where the package that declares its metrics is not installed.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from evenhand.core.cards import Direction, MetricCard, Source, Unit
from evenhand.core.errors import ParameterError, check_known
from evenhand.core.findings import Finding

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])

_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Metric(Generic[P]):
    """A function from evidence to a Finding, with its declaration; calling it computes the finding.

    ``arguments`` are those that ``with_arguments`` has fixed.
    """

    arguments: Mapping[str, Any]

    def __init__(self, compute: Callable[P, Finding], card: MetricCard) -> None:
        self._compute, self.card, self.arguments = compute, card, {}
        functools.update_wrapper(self, compute)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Finding:
        """The finding of some evidence, with what the declaration says filled in."""
        return self._compute(*args, **kwargs).declared_by(self.card)

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What it takes beside the evidence, by name, without what is fixed."""
        parameters = list(inspect.signature(self).parameters.values())[1:]
        return {parameter.name: parameter for parameter in parameters if parameter.name not in self.arguments}

    def with_arguments(self, **arguments: Any) -> Metric[...]:
        """The same metric with some arguments fixed, such as the label that it is about.

        Raises:
            UnknownName: An argument that it does not take.
        """
        parameters = self.parameters
        if not any(parameter.kind in _ANY for parameter in parameters.values()):
            check_known(f"argument of {self.card.name}", list(arguments), list(parameters))
        fixed: Metric[...] = copy.copy(self)
        fixed.arguments = {**self.arguments, **arguments}
        fixed._compute = functools.partial(self._compute, **arguments)
        return fixed

    def taking(self, options: Mapping[str, Any]) -> Callable[[Any], Finding]:
        """The metric as a function of evidence alone, with those of the options that it takes.

        Raises:
            ParameterError: It needs an argument that is not among them.
        """
        parameters = self.parameters
        lacking = [
            name for name, parameter in parameters.items()
            if parameter.default is parameter.empty and parameter.kind not in _ANY and name not in options
        ]  # fmt: skip
        if lacking:
            name, values = self.card.name, ", ".join(f"{argument}=..." for argument in lacking)
            raise ParameterError(
                f"{name} needs {' and '.join(lacking)}; type functools.partial({name}, {values}), as a text "
                f"'{name}[{values}]'"
            )
        return functools.partial(self, **{name: options[name] for name in parameters if name in options})

    def __repr__(self) -> str:
        return f"<metric {self.card.name}: {self.card.summary or self.card.title}>"


def metric(
    *,
    title: str,
    summary: str,
    formula: str,
    range: tuple[float | None, float | None],
    direction: Direction,
    source: Source | str,
    unit: Unit,
    **more: Any,
) -> Callable[[Callable[P, Finding]], Metric[P]]:
    """Declare a metric; its name is the function's, and its signature stays the function's.

    Args:
        title: A heading of a few words.
        summary: What is measured.
        formula: How the value is made.
        range: Its least and its largest value; None: none.
        direction: Which way is better.
        source: Where the definition comes from; a text is a paper without an equation.
        unit: What the number is.
        more: Other fields of ``MetricCard``.
    """

    def declare(compute: Callable[P, Finding]) -> Metric[P]:
        card = MetricCard(
            name=compute.__name__,
            title=title,
            summary=summary,
            formula=formula,
            range=range,
            direction=direction,
            source=Source(paper=source) if isinstance(source, str) else source,
            unit=unit,
            **more,
        )
        return Metric(compute, card)

    return declare


def of_family(compute: Callable[Concatenate[F, P], Finding]) -> Callable[[F], Callable[P, Finding]]:
    """Metrics that share their arguments and differ in one function, which stands where they are declared.

    ``compute`` takes that function first; its other arguments are the arguments of each metric.
    """
    signature = inspect.signature(compute)
    shared = signature.replace(parameters=list(signature.parameters.values())[1:])

    def declare(differing: F) -> Callable[P, Finding]:
        @functools.wraps(differing)
        def computed(*args: P.args, **kwargs: P.kwargs) -> Finding:
            return compute(differing, *args, **kwargs)

        vars(computed)["__signature__"] = shared
        return computed

    return declare
