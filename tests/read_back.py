"""A plugin of pytest: what every run of a session says is compared with its findings and counts.

python -m pytest -p tests.read_back tests/benchmarks
"""

from __future__ import annotations

import functools

import evenhand as eh


def pytest_configure() -> None:
    """Wrap what makes runs; a test in which one says something false fails."""
    from tests.report.printed_media import checked

    def reading(make):
        @functools.wraps(make)
        def made_and_read(*given, **options):
            run = make(*given, **options)
            assert checked(run) == []
            return run

        return made_and_read

    for name in ("run", "audit", "compare"):
        setattr(eh, name, reading(getattr(eh, name)))
