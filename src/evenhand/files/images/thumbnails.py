"""Small copies of pictures, as addresses that hold them."""

from __future__ import annotations

import base64
import io

from evenhand.core.capabilities import Pixels


def thumbnail(pixels: Pixels, longest: int = 160) -> str:
    """A small JPEG as a ``data:image/jpeg`` address, without what cameras write beside the pixels."""
    from PIL import Image

    small = Image.fromarray(pixels)
    small.thumbnail((longest, longest))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
