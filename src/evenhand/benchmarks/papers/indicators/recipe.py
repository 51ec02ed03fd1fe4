"""The recipe of the Fairness Indicators paper (Goyal et al. 2022)."""

from __future__ import annotations

from evenhand.benchmarks.labelling.elicitation import WAYS
from evenhand.benchmarks.recipe import Compared, Recipe, RecipeData, Step, numbered

_FIGURE, _TABLE = "indicators/figure", "indicators/table"
_ANY = tuple(WAYS.values())
_LABELS = ("labels-casual_conversations", "labels-miap")
_CLIP = "hf:openai/clip-vit-base-patch32"
RECIPE = Recipe(
    paper="indicators",
    title="Fairness Indicators (Goyal et al. 2022): labels, recognition and retrieval by group",
    data=tuple(
        RecipeData(name, name) for name in ("casual_conversations", "miap", "utkface", "dollar_street")
    ),
    steps=(
        *(
            Step(name, "indicators/label_association", _ANY, name.partition("-")[2], suggestion=_CLIP)
            for name in _LABELS
        ),
        Step(
            "retrieval", "indicators/retrieval", (("embeds_images",),), "utkface",
            data_parameters={"queries": "casual_conversations"}, suggestion="hf:facebook/dinov2-base",
        ),
        Step("geography", "indicators/geography", _ANY, "dollar_street", suggestion=_CLIP),
    ),
    artifacts={
        **numbered(_TABLE, range(1, 6)),
        **numbered(_FIGURE, (2,), *_LABELS, "retrieval", "geography"),
        **numbered(_FIGURE, (3, *range(8, 12)), *_LABELS),
        **numbered(_FIGURE, (4, 12), "geography"),
        **numbered(_FIGURE, (6, 7, 13), "retrieval"),
    },
    compared={
        f"{_TABLE}4": Compared(("attribute", "group"), settings=("from",)),
        f"{_TABLE}5": Compared(("income_bucket", "region")),
    },
    data_of={f"{_TABLE}4": ("casual_conversations", "utkface", "miap"), f"{_TABLE}5": ("dollar_street",)},
)  # fmt: skip
