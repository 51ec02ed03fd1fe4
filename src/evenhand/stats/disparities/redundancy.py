"""Which of the regions beyond chance are listed: those that another one does not explain."""

from __future__ import annotations

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Mask, pieces, ratio
from evenhand.stats.disparities.subgroups import ALL, Cells, Regions, Subgroups

_LIMIT = 1.959963984540054
_HELD = 2_000_000


def not_redundant(cells: Cells, subgroups: Subgroups, regions: Regions, score: Floats) -> Mask:
    """Which regions say what no other of them says, shape (R,).

    Of region j inside region i, ``left`` is the z of i without j, all rows of j left out; ``inner`` that of j
    beside the rest of i. i is dropped where nothing is left (``left`` < 1.96) and j stands out within it, or
    is the same subgroup in one class with the larger score. Else j is dropped where it does not stand out.
    At least one of those that explain each other stays. ``score`` is what the regions were tested by; where
    it heeds clusters, left is shrunk as i's score is beside i's z of rows, and inner as that of j.
    """
    shrunk = ratio(score, regions.z, 1.0)
    inner_of, outer_of = _nested(subgroups, regions)
    rows, wrong = (cells.by_class(v) for v in (cells.rows, cells.wrong))
    of_subgroup = [subgroups.members @ table for table in (rows, wrong)]
    total = np.stack([cells.class_rows, cells.class_wrong])
    left, inner = np.zeros((2, inner_of.size))
    for some in pieces(inner_of.size, _HELD, total.shape[1]):
        pair = [
            np.stack([table[regions.subgroup[index[some]]].toarray() for table in of_subgroup])
            * _in_class(regions.truth[index[some]], total.shape[1])
            for index in (inner_of, outer_of)
        ]
        left[some] = _z(pair[1] - pair[0], total[:, None] - pair[0]) * shrunk[outer_of[some]]
        inner[some] = _z(pair[0], pair[1]) * shrunk[inner_of[some]]
    same = regions.subgroup[inner_of] == regions.subgroup[outer_of]
    better = (inner >= _LIMIT) | (same & (score[inner_of] > score[outer_of]))
    outer_goes = (left < _LIMIT) & better
    inner_goes = ~outer_goes & (inner < _LIMIT)
    dropped = np.concatenate([outer_of[outer_goes], inner_of[inner_goes]])
    by = np.concatenate([inner_of[outer_goes], outer_of[inner_goes]])
    return _retained_mask(dropped, by, score)


def _retained_mask(dropped: Integers, by: Integers, score: Floats) -> Mask:
    """Those that nothing drops; of those that drop each other in a circle, the one with the largest score."""
    stays = np.ones(score.size, dtype=bool)
    stays[dropped] = False
    while True:
        explained, before = stays.copy(), -1
        while int(explained.sum()) > before:
            before = int(explained.sum())
            explained[dropped[explained[by]]] = True
        left = np.flatnonzero(~explained)
        if not left.size:
            return stays
        stays[left[np.argmax(score[left])]] = True


def _nested(subgroups: Subgroups, regions: Regions) -> tuple[Integers, Integers]:
    """Pairs of regions: one whose rows lie in the other's, by the values that they share."""
    values = subgroups.levels[regions.subgroup]
    number = {
        (level.tobytes(), y): index
        for index, (level, y) in enumerate(zip(values, regions.truth.tolist(), strict=True))
    }
    pairs = []
    for j, (level, y) in enumerate(zip(values, regions.truth.tolist(), strict=True)):
        filled = np.flatnonzero(level != ALL)
        for choice in range(1, 2**filled.size):
            wider = np.full_like(level, ALL)
            some = filled[[bool(choice >> bit & 1) for bit in range(filled.size)]]
            wider[some] = level[some]
            for truth in {y, ALL}:
                i = number.get((wider.tobytes(), truth))
                if i is not None and i != j:
                    pairs.append((j, i))
    inner, outer = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    return inner, outer


def _in_class(truth: Integers, classes: int) -> Mask:
    """Which classes regions are of, shape (R, classes)."""
    return np.asarray((truth[:, None] == ALL) | (truth[:, None] == np.arange(classes)))


def _z(region: Floats, total: Floats) -> Floats:
    """Mantel-Haenszel z of rows and mistakes by class, shape (2, R, classes) both; 0 where nothing varies."""
    (n, o), (rows, wrong) = region, total
    share = ratio(wrong, rows, 0.0)
    variance = (n * (rows - n) * share * (1 - share) / np.maximum(rows - 1, 1)).sum(axis=1)
    above = (o - n * share).sum(axis=1)
    return ratio(above, np.sqrt(variance), 0.0)
