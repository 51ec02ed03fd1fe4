"""Details, single samples and comparisons: what may stay beside a value that rests on enough rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from evenhand.core.cards import MetricCard
from evenhand.core.findings import Finding, NewDetails, Part

Details = Mapping[str, float | str | None]

COUNTS = ("n", "rows", "images", "samples", "count")
"""Columns and details that count rows."""

PEOPLE = ("households", "persons", "people", "subjects")
"""Details that count people, of whom each may have several rows."""

UNITS = "units"
"""The detail that counts what was sampled as a whole."""

NO_TEST: Mapping[str, None] = dict.fromkeys(
    ("corrected", "chance_at", "interval", "null", "p_value", "p_adjusted", "mde", "band")
)
"""What a test and an interval tell of a value."""

OF_INTERVAL = ("low_95", "high_95")
"""Details that tell the same: the 95 % interval of a finding that is shown at another level."""

_HIDDEN = "hidden"
_SINGLE = "item"  # the kind of parts that are one sample each
_RANKED, _PRONOUNS = "rankings", "pronouns"  # families of metrics
_OF_GENDER = "gender"
_SEEDS = "_seed_spread"
_HARMLESS = frozenset(
    (
        # in words, and how a number was made
        "compared", "unit", "measured_in", "metric_direction", "weights", "method", "test", "sign",
        "paired_by", "run", "set", "rank", "draws", "replicates", "queries", "templates", "seeds",
        "first_seeds", "second_seeds", "degrees_of_freedom", "countries", "parts_left_out", "words",
        "pleasant_words", "classes_without_parts", "highest", "lowest", "best", "worst",
        # values of all that the finding or part is of; the whole goes where one of them is hidden
        "accuracy", "accuracy_gap", "first", "second", "first_own_mix", "second_own_mix",
        "first_rate", "second_rate", "highest_rate", "lowest_rate", "best_rate", "worst_rate",
        "highest_precision", "lowest_precision", "chance", "above_chance", "gap_by_chance",
        "gap_above_chance", "percent", "income", "before", "after", "mean", "mean_low", "mean_high",
        "sampling_error", "seed_error", "sample_error", "sd", "sigma", "low", "high", "low_95", "high_95",
        "explained_by_truth", "side", "detectable_others", "detectable_rate", "apart", "apart_moved",
        "apart_by_chance",
        "template_low", "template_high",
        # of an association of two sets
        "difference", "bound", "effect_size", "cohens_d", "auc", "auc_before", "auc_after",
        "point_biserial", "p_right", "p_left", "p_two_sided", "p_right_normal", "p_left_normal",
        "p_two_sided_normal", "p_items", "z", "q_value",
    )
)  # fmt: skip


def card_of(finding: Finding) -> MetricCard:
    """The card of a finding's metric; of a comparison that of the metric which is compared."""
    return finding.card.of or finding.card


def shown_details(
    details: Details, fewest: int, *, people: bool = True, without: Collection[str] = ()
) -> NewDetails:
    """Details by an allow-list: what is not known to be harmless is left out.

    Counts (``n``, ``n_...``, ``..._n``, ``..._rows``) stay where all of them are large or 0; one that is not
    hides all. ``coverage`` stays where nothing is uncovered, numbers of people where ``people`` is set.
    """
    counts = {key for key, value in details.items() if _counts_rows(key) and isinstance(value, int | float)}
    small = any(_is_small(details[key], fewest) for key in counts)
    shown_values: NewDetails = {}
    for key, value in details.items():
        if key in without:
            continue
        if key in counts:
            shown_values[key] = _HIDDEN if small else value
        elif key in _HARMLESS or (key == "coverage" and value == 1) or (people and key in PEOPLE):
            shown_values[key] = value
    return shown_values


def without_few_units(details: Details, fewest: int, without: Collection[str] = ()) -> NewDetails:
    """All details but the number of what was sampled as a whole, where it is small, and those named."""
    return {
        key: value
        for key, value in details.items()
        if key not in without and (key != UNITS or not _is_small(value, fewest))
    }


def plain_details(details: Details, *, rates: bool) -> NewDetails:
    """Details of a finding of which something is hidden: how models were compared, in words.

    With ``rates`` the two values that are compared stay, because their difference does.
    """
    keys = ("compared", "unit", "metric_direction", *(("first", "second") if rates else ()))
    return {key: details[key] for key in keys if key in details}


def single_sample(part: Part) -> bool:
    """Whether a part is one sample, whatever its ``n`` counts."""
    return part.kind == _SINGLE


def units_apart(findings: Sequence[Finding], fewest: int) -> bool:
    """Whether two findings rest on numbers of persons or other clusters that differ by a few."""
    units = sorted(
        {float(n) for finding in findings if isinstance(n := finding.details.get(UNITS), int | float)}
    )
    return any(_is_small(more - fewer, fewest) for fewer, more in pairwise(units))


def pooled(finding: Finding) -> bool:
    """Whether a value is the mean over all rows of what its parts are: then it is one of the sums."""
    if finding.value is None or not finding.parts or len({part.kind for part in finding.parts}) > 1:
        return False
    if any(part.value is None for part in finding.parts):
        return False
    rows = sum(part.n for part in finding.parts)
    total = sum((part.value or 0.0) * part.n for part in finding.parts)
    return abs(rows - finding.n) < 1e-6 and abs(total - finding.value * finding.n) < 1e-6


def chosen(finding: Finding) -> bool:
    """Whether which parts there are tells the least or largest of many values."""
    groups = [part for part in finding.parts if part.kind == "group"]
    return card_of(finding).made_of == "one cell" or 0 < len(groups) < len(finding.groups)


def few_people(holder: Finding | Part, fewest: int) -> bool:
    """Whether a value rests on fewer people than are shown, however many rows they have."""
    return any(_is_small(holder.details.get(key), fewest) for key in PEOPLE)


def of_few_images(finding: Finding) -> bool:
    """Whether parts tell who is among the first images of a query, and how many there are to choose from."""
    return card_of(finding).family == _RANKED


def sub_cells(finding: Finding, part: Part) -> list[int] | None:
    """Places of the parts that a part's gap is made of, the rates of both genders; None of other parts.

    The list is empty where the finding does not say on how many rows each of the two rests.
    """
    card = card_of(finding)
    of_two = card.family == _PRONOUNS and bool(card.sentences.more)
    if not of_two or _OF_GENDER in part.kind.split("*"):
        return None
    part_key = [part.key] if isinstance(part.key, str) else list(part.key)
    kind = f"{part.kind}*{_OF_GENDER}"
    return [
        index
        for index, other in enumerate(finding.parts)
        if other.kind == kind and [*other.key[:-1]] == part_key
    ]


def compared(finding: Finding) -> bool:
    """Whether a finding holds models or seeds against each other."""
    return finding.reference is not None or finding.name.endswith(_SEEDS)


def apart(finding: Finding) -> bool:
    """Whether the two models' samples differ: nothing says how many rows the second has in a part."""
    return compared(finding) and finding.details.get("compared") == "not paired"


def without_flips(part: Part, fewest: int) -> dict[str, Any]:
    """What is left of a part of a comparison: the two rates and their difference.

    How many samples flip is a cell; p, interval and null band of a paired test would give it back.
    """
    flips = ("n_gained", "n_lost", "q_value", "draws", *OF_INTERVAL)
    return {**NO_TEST, "details": shown_details(part.details, fewest, without=flips)}


def tells_flips(finding: Finding, fewest: int) -> bool:
    """Whether the test of a paired comparison rests on few flips, or on nobody knows how many.

    That of all rows rests on all flips. Of what is made of groups, the least accuracy or how far it is below
    all, the interval rests on how both models' answers go together in each: it always tells.
    """
    if not compared(finding) or finding.details.get("compared") != "same samples":
        return False
    if "first_seeds" in finding.details:  # seeds are tested, not flips
        return False
    card = card_of(finding)
    if card.made_of != "right rows" and "unit" not in finding.details:
        return card.compared == "counts"
    groups = [part for part in finding.parts if part.kind == "group"]
    flips = [[part.details.get(key) for part in groups] for key in ("n_gained", "n_lost")]
    return (
        any(_unknown_or_small(counts, fewest) for counts in flips)
        or sum(part.n for part in groups) < finding.n - 0.5
    )


def _unknown_or_small(counts: Sequence[float | str | None], fewest: int) -> bool:
    numbers = [count for count in counts if isinstance(count, int | float)]
    return not numbers or len(numbers) < len(counts) or _is_small(sum(numbers), fewest)


def _is_small(value: object, fewest: int) -> bool:
    return isinstance(value, int | float) and 0 < value < fewest


def _counts_rows(key: str) -> bool:
    return key in (*COUNTS, UNITS) or key.startswith("n_") or key.endswith(("_n", "_rows"))
