"""Pixels are what the bytes say; whatever is wrong with them is one exception with a stable reason."""

import io
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image, ImageFile

from evenhand.core.requests import UnreadableImage
from evenhand.files.images.decode import decode

RNG = np.random.default_rng(0)
RGB = RNG.integers(0, 256, (7, 5, 3), dtype=np.uint8)
ALPHA = RNG.integers(0, 256, (7, 5), dtype=np.uint8)


def encoded(image, kind="PNG", **options):
    stream = io.BytesIO()
    (Image.fromarray(image) if isinstance(image, np.ndarray) else image).save(stream, kind, **options)
    return stream.getvalue()


def png(width, height, bits, colour, rows, extra=b""):
    """A PNG written by hand, so that nothing of Pillow is needed to know its pixels."""

    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    content = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows)))
    return b"\x89PNG\r\n\x1a\n" + header + extra + content + chunk(b"IEND", b"")


def transparency(content):
    body = b"tRNS" + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def over_white(colour, alpha):
    opaque = alpha[..., None] / 255
    return colour * opaque + 255 * (1 - opaque)


def reason(source, **limits):
    with pytest.raises(UnreadableImage) as caught:
        decode(source, **limits)
    return caught.value.reason


@pytest.mark.parametrize(
    ("kind", "options"),
    [("PNG", {}), ("BMP", {}), ("PPM", {}), ("WEBP", {"lossless": True}), ("TIFF", {})]
    + [("TIFF", {"compression": name}) for name in ("tiff_lzw", "tiff_deflate", "packbits")],
)
def test_lossless_formats_give_the_pixels_that_were_written(kind, options):
    pixels = decode(encoded(RGB, kind, **options))
    assert pixels.dtype == np.uint8
    assert pixels.flags.c_contiguous
    np.testing.assert_array_equal(pixels, RGB)


def test_jpeg_is_what_pillow_decodes():
    smooth = np.linspace(0, 255, 64 * 48 * 3).reshape(64, 48, 3).astype(np.uint8)
    source = encoded(smooth, "JPEG", quality=95)
    np.testing.assert_array_equal(decode(source), np.asarray(Image.open(io.BytesIO(source))))
    assert np.abs(decode(source).astype(int) - smooth).max() < 20


def test_grey_and_one_bit():
    np.testing.assert_array_equal(decode(encoded(RGB[..., 0])), np.repeat(RGB[..., :1], 3, axis=2))
    bits = RGB[..., 0] > 127
    shown = np.repeat(np.where(bits, 255, 0)[..., None], 3, axis=2)
    np.testing.assert_array_equal(decode(encoded(bits)), shown)
    np.testing.assert_array_equal(decode(encoded(bits, "TIFF", compression="group4")), shown)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
def test_transparent_pixels_are_laid_over_white(kind):
    options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
    pixels = decode(encoded(np.dstack([RGB, ALPHA]), kind, **options))
    assert np.abs(pixels - over_white(RGB.astype(float), ALPHA)).max() <= 1
    clear = decode(encoded(np.dstack([RGB, np.zeros_like(ALPHA)]), kind, **options))
    assert (clear == 255).all()


def test_grey_with_alpha_is_laid_over_white():
    pixels = decode(encoded(Image.merge("LA", [Image.fromarray(RGB[..., 0]), Image.fromarray(ALPHA)])))
    expected = over_white(np.repeat(RGB[..., :1], 3, axis=2).astype(float), ALPHA)
    assert np.abs(pixels - expected).max() <= 1


def test_palettes():
    indices = RNG.integers(0, 4, (7, 5), dtype=np.uint8)
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 8, 7]], dtype=np.uint8)
    image = Image.frombytes("P", (5, 7), indices.tobytes())
    image.putpalette(colours.tobytes())
    for kind in ("PNG", "GIF", "BMP", "TIFF"):
        np.testing.assert_array_equal(decode(encoded(image, kind)), colours[indices])
    shown = colours.copy()
    shown[1] = 255
    for kind in ("PNG", "GIF"):
        np.testing.assert_array_equal(decode(encoded(image, kind, transparency=1)), shown[indices])
    half = decode(encoded(image, "PNG", transparency=bytes([255, 0, 128, 255])))
    expected = over_white(colours[indices].astype(float), np.array([255, 0, 128, 255])[indices])
    assert np.abs(half - expected).max() <= 1


def test_a_colour_declared_transparent_is_white():
    rows = [bytes([10, 20, 30, 40, 50, 60])]
    source = png(2, 1, 8, 2, rows, transparency(struct.pack(">HHH", 10, 20, 30)))
    assert decode(source).tolist() == [[[255, 255, 255], [40, 50, 60]]]


def test_16_bit_grey_is_scaled_not_clipped():
    values = np.array([[0, 255, 256, 1000, 32768, 65535]], dtype=np.uint16)
    grey = [0, 0, 1, 3, 128, 255]
    for source in (
        encoded(values),
        encoded(values, "TIFF"),
        png(6, 1, 16, 0, [values.astype(">u2").tobytes()]),
    ):
        assert decode(source)[0].tolist() == [[one] * 3 for one in grey]
    pgm = b"P5 6 1 65535\n" + values.astype(">u2").tobytes()
    assert decode(pgm)[0, :, 0].tolist() == grey


def test_16_bit_grey_with_a_transparent_value():
    values = np.array([[256, 1000]], dtype=">u2")
    source = png(2, 1, 16, 0, [values.tobytes()], transparency(struct.pack(">H", 1000)))
    assert decode(source)[0, :, 0].tolist() == [1, 255]


@pytest.mark.parametrize(("colour", "channels"), [(2, 3), (6, 4), (4, 2)])
def test_16_bit_colour(colour, channels):
    values = RNG.integers(0, 65536, (3, 4, channels)).astype(">u2")
    if channels != 3:
        values[..., -1] = 65535
    pixels = decode(png(4, 3, 16, colour, [row.tobytes() for row in values]))
    upper = (values >> 8).astype(np.uint8)[..., : 1 if channels == 2 else 3]
    np.testing.assert_array_equal(pixels, np.broadcast_to(upper, (3, 4, 3)))


def test_cmyk():
    ink = Image.new("CMYK", (16, 16), (0, 255, 255, 0))  # magenta and yellow make red
    for kind in ("JPEG", "TIFF"):
        pixels = decode(encoded(ink, kind))
        assert np.abs(pixels.astype(int) - [255, 0, 0]).max() <= 6
    jpeg = encoded(Image.new("CMYK", (16, 16), (0, 0, 0, 0)), "JPEG", quality=100)
    assert b"Adobe" in jpeg  # inks are stored inverted there
    assert (decode(jpeg) >= 250).all()


SHOWN = np.array(
    [[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[0, 0, 0], [90, 90, 90], [255, 255, 255]]], np.uint8
)
STORED = {  # what a camera stores so that, turned by its note, SHOWN is seen; written out from the standard
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: a.transpose(1, 0, 2)[::-1],  # 6: row 0 is the right side, column 0 the top
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: a.transpose(1, 0, 2)[:, ::-1],  # 8: row 0 is the left side, column 0 the bottom
}


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF", "JPEG"])
def test_images_are_turned_as_the_camera_noted(orientation, kind):
    big = SHOWN.repeat(16, axis=0).repeat(16, axis=1)
    stored = Image.fromarray(np.ascontiguousarray(STORED[orientation](big)))
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = (
        {"lossless": True} if kind == "WEBP" else {"quality": 100, "subsampling": 0} if kind == "JPEG" else {}
    )
    pixels = decode(encoded(stored, kind, exif=exif, **options))
    assert pixels.shape == big.shape
    assert np.abs(pixels.astype(int) - big).max() <= (8 if kind == "JPEG" else 0)


def test_a_damaged_note_of_the_camera_is_ignored():
    source = encoded(RGB, "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\x00rubbish")
    assert decode(source).shape == RGB.shape


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF"])
def test_animations_show_their_first_frame(kind):
    red, blue = Image.new("RGB", (8, 6), (255, 0, 0)), Image.new("RGB", (8, 6), (0, 0, 255))
    options = {"lossless": True} if kind == "WEBP" else {}
    source = encoded(red, kind, save_all=True, append_images=[blue, blue], **options)
    assert Image.open(io.BytesIO(source)).n_frames > 1
    np.testing.assert_array_equal(decode(source), np.broadcast_to([255, 0, 0], (6, 8, 3)))


def test_a_bomb_is_told_from_its_header():
    header = png(60_000, 60_000, 8, 2, [])
    assert reason(header) == "too many pixels"
    assert reason(encoded(RGB), max_pixels=34) == "too many pixels"
    assert decode(encoded(RGB), max_pixels=35).shape == (7, 5, 3)
    assert reason(png(12_000, 9_000, 8, 2, [])) == "too many pixels"  # where Pillow would only warn
    assert reason(b"P6 20000 20000 255\n") == "too many pixels"


def test_too_many_bytes():
    source = encoded(RGB)
    assert reason(source, max_bytes=len(source) - 1) == "too many bytes"
    assert decode(source, max_bytes=len(source)).shape == (7, 5, 3)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"", "empty file"),
        (b"hello", "not an image"),
        (b"\0" * 100, "not an image"),
        (b"\x89PNG\r\n\x1a\n", "damaged image"),
        (b"\xff\xd8\xff\xe0", "damaged image"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "damaged image"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "not an image"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "unsupported image format HEIC"),
        (b"\0\0\0\x18ftypavif\0\0\0\0mif1", "unsupported image format AVIF"),
        (b"\0\0\0\x18ftypisom\0\0\0\0mp42", "not an image"),
        (b"%PDF-1.7", "unsupported image format PDF"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "unsupported image format PostScript"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "unsupported image format SVG"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "unsupported image format JPEG 2000"),
        (png(0, 3, 8, 2, []), "damaged image"),
        (b"GIF89a\0\0\0\0\0\0\0", "damaged image"),
    ],
)
def test_reasons(source, expected):
    assert reason(source) == expected


def test_downloads_that_are_no_images_are_named():
    for source, words in [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"\n<!DOCTYPE html><html>", "HTML"),
    ]:
        with pytest.raises(UnreadableImage, match=words):
            decode(source)


def test_float_images_are_refused():
    assert reason(encoded(RGB[..., 0].astype(np.float32), "TIFF")) == "unsupported pixel format"
    assert reason(encoded(RGB[..., 0].astype(np.int32), "TIFF")) == "unsupported pixel format"


SAMPLES = {
    "jpeg": encoded(RGB.repeat(9, axis=0).repeat(9, axis=1), "JPEG"),
    "progressive": encoded(RGB.repeat(9, axis=0).repeat(9, axis=1), "JPEG", progressive=True),
    "png": encoded(np.dstack([RGB, ALPHA]).repeat(9, axis=0)),
    "webp": encoded(RGB.repeat(9, axis=0), "WEBP"),
    "gif": encoded(RGB.repeat(9, axis=0), "GIF"),
    "bmp": encoded(RGB.repeat(9, axis=0), "BMP"),
    "tiff": encoded(RGB.repeat(9, axis=0), "TIFF", compression="tiff_lzw"),
    "ppm": encoded(RGB.repeat(9, axis=0), "PPM"),
}


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_cut_images_are_never_filled_with_grey(kind, part, monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)  # as code of others sets it
    source = SAMPLES[kind]
    assert reason(source[: int(len(source) * part)]) in ("truncated image", "damaged image", "not an image")


@pytest.mark.parametrize("kind", SAMPLES)
def test_damaged_images_raise_nothing_else_and_never_warn(kind, capfd):
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(300):
            source = bytearray(SAMPLES[kind])
            for place in rng.integers(0, len(source), rng.integers(1, 6)):
                source[place] = rng.integers(256)
            cut = bytes(source[: rng.integers(1, len(source) + 1)] if rng.random() < 0.3 else source)
            pixels = decode_or_reason(cut)
            if not isinstance(pixels, str):
                assert (pixels.dtype, pixels.ndim, pixels.shape[2]) == (np.uint8, 3, 3)
                assert pixels.size
    said = capfd.readouterr().err
    assert said == "" or kind == "tiff"  # libtiff itself writes there; it cannot be told not to


def decode_or_reason(source):
    try:
        return decode(source, max_pixels=1_000_000)
    except UnreadableImage as problem:
        return problem.reason


def test_threads_get_what_one_thread_gets():
    sources = list(SAMPLES.values()) * 20
    alone = [decode(source).tobytes() for source in sources]
    with ThreadPoolExecutor(8) as pool:
        assert [pixels.tobytes() for pixels in pool.map(decode, sources)] == alone
