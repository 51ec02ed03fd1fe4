"""Zip files read in place: what is unsafe is refused whole, what is damaged is told image by image."""

import io
import pickle
import stat
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from evenhand.core.errors import InputError
from evenhand.core.requests import UnreadableImage
from evenhand.files.hashing import sha256_file
from evenhand.files.images import zip as zip_images
from evenhand.files.images.chained import ChainedImages
from evenhand.files.images.sources import ImageFiles
from evenhand.files.images.zip import ZipImages, read_zip_member, zip_members


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


def png(number):
    stream = io.BytesIO()
    Image.new("RGB", (3 + number, 4), (number, 2 * number, 7)).save(stream, "PNG")
    return stream.getvalue()


def pack(path, entries, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries:
            archive.writestr(name, content, method)
    return path


def entry(name, mode=0o100644):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_where_they_lie(tmp_path, method):
    contents = {f"group/{n}.png": png(n) for n in range(5)}
    path = pack(tmp_path / "a.zip", contents.items(), method)
    members = zip_members(path)
    assert [member.name for member in members] == list(contents)
    assert [read_zip_member(path, member) for member in members] == list(contents.values())
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.zip"]


def test_a_zip_behind_other_bytes_is_read_too(tmp_path):
    path = pack(tmp_path / "a.zip", [("1.png", png(1))])
    path.write_bytes(b"#!/bin/sh\nexit\n" + path.read_bytes())
    assert read_zip_member(path, zip_members(path)[0]) == png(1)


def test_images_have_digests_and_pixels_in_any_order_and_process(tmp_path):
    one = pack(tmp_path / "1.zip", [("a/1.png", png(1)), ("a/", b""), ("a/2.png", png(2))])
    two = pack(tmp_path / "2.zip", [("3.png", png(3))])
    members = [(number, member) for number, path in enumerate([one, two]) for member in zip_members(path)]
    source = ZipImages([one, two], members)
    (tmp_path / "3.png").write_bytes(png(3))
    sent = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own
    for each in (source, sent):
        assert len(each) == 3
        assert each.digest(2) == sha256_file(tmp_path / "3.png")
        assert each.digests(0, 3) == [each.digest(index) for index in range(3)]
        with ThreadPoolExecutor(4) as pool:
            shapes = list(pool.map(lambda index: source.load(index).shape, [2, 0, 1] * 20))
        assert shapes == [(4, 6, 3), (4, 4, 3), (4, 5, 3)] * 20


@pytest.mark.parametrize(
    "name",
    [
        "../evil.png",
        "a/../../evil.png",
        "/etc/evil.png",
        "..\\evil.png",
        "C:\\evil.png",
        "a/..",
        "\\\\host\\x.png",
    ],
)
def test_names_that_lead_outside_are_refused(tmp_path, name):
    path = pack(tmp_path / "a.zip", [("fine/1.png", png(1)), (entry(name), png(2))])
    with pytest.raises(InputError, match="leads outside") as problem:
        zip_members(path)
    assert "\n" not in str(problem.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.zip"]


def test_links_are_refused(tmp_path):
    path = pack(tmp_path / "a.zip", [(entry("1.png", stat.S_IFLNK | 0o777), b"/etc/passwd")])
    with pytest.raises(InputError, match="is a link; nothing of it was read"):
        zip_members(path)


def test_encrypted_members_are_refused(tmp_path):
    path = pack(tmp_path / "a.zip", [("1.png", png(1))])
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="is encrypted; unpack the file with its password"):
        zip_members(path)


def test_other_compressions_are_refused(tmp_path):
    path = pack(tmp_path / "a.zip", [("1.png", png(1))], zipfile.ZIP_BZIP2)
    with pytest.raises(InputError, match="compressed by method 12"):
        zip_members(path)


def test_a_bomb_is_refused_before_it_is_opened(tmp_path):
    path = pack(tmp_path / "a.zip", [("1.bmp", bytes(40 * 2**20))])
    assert path.stat().st_size < 50_000
    with pytest.raises(InputError, match="claims 41,943,040 bytes out of"):
        zip_members(path)


def test_members_over_each_other_are_refused(tmp_path):
    path = pack(tmp_path / "a.zip", [(f"{n}.png", np.random.default_rng(0).bytes(5_000)) for n in range(3)])
    content = bytearray(path.read_bytes())
    start = content.index(b"PK\x01\x02")
    for _ in range(3):  # every entry of the list says that its bytes are nearly the whole file
        struct.pack_into("<I", content, start + 20, len(content) - 500)
        start = content.find(b"PK\x01\x02", start + 1)
    path.write_bytes(content)
    with pytest.raises(InputError, match="lie over each other"):
        zip_members(path)


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(zip_images, "MAX_MEMBERS", 2)
    path = pack(tmp_path / "a.zip", [(f"{n}.png", b"x") for n in range(3)])
    with pytest.raises(InputError, match="3 members, more than 2"):
        zip_members(path)


def test_a_member_that_lies_about_its_size_costs_no_more_than_it_claims(tmp_path):
    path = pack(tmp_path / "a.zip", [("1.bmp", bytes(8 * 2**20))])
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 24, 100)
    path.write_bytes(content)
    (member,) = zip_members(path)
    with pytest.raises(UnreadableImage, match="not as the list of members says"):
        read_zip_member(path, member)


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_file_that_ends_too_early_is_refused(tmp_path, cut):
    path = pack(tmp_path / "a.zip", [(f"{n}.png", png(n)) for n in range(9)])
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(InputError, match=r"not a whole zip file: .*; fetch it again"):
        zip_members(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" + bytes(100)])
def test_what_is_no_zip_is_refused(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InputError, match="not a whole zip file"):
        zip_members(tmp_path / "a.zip")
    with pytest.raises(InputError, match="there is no file"):
        zip_members(tmp_path / "b.zip")


def test_a_damaged_member_is_one_unreadable_image(tmp_path):
    path = pack(tmp_path / "a.zip", [(f"{n}.png", png(n)) for n in range(3)], zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    content[content.index(png(1)) + 40] ^= 0xFF
    path.write_bytes(content)
    source = ZipImages([path], [(0, member) for member in zip_members(path)])
    digests = source.digests(0, 3)
    assert [isinstance(each, UnreadableImage) for each in digests] == [False, True, False]
    assert digests[1].reason == "damaged zip file"
    path.unlink()
    with pytest.raises(UnreadableImage, match="no such file"):
        source.load(0)


def test_files_and_members_make_one_source(tmp_path):
    zipped = pack(tmp_path / "a.zip", [("1.png", png(1)), ("2.png", png(2))])
    for number in (3, 4):
        (tmp_path / f"{number}.png").write_bytes(png(number))
    loose = ImageFiles([tmp_path / "3.png", tmp_path / "missing.png", tmp_path / "4.png"])
    source = ChainedImages([ZipImages([zipped], [(0, each) for each in zip_members(zipped)]), loose])
    assert len(source) == 5
    assert [source.load(index).shape[1] for index in (0, 1, 2, 4)] == [4, 5, 6, 7]
    found = source.digests(1, 4)
    assert found[:2] == [source.digest(1), source.digest(2)]
    assert isinstance(found[2], UnreadableImage)
    assert pickle.loads(pickle.dumps(source)).digests(0, 2) == source.digests(0, 2)  # noqa: S301 - our own
    assert len(ChainedImages([])) == 0


def test_damage_anywhere_is_refused_or_told_and_never_passes_for_an_image(tmp_path):
    contents = {f"group/{n}.png": png(n) for n in range(3)}
    whole = pack(tmp_path / "whole.zip", contents.items()).read_bytes()
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(600):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 4)):
            damaged[place] = rng.integers(0, 256)
        path = tmp_path / "damaged.zip"
        path.write_bytes(damaged)
        try:
            members = zip_members(path)
        except InputError:
            outcomes.add("refused")
            continue
        for member in members:
            try:
                assert read_zip_member(path, member) in contents.values()
                outcomes.add("read")
            except UnreadableImage:
                outcomes.add("told")
    assert outcomes == {"refused", "told", "read"}
