"""How much to train and to test: minutes on a laptop, or as much as the paper."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.core.errors import check_known


@dataclass(frozen=True)
class Preset:
    """The size of one experiment."""

    name: str
    architecture: str  # ``quick`` (three convolutions) or ``resnet18``
    n_train: int  # before any are removed
    n_test: int  # as many of each shape and colour
    steps: int  # updates of the weights
    batch: int  # training sprites in each step
    learning_rate: float  # the highest; it rises in the first tenth of the steps and falls to 0 afterwards


PRESETS: dict[str, Preset] = {
    "quick": Preset(
        name="quick",
        architecture="quick",
        n_train=36_000,
        n_test=9_000,
        steps=2_000,
        batch=64,
        learning_rate=4e-3,
    ),
    # The paper gives the network, the steps and the size of dSprites; batch and learning rate are ours.
    "paper": Preset(
        name="paper",
        architecture="resnet18",
        n_train=737_280,
        n_test=90_000,
        steps=5_000,
        batch=128,
        learning_rate=1e-3,
    ),
}


def preset(name: str) -> Preset:
    """The preset of this name.

    Raises:
        UnknownName: There is none.
    """
    check_known("preset", name, PRESETS)
    return PRESETS[name]
