"""A Hugging Face model with a new last layer, for training as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Images, Pixels
from evenhand.core.errors import EvenhandError, InputError, UserError, described
from evenhand.models.adapters.huggingface.decoding import import_transformers
from evenhand.models.adapters.huggingface.snapshots import quiet_transformers
from evenhand.models.adapters.huggingface.source import HfSource, open_hf
from evenhand.models.adapters.huggingface.towers import ImageInputs
from evenhand.models.identity.source import LoadOptions

_MOST_FRESH = 16  # weights of a new head, norms and a second head included


class TrainableNetwork:
    """A network that makes one logit for each class, and its own preprocessing."""

    def __init__(self, network: Any, inputs: ImageInputs, processor: Any, fresh: Sequence[str]) -> None:
        self.network, self.fresh = network, frozenset(fresh)
        self._inputs, self._processor = inputs, processor

    def prepare(self, image: Pixels) -> Any:
        """One image's inputs, of uint8 RGB, shape (H, W, 3); safe in threads."""
        return self._inputs.prepare(image)

    def logits(self, network: Any, images: Images) -> Any:
        """A tensor, shape (N, classes), of N answers of ``prepare``."""
        return network(**self._inputs.batch(images)).logits

    def save(self, folder: Path) -> None:
        """Write config, safetensors and preprocessing, as ``hf:FOLDER`` opens them."""
        with quiet_transformers():
            self.network.save_pretrained(folder)
            self._processor.save_pretrained(folder)


class _Openable(HfSource):
    """A source that knows where its files are."""

    def open(self, labels: Sequence[str]) -> TrainableNetwork:
        self._files()
        transformers, options = import_transformers(), self._options
        how = {"local_files_only": True, "trust_remote_code": options.trust_remote_code}
        try:
            with quiet_transformers():
                network, report = transformers.AutoModelForImageClassification.from_pretrained(
                    self._home,
                    num_labels=len(labels),
                    id2label=dict(enumerate(labels)),
                    label2id={label: number for number, label in enumerate(labels)},
                    ignore_mismatched_sizes=True,
                    output_loading_info=True,
                    dtype="float32",
                    **how,
                )
                processor = transformers.AutoImageProcessor.from_pretrained(self._home, backend="pil", **how)
                inputs = ImageInputs(self._home, options)
        except EvenhandError:
            raise
        except Exception as problem:
            cause = described(problem)[:300]
            raise UserError(
                f"{self.uri!r} cannot be given a new head by transformers: {cause}; adapt it with "
                "--method probe"
            ) from problem
        fresh = sorted({*report["missing_keys"], *(_name(entry) for entry in report["mismatched_keys"])})
        if len(fresh) > _MOST_FRESH:
            raise InputError(
                f"{self.uri!r} lacks {len(fresh)} weights of {type(network).__name__}, such as {fresh[0]!r}, "
                "more than a new head; give a complete checkpoint, or adapt it with --method probe"
            )
        return TrainableNetwork(network, inputs, processor, fresh)


def _name(entry: Any) -> str:
    """The name of a weight whose shape did not fit: alone, or with the two shapes."""
    return str(entry if isinstance(entry, str) else entry[0])


def open_hf_trainable(rest: str, options: LoadOptions, labels: Sequence[str]) -> TrainableNetwork:
    """A model of ``hf:`` with a new head for some labels, in float32."""
    float_options = replace(options, dtype="float32")
    open_hf(rest, float_options)
    folder = Path(rest).expanduser()
    return _Openable(rest, float_options, folder.resolve() if folder.is_dir() else None).open(labels)
