"""What metrics, reasons and bands are called in plain words. Unknown names fall back to themselves."""

from __future__ import annotations

from evenhand.core.text.formatting import visible

BANDS: dict[str, str] = {
    "negligible": "0 to below 0.1",
    "small": "0.1 to below 0.3",
    "medium": "0.3 to below 0.5",
    "large": "0.5 to 1",
}

# name: (title, what it measures); the order is the order of the findings table.
_METRICS: dict[str, tuple[str, str]] = {
    "accuracy": ("Accuracy", "share of rows whose prediction is the truth"),
    "mean_group_accuracy": (
        "Mean group accuracy",
        "the average of the groups’ accuracies, each group counting once",
    ),
    "worst_group_accuracy": ("Worst-group accuracy", "the accuracy of the group the model serves worst"),
    "worst_class_group_accuracy": (
        "Worst class-and-group accuracy",
        "the lowest accuracy of any group within any class",
    ),
    "accuracy_gap": ("Accuracy gap", "accuracy minus the accuracy of the worst group"),
    "accuracy_range": ("Accuracy range", "highest group accuracy minus lowest"),
    "cramers_v_pooled": (
        "Effect size within the classes",
        "Cramér’s V of all classes together: do predictions depend on the group where the truth is the same?",
    ),
    "skewsize": (
        "SkewSize",
        "how lopsided the classes’ effect sizes are (their skewness); blind to how large they are, "
        "so it is never read without the mean, median and largest effect size below it",
    ),
    "cramers_v_mean": ("Mean effect size", "the average of the classes’ Cramér’s V"),
    "cramers_v_median": ("Median effect size", "the middle of the classes’ Cramér’s V"),
    "cramers_v_max": ("Largest effect size", "the highest Cramér’s V of any class"),
    "skewsize_sufficiency": (
        "SkewSize, sufficiency form",
        "the same skewness, computed within each predicted label instead of each true class",
    ),
    "skewsize_topk": ("SkewSize of the top k", "the same skewness, counting each of the k first predictions"),
    "cramers_v": (
        "Effect size over all classes",
        "Cramér’s V of one table, group by prediction, without regard to the truth",
    ),
    "cramers_v_corrected": (
        "Effect size, bias-corrected",
        "the same V after Bergsma’s correction, which removes what chance adds",
    ),
    "phi": ("Phi", "association of group and prediction, not scaled by the size of the table"),
    "demographic_parity": (
        "Demographic parity difference",
        "how far apart the groups are in how often a label is predicted",
    ),
    "equalized_odds": (
        "Equalized odds difference",
        "how far apart the groups are in their true-positive and false-positive rates",
    ),
    "resolution_accuracy": (
        "Right pronoun",
        "how often the pronoun of the perceived gender scores highest, mean over the two genders",
    ),
    "resolution_gap": (
        "Right pronoun, masculine minus feminine",
        "accuracy for masculine minus accuracy for feminine subjects; where a neutral pronoun is offered it "
        "mixes misgendering with neutral choices, so the two gaps below are read with it",
    ),
    "misgendering_rate": (
        "Misgendered",
        "how often the pronoun of the other gender scores highest, mean over the two genders",
    ),
    "misgendering_gap": (
        "Misgendered, masculine minus feminine",
        "misgendering of masculine minus that of feminine subjects",
    ),
    "neutral_rate": (
        "Neutral pronoun",
        "how often a neutral pronoun (their) scores highest, mean over the two genders; no mistake in itself",
    ),
    "neutral_gap": (
        "Neutral pronoun, masculine minus feminine",
        "neutral pronouns for masculine minus those for feminine subjects",
    ),
    "resolution_difference": (
        "Difference between two models",
        "a rate or gap of one model minus that of another on the same images",
    ),
    "bias_at_k": (
        "Bias among the first k",
        "masculine minus feminine people among the first k, as a share; where k is odd no ranking has 0",
    ),
    "skew_at_k": (
        "Skew among the first k",
        "logarithm of a group’s share of the first k over its share of the pool; above 0: more of it",
    ),
    "max_skew_at_k": (
        "Largest skew among the first k",
        "skew of the group that is favoured most; a fair model does not reach 0 either",
    ),
    "min_skew_at_k": (
        "Smallest skew among the first k",
        "skew of the group that is favoured least; a fair model does not reach 0 either",
    ),
    "ndkl": (
        "Divergence of the ranking (NDKL)",
        "how far the groups’ shares of every top lie from their shares of the pool, early places counting "
        "more; a fair model does not reach 0 either",
    ),
    "association_reduction": (
        "Less association, held out",
        "|d| before minus |d| after a mitigation, on items that were not used to fit it; above 0: weaker",
    ),
    "association_effect_size": (
        "Association, effect size d",
        "how much more the first group is tied to the first attributes (unpleasant) than the second is, in "
        "standard deviations over both; it cannot leave about ±2, so the difference is read with it",
    ),
    "association_difference": (
        "Association, difference",
        "the same difference of mean similarities, not divided by their spread",
    ),
    "match_association": (
        "Association by match probability",
        "how much more images of the first group match unpleasant words than images of the second group do",
    ),
    "single_category_association": (
        "Association of one group",
        "how much nearer one group is to the first attributes (unpleasant) than to the second (pleasant)",
    ),
    "pleasant_at_k": (
        "Pleasant words among the nearest",
        "of the words nearest to a group’s images, the share that is pleasant",
    ),
    "harmful_association_rate": (
        "Harmful labels",
        "share of images with a non-human or crime label among the first, as sure as the threshold; an image "
        "counts once; read coverage with it",
    ),
    "harmful_association_gap": (
        "Harmful labels, largest gap",
        "highest rate of harmful labels of any group minus the lowest",
    ),
    "label_association_rate": (
        "Labels of one kind",
        "share of images with a label of this kind among the first, as sure as the threshold",
    ),
    "label_association_gap": (
        "Labels of one kind, largest gap",
        "highest rate of any group minus the lowest",
    ),
    "household_hit_rate": (
        "Recognised at home",
        "share of images of a household of which a first label says what they show, mean over households",
    ),
    "household_hit_gap": (
        "Recognised at home, gap",
        "rate of high-income minus low-income households, or of the best group minus the worst",
    ),
    "worst_household_hit_rate": (
        "Recognised at home, worst group",
        "the rate of the group of households that is recognised least",
    ),
    "household_hit_improvement": (
        "Recognised at home, against another model",
        "how much more is recognised than by the reference model, as a share of what that one recognises",
    ),
    "country_income_correlation": (
        "Recognition and income of countries",
        "correlation of a country’s hit rate with the mean income of its households; 0: unrelated",
    ),
    "precision_at_k": (
        "Same group among the nearest k",
        "share of the k nearest images that are of the query’s group; read the chance level with it, which "
        "the database’s mix gives",
    ),
    "precision_gap": (
        "Same group among the nearest k, largest gap",
        "highest precision of any group minus the lowest; random neighbours can give a gap too",
    ),
}
_METRICS |= {
    f"{name}_difference": (
        f"{_METRICS[name][0]}, difference",
        f"the first model’s value minus the second’s, of: {_METRICS[name][1]}",
    )
    for name in (
        "accuracy",
        "worst_group_accuracy",
        "accuracy_gap",
        "skewsize",
        "cramers_v_mean",
        "cramers_v_median",
        "cramers_v_max",
        *("resolution_accuracy", "resolution_gap", "misgendering_rate", "misgendering_gap"),
        *("neutral_rate", "neutral_gap", "bias_at_k", "skew_at_k", "max_skew_at_k", "min_skew_at_k", "ndkl"),
        *("label_association_rate", "label_association_gap"),
        *("harmful_association_rate", "harmful_association_gap"),
        *("household_hit_rate", "household_hit_gap", "worst_household_hit_rate"),
        *("precision_at_k", "precision_gap", "association_effect_size", "match_association"),
    )
}
_METRICS |= {
    f"{name}_seed_spread": (
        f"{_METRICS[name][0]}, spread of seeds",
        f"standard deviation between seeds, of: {_METRICS[name][1]}",
    )
    for name in (
        *("accuracy", "worst_group_accuracy", "accuracy_gap", "skewsize"),
        *("cramers_v_mean", "cramers_v_median", "cramers_v_max"),
    )
}
ORDER: dict[str, int] = {name: place for place, name in enumerate(_METRICS)}

AGAINST_GUESSING = frozenset(
    ("resolution_accuracy", "misgendering_rate", "neutral_rate", "precision_at_k", "pleasant_at_k")
)
"""Shares whose p is about an answer at random, not about a difference between groups."""

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


def title(name: str) -> str:
    """A metric's title."""
    known = _METRICS.get(name)
    return known[0] if known else _sentence(name)


def meaning(name: str) -> str:
    """What a metric measures, or nothing where the report does not know the metric."""
    known = _METRICS.get(name)
    return known[1] if known else ""


def reason(code: str | None) -> str:
    """Why something is missing, in words; a reason that is already a sentence is kept."""
    if not code:
        return "no reason was recorded"
    known = _REASONS.get(code)
    if known:
        return known
    for prefix, what in _PREFIXES.items():
        if code.startswith(prefix):
            return f"{what}: {reason(code.removeprefix(prefix))}"
    return visible(code.replace("_", " ") if " " not in code else code)


def _sentence(name: str) -> str:
    words = visible(name.replace("_", " ")).strip()
    return words[:1].upper() + words[1:] if words else "Unnamed metric"
