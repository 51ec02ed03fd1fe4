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
    """How a run asks."""

    device: str = "auto"  # auto, cuda, cuda:1, mps or cpu
    dtype: str = "auto"  # float32, bfloat16 or float16; auto: float32 on the CPU, else as the checkpoint
    trust_remote_code: bool = False  # let a model's repository run code of its own
    batch_size: int | None = None  # asked about at once, halved when memory runs out; None: by capability
    workers: int | None = None  # threads that read images (local), or processes that hold the model (ray)
    engine: str = "local"  # local or ray
    address: str | None = None  # of a Ray cluster; None: one on this machine
    keep_answers: bool = True  # in $EVENHAND_HOME/answers for later runs, and use those kept
    allow_missing: bool = False  # go on where more than 5 % of the samples have no image file
    max_tokens: int | None = None  # thought included; None: 64, more for a template that begins a thought
    device_map: str | None = None  # auto: spread a model of hf: over all devices; None: one device
    quantize: int | None = None  # bits of each weight of a model of hf:, 8 or 4; None: as dtype
    shared: SharedModels | None = None  # what the runs of a suite share; None: a run stands alone

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

        ``size`` is height and width in pixels; what is None is the model's own.
        """
        return replace(self.load_options(), images=ImageOptions(steps, guidance, size))

    def n_workers(self) -> int:
        """Workers, the default resolved."""
        if self.workers is not None:
            return self.workers
        return 1 if self.engine == "ray" else min(cores(), 8)
