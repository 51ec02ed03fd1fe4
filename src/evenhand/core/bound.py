"""A bound metric: a metric with its parameters, printable and hashable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenhand.core.findings import Finding


@dataclass(frozen=True)
class MetricId:
    """A metric's name, its grouping and every parameter that changes its value.

    ``str(bound)`` is what findings print: ``skewsize(by=gender+race, mode=paper)``.
    Parameters at their default are not printed, so that a name stays stable when options are added.
    """

    name: str
    by: tuple[str, ...] = ()
    params: tuple[tuple[str, object], ...] = field(default=())

    @classmethod
    def make(cls, name: str, by: tuple[str, ...], params: Mapping[str, object]) -> MetricId:
        """Bind ``name``; parameters that are None are left out and the rest sorted."""
        pairs = sorted((key, value) for key, value in params.items() if value is not None)
        return cls(name, by, tuple(pairs))

    def __str__(self) -> str:
        words = [f"by={'+'.join(self.by)}"] if self.by else []
        words += [f"{key}={value}" for key, value in self.params]
        return f"{self.name}({', '.join(words)})"


def bound(finding: Finding, **params: object) -> Finding:
    """The finding with further parameters in its name, which tell it from its like."""
    extra_params = {name: value for name, value in params.items() if value is not None}
    merged = {**finding.params, **extra_params}
    name = str(MetricId.make(finding.name, tuple(finding.by), merged))
    return finding.model_copy(update={"params": merged, "metric": name})
