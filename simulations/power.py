"""What a run says would usually have shown (4 times in 5), planted: ``python -m simulations.power``.

Groups are drawn alike; of the run is taken which rate in one group would have shown, at the level of one of
one or ten attributes. Tables with that rate in that group are drawn and tested at that level. Found are
between 75 and 90 %, or nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from simulations._common import Clock, arguments, share, show

import evenhand as eh
from evenhand.core.findings import Finding
from evenhand.core.significance import EDGE
from evenhand.metrics.catalogue import known_cards
from evenhand.metrics.suites.families import AUDIT

_SIZES: Sequence[tuple[int, ...]] = (
    (30, 30), (40, 40), (400, 60), (100, 100, 100), (400, 150, 50), (100,) * 8,
    (400, 300, 200, 100, 80, 60, 40, 30),
)  # fmt: skip
_ATTRIBUTES = (1, 10)
_OTHERS = (1.0, 0.9, 0.7, 0.0)
_SHARES = [known_cards()[name].error_share for name in AUDIT]


def contrast(rng: np.random.Generator, sizes: Sequence[int], rates: Sequence[float], seed: int) -> Finding:
    """``accuracy_contrast`` of groups with these shares of right answers in four classes."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    truth = rng.integers(0, 4, group.size)
    right = rng.random(group.size) < np.asarray(rates)[group]
    said = np.where(right, truth, (truth + rng.integers(1, 4, group.size)) % 4)
    frame = pl.DataFrame({"truth": truth, "said": said, "group": group})
    counts = eh.Predictions.from_frame(frame, truth="truth", prediction="said").count(["group"])
    return eh.metrics.accuracy_contrast(counts, by="group", seed=seed)


def shows(finding: Finding, level: float) -> bool:
    """Whether test and interval reject, as a run asks of both."""
    interval = finding.interval_at(1 - level)
    return (
        finding.p_value is not None
        and finding.p_value <= level
        and interval is not None
        and interval.low > EDGE
    )


def share_shown(
    sizes: Sequence[int], others: float, attributes: int, runs: int, seed: int
) -> tuple[float, list[bool]] | None:
    """The rate that would have shown, and whether each table shows it; None where nothing would have."""
    level = 0.05 / sum(_SHARES) / attributes
    place = int(np.argsort(sizes, kind="stable")[(len(sizes) - 1) // 2])
    noticed = [
        contrast(np.random.default_rng((seed, 0, n)), sizes, [others] * len(sizes), n).at_test_level(level)
        for n in range(9)
    ]
    rates = [finding.details["detectable_rate"] for finding in noticed]
    said = [float(rate) for rate in rates if rate is not None]
    if len(said) < len(rates):
        return None
    rate = float(np.median(said))
    planted = [rate if code == place else others for code in range(len(sizes))]
    found = (contrast(np.random.default_rng((seed, 1, n)), sizes, planted, n) for n in range(runs))
    return rate, [shows(finding, level) for finding in found]


def main() -> None:
    """Print a line for each design."""
    given, rows = arguments(__doc__ or "", 200), []
    with Clock():
        for sizes in _SIZES:
            for others in _OTHERS:
                for attributes in _ATTRIBUTES:
                    result = share_shown(sizes, others, attributes, given.simulations, given.seed)
                    said = ("none", "") if result is None else (f"{result[0]:.3f}", share(result[1]))
                    rows.append((" + ".join(map(str, sizes)), others, attributes, *said))
        show("Shown of what would have", ("groups", "elsewhere", "attributes", "rate", "shown, %"), rows)


if __name__ == "__main__":
    main()
