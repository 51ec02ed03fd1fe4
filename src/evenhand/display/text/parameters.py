"""Parameters of findings in words: which images, which sentences, which two sets."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.display.text.formatting import shorten
from evenhand.display.text.language import _

_VALUES: Mapping[str, Mapping[str, str]] = {
    "context": {"single": "one person", "two_person": "two persons"},
    "template": {
        "occ_first": "occupation first",
        "par_first": "participant first",
    },
    "subject": {"occupation": "", "participant": ""},  # the grouping says whose gender is counted
    "form": {
        "cross-modal": "images of groups, and words",
        "textual": "phrases of groups, and words",
        "visual": "images of groups, and pictures",
        "matching": "images of groups, and words that match them",
    },
    "answers": {"raw": "answers as they were said"},
    "objective": {name: f"asked for {name}" for name in ("race", "gender", "age")},
    "half": {
        "held_out": "held-out items",
        "fit": "items it was fitted on",
        "all": "all items, on which it was chosen too",
    },
    "stage": {
        "reduction": "before minus after",
        "before": "before",
        "after": "after",
        "random": "after removal at random",
    },
    "reading": {
        "per_image_joint": "each image’s likeliest words, by probability",
        "per_image_joint_share": "each image’s likeliest words, by number",
        "per_image_per_set": "each image’s likeliest words of each set",
        "per_group": "the words likeliest for the group",
    },
    "standardised": {"False": "raw difference", "True": "divided by its spread"},
    "setting": {
        "all": "all images",
        "single": "one person",
        "two_person": "two persons",
        "same": "two persons, same gender",
        "different": "two persons, different genders",
    },
    "pool": {
        "occupation": "each occupation ranks its own images",
        "all": "each occupation ranks all images",
    },
    "ask": {
        "captions": "asked by comparing images with captions",
        "match": "asked how well captions match",
        "continuations": "asked to continue a sentence",
        "first_token": "asked for the first token after a sentence",
        "choice": "asked to choose a caption, in every order",
    },
}


def in_words(name: str, value: object) -> str:
    """One parameter in words; ``name=value`` where there are none."""
    if name == "groups" and isinstance(value, list) and len(value) == 2:
        text = "bias is above 0 where {first} people come first, below where {second} do"
        return _(text, first=value[0], second=value[1])
    if name in ("targets", "attributes") and isinstance(value, list) and len(value) == 2:
        return (
            f"{_plain(value[0])} – {_plain(value[1])}"
            if name == "targets"
            else _("{first} against {second}", first=_plain(value[0]), second=_plain(value[1]))
        )
    if name == "target":
        return _plain(value)
    if name == "candidates":
        return _("offered: {candidates}", candidates=_plain(value).replace("/", ", "))
    text = _VALUES.get(name, {}).get(str(value), f"{name}={_plain(value)}")
    return text and _(text)


def _plain(value: object) -> str:
    text = "/".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return shorten(text)
