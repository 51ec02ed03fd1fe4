"""What a sentence encoder does after its transformer, read from modules.json without its libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError
from evenhand.files.json_file import read_json
from evenhand.models.weights.checkpoint import PICKLE, SAFE

# From the words of older configurations to the modes, in the order in which they are joined.
_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
POOLINGS = tuple(_FLAGS.values())
_AGAIN = "save the model again"
_KINDS = ("Transformer", "Pooling", "Dense", "Normalize")
_TEXT_SETTINGS = (
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
)
MODULES = "modules.json"


@dataclass(frozen=True)
class SentenceModule:
    """One module after the transformer."""

    kind: str  # ``Pooling``, ``Dense`` or ``Normalize``
    folder: str  # beside modules.json
    settings: Mapping[str, Any] = field(default_factory=dict)  # of its config.json; empty without one


@dataclass(frozen=True)
class SentenceModules:
    """How texts become vectors."""

    transformer: str  # its folder, beside modules.json; empty for the same folder
    steps: tuple[SentenceModule, ...]  # what comes after the transformer, in order
    longest: int | None = None  # most tokens of a text; None: as its tokenizer says
    lower: bool = False  # make texts lower case
    prompt: str = ""  # set before every text, as the model's own default
    truncate: int | None = None  # how many numbers of a vector are kept; None: all
    assumed: bool = False  # there is no modules.json: the mean over tokens is an assumption

    def described(self) -> str:
        """Its steps in words, for the model's identity."""
        words = [
            "+".join(pooling_modes(step.settings, step.folder))
            if step.kind == "Pooling"
            else step.kind.lower()
            for step in self.steps
        ]
        words += [f"first {self.truncate} numbers"] if self.truncate else []
        return ", ".join(words) + (" (no modules.json: assumed)" if self.assumed else "")


PLAIN = SentenceModules("", (SentenceModule("Pooling", "", {"pooling_mode": "mean"}),), assumed=True)


def read_layout(folder: Path) -> SentenceModules:
    """The layout of a saved sentence encoder; without modules.json the mean over tokens, as is usual."""
    if not (folder / MODULES).is_file():
        return PLAIN
    places = module_folders(folder)
    first, *others = places
    if first[0] != "Transformer":
        raise InputError(
            f"{str(folder)!r} begins with the module {first[0]!r}; sentence encoders that begin with a "
            "Transformer are read. Where it holds a CLIP, give hf: the folder of that CLIP"
        )
    home = folder / first[1]
    paths = [home / name for name in _TEXT_SETTINGS if (home / name).is_file()]
    settings: dict[str, Any] = read_json(paths[0], _AGAIN, dict) if paths else {}
    _only_text(settings, folder)
    steps = tuple(_step(folder, kind, subfolder) for kind, subfolder in others)
    if [step.kind in ("Dense", "Normalize") for step in steps] != [False, *[True] * (len(steps) - 1)]:
        listed = ", ".join(kind for kind, _ in places)
        raise InputError(f"{str(folder / MODULES)!r} lists {listed}; one Pooling must follow one Transformer")
    general = folder / "config_sentence_transformers.json"
    defaults = read_json(general, _AGAIN, dict) if general.is_file() else {}
    return SentenceModules(
        first[1],
        steps,
        settings.get("max_seq_length"),
        bool(settings.get("do_lower_case", False)),
        _prompt(defaults, general),
        defaults.get("truncate_dim"),
    )


def layer_weights(folder: Path) -> Path:
    """The weights of a Dense layer: safetensors, or pickled ones where there are no others."""
    files = [folder / name for name in (SAFE, PICKLE) if (folder / name).is_file()]
    if not files:
        raise InputError(f"{str(folder)!r} has neither {SAFE} nor {PICKLE}; get the model again")
    return files[0]


def module_folders(folder: Path) -> list[tuple[str, str]]:
    """Kind and folder of each module in modules.json, in order."""
    listed = read_json(folder / MODULES, _AGAIN, list)
    modules = []
    for entry in listed:
        kind = str(entry.get("type", "")) if isinstance(entry, dict) else ""
        subfolder = str(entry.get("path", "")) if isinstance(entry, dict) else ""
        package, _, name = kind.rpartition(".")
        if not package.startswith("sentence_transformers") or name not in (*_KINDS, "CLIPModel"):
            raise InputError(
                f"{str(folder / MODULES)!r} names the module {kind!r}; known are {', '.join(_KINDS)}; for "
                "others write your own class and give FILE.py:object"
            )
        if subfolder in (".", "..") or Path(subfolder).name != subfolder:
            raise InputError(
                f"{str(folder / MODULES)!r} names the folder {subfolder!r}, which is not beside it"
            )
        modules.append((name, subfolder))
    if not modules:
        raise InputError(f"{str(folder / MODULES)!r} lists no modules; save the model again")
    return modules


def pooling_modes(settings: Mapping[str, Any], folder: str) -> tuple[str, ...]:
    """How tokens become one vector: one mode, or several whose vectors are joined in this order."""
    setting = settings.get("pooling_mode")
    if setting is None:
        modes = tuple(mode for flag, mode in _FLAGS.items() if settings.get(flag)) or ("mean",)
    else:
        modes = (setting,) if isinstance(setting, str) else tuple(setting)
    unknown = [mode for mode in modes if mode not in POOLINGS]
    if unknown:
        raise InputError(f"{folder}/config.json pools by {unknown[0]!r}; known are {', '.join(POOLINGS)}")
    return modes


def _step(folder: Path, kind: str, subfolder: str) -> SentenceModule:
    path = folder / subfolder / "config.json"
    settings = read_json(path, _AGAIN, dict) if path.is_file() else {}
    if not settings and kind in ("Pooling", "Dense"):
        raise InputError(f"{str(path)!r} is missing, which {MODULES} needs for {kind}; get the model again")
    if kind == "Pooling":
        pooling_modes(settings, subfolder)
    moved = [settings.get(name) for name in ("module_input_name", "module_output_name")]
    if any(name not in (None, "sentence_embedding") for name in moved) or settings.get("use_residual"):
        raise InputError(
            f"{str(path)!r} asks for more than a change of the sentence's vector (module_input_name, "
            "module_output_name or use_residual), which is not read; write your own class: FILE.py:object"
        )
    return SentenceModule(kind, subfolder, settings)


def _only_text(settings: Mapping[str, Any], folder: Path) -> None:
    """Refuse what makes the transformer more than an encoder of plain texts."""
    kind = settings.get("transformer_task", "feature-extraction")
    ways = settings.get("modality_config") or {}
    out = settings.get("module_output_name", "token_embeddings")
    if kind != "feature-extraction" or out != "token_embeddings" or "message" in ways:
        raise InputError(
            f"{str(folder)!r} is no encoder of plain texts (its sentence_bert_config.json says "
            f"transformer_task {kind!r}, module_output_name {out!r}, inputs {sorted(ways) or ['text']}); "
            "write your own class and give FILE.py:object"
        )


def _prompt(defaults: Mapping[str, Any], path: Path) -> str:
    """The text of the default prompt; other prompts are for the one who asks to put before a text."""
    name, prompts = defaults.get("default_prompt_name"), defaults.get("prompts") or {}
    if name is None:
        return ""
    if name not in prompts:
        raise InputError(f"{str(path)!r} has no prompt {name!r}, which is its default; mend the file")
    return str(prompts[name] or "")
