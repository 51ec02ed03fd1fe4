"""Snapshots of the hub's repositories in its own cache, and libraries that keep quiet meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenhand.core.errors import InputError, MissingExtra, one_line


def download(repository: str, revision: str | None, patterns: list[str], refused: list[str]) -> Path:
    """The snapshot of a repository in the hub's cache, fetched where it is not there yet.

    Args:
        repository: Such as ``openai/clip-vit-base-patch32``.
        revision: Branch, tag or commit; None is the main branch.
        patterns: Patterns of file names.
        refused: Patterns of file names that are left out all the same.

    Returns:
        The folder, whose name is the commit.

    Raises:
        InputError: No such repository or revision, no right to see it, or no way to reach the hub.
    """
    try:
        from huggingface_hub import errors as hub
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra("huggingface_hub", "hf") from None
    at = f"{repository}@{revision}" if revision else repository
    try:
        with _bars_on_terminals_only():
            snapshot = snapshot_download(
                repository, revision=revision, allow_patterns=patterns, ignore_patterns=refused
            )
    except hub.GatedRepoError:
        raise InputError(
            f"{at!r} is gated: accept its terms at https://huggingface.co/{repository}, "
            "then type: hf auth login"
        ) from None
    except (hub.RepositoryNotFoundError, hub.RevisionNotFoundError, hub.HFValidationError):
        raise InputError(
            f"the hub shows no {at!r}; check name and revision, or log in with: hf auth login"
        ) from None
    except (hub.LocalEntryNotFoundError, hub.OfflineModeIsEnabled):
        raise InputError(
            f"{at!r} is not complete in the local cache and the hub cannot be reached; "
            f"type, where there is a network: hf download {repository}"
        ) from None
    except (OSError, ValueError, hub.XetDownloadError) as problem:
        raise InputError(f"{at!r} could not be downloaded: {one_line(problem)}; try again") from None
    return Path(snapshot)


@contextmanager
def _bars_on_terminals_only() -> Iterator[None]:
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    silence = not sys.stderr.isatty() and not are_progress_bars_disabled()
    if silence:
        disable_progress_bars()
    try:
        yield
    finally:
        if silence:
            enable_progress_bars()


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers from writing progress and notes to stderr, which carries ours."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
