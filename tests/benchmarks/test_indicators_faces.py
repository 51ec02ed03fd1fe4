"""Faces cut out of videos: a real face in videos that are made here, with dlib and av where they are."""

import csv
import importlib.util
import struct

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from evenhand.benchmarks.datasets import face_crops
from evenhand.benchmarks.datasets.face_crops import SIDE, crop_box, crop_face
from evenhand.benchmarks.datasets.listing import list_files
from evenhand.benchmarks.indicators.people.datasets.casual_conversations import read_casual_conversations
from evenhand.cli.commands.data import data_app
from evenhand.core.errors import Incomplete, InputError, MissingExtra, ParameterError
from evenhand.workflows.data.faces import COLUMNS, TABLE, cut_faces
from tests.benchmarks import people_layouts
from tests.conftest import SHARED

FACE = SHARED / "assets" / "faces" / "val" / "10059.jpg"
WIDTH, HEIGHT = 640, 480
LEFT, TOP, SIZE = 250, 90, 300  # where the photo of a face lies in a frame, and its height and width
ABSENT = [name for name in ("dlib", "av") if importlib.util.find_spec(name) is None]

with_videos = pytest.mark.skipif(
    bool(ABSENT) or not FACE.is_file(),
    reason=f"needs {', '.join(ABSENT) or FACE}; pip install 'evenhand[faces]'",
)


def scene(face=True, left=LEFT):
    frame = Image.new("RGB", (WIDTH, HEIGHT), (120, 130, 120))
    if face:
        with Image.open(FACE) as photo:
            frame.paste(photo.convert("RGB").resize((SIZE, SIZE)), (left, TOP))
    return np.asarray(frame)


def video(path, frames, codec="mpeg4"):
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt, stream.bit_rate = "yuv420p", 4_000_000
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame))))
        container.mux(stream.encode())
    return path


def table(folder):
    with open(folder / TABLE, newline="", encoding="utf-8") as stream:
        return {row["video"]: row for row in csv.DictReader(stream)}


def command(*words):
    return CliRunner().invoke(data_app, ["faces", *map(str, words)])


def test_a_box_is_scaled_enlarged_about_its_centre_and_ends_with_the_frame():
    assert crop_box((100, 60, 180, 140), 1000, 1000) == ((160, 80, 400, 320), False)
    assert crop_box((0, 0, 80, 80), 1000, 150) == ((0, 0, 200, 150), True)


def test_without_the_libraries_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(face_crops, "import_module", _nowhere)
    with pytest.raises(MissingExtra, match=r"dlib is not installed; type: pip install 'evenhand\[faces\]'"):
        cut_faces(tmp_path, tmp_path / "out")


def _nowhere(name):
    raise ImportError(name)


@with_videos
def test_the_middle_frame_with_a_face_is_cut_out(tmp_path):
    """Frames 3 to 9 have a face; it moves, so that each frame has its own place."""
    frames = [scene(face=False)] * 3 + [scene(left=40 * step) for step in range(7)] + [scene(face=False)] * 5
    found = crop_face(video(tmp_path / "v.mp4", frames), tmp_path / "out" / "v")
    assert (found.frames, found.with_face, found.frame, found.faces) == (15, 7, 6, 1)
    assert (found.image, found.reason, found.whole, found.cut) == ("v_6.png", "", True, False)
    left, top, right, bottom = found.box
    assert abs((left + right) / 2 - (40 * 3 + SIZE / 2)) < 40
    assert abs((top + bottom) / 2 - (TOP + SIZE / 2)) < 60
    assert right - left == bottom - top > SIZE / 2
    with Image.open(tmp_path / "out" / "v_6.png") as crop:
        assert (crop.size, crop.mode) == ((SIDE, SIDE), "RGB")
        pixels = np.asarray(crop).astype(float)
    expected = Image.fromarray(frames[6]).resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=found.box)
    assert np.abs(pixels - np.asarray(expected)).mean() < 6  # the video is compressed


@with_videos
def test_detections_are_those_of_dlib_on_frames_at_half_size(tmp_path):
    """The one box of the library on a frame halved by another program, within some pixels."""
    import dlib

    found = crop_face(video(tmp_path / "v.mp4", [scene()] * 3), tmp_path / "v")
    small = np.asarray(Image.fromarray(scene()).resize((WIDTH // 2, HEIGHT // 2)))
    (box,) = dlib.get_frontal_face_detector()(small, 0)
    place, _ = crop_box((box.left(), box.top(), box.right() + 1, box.bottom() + 1), WIDTH, HEIGHT)
    assert np.abs(np.subtract(found.box, place)).max() <= 12
    assert found.score > 0


@with_videos
def test_every_nth_frame_may_do(tmp_path):
    path = video(tmp_path / "v.mp4", [scene()] * 10)
    found = crop_face(path, tmp_path / "v", every=4)
    assert (found.frames, found.with_face, found.frame) == (10, 3, 4)


@with_videos
def test_a_video_that_was_filmed_upright_is_turned(tmp_path):
    """The frames lie on their side, and a matrix in the header says so, as phones write it."""
    path = video(tmp_path / "v.mp4", [np.rot90(scene())] * 3)
    content = path.read_bytes()
    place = content.index(b"tkhd") + 4 + 4 + 4 * 5 + 8 + 8
    quarter = struct.pack(">9i", 0, 1 << 16, 0, -(1 << 16), 0, 0, HEIGHT << 16, 0, 1 << 30)
    plain = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    assert content[place : place + 36] == plain
    assert crop_face(path, tmp_path / "v").reason == face_crops.NO_FACE
    path.write_bytes(content[:place] + quarter + content[place + 36 :])
    found = crop_face(path, tmp_path / "v")
    assert found.with_face == 3
    with Image.open(tmp_path / found.image) as crop:
        upright = Image.fromarray(scene()).resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=found.box)
        assert np.abs(np.asarray(crop).astype(float) - np.asarray(upright)).mean() < 8


@with_videos
def test_a_folder_becomes_crops_that_casual_conversations_can_be_read_from(tmp_path):
    """The crops lie where frames would, and the reader joins them to the annotations by their names."""
    data = people_layouts.casual_conversations(tmp_path / "cc", frames=())
    names = [name for files in people_layouts.videos_of().values() for name in files]
    for name in names:
        video(data / name.replace(".MP4", ".mp4"), [scene(face=name != names[-1])] * 3)
    done = command(data, "-o", data / "faces", "--jobs", 2)
    assert done.exit_code == 0, done.output
    assert f"{names[-1].replace('.MP4', '.mp4')}  {face_crops.NO_FACE}" in done.stdout
    assert f"{len(names) - 1} of {len(names)} videos have a crop, 0 of them" in done.stdout
    people = read_casual_conversations(list_files(data))
    assert len(people.images) == len(names) - 1
    assert people.dropped == {"video without an image": 1}
    assert people.images.load(0).shape == (SIDE, SIDE, 3)
    assert {row["frame"] for row in table(data / "faces").values()} == {"1", ""}


@with_videos
def test_what_was_done_is_not_done_again_and_other_settings_replace_it(tmp_path, monkeypatch):
    path = video(tmp_path / "in" / "a.mp4", [scene()] * 4)
    video(tmp_path / "in" / "b.mp4", [scene(face=False)] * 2)
    video(tmp_path / "in" / "b.mkv", [scene()])
    out = tmp_path / "out"
    first = cut_faces(tmp_path / "in", out)
    assert [row["image"] for row in first.rows] == ["a_1.png", "b.mkv_0.png", ""]
    assert (first.done_before, first.unreadable, len(first.without)) == (0, 0, 1)
    before = (out / "a_1.png").stat().st_mtime_ns
    again = cut_faces(tmp_path / "in", out)
    assert (again.done_before, again.rows) == (3, first.rows)
    assert (out / "a_1.png").stat().st_mtime_ns == before
    other = cut_faces(tmp_path / "in", out, every=3)
    assert other.done_before == 0
    assert sorted(each.name for each in out.iterdir()) == ["a_0.png", "b.mkv_0.png", TABLE]
    (out / "a_0.png").unlink()
    assert cut_faces(path, out, every=3).rows[0]["image"] == "a_0.png"
    assert set(table(out)) == {"a.mp4", "b.mkv", "b.mp4"}


@with_videos
def test_a_video_that_is_broken_is_named_and_one_that_ends_early_is_used(tmp_path):
    whole = video(tmp_path / "in" / "whole.mkv", [scene(left=20 * step) for step in range(12)])
    content = whole.read_bytes()
    (tmp_path / "in" / "early.mkv").write_bytes(content[: len(content) * 2 // 3])
    (tmp_path / "in" / "noise.mp4").write_bytes(b"no video" * 50)
    (tmp_path / "in" / "list.mp4").write_text(f"ffconcat version 1.0\nfile {whole}\n", encoding="utf-8")
    (tmp_path / "in" / "play.mp4").write_text(
        "#EXTM3U\n#EXTINF:1,\nwhole.mkv\n#EXT-X-ENDLIST\n", encoding="utf-8"
    )
    done = command(tmp_path / "in", "-o", tmp_path / "out")
    assert isinstance(done.exception, Incomplete)
    rows = table(tmp_path / "out")
    for name in ("noise.mp4", "list.mp4", "play.mp4"):
        assert rows[name]["reason"].startswith(face_crops.UNREADABLE)
        assert (rows[name]["whole"], rows[name]["image"]) == ("no", "")
    assert rows["early.mkv"]["image"]
    assert rows["early.mkv"]["reason"].startswith(f"{face_crops.UNREADABLE}: ends after 0.")
    assert (rows["early.mkv"]["whole"], rows["whole.mkv"]["whole"]) == ("no", "yes")
    assert int(rows["early.mkv"]["frames"]) < 12 == int(rows["whole.mkv"]["frames"])


@with_videos
def test_sound_alone_and_frames_that_are_too_large_are_reasons(tmp_path, monkeypatch):
    import av

    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=44100)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), dtype=np.float32), "fltp", "mono")
        frame.rate = 44100
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    assert crop_face(path, tmp_path / "x").reason == face_crops.NO_PICTURES
    monkeypatch.setattr(face_crops, "MAX_PIXELS", 1000)
    found = crop_face(video(tmp_path / "v.mp4", [scene()]), tmp_path / "x")
    assert found.reason == f"{face_crops.TOO_LARGE}: {WIDTH} x {HEIGHT}"


@with_videos
def test_wrong_folders_and_numbers_are_refused_with_a_hint(tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"holds no videos; give a folder with \.mp4"):
        cut_faces(tmp_path / "none", tmp_path / "out")
    path = video(tmp_path / "in" / "v.mp4", [scene(face=False)])
    with pytest.raises(InputError, match="holds other files; give an empty or new folder"):
        cut_faces(path, tmp_path / "in")
    for name in ("every", "jobs"):
        with pytest.raises(ParameterError, match=f"{name}=0 is not possible"):
            cut_faces(path, tmp_path / "out", **{name: 0})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / TABLE).write_text("video,image\nv.mp4,../in/v.mp4\n", encoding="utf-8")
    with pytest.raises(InputError, match="is not of this command"):
        cut_faces(path, tmp_path / "out")
    (tmp_path / "out" / TABLE).write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    assert cut_faces(path, tmp_path / "out").rows[0]["reason"] == face_crops.NO_FACE
