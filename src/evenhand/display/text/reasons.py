"""Why a value is missing, and where one stands beside chance: stable codes, and what they mean in words."""

from __future__ import annotations

from evenhand.core.significance import Significance
from evenhand.display.text.formatting import p_text, p_value
from evenhand.display.text.language import _, filled
from evenhand.display.text.statement import Statement

REASONS: dict[str, str] = {
    "empty": "no usable row here; what was dropped, and why, stands beside it",
    "single_group": "only one group has rows here, so there is nothing to compare",
    "too_few_rows": "no class has enough rows in a group and in the others",
    "too_few_mistakes": "no mistake is made by so many rows that a difference between groups could show",
    "no_large_subgroup": "no subgroup has enough rows and mistakes, here and in the rest, to be tested",
    "mixed_clusters": "a cluster lies in several subgroups, so that clusters cannot change places and there "
    "is no p",
    "weighted": "rows have weights, so that there are rates and differences but no p",
    "constant": "every row got the same label, so predictions cannot differ between groups",
    "below_minimum_expected": "fewer than two predicted labels reach the minimum expected value",
    "no_usable_class": "no class has two groups and two different predictions (a model without errors is "
    "such a case)",
    "one_usable_class": "only one class can be estimated; skewness needs at least three",
    "uninformative": "the skewness of two values is always 0, whatever they are; read the values themselves",
    "no_spread": "all classes have the same effect size, so their distribution has no shape",
    "k_exceeds_pool": "the pool holds fewer samples than k",
    "group_not_in_pool": "the pool holds no sample of this group",
    "no_usable_query": "no query can be estimated",
    "empty_set": "a set has no usable item",
    "one_member": "a set of targets has one item; an effect size needs two or more in each",
    "equal_associations": "all items are associated alike, so that there is no spread to measure a "
    "difference in",
    "one_cluster": "each group is one person or photo, so that groups cannot change places: there is no p "
    "and no interval",
    "no_committed_answer": "no answer names one of the two that are compared",
    "judge_at_chance": "labelled samples leave open whether what the judge names goes with what is true",
    "judge_abstains": "the judge abstains on images, and its labelled samples list no abstention",
    "undefined": "the value is not defined on this evidence",
}


def explain(code: str) -> str:
    """A reason code with its meaning; a text that is no code stays as it is."""
    return f"{code}: {_(REASONS[code])}" if code in REASONS else code


def verdict_text(verdict: Significance, chance: str = "chance") -> str:
    """Where a value stands beside chance, and why a small p did not decide; empty without a verdict."""
    if not verdict.side:
        return ""
    note = ", corrected for several tests" if verdict.is_corrected else ""
    places = {"verdict": verdict.side, "p": ""}
    if verdict.despite is not None:
        note = f" by its interval (p {p_text(verdict.despite)})"
        places["p"] = p_value(verdict.despite)
    return Statement(filled(f"{verdict.side} {chance}{note}"), "{verdict}{p}", places)
