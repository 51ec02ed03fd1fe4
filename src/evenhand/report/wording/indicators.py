"""Sentences about the fairness indicators: which gap stands out, at which threshold or number of images."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.findings import Finding
from evenhand.core.significance import is_beyond, lead_of, p_shown
from evenhand.display.text.formatting import listing, number, plain, quoted, shorten
from evenhand.display.text.language import _
from evenhand.display.text.parameters import in_words
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement
from evenhand.report import glossary
from evenhand.report.chapters import Chapter
from evenhand.report.facets import varying
from evenhand.report.wording.phrases import NO_PROOF, interval_in_words

_FAMILIES = ("labels", "households", "neighbours")
_ENDS = (("first", "second"), ("best", "worst"), ("highest", "lowest"))
_PAPERS = 0.1  # the threshold of the paper's figures


def verdict(chapter: Chapter, alpha: float) -> str:
    """The gap that stands out, by name; empty for chapters without any gap of an indicator.

    Of several thresholds or numbers of neighbours that is the largest gap beyond chance; where none is, the
    one at the paper's threshold, else the largest. Harmful labels come first, other kinds after them.
    """
    cards = ((finding, finding.card) for finding in chapter.findings)
    gaps = [finding for finding, card in cards if card.family in _FAMILIES and card.sentences.more]
    main = [finding for finding in gaps if "association" not in finding.params]
    beside = [finding for finding in gaps if "association" in finding.params]
    if not main and not beside:
        return ""
    sentence = _gap_sentence(main, alpha) if _known(main) or not _known(beside) else ""
    if sentence and not any(is_beyond(gap, alpha) for gap in _known(beside)):
        return sentence
    return Statement.joined((sentence, _gap_sentence(beside or main, alpha)))


def _gap_sentence(findings: Sequence[Finding], alpha: float) -> str:
    """What is to be said of some gaps of one kind."""
    estimable = _known(findings)
    if not estimable:
        why = glossary.reason(findings[0].reason)
        return _("The gap between groups could not be estimated: {reason}.", reason=why)
    beyond = [finding for finding in estimable if is_beyond(finding, alpha)]
    papers = [finding for finding in estimable if finding.params.get("threshold") == _PAPERS]
    primary = [finding for finding in estimable if finding.role == "primary"]
    gap = max(beyond or primary or papers or estimable, key=lambda finding: finding.value or 0.0)
    rounding = Rounding.of(gap)
    lead = lead_of(gap)
    size = Statement.of(
        "{title}: {value}{ends}{between}",
        title=_named(gap), value=rounding.text(lead), ends=interval_in_words(gap), between=_between(gap),
    )  # fmt: skip
    tested = [
        finding for finding in estimable if p_shown(finding) is not None and finding.role != "exploratory"
    ]
    if gap not in tested:
        text = "{size}, without a test." if p_shown(gap) is None else "{size}, exploratory."
        return _(text, size=size)
    if not beyond:
        also = _(", and so for the others that were tested") if len(tested) > 1 else ""
        sentence = _("{size}, no more than chance gives{also}.", size=size, also=also)
        return Statement.joined((sentence, _(NO_PROOF)))
    return _("{size}, more than chance explains.", size=size)


def _between(gap: Finding) -> str:
    """The two groups that the gap lies between, with their values; empty where the finding does not say."""
    for ends in _ENDS:
        named_rates = []
        for end in ends:
            rates = (gap.details.get(f"{end}_{what}") for what in ("rate", "precision"))
            rate = next((rate for rate in rates if isinstance(rate, int | float)), None)
            if isinstance(gap.details.get(end), str) and rate is not None:
                named_rates.append(Statement.joined((quoted(gap.details[end]), number(rate))))
        if len(named_rates) == len(ends):
            return _(", {first} against {second}", first=named_rates[0], second=named_rates[1])
    return ""


def _named(gap: Finding) -> str:
    """A gap with what it is of and at which threshold."""
    title = gap.card.title
    if "k" in gap.params:
        title = _replaced(title, _("nearest k"), _("nearest {k}", k=gap.params["k"]))
    if "association" in gap.params:
        kind = _("Labels of the kind {kind}", kind=quoted(gap.params["association"]))
        title = _replaced(title, _("Labels of one kind"), kind)
    threshold = gap.params.get("threshold")
    if not isinstance(threshold, int | float):
        return title
    return _("{title} at threshold {threshold}", title=title, threshold=plain(threshold))


def _replaced(title: str, words: str, others: str) -> str:
    before, match, after = title.partition(words)
    return Statement.joined((before, others, after), "") if match else title


def missing(findings: Sequence[Finding]) -> list[str]:
    """What has no value, by reason; where a metric has one elsewhere, for which kind, threshold or k."""
    by_reason: dict[str, dict[str, list[Finding]]] = {}
    for finding in findings:
        if finding.value is None:
            names = by_reason.setdefault(glossary.reason(finding.reason), {})
            names.setdefault(finding.name, []).append(finding)
    sentences = []
    for why, names in by_reason.items():
        titles = [
            shorten(absent[0].card.title)
            + _which(absent, [finding for finding in findings if finding.name == name])
            for name, absent in names.items()
        ]
        sentences.append(_("No value could be given for {titles}: {why}.", titles=listing(titles), why=why))
    return sentences


def _which(absent: Sequence[Finding], everywhere: Sequence[Finding]) -> str:
    """The parameters that tell those without a value from the others."""
    phrases = []
    for name in varying(everywhere):
        values = {str(finding.params.get(name)): finding.params.get(name) for finding in absent}
        if len(values) < len({str(finding.params.get(name)) for finding in everywhere}):
            plain = (
                list(values)
                if name == "association"
                else [in_words(name, value) for value in values.values()]
            )
            phrases.append(listing(shorten(value) for value in plain))
    return f" ({', '.join(phrases)})" if phrases else ""


def _known(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.value is not None]
