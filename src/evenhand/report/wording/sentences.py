"""The findings in plain sentences. Nothing here computes a number: it counts, sorts and says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from evenhand.core.findings import Finding, Part
from evenhand.core.nouns import words_of
from evenhand.core.significance import is_beyond, significance_of
from evenhand.display.overview.phrasing import title_of
from evenhand.display.text import formatting as formats
from evenhand.display.text.formatting import (
    count,
    first_of,
    key_text,
    listing,
    model_name,
    number,
    plain,
    plural,
    quoted,
    shorten,
)
from evenhand.display.text.language import _
from evenhand.display.text.reasons import verdict_text
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement, bracketed
from evenhand.report import glossary
from evenhand.report.chapters import Chapter, grouping_title
from evenhand.report.facets import row_params, varying
from evenhand.report.suppression.findings import REASON
from evenhand.report.wording import effects
from evenhand.report.wording import indicators as indicator_words
from evenhand.report.wording.phrases import value_of

MISTAKES_DIFFER = "Mistakes differ between groups beyond chance in {classes}{rest}."
_MODELS = 4  # named in a title
_NAMED = 6  # findings named in a sentence
_SIZES = 8  # groups with their rows
_DIRECTIONS = {
    "lower is fairer": "↓ lower is fairer",
    "higher is fairer": "↑ higher is fairer",
    "higher is better": "↑ higher is better",
    "descriptive": "descriptive",
}


def subject(manifest: Mapping[str, Any]) -> str:
    """What was audited: the model, or the models that were compared, else the table's file name."""
    compared = manifest.get("models")
    if isinstance(compared, list | tuple) and compared:
        return _models(compared)
    if manifest.get("model"):
        return model_name(manifest["model"])
    source = manifest.get("source")
    path = source.get("path") if isinstance(source, Mapping) else None
    return shorten(PurePath(str(path)).name) if path else _("a table of predictions")


def _models(models: Sequence[object]) -> str:
    """Every model by its own name, the first few of many; whole where two have the same last name."""
    names = [model_name(model) for model in models]
    if len(set(names)) < len(names):
        names = [shorten(model, formats.PROSE_LIMIT) for model in models]
    return first_of(names, _MODELS)


def question_text(manifest: Mapping[str, Any], chapters: Sequence[Chapter]) -> str:
    """The question of the run, and which model or table it is about."""
    words = words_of(manifest)
    what = _("a table of predictions")
    if manifest.get("model"):
        method = _(" after {method}", method=quoted(manifest["method"])) if manifest.get("method") else ""
        what = _(
            "{examined} of {model}{method}",
            examined=_(words.examined),
            model=quoted(model_name(manifest["model"])),
            method=method,
        )
    source = manifest.get("source")
    path = source.get("path") if isinstance(source, Mapping) else None
    rows = manifest.get("rows")
    facts = [
        *([_("table {name}", name=quoted(PurePath(str(path)).name))] if path else []),
        *([plural(rows, "row")] if isinstance(rows, int | float) else []),
        *(
            [_("benchmark {benchmark}", benchmark=quoted(manifest["benchmark"]))]
            if manifest.get("benchmark")
            else []
        ),
    ]
    within = f" ({', '.join(facts)})" if facts else ""
    if words.asks:
        return _(
            "evenhand examined {what}{within}. The question: {asks}",
            what=what,
            within=within,
            asks=_(words.asks),
        )
    titles = dict.fromkeys(grouping_title(chapter.by) for chapter in chapters if chapter.by)
    if not titles or not any(chapter.effect or chapter.groups for chapter in chapters):
        return _("evenhand examined {what}{within}.", what=what, within=within)
    return _(
        "evenhand examined {what}{within}. The question: is the model right equally "
        "often for every group, and does it make the same mistakes? The groups are those "
        "of {titles}.",
        what=what,
        within=within,
        titles=listing(titles),
    )


def verdict(chapter: Chapter, alpha: float) -> str:
    """The one line to remember about a grouping."""
    usable = [part for part in chapter.classes if part.value is not None]
    if chapter.effect is None:
        return indicator_words.verdict(chapter, alpha) or _(
            "{findings}, listed below.", findings=plural(len(chapter.findings), "finding")
        )
    return _of_mistakes(chapter, usable, alpha)


def _of_mistakes(chapter: Chapter, usable: Sequence[Part], alpha: float) -> str:
    """Whether mistakes differ: the test of all classes together says, then the classes."""
    if not usable and any(part.reason == REASON for part in chapter.classes):
        return _("Differences of mistakes are hidden, because too few rows are behind them.")
    if not usable:
        return _("Differences of mistakes could not be estimated. Not estimable is not the same as fair.")
    tested = [part for part in usable if part.p_value is not None]
    beyond, missing = beyond_chance(usable, alpha), len(usable) < len(chapter.classes)
    if not tested:
        return _("Effect sizes of {classes}, without tests.", classes=plural(len(usable), "class", "classes"))
    rest = _(" that could be estimated, of {classes}", classes=count(len(chapter.classes))) if missing else ""
    overall = chapter.made_of("all effects")
    if beyond:
        return _(
            MISTAKES_DIFFER,
            classes=effects.of_classes(len(beyond), len(usable)),
            rest=rest,
        )
    if overall is not None and is_beyond(overall, alpha):
        return _("Mistakes differ between groups beyond chance; no single class stands out after correction.")
    n_classes = plural(len(usable), "class", "classes")
    apart = [
        finding for finding in chapter.findings if finding.role == "primary" and is_beyond(finding, alpha)
    ]
    text = "No difference of mistakes beyond chance over {classes}{rest}. That does not prove fairness."
    if apart:
        text = "Groups differ beyond chance ({titles}), though no effect size does over {classes}{rest}."
    titles = listing(dict.fromkeys(map(title_of, apart)))
    return _(text, classes=n_classes, rest=rest, titles=titles)


def sureness(chapters: Sequence[Chapter], alpha: float) -> list[str]:
    """How sure the findings are: which primary ones are beyond chance, and how many have no value."""
    findings = [finding for chapter in chapters for finding in chapter.findings]
    with_test = [finding for finding in findings if finding.value is not None and finding.p_value is not None]
    primary = [finding for finding in with_test if finding.role != "exploratory"]
    missing = sum(finding.value is None for finding in findings)
    hidden = [finding for finding in findings if finding.reason == REASON]
    sentences = []
    if primary:
        hits = [finding for finding in primary if is_beyond(finding, alpha)]
        # a secondary test costs no error: its p is that of the primary it stands beside, or larger
        many = _corrections([finding for finding in primary if finding.role != "secondary"], hidden)
        names = first_of([_tested_name(hit, primary) for hit in hits], _NAMED)
        sentences.append(
            _(
                "How sure: beyond chance (p at most {alpha}{many}, and the interval leaves out "
                "what chance gives): {names}.",
                alpha=plain(alpha),
                many=many,
                names=names or _("nothing"),
            )
        )
    if len(primary) < len(with_test):
        sentences.append(_("Every other p is exploratory: it was not corrected, and no verdict rests on it."))
    if hidden and not with_test:
        sentences.append(_("How sure: no finding that is shown here was tested; the others are hidden."))
    elif findings and not with_test:
        sentences.append(
            _("How sure: no finding was tested, so nothing here says how far chance explains them.")
        )
    if missing:
        sentences.append(
            _(
                "Not estimable: {n} of {findings}, each with its reason. That is not the same as fair.",
                n=count(missing),
                findings=plural(len(findings), "finding"),
            )
        )
    return sentences


def _corrections(tested: Sequence[Finding], hidden: Sequence[Finding]) -> str:
    """What p is corrected for: all questions of a run together, those of a comparison measure by measure."""
    if any(finding.card.of is not None for finding in tested):
        return _(", corrected for all pairs of models and groupings of a measure")
    if any(finding.role == "primary" for finding in hidden):
        return _(", corrected for all questions of this run")
    return _(", corrected together for {n} tests", n=count(len(tested))) if len(tested) > 1 else ""


def _tested_name(finding: Finding, tested: Sequence[Finding]) -> str:
    """Its title and grouping, and what tells it from others of both."""
    where = _(" by {by}", by=grouping_title(finding.by)) if finding.by else ""
    alike = [other for other in tested if (other.name, other.by) == (finding.name, finding.by)]
    params = row_params(finding, varying(alike)) if len(alike) > 1 else ""
    return f"{finding.card.title}{where}{f' ({params})' if params else ''}"


def finding_sentences(chapter: Chapter, alpha: float) -> list[str]:
    """What was found for a grouping, how sure it is, and what could not be estimated."""
    sentences = [
        *_accuracy(chapter, alpha),
        *effects.bands(chapter, alpha),
        *effects.largest(chapter, alpha),
        *effects.certainty(chapter, alpha),
        *effects.skewsize(chapter),
        *effects.independence(chapter),
        *_not_estimable(chapter),
        *_group_sizes(chapter),
    ]
    return sentences or [
        _("{findings} in the table below.", findings=plural(len(chapter.findings), "finding"))
    ]


def beyond_chance(parts: Iterable[Part], alpha: float) -> list[Part]:
    """Parts with the verdict "beyond chance"."""
    return [part for part in parts if is_beyond(part, alpha)]


def against_chance(holder: Finding | Part, alpha: float) -> str:
    """Where a value stands beside what chance alone gives; empty where there is no verdict."""
    return verdict_text(significance_of(holder, alpha), effects.CHANCE)


def reading(holder: Finding | Part, alpha: float) -> str:
    """The same in few words for tables, or why there is no value."""
    why = glossary.reason(holder.reason) if holder.value is None or holder.reason else ""
    return " · ".join(part for part in (short_verdict(holder, alpha), why) if part)


def short_verdict(holder: Finding | Part, alpha: float, chance: str = "chance") -> str:
    """The verdict in few words; of a p that no verdict rests on, that it is exploratory."""
    if holder.role == "exploratory":
        return _("exploratory") if holder.value is not None and holder.p_value is not None else ""
    return verdict_text(significance_of(holder, alpha), chance)


def direction(finding: Finding) -> str:
    """Which way a metric reads, in words."""
    return _(_DIRECTIONS.get(finding.direction, finding.direction))


def _group_sizes(chapter: Chapter) -> list[str]:
    sized = next((finding.groups for finding in chapter.findings if finding.groups), [])
    if not sized:
        return []
    sizes: list[str] = [quoted(key_text(group.key)) + bracketed(count(group.n)) for group in sized]
    return [
        _(
            "{groups} with usable rows: {names}.",
            groups=plural(len(sized), "group"),
            names=first_of(sizes, _SIZES),
        )
    ]


def _accuracy(chapter: Chapter, alpha: float) -> list[str]:
    finding = chapter.accuracy
    if finding is None or finding.value is None:
        return []
    sentence = _("Accuracy is {value}", value=value_of(finding))
    groups = chapter.ranked_groups
    if len(groups) > 1:
        low, high = groups[-1], groups[0]
        sentence += _(
            "; by group it runs from {low} for {lowest} to {high} for {highest}",
            low=number(low.value),
            lowest=quoted(key_text(low.key)),
            high=number(high.value),
            highest=quoted(key_text(high.key)),
        )
    gap = chapter.first("accuracy_gap")
    if gap is not None and gap.null is not None and gap.value is not None and against_chance(gap, alpha):
        rounding = Rounding.of(gap)
        chance = rounding.span(gap.null)
        standing = against_chance(gap, alpha)
        sentence += _(
            "; the worst group lies {value} below the whole, {standing} ({chance})",
            value=rounding.text(gap.value),
            standing=standing,
            chance=chance,
        )
    if finding.value == 0:
        sentence += _(
            ". No prediction is a true label of its row: if the two are different kinds of labels, this "
            "says nothing of the model"
        )
    return [sentence + "."]


def _not_estimable(chapter: Chapter) -> list[str]:
    sentences = []
    reasons = Counter(part.reason for part in chapter.classes if part.value is None)
    hidden = reasons.pop(REASON, 0)
    if hidden:
        classes_text = _(
            "{classes} hidden, which says nothing of them", classes=plural(hidden, "class is", "classes are")
        )
        sentences.append(
            _(
                "{classes}: they, or cells of theirs, rest on fewer rows than this report shows.",
                classes=classes_text,
            )
        )
    if reasons:
        classes_text = plural(sum(reasons.values()), "class", "classes")
        counted_reasons = [
            (_("in {n}, ", n=n) if len(reasons) > 1 else "", why) for why, n in reasons.most_common()
        ]
        parts = Statement.joined((where + glossary.reason(why) for where, why in counted_reasons), "; ")
        sentences.append(
            _(
                "{classes} could not be estimated, which is not the same as fair: {reasons}.",
                classes=classes_text,
                reasons=parts,
            )
        )
    return sentences + indicator_words.missing(chapter.findings)
