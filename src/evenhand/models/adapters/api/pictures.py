"""Images from a server: one request each, decoded, with refusals distinguished from errors."""

from __future__ import annotations

import base64
import re
from typing import Any

from evenhand.core.capabilities import NotAnswered, Pixels
from evenhand.core.errors import UserError
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.decode import decode
from evenhand.models.adapters.api.address import Address
from evenhand.models.adapters.api.client import ApiClient
from evenhand.models.adapters.api.faults import REFUSED
from evenhand.models.identity.source import ImageOptions

GARBLED = "image that cannot be decoded"
_POLICY = re.compile(r"polic|content.?filter|moderation|safety", re.IGNORECASE)
_OPTIONAL = ("response_format", "seed")


class ImageRequests:
    """Asks for images through ``/images/generations``.

    ``response_format=b64_json`` and the seed are sent until the server says that it does not take them: then
    equal prompts give other images each time, and ``seed_facts`` says so.
    """

    def __init__(self, address: Address, client: ApiClient, options: ImageOptions) -> None:
        if options.steps is not None or options.guidance is not None:
            raise UserError(
                f"api:{address.model} takes no --steps or --guidance: servers of this protocol decide them"
            )
        self._address, self._client, self._size = address, client, options.size
        self._left_out = {"seed"} if address.options.seed is None else set()
        self._has_drawn = False

    async def picture(self, prompt: str, seed: int) -> Pixels | NotAnswered:
        """One image, uint8 RGB, shape (H, W, 3); ``seed`` is sent along where the server takes one."""
        fields: dict[str, Any] = {"response_format": "b64_json", "seed": seed}
        fields = {name: value for name, value in fields.items() if name not in self._left_out}
        fields |= {} if self._size is None else {"size": f"{self._size}x{self._size}"}
        reply = await self._client.make_image(prompt, fields)
        if isinstance(reply, NotAnswered):
            return _judged(reply)
        if "refuses" in reply:
            return await self._without(reply["refuses"], reply["said"], prompt, seed)
        return self._decoded(reply["data"][0])

    def seed_facts(self) -> dict[str, str]:
        """Whether the server took seeds, as far as it says so."""
        return {"seeds": "not taken" if "seed" in self._left_out else "sent"}

    async def _without(self, name: str, reason: str, prompt: str, seed: int) -> Pixels | NotAnswered:
        if name not in _OPTIONAL:
            raise UserError(
                f"{self._address.model!r} at {self._address.base_url} does not make images of --size "
                f"{self._size}: {reason}; give another --size, or none"
            )
        self._left_out.add(name)
        return await self.picture(prompt, seed)

    def _decoded(self, image: dict[str, Any]) -> Pixels | NotAnswered:
        text = image.get("b64_json")
        if not isinstance(text, str):
            if self._has_drawn:
                return NotAnswered("no image in the server's answer", temporary=True)
            raise UserError(
                f"{self._address.base_url} gives addresses of images and no images; set it to b64_json, or "
                "fetch them yourself and give their folder as --data"
            )
        self._has_drawn = True
        try:
            return decode(base64.b64decode(text))
        except UnreadableImage as problem:
            return NotAnswered(GARBLED, str(problem), temporary=True)


def _judged(missing: NotAnswered) -> NotAnswered:
    """Only what the server's rules forbid is never asked for again."""
    final = missing.reason == REFUSED and _POLICY.search(missing.detail) is not None
    return NotAnswered(missing.reason, missing.detail, temporary=not final)
