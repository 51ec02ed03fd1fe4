"""Findings: what a metric says about evidence, as immutable models with a published JSON Schema."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, overload

from pydantic import AfterValidator, Field, FiniteFloat, PrivateAttr

from evenhand.core import presenter
from evenhand.core.cards import Direction, MetricCard, Model, Source, metric_id
from evenhand.core.frames import findings_frame
from evenhand.core.unseen import json_escaped

if TYPE_CHECKING:
    import altair
    import polars

SCHEMA_VERSION = "1.2"

Ends = tuple[float, float]
Key = str | list[str]
Param = None | bool | int | float | str | list[str] | list[int] | list[float]
Band = Literal["negligible", "small", "medium", "large"]
Role = Literal["primary", "secondary", "exploratory"]


def _testable(p_value: float) -> float:
    """A p that underflows to 0 as the smallest number above it: no test of finite data gives 0."""
    return p_value or sys.float_info.min


P = Annotated[FiniteFloat, AfterValidator(_testable)]
"""A p-value: above 0."""


def key_of(group: Sequence[object]) -> Key:
    """A group as findings write it: one text, or a list in the order of the attributes."""
    texts = list(map(str, group))
    return texts[0] if len(texts) == 1 else texts


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


def ends_of(band: Interval | Null | None) -> Ends | None:
    """Both ends of an interval or null band."""
    return None if band is None else (band.low, band.high)


def low_and_high(band: Interval | Null | None) -> Ends | tuple[None, None]:
    """The same, None where there is none."""
    return ends_of(band) or (None, None)


class GroupSize(Model):
    """How many usable rows a group has."""

    key: Key
    n: float


class Dropped(Model):
    """Rows (or classes) left out, and why."""

    reason: str
    count: float


Details = Mapping[str, float | str | None]
"""Further numbers and names of a finding."""
NewDetails = dict[str, float | str | None]
"""The same, while they are put together."""
SHARED = "shared with "
"""What the details begin with that count the rows of a line that another one has, too."""
N_WRONG = "n_wrong"
"""The detail that counts the mistakes of the less accurate side, where others share some."""


@dataclass(eq=False)
class _Beside:
    """What a finding knows and does not say: what its metric means, and what it is at another level.

    It is saved beside findings, or not at all, so all are equal; between processes the card alone travels.
    """

    card: MetricCard | None = None
    make: Callable[[float], Interval | None] | None = None
    noticed: Callable[[float], Details] | None = None
    outcomes: Callable[[], polars.DataFrame] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Beside)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # findings are compared, never keys by it

    def __reduce__(self) -> tuple[type[_Beside], tuple[MetricCard | None]]:
        return _Beside, (self.card,)


class Part(Model):
    """One piece of a finding: a class, a group, an occupation, a pair, or a crossing.

    ``corrected`` and ``chance_at`` as in ``Finding``; where ``chance_at`` is None it is the mean of the null.
    ``role`` is ``exploratory`` where no primary finding of its grouping is beyond chance: parts are a family
    of their own, and are looked into after that.
    """

    kind: str
    key: Key
    value: FiniteFloat | None
    corrected: FiniteFloat | None = None
    chance_at: FiniteFloat | None = None
    interval: Interval | None = None
    null: Null | None = None
    p_value: P | None = None
    p_adjusted: P | None = None
    mde: FiniteFloat | None = None
    band: Band | None = None
    n: float
    reason: str | None = None
    role: Role | None = None
    details: dict[str, FiniteFloat | str | None] = Field(default_factory=dict)


class Contrast(Model):
    """The same quantity computed another way, where the two should be read side by side."""

    label: str
    value: FiniteFloat | None
    reason: str


class Shown(Model):
    """What ``print``, notebooks and charts show, each as the room of presentation makes it."""

    def __str__(self) -> str:
        return presenter.load().text(self)

    def _repr_html_(self) -> str:
        return presenter.load().html(self)

    def chart(self) -> altair.VConcatChart:
        """Values with their intervals and null bands as an Altair chart.

        Of a finding a panel for its value and one for each kind of part, such as the classes' effect sizes;
        of several a panel for each metric.
        """
        return presenter.load().chart(self)


class Finding(Shown):
    """One bound metric on one piece of evidence.

    ``value`` is None when it cannot be estimated, and then ``reason`` says why. ``corrected`` is the value
    without what noise adds to it; where it is given, the interval is of it. ``chance_at`` is where a model
    that knows nothing of the groups stands on these data, if that is not ``fair_at``. ``role``: a ``primary``
    finding of a run is corrected for all primaries of the run, and its interval has their common level; a
    ``secondary`` one tests what a primary tests, in another way, and has a verdict only beside it; an
    ``exploratory`` one has p without a verdict; None: the finding was made by itself.
    """

    _beside: _Beside = PrivateAttr(default_factory=_Beside)

    metric: str
    name: str
    params: dict[str, Param] = Field(default_factory=dict)
    benchmark: str | None = None
    model: str | None = None
    by: list[str] = Field(default_factory=list)
    value: FiniteFloat | None
    corrected: FiniteFloat | None = None
    reason: str | None = None
    interval: Interval | None = None
    null: Null | None = None
    p_value: P | None = None
    p_adjusted: P | None = None
    adjustment: str | None = None
    role: Role | None = None
    mde: FiniteFloat | None = None
    band: Band | None = None
    n: float
    groups: list[GroupSize] = Field(default_factory=list)
    parts: list[Part] = Field(default_factory=list)
    dropped: list[Dropped] = Field(default_factory=list)
    reference: str | None = None
    fair_at: FiniteFloat | None = None
    chance_at: FiniteFloat | None = None
    direction: Direction
    source: Source
    contrasts: list[Contrast] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    details: dict[str, FiniteFloat | str | None] = Field(default_factory=dict)

    def with_levels(self, make: Callable[[float], Interval | None]) -> Finding:
        """The same finding, which can make its interval at other levels, such as .99."""
        return self._with(make=make)

    def with_power(self, noticed: Callable[[float], Details]) -> Finding:
        """The same finding, which can say what a test of another level would usually have shown.

        Args:
            noticed: From the level of a test, such as .01, to the details that say it.
        """
        return self._with(noticed=noticed)

    def with_outcomes(self, outcomes: Callable[[], polars.DataFrame]) -> Finding:
        """The same finding, which can say what each sample counts as; a run keeps it as its outcomes.

        Args:
            outcomes: Makes sample, value, unit (null: the sample), unit_name and the columns of ``by``.
        """
        return self._with(outcomes=outcomes)

    def with_card(self, card: MetricCard | None, **update: Any) -> Finding:
        """The same finding, which knows what its metric means."""
        return self.model_copy(update=update)._with(card=card)

    def _with(self, **beside: Any) -> Finding:
        copy = self.model_copy()
        copy._beside = replace(self._beside, **beside)
        return copy

    def declared_by(self, card: MetricCard) -> Finding:
        """With what its metric's declaration says, if there is none yet: direction, fair value and source."""
        card = self._beside.card or card
        return self.with_card(card, direction=card.direction, fair_at=card.fair_at, source=card.source)

    def at_test_level(self, alpha: float) -> Finding:
        """With what a test of this level would usually have shown; itself where nothing says so."""
        if self._beside.noticed is None:
            return self
        return self.model_copy(update={"details": {**self.details, **self._beside.noticed(alpha)}})

    @property
    def card(self) -> MetricCard:
        """What its metric means; of a metric that nobody declared, what the finding itself says."""
        declared = self._beside.card
        if declared is not None:
            return declared
        return MetricCard.plain(self.name, direction=self.direction, fair_at=self.fair_at, source=self.source)

    @property
    def is_declared(self) -> bool:
        """Whether a declaration of its metric is known."""
        return self._beside.card is not None

    def bound(self, **params: Param) -> Finding:
        """The same finding with further parameters in its name, which tell it from its like."""
        all_params = {**self.params, **{name: value for name, value in params.items() if value is not None}}
        name = metric_id(self.name, self.by, all_params)
        return self.model_copy(update={"params": all_params, "metric": name})

    def interval_at(self, level: float) -> Interval | None:
        """The interval at another level; None where the finding cannot make it (any more)."""
        if self.interval is not None and self.interval.level == level:
            return self.interval
        return None if self._beside.make is None else self._beside.make(level)

    @property
    def outcomes(self) -> polars.DataFrame | None:
        """What each sample counts as; None where the finding cannot say it (any more)."""
        return None if self._beside.outcomes is None else self._beside.outcomes()

    @property
    def grouping(self) -> str:
        """The grouping as the command line writes it: ``gender+race``."""
        return "+".join(self.by)

    def to_frame(self) -> polars.DataFrame:
        """The finding and its parts as rows; ``.to_pandas()`` makes a pandas frame of it."""
        return findings_frame([self])

    def part(self, key: Key, kind: str | None = None) -> Part:
        """The part with this key.

        Args:
            key: Such as a group, or a list where attributes are crossed.
            kind: Such as ``class``; needed where parts of several kinds have this key.

        Raises:
            KeyError: There is none, or there are several.
        """
        parts = [part for part in self.parts if part.key == key and kind in (None, part.kind)]
        if not parts:
            raise KeyError(key)
        kinds = sorted({part.kind for part in parts})
        if len(kinds) > 1:
            raise KeyError(f"{key!r} is of the kinds {', '.join(kinds)}; name one: part({key!r}, kind=...)")
        return parts[0]


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


@dataclass(eq=False)
class _Cards(_Beside):
    """Cards of metrics that no finding carries, by name."""

    by_name: dict[str, MetricCard] = field(default_factory=dict)


class Findings(Shown):
    """The content of findings.json. Holds no times and no host names: equal inputs give equal bytes."""

    _cards: _Cards = PrivateAttr(default_factory=_Cards)

    schema_version: Annotated[str, Field(pattern=r"^\d+\.\d+$")] = SCHEMA_VERSION
    manifest_id: str
    findings: list[Finding]
    warnings: list[TableWarning] = Field(default_factory=list)

    def with_cards(self, cards: Mapping[str, MetricCard]) -> Findings:
        """The same findings, which know what further metrics mean: those that tables beside them name."""
        copy = self.model_copy()
        copy._cards = _Cards(by_name={**self._cards.by_name, **cards})
        return copy

    @property
    def cards(self) -> dict[str, MetricCard]:
        """What the metrics mean that are known here, by name."""
        declared_cards = {finding.name: finding.card for finding in self.findings if finding.is_declared}
        compared = {card.of.name: card.of for card in declared_cards.values() if card.of is not None}
        return compared | self._cards.by_name | declared_cards

    def card(self, name: str) -> MetricCard:
        """What a metric means; of one that is not known here, its name in words."""
        return self.cards.get(name) or MetricCard.plain(name)

    def __iter__(self) -> Iterator[Finding]:  # type: ignore[override]  # of findings, as users expect
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        """A finding by its place; by its name it is ``run["accuracy_gap", "gender"]``."""
        if not isinstance(index, slice) and not hasattr(index, "__index__"):
            raise TypeError(f"findings are numbered; by name type run[{index!r}]")
        return self.findings[index]

    def __repr__(self) -> str:
        return f"<{len(self):,} findings; print() lists them, .to_frame() is a table>"

    def __bool__(self) -> bool:
        """Always true: a run without findings is one, too."""
        return True

    def to_frame(self) -> polars.DataFrame:
        """All findings and their parts as rows; ``.to_pandas()`` makes a pandas frame of it."""
        return findings_frame(self.findings)

    def dump(self) -> bytes:
        """The canonical bytes written to disk."""
        return json_escaped(self.model_dump_json(indent=1)).encode() + b"\n"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of findings.json."""
    return Findings.model_json_schema()
