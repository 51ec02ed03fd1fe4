"""How questions are asked: everything that changes speed and place, not what is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenhand.core.errors import ParameterError, check_choice
from evenhand.files.threads import cores
from evenhand.models.identity.source import ImageOptions, LoadOptions

if TYPE_CHECKING:
    from evenhand.workflows.execution.engines.shared_models import SharedModels

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class AskOptions:
    """How a run asks.

    Attributes:
        device: ``auto``, ``cuda``, ``cuda:1``, ``mps`` or ``cpu``.
        dtype: ``float32``, ``bfloat16`` or ``float16``; ``auto`` is float32 on the CPU, and what the
            checkpoint has elsewhere.
        trust_remote_code: Let a model's repository run code of its own.
        batch_size: Samples asked about at once; None: by capability. Halved when memory runs out.
        workers: Threads that read images (local), or processes that each hold the model (ray);
            None: the number of cores, at most 8, or 1 process.
        engine: ``local`` or ``ray``.
        address: Of a Ray cluster; None: one on this machine.
        keep_answers: Keep answers in ``$EVENHAND_HOME/answers`` for later runs, and use those kept.
        allow_missing: Go on where more than 5 % of the samples have no image file.
        max_tokens: Tokens of an answer in words at most, thought included; None: 64, and more for a model
            whose template begins a thought.
        device_map: ``auto`` spreads a model of ``hf:`` over all devices; None: one device.
        quantize: Bits of each weight of a model of ``hf:``, 8 or 4; None: as ``dtype``.
        shared: What the runs of a suite share; None: a run stands alone.
    """

    device: str = "auto"
    dtype: str = "auto"
    trust_remote_code: bool = False
    batch_size: int | None = None
    workers: int | None = None
    engine: str = "local"
    address: str | None = None
    keep_answers: bool = True
    allow_missing: bool = False
    max_tokens: int | None = None
    device_map: str | None = None
    quantize: int | None = None
    shared: SharedModels | None = None

    def __post_init__(self) -> None:
        check_choice("engine", self.engine, ENGINES)
        for name in ("batch_size", "workers", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{name}={value} is not possible; give 1 or more")

    def load_options(self) -> LoadOptions:
        """What adapters need to know."""
        return LoadOptions(
            self.device, self.dtype, self.trust_remote_code, max_tokens=self.max_tokens,
            device_map=self.device_map, quantize=self.quantize,
        )  # fmt: skip

    def image_options(
        self, *, steps: int | None = None, guidance: float | None = None, size: int | None = None
    ) -> LoadOptions:
        """What adapters need to know that are asked for images.

        Args:
            steps: Denoising steps; None: the model's own.
            guidance: How strongly the prompt steers; None: the model's own.
            size: Height and width in pixels; None: the model's own.
        """
        return replace(self.load_options(), images=ImageOptions(steps, guidance, size))

    def n_workers(self) -> int:
        """Workers, the default resolved."""
        if self.workers is not None:
            return self.workers
        return 1 if self.engine == "ray" else min(cores(), 8)
