"""The recipe of the VisoGender paper (Hall et al. 2023)."""

from __future__ import annotations

from evenhand.benchmarks.recipe import Compared, Recipe, RecipeData, Step, numbered
from evenhand.benchmarks.visogender.questions import WAYS

_CLIP = "hf:openai/clip-vit-base-patch32"
_RESOLUTION, _RETRIEVAL = ("resolution",), ("retrieval",)
_MEASURE, _COUNTED = Compared(("measure",)), Compared(("measure", "counted"), ("value", "sigma"))
_DRAWN = Compared(("of", "measure"), settings=("how",))
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
        "visogender/table1": (),
        "visogender/table2": _RESOLUTION,
        "visogender/table3": _RETRIEVAL,
        "visogender/table4": _RESOLUTION,
        "visogender/table5": _RETRIEVAL,
        "visogender/table6": _RESOLUTION + _RETRIEVAL,
        "visogender/table7": _RESOLUTION + _RETRIEVAL,
        "visogender/table8": _RESOLUTION,
        "visogender/table9": (),
        "visogender/table10": (),
        **numbered("visogender/figure", (2, 3, 4, 5, 6, 8, 9, 10, 12), "resolution"),
        "visogender/figure7": _RETRIEVAL,
        "visogender/figure11": _RETRIEVAL,
        "visogender/figure13": (),
    },
    compared={
        "visogender/table2": _MEASURE,
        "visogender/table4": _MEASURE,
        "visogender/table3": _COUNTED,
        "visogender/table5": _COUNTED,
        "visogender/table1": Compared(("context", "what")),
        "visogender/table6": Compared(("measure",), ("value", "sigma")),
        "visogender/table7": Compared(("measure",), ("pearson", "kendall")),
        "visogender/table8": _DRAWN,
        "visogender/table9": _DRAWN,
        "visogender/table10": Compared(("level", "name", "context")),
    },
)  # fmt: skip
