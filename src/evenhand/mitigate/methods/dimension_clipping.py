"""CLIP-clip: leave out the dimensions that tell most about the group."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from evenhand.core.errors import InputError
from evenhand.mitigate.maps import ONE_BASIS, kept_maps
from evenhand.mitigate.mitigation import Mitigation
from evenhand.mitigate.scikit_learn import neighbour_information
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.mitigate.validation import check_amount, check_choices, check_material
from evenhand.stats.arrays import Floats
from evenhand.stats.mutual_information import binned_information, smoothed_information

KEPT = 400 / 512  # of the dimensions, unless the user says how many go: as in the released code


@dataclass(frozen=True, eq=False)
class ClippingOrder:
    """All dimensions, the one that tells most about the group first."""

    dimensions: tuple[int, ...]  # in the order in which they go; equal ones as they stand in the vectors
    information: Floats  # nats that each tells about the group, in the same order
    groups: tuple[str, ...]  # the sets of targets to distinguish
    n: int  # targets that belong to just one of them; the others were left out


@dataclass(frozen=True)
class ClipClip:
    """Leave out the dimensions with the highest mutual information with the group (Wang et al. 2021, 3.3).

    The same dimensions go from images and texts. It looks at no attribute and no association: what the
    tests come to afterwards has to be measured. The order depends on the basis of the embedding.

    Attributes:
        remove: So many dimensions; None: 112 of 512, and the same share of others, as in the released code.
        estimator: ``binned`` (8 quantile bins, corrected), ``knn`` (scikit-learn), or ``smoothed``, the
            blurred 64 x 64 histogram of the released code.
    """

    name: ClassVar[str] = "clip_clip"

    remove: int | None = field(
        default=None,
        metadata={"help": "so many dimensions; left out: 112 of 512, and the same share of others"},
    )
    estimator: str = field(
        default="binned",
        metadata={
            "help": "of the mutual information with the group; smoothed is that of the released code",
            "choices": ("binned", "knn", "smoothed"),
        },
    )

    def __post_init__(self) -> None:
        check_choices(self)

    def fit(self, material: TrainingVectors, *, seed: int = 0) -> Mitigation:
        """Choose the dimensions on the fit half.

        Args:
            material: Vectors, sets and tests of the fit half.
            seed: Of the estimator ``knn``; nothing else is drawn.

        Returns:
            The mitigation; its facts hold the dimensions in their order and what each tells.

        Raises:
            InputError: A set too small, a vector that cannot be used, or a single group.
            ParameterError: More dimensions to remove than there are.
        """
        check_amount(self.remove, material.dimensions)
        return self.cut(self.order(material, seed=seed))

    def order(self, material: TrainingVectors, *, seed: int = 0) -> ClippingOrder:
        """The order in which dimensions go: every amount is a start of it.

        Args:
            material: Vectors, sets and tests of the fit half.
            seed: Of the estimator ``knn``.

        Returns:
            All dimensions with their mutual information.

        Raises:
            InputError: A set too small, a vector that cannot be used, or a single group.
        """
        check_material(material)
        vectors, codes, names = material.grouped()
        if len(np.unique(codes)) < 2:
            raise InputError("clip_clip needs targets of at least two groups; give sets that differ")
        if self.estimator == "knn":
            information = neighbour_information(vectors, codes, seed=seed)
        else:
            estimate = binned_information if self.estimator == "binned" else smoothed_information
            information = estimate(vectors, codes)
        order = np.argsort(-information, kind="stable")
        return ClippingOrder(tuple(order.tolist()), information[order], names, len(codes))

    def cut(self, order: ClippingOrder, remove: int | None = None) -> Mitigation:
        """The mitigation that leaves out the first dimensions of an order.

        Args:
            order: From ``order``.
            remove: How many; None: as the parameter says.

        Returns:
            The mitigation; with no dimension to leave out, one that changes nothing.

        Raises:
            ParameterError: More dimensions to remove than there are.
        """
        total = len(order.dimensions)
        amount = self.remove if remove is None else remove
        check_amount(amount, total)
        count = total - round(KEPT * total) if amount is None else amount
        gone = order.dimensions[:count]
        facts: dict[str, Any] = {
            "removed": count,
            "dimensions": list(gone),
            "of": total,
            "information": order.information[:count].tolist(),
            "groups": list(order.groups),
            "n": order.n,
            "cannot_promise": [ONE_BASIS],
        }
        return Mitigation(self.name, asdict(self) | {"remove": amount}, kept_maps(total, gone), facts)
