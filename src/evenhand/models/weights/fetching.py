"""Files of the Hugging Face hub: fetched through its own library, counted, and its refusals in one line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenhand.core.errors import InputError, MissingExtra, one_line
from evenhand.display.text.formatting import plural, size
from evenhand.display.text.notes import note

_TOO_MANY = 429


@contextmanager
def fetching(repository: str) -> Iterator[None]:
    """Say how many bytes of a repository came over the network meanwhile; nothing where none did."""
    try:
        from huggingface_hub import constants
        from huggingface_hub.file_download import repo_folder_name
    except ImportError:
        raise MissingExtra("huggingface_hub", "hf") from None
    blobs = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repository, repo_type="model") / "blobs"
    before = _sizes(blobs)
    try:
        yield
    finally:
        new = [n_bytes for name, n_bytes in _sizes(blobs).items() if name not in before]
        if new:
            files = plural(len(new), "file")
            note(f"fetched {size(sum(new))} of {repository} in {files}; they are in {blobs.parent}")


def _sizes(folder: Path) -> dict[str, int]:
    """Files of the cache that are there whole, by content."""
    files = folder.iterdir() if folder.is_dir() else iter(())
    return {file.name: file.stat().st_size for file in files if file.suffix != ".incomplete"}


@contextmanager
def hub_refusals(repository: str, revision: str | None, file: str = "") -> Iterator[None]:
    """Ask the hub, and say in one line what was wrong."""
    try:
        from huggingface_hub import errors as hub
    except ImportError:
        raise MissingExtra("huggingface_hub", "hf") from None
    at = f"{repository}@{revision}" if revision else repository
    try:
        with _quiet_hub():
            yield
    except hub.GatedRepoError:
        raise InputError(
            f"{at!r} is gated: accept its terms at https://huggingface.co/{repository}, "
            "then type: hf auth login"
        ) from None
    except (hub.RepositoryNotFoundError, hub.RevisionNotFoundError, hub.HFValidationError):
        raise InputError(
            f"the hub shows no {at!r}; check name and revision, or log in with: hf auth login"
        ) from None
    except (hub.LocalEntryNotFoundError, hub.OfflineModeIsEnabled) as problem:
        if isinstance(problem.__cause__, hub.HfHubHTTPError):
            raise InputError(_answered(at, problem.__cause__)) from None
        raise InputError(
            f"{at!r} is not complete in the local cache and the hub cannot be reached; "
            f"type, where there is a network: hf download {repository} {file}".rstrip()
        ) from None
    except hub.HfHubHTTPError as problem:
        raise InputError(_answered(at, problem)) from None
    except (OSError, ValueError, hub.XetDownloadError) as problem:
        raise InputError(f"{at!r} could not be downloaded: {one_line(problem, 300)}; try again") from None


def _answered(at: str, problem: Exception) -> str:
    """What an answer of the hub's means that is none of the refusals it has names for."""
    response = getattr(problem, "response", None)
    status = getattr(response, "status_code", None)
    if status == _TOO_MANY:
        seconds = response.headers.get("Retry-After", "") if response is not None else ""
        wait = f"wait {seconds} s" if seconds.isdigit() else "wait some minutes"
        return f"{at!r}: the hub has had too many requests from here; {wait}, or log in with: hf auth login"
    return f"{at!r}: the hub answered {status}: {one_line(problem, 200)}; try again"


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """No bars but on terminals, and no line for each retry; in the end one line says what was wrong."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    silence = not sys.stderr.isatty() and not are_progress_bars_disabled()
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.ERROR)
    if silence:
        disable_progress_bars()
    try:
        yield
    finally:
        logger.setLevel(level)
        if silence:
            enable_progress_bars()
