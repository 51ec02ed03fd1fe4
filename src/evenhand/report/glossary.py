"""What reasons and bands are called in plain words. Unknown ones fall back to themselves."""

from __future__ import annotations

from evenhand.core.cards import MetricCard, Sentences
from evenhand.core.findings import Findings
from evenhand.core.unseen import visible
from evenhand.display.text.language import ENGLISH, _, current_catalogue, filled

BANDS: dict[str, str] = {
    "negligible": "0 to below 0.1",
    "small": "0.1 to below 0.3",
    "medium": "0.3 to below 0.5",
    "large": "0.5 to 1",
}

_PREFIXES = {"class: ": "class not estimable", "query: ": "ranking not estimable"}
_REASONS: dict[str, str] = {
    "constant": "every group received the same single prediction, so there is nothing to compare",
    "single_group": "only one group has rows here",
    "empty": "there are no usable rows",
    "suppressed": "hidden, because it or a cell beside it rests on fewer rows than this report shows",
    "uninformative": "too few usable classes: the skewness of two values is always 0",
    "no_usable_class": "no class could be used",
    "one_usable_class": "only one class could be used, and one value has no skewness",
    "no_spread": "all effect sizes are equal, so their skewness is not defined",
    "below_minimum_expected": "the minimum-expected-value filter left no two predictions to compare",
    "undefined": "the definition gives no number for these rows",
    "missing_prediction": "the prediction is missing",
    "missing_truth": "the truth is missing",
    "missing_attribute": "the attribute is not annotated",
    "unreadable_image": "the image could not be read",
    "k_exceeds_pool": "the pool holds fewer images than the number of first places",
    "group_not_in_pool": "nobody of this group is in the pool",
    "no_usable_query": "no ranking could be used",
    "empty_set": "a group or a set of attributes has no usable item",
    "one_member": "a group has a single item, which has no spread",
    "one_cluster": "each group is one person or photo, so there is neither a test nor an interval",
    "equal_associations": "all items are associated alike, so there is no spread to measure in",
    "no scores": "no score for any pronoun: not among the scores, or the answer names no option",
    "missing score": "a score is missing",
    "missing truth": "the perceived gender is not annotated",
    "other truth": "another perceived gender than the two that are compared",
    "not in the label space": "no label of the model says such a thing, which is not the same as 0",
    "not in the database": "nobody of this group is in the database",
    "not in the table": "the table of answers does not hold it",
}


def in_language(findings: Findings) -> Findings:
    """Findings whose cards are written in the page's language, where its catalogue has their texts."""
    if current_catalogue().code == ENGLISH:
        return findings
    cards = {name: _card(card) for name, card in findings.cards.items()}
    lines = [line.with_card(_card(line.card)) if line.is_declared else line for line in findings]
    translated: Findings = findings.model_copy(update={"findings": lines})
    return translated.with_cards(cards)


def _card(card: MetricCard) -> MetricCard:
    """A card in the page's language; one that is about another begins with the title of that one."""
    about = None if card.of is None else _card(card.of)
    title = filled(card.title)
    if card.of is not None and about is not None and card.title.startswith(f"{card.of.title}, "):
        title = about.title + _(card.title.removeprefix(card.of.title))
    sentences = {name: text and _(text) for name, text in card.sentences.model_dump().items()}
    texts = {"title": title, "summary": card.summary and filled(card.summary)}
    return card.model_copy(update={**texts, "sentences": Sentences(**sentences), "of": about})


def reason(code: str | None) -> str:
    """Why something is missing, in words; a reason that is already a sentence is kept."""
    if not code:
        return _("no reason was recorded")
    text = _REASONS.get(code)
    if text:
        return _(text)
    for prefix, what in _PREFIXES.items():
        if code.startswith(prefix):
            return f"{_(what)}: {reason(code.removeprefix(prefix))}"
    return visible(code.replace("_", " ") if " " not in code else filled(code))
