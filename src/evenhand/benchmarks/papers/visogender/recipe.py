"""The recipe of the VisoGender paper (Hall et al. 2023)."""

from __future__ import annotations

from evenhand.benchmarks.recipe import Compared, Recipe, RecipeData, Step, numbered
from evenhand.benchmarks.visogender.questions import WAYS

_FIGURE, _TABLE = "visogender/figure", "visogender/table"
_CLIP = "hf:openai/clip-vit-base-patch32"
_MEASURE = Compared(("measure",))
RECIPE = Recipe(
    paper="visogender",
    title="VisoGender (Hall et al. 2023): which pronoun for whom, and whose images come first",
    data=(RecipeData("visogender", "visogender"),),
    steps=(
        Step("resolution", "visogender/resolution", tuple(dict.fromkeys(WAYS.values())), "visogender",
             suggestion=_CLIP),
        Step("retrieval", "visogender/retrieval", (("embeds_images", "embeds_texts"),), "visogender",
             suggestion=_CLIP),
    ),
    artifacts={
        **numbered(_TABLE, (1,)),
        **numbered(_TABLE, (2,), "resolution"),
        **numbered(_TABLE, (3,), "retrieval"),
        **numbered(_TABLE, (4,), "resolution"),
        **numbered(_TABLE, (5,), "retrieval"),
        **numbered(_TABLE, (6, 7), "resolution", "retrieval"),
        **numbered(_TABLE, (8,), "resolution"),
        **numbered(_TABLE, (9, 10)),
        **numbered(_FIGURE, (2, 3, 4, 5, 6, 8, 9, 10, 12), "resolution"),
        **numbered(_FIGURE, (7, 11), "retrieval"),
        **numbered(_FIGURE, (13,)),
    },
    compared={
        **dict.fromkeys((f"{_TABLE}2", f"{_TABLE}4"), _MEASURE),
        **dict.fromkeys((f"{_TABLE}3", f"{_TABLE}5"), Compared(("measure", "counted"), ("value", "sigma"))),
        f"{_TABLE}1": Compared(("context", "what")),
        f"{_TABLE}6": Compared(("measure",), ("value", "sigma")),
        f"{_TABLE}7": Compared(("measure",), ("pearson", "kendall")),
        **dict.fromkeys((f"{_TABLE}8", f"{_TABLE}9"), Compared(("of", "measure"), settings=("how",))),
        f"{_TABLE}10": Compared(("level", "name", "context")),
    },
)  # fmt: skip
