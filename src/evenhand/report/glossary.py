"""What metrics, reasons and bands are called in plain words. Unknown names fall back to themselves."""

from __future__ import annotations

from evenhand.report.formats import visible

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
}
ORDER: dict[str, int] = {name: place for place, name in enumerate(_METRICS)}

_CLASS = "class: "
_REASONS: dict[str, str] = {
    "constant": "every group received the same single prediction, so there is nothing to compare",
    "single_group": "only one group has rows here",
    "empty": "there are no usable rows",
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
    if code.startswith(_CLASS):
        return f"class not estimable: {reason(code.removeprefix(_CLASS))}"
    return visible(code.replace("_", " ") if " " not in code else code)


def _sentence(name: str) -> str:
    words = visible(name.replace("_", " ")).strip()
    return words[:1].upper() + words[1:] if words else "Unnamed metric"
