"""Repositories of the hub in its own cache: what transformers reads of them, each file once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError
from evenhand.models.adapters.huggingface.sentence_modules import MODULES, module_folders
from evenhand.models.weights.checkpoint import PICKLE, PICKLE_INDEX, parts_of, weights_among
from evenhand.models.weights.fetching import fetching, hub_refusals
from evenhand.models.weights.hub import remembered

KINDS = ("*.json", "*.txt", "*.model", "*.jinja")
"""Files that describe a model, its tokenizer and its processor."""
RECORDS = frozenset({"trainer_state.json", "all_results.json", "train_results.json", "eval_results.json"})
"""Files of these kinds that describe how a model was trained."""

_CONVERTER, _CONVERSION = "SFconvertbot", "Adding `safetensors` variant of this model"
_NO_DISCUSSIONS = (401, 403, 404)


@dataclass(frozen=True)
class Snapshot:
    """A model on this machine."""

    folder: Path  # its name is the commit for a model of the hub
    pickled: str = ""  # commit whose pickled weights a conversion in ``folder`` stands for, or empty


def download(repository: str, revision: str | None, patterns: list[str], refused: list[str]) -> Path:
    """Files of a repository in the hub's cache, fetched where they are not there yet.

    The folder's name is the commit, that of the main branch without a revision. Files that match ``refused``
    are left out.
    """
    with hub_refusals(repository, revision):
        from huggingface_hub import snapshot_download

        return Path(
            snapshot_download(repository, revision=revision, allow_patterns=patterns, ignore_patterns=refused)
        )


def fetch_model(repository: str, revision: str | None, *, code: bool) -> Snapshot:
    """A model of transformers: what describes it, and its weights in one format.

    Safetensors come before pickled weights. Where there are pickled ones alone, an open conversion by the bot
    of the hub takes their place, if all else that is read, and the pickled file itself, is the same there.
    ``code``: the Python files come along.
    """
    kinds = [*KINDS, *(["*.py"] if code else [])]
    with fetching(repository):
        snapshot = _described(repository, revision, kinds)
        folders, commit = _folders_of_weights(snapshot), snapshot.name
        name = f"{repository} and its code" if code else repository
        try:
            plan = remembered(
                "huggingface", commit, name, lambda: _plan(repository, snapshot, folders, kinds)
            )
        except InputError:
            names = [path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*")]
            plan = {"commit": commit, "weights": _chosen(names, folders)}
            if not plan["weights"]:
                raise
        if plan["commit"] != commit:
            _described(repository, plan["commit"], kinds)
        if not plan["weights"]:
            return Snapshot(snapshot)
        folder = download(repository, plan["commit"], plan["weights"], [])
        indices = [name for name in plan["weights"] if name.endswith(".json")]
        parts = [str(Path(name).with_name(part)) for name in indices for part in parts_of(folder / name)]
        if parts:
            download(repository, plan["commit"], parts, [])
    return Snapshot(folder, commit if plan["commit"] != commit else "")


def _described(repository: str, revision: str | None, kinds: list[str]) -> Path:
    """What describes a model, and each module of a sentence encoder in its folder."""
    snapshot = download(repository, revision, kinds, ["*/*", *sorted(RECORDS)])
    modules = sorted({subfolder for _, subfolder in _modules(snapshot) if subfolder})
    parts = [f"{subfolder}/{kind}" for subfolder in modules for kind in kinds]
    deeper = [f"{subfolder}/*/*" for subfolder in modules]
    return download(repository, snapshot.name, parts, [*deeper, *sorted(RECORDS)]) if parts else snapshot


def _folders_of_weights(snapshot: Path) -> list[str]:
    """Folders that hold weights: the model's own, and those of a sentence encoder's layers."""
    root = (snapshot / "config.json").is_file() or not (snapshot / MODULES).is_file()
    layers = [subfolder for kind, subfolder in _modules(snapshot) if kind == "Dense" or not root]
    return sorted({*([""] if root else []), *layers})


def _chosen(names: list[str], folders: list[str]) -> list[str]:
    """The file or index of weights in each folder that has one."""
    chosen_names = []
    for folder in folders:
        start = f"{folder}/" if folder else ""
        inside = {name.removeprefix(start) for name in names if name.startswith(start)}
        weights = weights_among(inside)
        chosen_names += [start + weights] if weights else []
    return chosen_names


def _plan(repository: str, snapshot: Path, folders: list[str], kinds: list[str]) -> dict[str, Any]:
    """Which files of weights are read at a commit, or at a conversion of it; the same for ever after."""
    commit = snapshot.name
    with hub_refusals(repository, commit):
        contents = _contents(repository, commit)
        weights = _chosen(list(contents), folders)
        if any(Path(name).name in (PICKLE, PICKLE_INDEX) for name in weights):
            read = _read_files(list(contents), snapshot, kinds)
            for conversion, converted in _conversions(repository):
                better = _chosen(list(converted), folders)
                if better != weights and all(converted.get(name) == contents[name] for name in read):
                    return {"commit": conversion, "weights": better}
    return {"commit": commit, "weights": weights}


def _read_files(names: list[str], snapshot: Path, kinds: list[str]) -> list[str]:
    """Files that are read beside safetensors, and pickled weights."""
    folders = {"", *(folder for _, folder in _modules(snapshot))}
    paths = [Path(name) for name in names]
    return [
        path.as_posix()
        for path in paths
        if path.as_posix().rpartition("/")[0] in folders and path.name not in RECORDS
        if any(path.match(kind) for kind in (*kinds, "pytorch_model*.bin"))
    ]


def _modules(snapshot: Path) -> list[tuple[str, str]]:
    """Kind and folder of each module of a sentence encoder; none of another model."""
    return module_folders(snapshot) if (snapshot / MODULES).is_file() else []


def _contents(repository: str, revision: str) -> dict[str, str]:
    """Every file of a revision with what identifies its content."""
    from huggingface_hub import HfApi, RepoFile

    entries = HfApi().list_repo_tree(repository, revision=revision, recursive=True)
    files = [entry for entry in entries if isinstance(entry, RepoFile)]
    return {file.path: file.lfs.sha256 if file.lfs else file.blob_id for file in files}


def _conversions(repository: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Commits of open conversions by the hub's bot, and the files there; the newest first."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()
    try:
        requests = list(
            api.get_repo_discussions(
                repository, author=_CONVERTER, discussion_type="pull_request", discussion_status="open"
            )
        )
    except HfHubHTTPError as problem:
        if problem.response.status_code not in _NO_DISCUSSIONS:
            raise
        requests = []  # its owner has turned them off
    except (KeyError, ValueError):
        requests = []  # a mirror that has none
    for request in sorted(requests, key=lambda request: -request.num):
        if request.author == _CONVERTER and request.title == _CONVERSION:
            commit = api.repo_info(repository, revision=f"refs/pr/{request.num}").sha
            if commit:
                yield commit, _contents(repository, commit)


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
