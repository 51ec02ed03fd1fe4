"""Images of files, Parquet, tar shards and saved tables: digests without decoding, any order, any process."""

import hashlib
import io
import os
import pickle
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
from PIL import Image

from evenhand.core.errors import InputError
from evenhand.core.requests import UnreadableImage
from evenhand.files.hashing import sha256_each, sha256_files
from evenhand.files.images import sources as image_sources
from evenhand.files.images.sources import FirstImages, HFImages, ImageBytes, ImageFiles, TarImages, load_saved
from evenhand.files.images.tar import Member, members

COUNT = 12


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


def png(number):
    stream = io.BytesIO()
    Image.new("RGB", (3 + number, 4), (number, 2 * number, 7)).save(stream, "PNG")
    return stream.getvalue()


CONTENTS = [png(number) for number in range(COUNT)]


def write_tar(path, entries, **options):
    with tarfile.open(path, "w", **options) as archive:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def sent(source):
    """As another process gets it."""
    return pickle.loads(pickle.dumps(source))  # noqa: S301 - our own


def files(folder):
    for number, content in enumerate(CONTENTS):
        (folder / f"{number}.png").write_bytes(content)
    return ImageFiles([folder / f"{number}.png" for number in range(COUNT)])


def binary(folder):
    pl.DataFrame({"image": CONTENTS[:5]}).write_parquet(folder / "a.parquet", row_group_size=2)
    pl.DataFrame({"image": CONTENTS[5:]}).write_parquet(folder / "b.parquet", row_group_size=3)
    return ImageBytes([folder / "a.parquet", folder / "b.parquet"], "image")


def nested(folder):
    rows = [{"bytes": content, "path": "x"} for content in CONTENTS]
    pl.DataFrame({"image": rows}).write_parquet(folder / "a.parquet")
    return ImageBytes([folder / "a.parquet"], "image")


def shards(folder):
    entries = [(f"{number}.png", content) for number, content in enumerate(CONTENTS)]
    paths = [write_tar(folder / "0.tar", entries[:7]), write_tar(folder / "1.tar", entries[7:])]
    return TarImages(
        paths, [(number, member) for number, path in enumerate(paths) for member in members(path)]
    )


def saved(folder):
    datasets = pytest.importorskip("datasets")
    rows = {"image": [{"bytes": content, "path": None} for content in CONTENTS]}
    features = datasets.Features({"image": datasets.Image()})
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(folder / "saved")
    return HFImages(folder / "saved", "image")


each_source = pytest.mark.parametrize("make", [files, binary, nested, shards, saved])


@each_source
def test_every_source_gives_the_images_and_the_hashes_of_their_bytes(make, tmp_path):
    source = make(tmp_path)
    assert len(source) == COUNT
    expected = [hashlib.sha256(content).hexdigest() for content in CONTENTS]
    assert source.digests(0, COUNT) == expected
    assert source.digests(3, 5) == expected[3:5]
    for index in (11, 0, 6, 5, 4):
        assert source.digest(index) == expected[index]
        pixels = source.load(index)
        assert pixels.shape == (4, 3 + index, 3)
        assert pixels[0, 0].tolist() == [index, 2 * index, 7]


@each_source
def test_a_source_can_be_sent_to_other_processes_and_used_by_threads(make, tmp_path):
    source = make(tmp_path)
    source.load(0)
    there = sent(source)
    order = list(range(COUNT)) * 10
    with ThreadPoolExecutor(6) as pool:
        assert [pixels.shape[1] for pixels in pool.map(there.load, order)] == [3 + index for index in order]
    assert there.digests(0, COUNT) == source.digests(0, COUNT)


@each_source
def test_the_first_images(make, tmp_path):
    source = make(tmp_path)
    first = FirstImages(source, 3)
    assert len(first) == 3
    assert first.digests(0, 100) == source.digests(0, 3)
    assert first.digest(2) == source.digest(2)
    assert first.load(2).shape == (4, 5, 3)
    assert len(FirstImages(source, 100)) == COUNT


def test_a_bad_file_is_told_at_its_place_only(tmp_path):
    (tmp_path / "good.png").write_bytes(CONTENTS[1])
    (tmp_path / "bad.png").write_bytes(b"no image")
    os.mkfifo(tmp_path / "pipe.png")
    names = ["good.png", "gone.png", "", "pipe.png", "bad.png", "good.png/x.png", "null\0.png"]
    source = ImageFiles([tmp_path / name for name in names])
    found = source.digests(0, len(source))
    reasons = [each if isinstance(each, str) else each.reason for each in found]
    good = hashlib.sha256(CONTENTS[1]).hexdigest()
    bad = hashlib.sha256(b"no image").hexdigest()
    assert reasons == [
        good,
        "no such file",
        "not a file",
        "cannot be read",
        bad,
        "no such file",
        "cannot be read",
    ]
    for index, reason in enumerate(["", "no such file", "not a file", "not a file", "not an image"]):
        if reason:
            with pytest.raises(UnreadableImage, match=reason):
                source.load(index)
    with pytest.raises(UnreadableImage, match="no such file"):
        source.digest(1)
    with pytest.raises(UnreadableImage):
        source.load(6)


def test_unreadable_files_are_told(tmp_path):
    (tmp_path / "a.png").write_bytes(CONTENTS[0])
    (tmp_path / "a.png").chmod(0)
    if os.access(tmp_path / "a.png", os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(UnreadableImage, match="no permission"):
        ImageFiles([tmp_path / "a.png"]).load(0)


def test_huge_files_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(image_sources, "MAX_BYTES", 10)
    for source in (files(tmp_path), shards(tmp_path)):
        with pytest.raises(UnreadableImage, match="too many bytes"):
            source.load(0)


def test_a_row_without_image_is_told(tmp_path):
    pl.DataFrame({"image": [None, CONTENTS[1]]}, schema={"image": pl.Binary}).write_parquet(
        tmp_path / "a.parquet"
    )
    source = ImageBytes([tmp_path / "a.parquet"], "image")
    (missing, there) = source.digests(0, 2)
    assert missing.reason == "no image in the row"
    assert there == hashlib.sha256(CONTENTS[1]).hexdigest()
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(UnreadableImage, match="cannot be read"):
        sent(source).load(1)


def test_only_some_blocks_of_a_table_are_held(tmp_path):
    contents = [bytes([number % 256]) * 10_000 for number in range(3_000)]
    pl.DataFrame({"image": contents}).write_parquet(
        tmp_path / "a.parquet", compression="uncompressed", row_group_size=100
    )
    source = ImageBytes([tmp_path / "a.parquet"], "image")
    source.block = 50
    source.digests(0, 3_000)
    held = sum(len(content) for block in source._blocks.values() for content in block)
    assert held <= 3 * 50 * 10_000
    assert source.digest(2_999) == hashlib.sha256(contents[2_999]).hexdigest()


def test_hashes_of_unchanged_files_are_remembered_and_those_of_changed_ones_are_not(tmp_path):
    paths = [tmp_path / f"{number}" for number in range(1_200)]  # more than one statement takes
    for number, path in enumerate(paths):
        path.write_bytes(b"%d" % number)
    first = sha256_each(paths)
    assert [sha256 for sha256, _ in first] == [
        hashlib.sha256(b"%d" % number).hexdigest() for number in range(1_200)
    ]
    paths[7].write_bytes(b"other")
    paths[8].unlink()
    second = sha256_each([*paths, paths[0]])
    assert second[7][0] == hashlib.sha256(b"other").hexdigest()
    assert second[7][1] != first[7][1]
    assert isinstance(second[8], FileNotFoundError)
    assert second[:7] + second[9:-1] == first[:7] + first[9:]
    assert second[-1] == first[0]
    with pytest.raises(FileNotFoundError):
        sha256_files(paths)


def test_many_known_files_are_quick(tmp_path):
    paths = [tmp_path / f"{number}" for number in range(5_000)]
    for path in paths:
        path.write_bytes(b"x")
    sha256_each(paths)
    start = time.process_time()
    sha256_each(paths)
    assert time.process_time() - start < 1.5  # takes 0.03 s


def test_members_are_never_extracted_and_their_names_cannot_escape(tmp_path):
    path = tmp_path / "evil.tar"
    write_tar(path, [("../../escaped.png", CONTENTS[0]), ("/escaped.png", CONTENTS[1])])
    with tarfile.open(path, "a") as archive:
        for kind, name in [
            (tarfile.SYMTYPE, "link.png"),
            (tarfile.LNKTYPE, "hard.png"),
            (tarfile.CHRTYPE, "dev.png"),
        ]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    before = sorted(tmp_path.rglob("*"))
    found = list(members(path))
    assert [member.name for member in found] == ["../../escaped.png", "/escaped.png"]
    assert TarImages([path], [(0, found[1])]).load(0).shape == (4, 4, 3)
    assert sorted(tmp_path.rglob("*")) == before


def test_broken_shards_are_refused(tmp_path):
    entries = [(f"{number}.png", bytes(2_000)) for number in range(5)]
    whole = write_tar(tmp_path / "whole.tar", entries).read_bytes()
    assert len(list(members(tmp_path / "whole.tar"))) == 5
    for cut in (3_000, 5_000, 2_560 + 100, 2_560 * 4 + 600):
        (tmp_path / "cut.tar").write_bytes(whole[:cut])
        with pytest.raises(InputError, match="not a whole tar file"):
            list(members(tmp_path / "cut.tar"))
    rubbish = bytearray(whole)
    rubbish[2_560:3_072] = b"x" * 512  # the second header
    (tmp_path / "rubbish.tar").write_bytes(rubbish)
    with pytest.raises(InputError, match="not a whole tar file"):
        list(members(tmp_path / "rubbish.tar"))
    (tmp_path / "cut.tar").write_bytes(whole[: 2_560 * 3])  # where a member ends
    with pytest.raises(InputError, match="without the empty block"):
        list(members(tmp_path / "cut.tar"))
    (tmp_path / "two.tar").write_bytes(whole + whole)
    with pytest.raises(InputError, match="another one begins"):
        list(members(tmp_path / "two.tar"))
    (tmp_path / "text.tar").write_text("hello")
    with pytest.raises(InputError, match="not a whole tar file"):
        list(members(tmp_path / "text.tar"))
    with pytest.raises(InputError, match="there is no file"):
        list(members(tmp_path / "gone.tar"))
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "text.tar", "a.png")
    with pytest.raises(InputError, match="gunzip"):
        list(members(tmp_path / "a.tar.gz"))


def test_a_shard_that_shrinks_later_is_told_sample_by_sample(tmp_path):
    write_tar(tmp_path / "a.tar", [("a.png", CONTENTS[0])])
    source = TarImages([tmp_path / "a.tar"], [(0, Member("a.png", 512, len(CONTENTS[0])))])
    (tmp_path / "a.tar").write_bytes(b"")
    with pytest.raises(UnreadableImage):
        source.load(0)
    (tmp_path / "a.tar").unlink()
    assert source.digests(0, 1)[0].reason == "no such file"


def test_saved_tables_with_several_splits_name_them(tmp_path):
    datasets = pytest.importorskip("datasets")
    one = datasets.Dataset.from_dict({"x": [1]})
    datasets.DatasetDict({"train": one, "test": one}).save_to_disk(tmp_path / "both")
    with pytest.raises(InputError, match=r"several splits; give one of .*both/train"):
        load_saved(tmp_path / "both")
    assert len(load_saved(tmp_path / "both" / "test")) == 1
    with pytest.raises(InputError, match="save_to_disk"):
        load_saved(tmp_path)


def test_digests_decode_nothing(tmp_path):
    pl.DataFrame({"image": [b"no image"]}).write_parquet(tmp_path / "a.parquet")
    source = ImageBytes([tmp_path / "a.parquet"], "image")
    assert source.digests(0, 1) == [hashlib.sha256(b"no image").hexdigest()]
    with pytest.raises(UnreadableImage, match="not an image"):
        source.load(0)
