"""``api:model@base_url``: a model behind an OpenAI-compatible server, before it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.models.adapters.api.address import Address, parse_address
from evenhand.models.identity.source import ImageOptions, LoadOptions, ModelSource

_DECODING = ("temperature", "seed", "max_tokens")


class ApiSource:
    """A model on a server; nothing is sent before it is asked."""

    def __init__(self, uri: str, address: Address, images: ImageOptions | None = None) -> None:
        self.uri, self._address, self._images = uri, address, images

    def identity(self) -> dict[str, str]:
        """Name, server and what changes answers; a served model's weights cannot be known."""
        options = self._address.options
        served = {
            "name": self._address.model,
            "server": self._address.base_url,
            "weights": "unknown (served)",
            **({"redirect": options.redirect} if options.redirect else {}),
        }
        if self._images is not None:
            size = "the server's own" if self._images.size is None else str(self._images.size)
            return served | {"size": size, "seed": "none" if options.seed is None else "of each image"}
        from evenhand.models.adapters.api.model import CONTINUE

        identity = {
            **served,
            "preprocessing": f"sent as {options.image}"
            + (" of quality 95" if options.image == "jpeg" else ""),
            "decoding": ", ".join(f"{name}={getattr(options, name)}" for name in _DECODING),
            "scoring": f"logprobs={options.logprobs} prefix={options.prefix}",
            **({"thinking": options.thinking} if options.thinking != "server" else {}),
        }
        if options.logprobs == "top":
            identity["scoring"] += f" top_logprobs={options.top_logprobs}"
        if options.prefix == "user":
            identity["prompt of continuations"] = CONTINUE
        return identity

    def capabilities(self) -> Sequence[str]:
        """Answers questions, makes images; scores continuations where the server tells log-probabilities."""
        return ("scores_continuations", "answers_questions", "generates_images")

    def load(self) -> Any:
        """The model; the key is read from ``EVENHAND_API_KEY`` or ``OPENAI_API_KEY``."""
        from evenhand.models.adapters.api.model import ApiModel

        return ApiModel(self._address, self._images)


def open_api(reference: str, options: LoadOptions) -> ModelSource:
    """``model@base_url?option=value``, see ``ApiOptions``; device and precision are the server's."""
    address = parse_address(reference, options.max_tokens)
    return ApiSource(f"api:{reference}", address, options.images)
