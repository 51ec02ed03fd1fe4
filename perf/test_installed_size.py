"""What a plain install takes on disk: evenhand and all that it requires, without extras."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

MOST = 500e6
BEFORE = 661e6  # when figures and retrieval belonged to a plain install


def closure(name: str) -> set[str]:
    """Names of a distribution and of all that it requires here."""
    names, waiting = set[str](), [name]
    while waiting:
        current = waiting.pop().lower().replace("_", "-")
        if current in names:
            continue
        try:
            requirements = distribution(current).requires or []
        except PackageNotFoundError:  # of another platform, or not needed by this Python
            continue
        names.add(current)
        parsed = map(Requirement, requirements)
        waiting += [one.name for one in parsed if not one.marker or one.marker.evaluate({"extra": ""})]
    return names


def size_of(name: str) -> int:
    """Bytes of the files that were installed with a distribution."""
    paths = [Path(str(file.locate())) for file in distribution(name).files or []]
    return sum(path.stat().st_size for path in paths if path.is_file())


def test_a_plain_install_takes_at_most_500_mb() -> None:
    sizes = {name: size_of(name) for name in closure("evenhand")}
    total = sum(sizes.values())
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:6]
    named = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest)
    print(
        f"\nplain install: {total / 1e6:.0f} MB of {len(sizes)} packages ({BEFORE / 1e6:.0f} before): {named}"
    )
    assert total <= MOST
