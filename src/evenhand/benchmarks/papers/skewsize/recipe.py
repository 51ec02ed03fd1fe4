"""The recipe of the SkewSize paper (Albuquerque et al. 2024)."""

from __future__ import annotations

from evenhand.benchmarks.labelling.elicitation import WAYS
from evenhand.benchmarks.papers.skewsize import sprites
from evenhand.benchmarks.recipe import Compared, Recipe, RecipeData, Step, numbered
from evenhand.benchmarks.sprites.factors import SHAPES

_ANY = tuple(WAYS.values())
_PLANTED = tuple(f"sprites-{shape}" for shape in SHAPES)
_STUDIES = ("occupations", "sports", "backgrounds", "domainnet")


def _sprites(name: str, removed: str, strength: str = "strong") -> Step:
    """A network is trained with a planted bias, and asked for the shapes of unmanipulated sprites."""
    planted = {"removed": removed, "strength": strength}
    return Step(name, "sprites", parameters=planted, trains=planted)


RECIPE = Recipe(
    paper="skewsize",
    title="SkewSize (Albuquerque et al. 2024): do mistakes differ by group, class by class",
    time="six networks are trained on sprites: about 6 minutes each on two CPU cores with --preset quick, "
    "hours with --preset paper, which is for a GPU",
    data=(
        *(
            RecipeData(name, get=f"evenhand generate {name} --model diffusers:URI -o DIR")
            for name in ("occupations", "sports", "backgrounds")
        ),
        RecipeData("domainnet", "domainnet"),
    ),
    steps=(
        _sprites("sprites-none", "none"),
        *(_sprites(f"sprites-{shape}", shape) for shape in SHAPES),
        *(_sprites(f"sprites-{strength}", SHAPES[1], strength) for strength in ("mild", "medium")),
        *(
            Step(name, f"skewsize/{name}", _ANY, name, suggestion="hf:Salesforce/blip2-opt-2.7b")
            for name in _STUDIES
        ),
    ),
    artifacts={
        **numbered("skewsize/table", (1, 5), "sprites-none", *_PLANTED),
        "skewsize/table2": ("sprites-none", "sprites-mild", "sprites-medium", _PLANTED[1]),  # class 1
        "skewsize/table3": ("occupations",),
        "skewsize/table4": _STUDIES,
        **numbered("skewsize/table", (6, 7), "occupations"),
        **numbered("skewsize/figure", (2, 4, 6), *_STUDIES),
        **numbered("skewsize/figure", (1, 3), "occupations"),
        "skewsize/figure5": ("domainnet",),
    },
    compared={
        "skewsize/table1": Compared(("removed",), sprites.TABLE1_COLUMNS),
        "skewsize/table2": Compared(("bias strength",), sprites.TABLE2_COLUMNS),
        "skewsize/table3": Compared(("benchmark", "class"), ("accuracy", "accuracy_gap", "effect_size")),
        "skewsize/table4": Compared(("benchmark", "answers", "mev"), ("skewsize",)),
        "skewsize/table5": Compared(("removed",), sprites.TABLE5_COLUMNS),
        "skewsize/table6": Compared(("answers", "mev"), ("skewsize",)),
        "skewsize/table7": Compared(("heading",), ("skewsize",)),
        "skewsize/figure2": Compared(("benchmark", "measure"), ("value", "skewsize")),
        "skewsize/figure5": Compared(("part", "benchmark", "measure"), ("r", "p")),
    },
)
