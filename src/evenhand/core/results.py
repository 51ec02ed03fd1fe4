"""Findings: what a metric says about evidence, as immutable models with a published JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

if TYPE_CHECKING:
    import altair
    import polars

SCHEMA_VERSION = "1.2"

Key = str | list[str]
Param = None | bool | int | float | str | list[str] | list[int] | list[float]
Band = Literal["negligible", "small", "medium", "large"]


class Model(BaseModel):
    """Shared settings: immutable, forward-readable, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Interval(Model):
    """A confidence interval and how it was made."""

    low: FiniteFloat
    high: FiniteFloat
    level: float = 0.95
    method: str
    replicates: int | None = None
    seed: int | None = None


class Null(Model):
    """What an unbiased model of the same size would show by chance."""

    mean: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    level: float = 0.95
    method: str
    replicates: int | None = None
    seed: int | None = None


class GroupSize(Model):
    """How many usable rows a group has."""

    key: Key
    n: float


class Dropped(Model):
    """Rows (or classes) left out, and why."""

    reason: str
    count: float


class Part(Model):
    """One piece of a finding: a class, a group, an occupation, a pair, or a crossing."""

    kind: str
    key: Key
    value: FiniteFloat | None
    interval: Interval | None = None
    null: Null | None = None
    p_value: FiniteFloat | None = None
    p_adjusted: FiniteFloat | None = None
    mde: FiniteFloat | None = None
    band: Band | None = None
    n: float
    reason: str | None = None
    details: dict[str, FiniteFloat | str | None] = Field(default_factory=dict)


class Contrast(Model):
    """The same quantity computed another way, where the two should be read side by side."""

    label: str
    value: FiniteFloat | None
    reason: str


class Source(Model):
    """Where a definition comes from."""

    paper: str
    equation: str = ""


class Finding(Model):
    """One bound metric on one piece of evidence.

    ``value`` is None when it cannot be estimated, and then ``reason`` says why.
    """

    metric: str
    name: str
    params: dict[str, Param] = Field(default_factory=dict)
    benchmark: str | None = None
    model: str | None = None
    by: list[str] = Field(default_factory=list)
    value: FiniteFloat | None
    reason: str | None = None
    interval: Interval | None = None
    null: Null | None = None
    p_value: FiniteFloat | None = None
    p_adjusted: FiniteFloat | None = None
    adjustment: str | None = None
    mde: FiniteFloat | None = None
    band: Band | None = None
    n: float
    groups: list[GroupSize] = Field(default_factory=list)
    parts: list[Part] = Field(default_factory=list)
    dropped: list[Dropped] = Field(default_factory=list)
    reference: str | None = None
    fair_at: FiniteFloat | None = None
    direction: Literal["lower is fairer", "higher is fairer", "higher is better", "descriptive"]
    source: Source
    contrasts: list[Contrast] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    details: dict[str, FiniteFloat | str | None] = Field(default_factory=dict)

    @property
    def grouping(self) -> str:
        """The grouping as the command line writes it: ``gender+race``."""
        return "+".join(self.by)

    def _repr_html_(self) -> str:
        from evenhand.core.notebook import finding_html

        return finding_html(self)

    def chart(self) -> altair.VConcatChart:
        """Value, interval and null band, and those of the parts, as an Altair chart.

        Returns:
            A panel for the value and one for each kind of part, such as the classes' effect sizes.
        """
        from evenhand.core.result_charts import finding_chart

        return finding_chart(self)

    def to_frame(self) -> polars.DataFrame:
        """The finding and its parts as rows; ``.to_pandas()`` makes a pandas frame of it."""
        from evenhand.core.result_frames import findings_frame

        return findings_frame([self])

    def part(self, key: Key) -> Part:
        """The part with this key; KeyError lists nothing because keys may be many."""
        for candidate in self.parts:
            if candidate.key == key:
                return candidate
        raise KeyError(key)


class ValueCount(Model):
    """A value of a column and how many rows have it."""

    value: str
    count: float


class TableWarning(Model):
    """Something about a table that may make its findings wrong, and the option that mends it."""

    code: str
    columns: list[str] = Field(default_factory=list)
    message: str
    values: list[ValueCount] = Field(default_factory=list)
    option: str | None = None


class Findings(Model):
    """The content of findings.json. Holds no times and no host names: equal inputs give equal bytes."""

    schema_version: Annotated[str, Field(pattern=r"^\d+\.\d+$")] = SCHEMA_VERSION
    manifest_id: str
    findings: list[Finding]
    warnings: list[TableWarning] = Field(default_factory=list)

    def _repr_html_(self) -> str:
        from evenhand.core.notebook import findings_html

        return findings_html(self)

    def chart(self) -> altair.VConcatChart:
        """Every value with its interval and null band as an Altair chart, a panel for each metric."""
        from evenhand.core.result_charts import findings_chart

        return findings_chart(self.findings)

    def to_frame(self) -> polars.DataFrame:
        """All findings and their parts as rows; ``.to_pandas()`` makes a pandas frame of it."""
        from evenhand.core.result_frames import findings_frame

        return findings_frame(self.findings)

    def dump(self) -> bytes:
        """The canonical bytes written to disk."""
        return self.model_dump_json(indent=1).encode() + b"\n"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of findings.json."""
    return Findings.model_json_schema()
