"""Sentences on disparities: pure functions of a line of ``disparity_lines``, of parts and of details."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor
from typing import Any

from evenhand.display.text.formatting import count, of, plural, quoted, short_label, written
from evenhand.display.text.language import _
from evenhand.display.text.rounding import Rounding, apart
from evenhand.display.text.statement import Statement, bracketed

Line = Mapping[str, Any]
ELSEWHERE = "elsewhere"
_FEWEST = 10  # rows from which a share is written beside its counts


def share(rate: float) -> str:
    """A share in whole per cent, with one decimal below 1 %."""
    return written(f"{rate * 100:.{1 if 0 < rate < 0.01 else 0}f} %", rate, is_share=True)


def shares(*rates: float) -> list[str]:
    """Shares that are compared: with as many decimals as it takes to tell them apart."""
    texts = [share(rate) for rate in rates]
    if len(set(texts)) == len(set(rates)):
        return texts
    rounding = apart(rates)
    return [rounding.level(rate) for rate in rates]


def line_sentence(line: Line, *, noun: str = "rows", elsewhere: str = "") -> str:
    """A line in full: how many rows of a class have a wrong label in a group, and how many elsewhere.

    ``line`` is a row of ``disparity_lines``; ``elsewhere`` names the other group where there are two.
    """
    group, truth = short_label(line["group"]), _label(line["truth"])
    act = _act(line)
    rate, other_rate = shares(line["rate"], line["others"])
    hits = with_share(count(line["a"]), line["n"], rate)
    others = with_share(of(line["b"], line["m"]), line["m"], other_rate)
    if line["direction"] == "less":
        rest = _("in {group}", group=short_label(elsewhere)) if elsewhere else _("in the other groups")
        return _(
            "{group} is spared: of its {n} {truth} {noun}, {hits} {act}; {rest} {others}.{repeats}",
            group=group,
            n=count(line["n"]),
            truth=truth,
            noun=noun,
            hits=hits,
            act=act,
            rest=rest,
            others=others,
            repeats=_repeats(line),
        )
    excess = count(round(line["excess"]))
    fewer = _("At the rate elsewhere it would be {n} fewer", n=excess)
    if elsewhere:
        fewer = _("At the rate of {group} it would be {n} fewer", group=short_label(elsewhere), n=excess)
    least = floor(line["certain"] + 1e-9)
    certain = _(" (at least {least})", least=count(least)) if least else ""
    return _(
        "Of {n} {group} {noun} that are {truth}, {hits} {act}; {beside}. {fewer}{certain}.{repeats}",
        n=count(line["n"]),
        group=group,
        noun=noun,
        truth=truth,
        hits=hits,
        act=act,
        beside=_beside(line, elsewhere, others),
        fewer=fewer,
        certain=certain,
        repeats=_repeats(line),
    )


def headline(line: Line, *, noun: str = "rows", elsewhere: str = "") -> str:
    """The same in at most 20 words, counts alone (names of several words count as one)."""
    group, truth = short_label(line["group"]), _label(line["truth"])
    hits = _("{hits} {truth} {noun}", hits=of(line["a"], line["n"]), truth=truth, noun=noun)
    if line["direction"] == "less":
        group = _("{group} is spared", group=group)
    return Statement.of(
        "{group}: {hits} {act}; {elsewhere} {others}.",
        group=group, hits=hits, act=_act(line, brief=True), others=of(line["b"], line["m"]),
        elsewhere=short_label(elsewhere) if elsewhere else _(ELSEWHERE),
    )  # fmt: skip


def gap_sentence(
    group: str, gap: Line, mix: Line, errors: Line, mistakes: tuple[Line, ...] = (), other: float = 0.0,
    *, beyond: bool | None = None,
) -> str | None:  # fmt: skip
    """Why a group's accuracy is lower than that of the rest; None where nothing is beyond chance.

    ``gap``, above 0 where it is lower, is what comes from its ``mix`` of classes, below 0 where they are
    easier, and from ``errors`` within classes: ``mistakes`` that are named, and all ``other`` ones.
    ``beyond`` is the verdict of the run's test; None: that of the interval.
    """
    name = short_label(group)
    accuracy, rest = shares(gap["accuracy"], gap["rest"])
    rates = {"accuracy": accuracy, "rest": rest, "value": _points(gap["value"])}
    if beyond is None:
        beyond = gap["low"] > 0
    if beyond:
        sentences = [
            _(
                "{value} of them ({low} to {high}) are {truth} called {prediction}",
                **_with_ends(part),
                truth=short_label(part["truth"]),
                prediction=short_label(part["prediction"]),
            )
            for part in mistakes
        ]
        texts = [*sentences, *_pieces(mix["value"], errors["value"], other, has_named=bool(mistakes))]
        return _(
            "{name} is right in {accuracy}, the rest in {rest}: {value} points lower. {texts}.",
            name=name,
            texts=Statement.joined(texts, "; "),
            **rates,
        )
    if gap["high"] >= 0 and errors["low"] > 0:
        return _within_chance(name, rates, mix, errors)
    return None


def _pieces(mix: float, errors: float, other: float, *, has_named: bool) -> list[str]:
    """What of a lower accuracy comes from the mix of classes, and what from mistakes that are not named."""
    texts = [_of_mix(mix, is_first=not has_named)]
    if has_named:
        return [*texts, _("{value} from all other mistakes", value=_points(other))]
    if round(errors, 3) < 0:
        return [*texts, _("within classes it is {errors} points above the rest", errors=_points(-errors))]
    return [*texts, _("{value} from mistakes", value=_points(errors))]


def _of_mix(mix: float, *, is_first: bool) -> str:
    if round(mix, 3) == 0:
        return _("None come from its mix of classes") if is_first else _("none come from its mix of classes")
    return _("{value} come from its mix of classes", value=_points(mix))


def _with_ends(line: Line) -> dict[str, str]:
    """A difference in points with both ends of its interval."""
    ends = (line["low"], line["high"])
    rounding = Rounding.of_numbers(line["value"], "share difference", ends, least=1)
    return {name: rounding.text(line[name]) for name in ("value", "low", "high")}


def _within_chance(name: str, rates: Mapping[str, str], mix: Line, errors: Line) -> str:
    """What a gap within chance is made of, where mistakes within classes are beyond it."""
    if -2 * mix["value"] >= errors["value"]:  # easier classes make up for most of the mistakes
        return _(
            "{name} looks level, but only because its classes are easier ({mix} points); "
            "within classes it is {errors} points worse.",
            name=name,
            mix=_points(mix["value"]),
            errors=_points(errors["value"]),
        )
    within = _with_ends(errors)
    return _(
        "{name} is right in {accuracy}, the rest in {rest}: {value} points lower, within chance. {mix}; "
        "{errors} ({low} to {high}) from mistakes within classes.",
        name=name,
        **rates,
        mix=_of_mix(mix["value"], is_first=True),
        errors=within["value"],
        low=within["low"],
        high=within["high"],
    )


_MIXES = {
    ("against", 1): "Its classes are easier: within classes it is {errors} points below the rest.",
    ("against", -1): "Its classes are harder: within classes it is {errors} points above the rest.",
    ("beyond", 1): "Its classes are harder: within classes it is {errors} points above the rest.",
    ("beyond", -1): "Its classes are easier: within classes it is {errors} points below the rest.",
    ("part", 1): "Of {gap} points below the rest, {mix} come from its mix of classes.",
    ("part", -1): "Of {gap} points above the rest, {mix} come from its mix of classes.",
    ("none", 1): "None of the {gap} points below the rest come from its mix of classes.",
    ("none", -1): "None of the {gap} points above the rest come from its mix of classes.",
}


def mix_sentence(gap: float, mix: float, errors: float) -> str:
    """How much of another accuracy comes from a group's mix of classes.

    Where the mix alone would give more than the whole difference, or the opposite one, the sentence says
    where the group stands within classes. ``gap`` is above 0 where its accuracy is below that of the rest;
    ``errors`` are those within classes.
    """
    sign = 1 if gap >= 0 else -1
    kind = "against" if round(sign * mix, 3) < 0 else "beyond" if round(sign * errors, 3) < 0 else "part"
    kind = kind if round(mix, 3) else "none"
    numbers = {"gap": abs(gap), "mix": abs(mix), "errors": abs(errors)}
    return _(_MIXES[kind, sign], **{name: _points(number) for name, number in numbers.items()})


def status_sentence(
    details: Line, *, by: str, groups: int, n: float, noun: str = "rows", min_rows: int = 5
) -> str | None:
    """What is said where no line is listed; None where lines are. ``details`` are empty where hidden."""
    if "status" not in details:
        return _("What differs by {by} is hidden, because cells of few rows are.", by=by)
    texts = {
        "single_group": _(
            "{by} has one group with {noun}, so there is nothing to compare.", by=by, noun=noun
        ),
        "no_mistakes": _("No mistake in {n} {noun}.", n=count(n), noun=noun),
        "too_few_rows": _(
            "No class has {min_rows} {noun} in a group and elsewhere.", min_rows=min_rows, noun=noun
        ),
        "too_few_mistakes": _(
            "No mistake is made by so many, and not by so many others, that a difference between groups "
            "could show."
        ),
        "weighted": _(
            "The {noun} have weights: mistakes by class have rates and differences, but no test.",
            noun=noun,
        ),
        "one_cluster": _("Each group is of one cluster, so that nothing says how clusters differ."),
        "none_beyond_chance": _none(details, by, groups, noun),
    }
    return texts.get(str(details["status"]))


def _none(details: Line, by: str, groups: int, noun: str) -> str:
    tested = plural(details.get("tested"), "comparison")
    text = _(
        "No mistake differs between the {groups} groups of {by} beyond chance ({tested}).",
        groups=groups,
        by=by,
        tested=tested,
    )
    if "detectable_n" not in details:
        return text
    n, rate = count(details["detectable_n"]), details["detectable_rate"]
    mistake = _(
        "In a class with {n} {noun} of one group a mistake made {share} of the time elsewhere",
        n=n,
        noun=noun,
        share=share(details["detectable_others"]),
    )
    if rate is None:
        return Statement.joined((text, mistake, _("could not have been noticed at any rate.")))
    noticed = _("would have been noticed (4 times in 5) had it been {share} there.", share=share(rate))
    return Statement.joined((text, mistake, noticed))


def with_share(counts: str, rows: float, rate: str) -> str:
    """Counts with their share, where there are enough rows for one."""
    return counts + bracketed(rate) if rows >= _FEWEST else counts


def _act(line: Line, *, brief: bool = False) -> str:
    if line["prediction"] is None:
        return _("are wrong") if brief else _("are wrong, under several labels")
    return _("are called {label}", label=_label(line["prediction"]))


def _label(text: object) -> str:
    """A label in a sentence; one without letters is quoted, since it would pass for a count."""
    return quoted(text) if text and not any(map(str.isalpha, str(text))) else short_label(text)


def _beside(line: Line, elsewhere: str, others: str) -> str:
    if not line["b"]:
        if elsewhere:
            return _("never in {group} (0 of {rows})", group=short_label(elsewhere), rows=count(line["m"]))
        return _("never elsewhere (0 of {rows})", rows=count(line["m"]))
    return Statement.joined((short_label(elsewhere) if elsewhere else _(ELSEWHERE), others))


def _repeats(line: Line) -> str:
    parent = line.get("parent")
    return _(" It is so in all of {parent}.", parent=short_label(parent)) if parent else ""


_points = Rounding("share difference", 1).text
