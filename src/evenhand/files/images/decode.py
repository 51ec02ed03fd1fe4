"""From the bytes of an image file to pixels: one path for every format, one exception for all trouble.

Pixels are those of Pillow, which the papers used, with what ``convert("RGB")`` leaves out: the orientation
that a camera wrote beside the pixels, transparency, and 16 bits a channel. Colour profiles are not applied.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evenhand.core.capabilities import Pixels
from evenhand.core.errors import one_line
from evenhand.core.requests import UnreadableImage

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS: int = 100_000_000
"""Larger images are refused before they are decoded: 300 MB as RGB."""

MAX_BYTES: int = 256 * 2**20
"""Larger files are refused before they are read."""

FORMATS: tuple[str, ...] = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
"""What is decoded, by Pillow's names: raster only, nothing that starts a program."""

_OURS = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM", b"II*\x00", b"MM\x00*")
_OURS_TOO = re.compile(rb"P[1-7]\s|RIFF....WEBP", re.DOTALL)
_FOREIGN = {
    b"%PDF": "PDF",
    b"%!PS": "PostScript",
    b"8BPS": "Photoshop",
    b"<svg": "SVG",
    b"<?xml": "SVG",
    b"\x00\x00\x01\x00": "ICO",
    b"\x00\x00\x00\x0cjP  ": "JPEG 2000",
    b"\xff\x4f\xff\x51": "JPEG 2000",
    b"\x00\x00\x00\x0cJXL ": "JPEG XL",
    b"\xff\x0a": "JPEG XL",
    b"II+\x00": "BigTIFF",
    b"MM\x00+": "BigTIFF",
}
_BRANDS = {b"avif": "AVIF", b"avis": "AVIF"}  # of the ISO box format; the other brands for images are HEIC's
_HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_TELLTALE = {
    b"version https://git-lfs": "it is a Git LFS pointer; type: git lfs pull",
    b"<!doctype html": "it is an HTML page",
    b"<html": "it is an HTML page",
}

_TURNS: dict[int, Callable[[Pixels], Pixels]] = {
    2: lambda image: image[:, ::-1],
    3: lambda image: image[::-1, ::-1],
    4: lambda image: image[::-1],
    5: lambda image: image.transpose(1, 0, 2),
    6: lambda image: np.rot90(image, -1),
    7: lambda image: image[::-1, ::-1].transpose(1, 0, 2),
    8: np.rot90,
}
_ORIENTATION = 0x0112  # tag of EXIF and TIFF
_BITS = 258  # tag of TIFF: bits of a sample


def decode(source: bytes, *, max_pixels: int = MAX_PIXELS, max_bytes: int = MAX_BYTES) -> Pixels:
    """Decode an image to uint8 RGB, shape (H, W, 3), maybe read-only, turned as the camera noted.

    JPEG, PNG, WebP, GIF, BMP, TIFF or PPM, of animations the first frame. Transparent images are laid over
    white, as viewers show them: under full transparency stand arbitrary colours that nobody ever saw. 16 bits
    become 8 by keeping the upper ones, in grey as in colour. ``max_pixels``, width times height, is compared
    with the header before anything is decoded. May be called from several threads. Whatever is wrong with it
    raises UnreadableImage.
    """
    if len(source) > max_bytes:
        raise UnreadableImage("too many bytes", f"{len(source):,}, more than {max_bytes:,}")
    if not source:
        raise UnreadableImage("empty file")
    _prepare_pillow()
    try:
        with _open(source, max_pixels) as image:
            image.load()
            pixels, orientation = _pixels(image), _orientation(image)
    except UnreadableImage:
        raise
    except MemoryError as problem:
        raise UnreadableImage("not enough memory to decode", one_line(problem)) from problem
    except Exception as problem:  # decoders of damaged files raise whatever they stumble over
        raise _unreadable(problem, source) from problem
    turn = _TURNS.get(orientation)
    return pixels if turn is None else np.ascontiguousarray(turn(pixels))


def _open(source: bytes, max_pixels: int) -> Image.Image:
    """The image with its header read and its size checked; nothing is decoded yet."""
    from PIL import Image

    image = Image.open(io.BytesIO(source), formats=FORMATS)
    width, height = image.size
    if width * height > max_pixels:
        raise UnreadableImage("too many pixels", f"{width} x {height}, more than {max_pixels:,}")
    return image


_QUIET = threading.Lock()


def _prepare_pillow() -> None:
    """Keep Pillow from warning (what it warns of is checked here) and from filling cut images with grey.

    Both are settings of the whole process that other code may have changed since the last image. Catching
    warnings image by image would not be safe among threads.
    """
    from PIL import ImageFile

    if ImageFile.LOAD_TRUNCATED_IMAGES:
        ImageFile.LOAD_TRUNCATED_IMAGES = False
    if not warnings.filters or getattr(warnings.filters[0][3], "pattern", None) != _PILLOW:
        with _QUIET:
            warnings.filterwarnings("ignore", module=_PILLOW)


_PILLOW = r"PIL\."


def _pixels(image: Image.Image) -> Pixels:
    """A decoded image as uint8 RGB."""
    convert = _MODES.get(image.mode)
    if convert is None:
        raise UnreadableImage("unsupported pixel format", f"{image.format} of mode {image.mode}")
    return convert(image)


def _plain(image: Image.Image) -> Pixels:
    """Modes whose pixels are all there is to see, unless one colour is declared transparent."""
    if "transparency" in image.info:
        return _over_white(image)
    return np.asarray(image if image.mode == "RGB" else image.convert("RGB"))


def _over_white(image: Image.Image) -> Pixels:
    from PIL import Image

    rgba = image.convert("RGBA")
    white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
    return np.array(Image.alpha_composite(white, rgba).convert("RGB"))


def _sixteen_bits(image: Image.Image) -> Pixels:
    """16-bit grey; TIFF also stores 9 to 15 bits so."""
    tags: Any = getattr(image, "tag_v2", {})
    bits = int(np.ravel(tags.get(_BITS, 16))[0])
    grey: npt.NDArray[Any] = np.array(image)
    eight_bits = (grey >> max(0, bits - 8)).clip(0, 255).astype(np.uint8)
    if isinstance(image.info.get("transparency"), int):
        eight_bits[grey == image.info["transparency"]] = 255
    return np.repeat(eight_bits[:, :, None], 3, axis=2)


def _wide_integers(image: Image.Image) -> Pixels:
    """32-bit integers: Pillow's form of 16-bit PPM; elsewhere their range is not known."""
    if image.format != "PPM":
        raise UnreadableImage("unsupported pixel format", f"{image.format} of 32-bit integers")
    grey = (np.array(image) >> 8).clip(0, 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


_MODES: dict[str, Callable[[Image.Image], Pixels]] = {
    **dict.fromkeys(("1", "L", "P", "RGB", "RGBX", "CMYK", "YCbCr", "HSV"), _plain),
    **dict.fromkeys(("PA", "LA", "RGBA", "RGBa"), _over_white),
    **dict.fromkeys(("I;16", "I;16L", "I;16B", "I;16N"), _sixteen_bits),
    "I": _wide_integers,
}


def _orientation(image: Image.Image) -> int:
    """How the camera was held, 1 to 8; damaged notes of a camera do not make its pixels unreadable."""
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:
        return 1


def _unreadable(problem: Exception, source: bytes) -> UnreadableImage:
    """What an exception of Pillow means."""
    from PIL import Image, UnidentifiedImageError

    cause = one_line(problem) or type(problem).__name__
    if isinstance(problem, Image.DecompressionBombError):
        return UnreadableImage("too many pixels", cause)
    if isinstance(problem, UnidentifiedImageError):
        return _unidentified(source)
    cut = isinstance(problem, EOFError) or "truncated" in cause.lower() or "not enough image data" in cause
    return UnreadableImage("truncated image" if cut else "damaged image", cause)


def _unidentified(source: bytes) -> UnreadableImage:
    """Bytes that no decoder takes: another format, a broken header, or no image at all."""
    name = "HEIC" if source[4:8] == b"ftyp" and source[8:12] in _HEIC else ""
    if source[4:8] == b"ftyp":
        name = _BRANDS.get(source[8:12], name)
    name = name or next((name for magic, name in _FOREIGN.items() if source.startswith(magic)), "")
    if name:
        return UnreadableImage(f"unsupported image format {name}", "convert it to PNG or JPEG")
    if source.startswith(_OURS) or _OURS_TOO.match(source):
        return UnreadableImage("damaged image", "its header cannot be read")
    start = source[:32].lstrip().lower()
    detail = next((words for magic, words in _TELLTALE.items() if start.startswith(magic)), "")
    return UnreadableImage("not an image", detail or f"it starts with {source[:8]!r}")
