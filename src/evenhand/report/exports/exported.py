"""What every export is made from, and what all of them say in the same way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import ParameterError, UnknownName, first_few
from evenhand.core.findings import Finding, Findings, Part
from evenhand.core.significance import alpha_of, p_shown
from evenhand.core.unseen import json_escaped, shown_in, visible
from evenhand.display.overview.content import Overview
from evenhand.display.overview.overview import overview_of
from evenhand.display.text.formatting import DASH, count, key_text, percent, quoted
from evenhand.display.text.rounding import Rounding
from evenhand.report import facets, glossary
from evenhand.report.exports.judging import Verdict, judged_part, reading
from evenhand.report.suppression.findings import REASON as HIDDEN
from evenhand.report.wording import sentences as words

if TYPE_CHECKING:
    from evenhand.evidence.predictions.counts import Counts

CAUTION = (
    "These are associations, not causes. Which of them harm is a question of context. "
    "Not estimable is not the same as fair."
)
_HEADLINES = 3
_HTML = {code: f"&#{code};" for code in map(ord, "&<>")}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
_LIST = re.compile(r"^(\d*)([-.])")
# A page that makes links by itself takes text nodes for them: a comment parts the node, and shows nothing.
_LINKED = re.compile(r"@|:(?=//)|\bwww(?=\.)|\\#(?=\d)|\bGH(?=-\d)", re.IGNORECASE)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Gate:
    """One ``--fail-if`` condition on one finding."""

    text: str  # the condition as it was given
    finding: Finding
    broken: str | None = None  # what broke it; None where it held
    in_manifest: bool = False  # whether the run's manifest holds it


@dataclass(frozen=True, eq=False)
class RunView:
    """A run as exports see it."""

    name: str  # the run folder's name
    findings: Findings
    manifest: Mapping[str, Any] = field(default_factory=dict)  # any key may be missing
    gates: Sequence[Gate] = ()  # those of its manifest, and those typed at the export
    content: bytes = b""  # the bytes of its findings.json
    counts: Counts | None = None  # of predictions; None where it keeps none
    fewest: int = 0  # cells of fewer rows are hidden; 0 hides nothing
    declared: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by ``people``, ``sex``, ``race``

    @property
    def model(self) -> str:
        """The model, or the audited table."""
        name = self.manifest.get("model") or next((f.model for f in self.findings if f.model), None)
        return text_of(name) if name else words.subject(self.manifest)

    @property
    def benchmark(self) -> str:
        """The benchmark; the table's name for an audit of a table."""
        name = self.manifest.get("benchmark")
        name = name or next((f.benchmark for f in self.findings if f.benchmark), None)
        return text_of(name) if name else words.subject({**self.manifest, "model": None})

    @property
    def created(self) -> datetime | None:
        """When the run was made; None where the manifest does not say."""
        try:
            return datetime.fromisoformat(str(self.manifest.get("created")))
        except ValueError:
            return None

    @property
    def alpha(self) -> float:
        """The level of its tests."""
        return alpha_of(self.manifest)

    @property
    def version(self) -> str:
        """The version of evenhand that made it."""
        return text_of(self.manifest.get("evenhand") or "unknown")

    @cached_property
    def overview(self) -> Overview:
        """Its first lines."""
        return overview_of(self.findings, self.manifest)

    def headlines(self, finding: Finding) -> list[str]:
        """What the first lines say of a finding: at most three sentences, of what is beyond chance."""
        return [line.text for line in self.overview.beyond if line.metric == finding.metric][:_HEADLINES]

    @property
    def estimable(self) -> list[Finding]:
        """Findings that have a value."""
        return [finding for finding in self.findings if finding.value is not None]

    @property
    def not_estimable(self) -> list[Finding]:
        """Findings that have none, each with its reason; not those that are hidden."""
        missing = [finding for finding in self.findings if finding.value is None]
        return [finding for finding in missing if finding.reason != HIDDEN]

    @property
    def hidden(self) -> list[Finding]:
        """Findings whose value is hidden, because cells of few rows are."""
        return [finding for finding in self.findings if finding.reason == HIDDEN]


def text_of(value: object) -> str:
    """Any text as valid Unicode."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def json_text(value: object) -> str:
    """JSON on one line with sorted keys, so that equal values give equal text."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=text_of, allow_nan=False)
    return json_escaped(text_of(text))


def json_bytes(value: object) -> bytes:
    """A JSON file for other tools, with signs for what acts on a terminal; equal values give equal bytes."""
    text = json.dumps(shown_in(value), ensure_ascii=False, indent=1, default=text_of, allow_nan=False)
    return json_escaped(text).encode("utf-8", "replace") + b"\n"


def title(finding: Finding) -> str:
    """A finding in words, apart from others of its name: ``Equalized odds by gender (eo=max)``."""
    by = " and ".join(visible(name) for name in finding.by)
    params = visible(facets.row_params(finding, None))
    return finding.card.title + (f" by {by}" if by else "") + (f" ({params})" if params else "")


def why(reason: str | None) -> str:
    """Why there is no value, in words."""
    return glossary.reason(reason)


def parts_judged(finding: Finding, alpha: float, *verdicts: Verdict) -> list[Part]:
    """The parts of one of these verdicts, by their adjusted p-values."""
    return [part for part in finding.parts if judged_part(finding, part, alpha) in verdicts]


def named(parts: Iterable[Part], most: int = 8) -> str:
    """Parts in a sentence, no more than ``most`` of them; the others are counted."""
    return first_few([quoted(key_text(part.key)) for part in parts], most, " and {} more")


def markdown(text: object) -> str:
    """Any text as literal Markdown on one line: no markup, HTML, links, lists or ends of table cells."""
    literal = _MARKDOWN.sub(r"\\\1", visible(text_of(text)).strip()).translate(_HTML)
    return _LINKED.sub(r"\g<0><!-- -->", _LIST.sub(r"\1\\\2", literal))


def xml(text: object) -> str:
    """Any text with only the characters that XML 1.0 can hold; others are shown in their place."""
    return _NOT_XML.sub("\ufffd", visible(text_of(text)))


def chosen(params: Mapping[str, str], possible: Mapping[str, str], format_: str) -> dict[str, str]:
    """Parameters of an export, those not given at their default."""
    for name in params:
        if name not in possible:
            raise UnknownName(f"parameter of --as {format_}", name, possible)
    return {**possible, **params}


def about_one_model(runs: Sequence[RunView], format_: str) -> None:
    """Refuse comparisons where a format is about one model: a difference is no result of a model."""
    for run in runs:
        if run.manifest.get("kind") == "compare":
            raise ParameterError(
                f"--as {format_} is about one model, {run.name!r} compares several; give the runs that it "
                "compares, or --as markdown"
            )


def only_run(runs: Sequence[RunView], format_: str, instead: str) -> RunView:
    """The one run of a format that holds one."""
    if len(runs) != 1:
        raise ParameterError(f"--as {format_} holds one run, {len(runs)} given; give one, or {instead}")
    return runs[0]


def interval_text(finding: Finding) -> str:
    """The interval with its level; a dash without one."""
    interval = finding.interval
    if interval is None:
        return DASH
    spread = "spread, " if interval.method.startswith("spread") else ""
    return f"{Rounding.of(finding).span(interval)} ({spread}{percent(interval.level)})"


def tests_of(finding: Finding) -> dict[str, Any]:
    """What was tested of a finding, by the names of findings.json."""
    names = ("p_value", "p_adjusted", "corrected", "chance_at", "role")
    return {name: getattr(finding, name) for name in names}


def value_text(finding: Finding) -> str:
    """The value that the interval is of; after one that is corrected for chance, the plain one."""
    rounding = Rounding.of(finding, "count" if finding.card.unit == "count" else None)
    if finding.corrected is None:
        return rounding.text(finding.value)
    return f"{rounding.text(finding.corrected)} (corrected for chance; plain {rounding.text(finding.value)})"


def finding_sentence(finding: Finding, alpha: float) -> str:
    """A finding in one sentence: value, interval, what chance gives and p, or why none is shown."""
    if finding.reason == HIDDEN:
        return f"{title(finding)}: {why(finding.reason)}. It is not the same as fair."
    if finding.value is None:
        return f"{title(finding)}: not estimable, {why(finding.reason)}. It is not the same as fair."
    facts = [f"{title(finding)} = {value_text(finding)}"]
    if finding.interval is not None:
        facts.append(f"interval {interval_text(finding)}")
    if finding.null is not None:
        facts.append(f"chance alone gives {Rounding.of(finding).span(finding.null)}")
    facts += filter(None, [reading(finding, alpha, "what chance alone gives")])
    if (p := p_shown(finding)) is not None:
        facts.append(f"{'p' if finding.p_adjusted is None else 'adjusted p'} = {p:.4g}")
    return f"{'; '.join(facts)}; n = {count(finding.n)}."
