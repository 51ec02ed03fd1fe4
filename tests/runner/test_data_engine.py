"""Fetching, checking and removing data, against a server that does everything wrong."""

import hashlib
import shutil
import subprocess
import sys
import urllib.request
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from evenhand.benchmarks.datasets.download_source import RemoteFile, default_folder
from evenhand.benchmarks.mmbias.sources import SOURCE as MMBIAS
from evenhand.benchmarks.visogender.data.samples import find_images, read_samples
from evenhand.benchmarks.visogender.sources import SOURCE
from evenhand.cli.commands.data import data_app
from evenhand.core.errors import Incomplete, InputError, UnknownName
from evenhand.files.download.web import Limits
from evenhand.workflows.data.engine import check_data, fetch_data, list_data, remove_data
from tests.benchmarks.mmbias_release import picture as tiny
from tests.benchmarks.mmbias_release import release, write_zip
from tests.conftest import ROOT, SHARED
from tests.files.hostile_server import picture

LIMITS = Limits(connect=2, read=1, total=3, attempts=2, backoff=0.01, allowed=("127.0.0.1/32",))
HEADER = "IDX\tOccupation\tObject\tURL\tLicence\tOccupation_perceived_gender"
PATHS = {
    1: "ok/1",
    2: "dial/two",
    3: "status/404",
    4: "ok/4",
    5: "sorry/1",
    6: "sorry/2",
    7: "html",
    8: "ok/8",
}


@pytest.fixture(scope="module")
def server():
    command = [sys.executable, "-m", "tests.files.hostile_server"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def ask(server, path):
    with urllib.request.urlopen(f"{server}/{path}", timeout=10) as reply:  # noqa: S310 - localhost
        return reply.read().decode()


def table(server):
    rows = [
        f"OO_{number}\tbaker\tspoon\t{server}/{path}\t{'No' if number == 8 else 'Yes'}\tmasculine"
        for number, path in PATHS.items()
    ]
    return "\r\n".join([HEADER, *rows])


def put(server, content):
    """The URL of a file that the hostile server now holds."""
    url = f"{server}/file/{hashlib.sha256(content).hexdigest()[:12]}"
    request = urllib.request.Request(url, data=content, method="PUT")  # noqa: S310 - localhost
    urllib.request.urlopen(request, timeout=10).close()  # noqa: S310
    return url


@pytest.fixture
def source(server, tmp_path):
    """VisoGender with a small table that the hostile server holds."""
    ask(server, "set/two/2")
    content = table(server).encode()
    url = put(server, content)
    file = RemoteFile(
        "OO_small.tsv", (f"{server}/status/404", url), hashlib.sha256(content).hexdigest(), len(content)
    )
    return replace(SOURCE, files=(file,), own_tables=lambda folder: [])


def test_tables_then_images_and_every_url_has_a_verdict(source, tmp_path):
    seen = []
    done = fetch_data(source, tmp_path / "data", limits=LIMITS, progress=lambda *each: seen.append(each))
    assert done.files == ["OO_small.tsv"]
    assert [(each.id, each.verdict, each.reason) for each in done.verdicts] == [
        ("OO_1", "ok", ""),
        ("OO_2", "ok", ""),
        ("OO_3", "dead", "HTTP 404 (Not Found)"),
        ("OO_4", "ok", ""),
        ("OO_5", "placeholder?", "same image from several URLs"),
        ("OO_6", "placeholder?", "same image from several URLs"),
        ("OO_7", "dead", "not an image (it is an HTML page)"),
        ("OO_8", "not asked", "licence not confirmed"),
    ]
    assert done.actions == {"fetched": 5, "failed": 2, "skipped": 1}
    assert not done.complete
    assert seen[-1] == (8, 8)
    samples = read_samples(tmp_path / "data").frame["sample"].to_list()
    pictures = find_images(tmp_path / "data", samples)
    assert pictures.missing == ["OO_3", "OO_7", "OO_8"]
    again = fetch_data(source, tmp_path / "data", limits=LIMITS)
    assert (again.files, again.actions) == ([], {"kept": 5, "failed": 2, "skipped": 1})


def test_tables_only(source, tmp_path):
    done = fetch_data(source, tmp_path, metadata_only=True, limits=LIMITS)
    assert (done.verdicts, done.complete) == ([], True)
    assert [path.name for path in tmp_path.iterdir()] == ["OO_small.tsv"]


def test_a_table_that_is_another_than_expected_stops_everything(source, tmp_path):
    wrong = replace(source, files=(replace(source.files[0], sha256="0" * 64),))
    with pytest.raises(InputError, match="another file than expected"):
        fetch_data(wrong, tmp_path, limits=LIMITS)
    assert list(tmp_path.iterdir()) == []


def test_a_check_says_what_changed_and_writes_nothing_over(server, source, tmp_path):
    fetch_data(source, tmp_path, limits=LIMITS)
    ask(server, "set/two/22")
    done = check_data(source, tmp_path, limits=LIMITS)
    verdicts = {each.id: each.verdict for each in done.verdicts}
    assert verdicts["OO_1"] == "ok"
    assert verdicts["OO_2"] == "changed"
    assert done.counts == {"ok": 2, "changed": 1, "dead": 2, "placeholder?": 2, "not asked": 1}
    assert (tmp_path / "images" / "OO_2.jpg").read_bytes() == picture(2)
    fetch_data(source, tmp_path, limits=LIMITS, replace_changed=True)
    assert (tmp_path / "images" / "OO_2.jpg").read_bytes() == picture(22)


def test_a_check_of_tables_alone_writes_no_images(source, tmp_path):
    fetch_data(source, tmp_path, metadata_only=True, limits=LIMITS)
    assert check_data(source, tmp_path, limits=LIMITS).counts["ok"] == 3
    assert not list(tmp_path.rglob("*.jpg"))


def test_whoever_is_removed_stays_removed_wherever_the_image_lay(server, source, tmp_path):
    (tmp_path / "OO_4.jpg").write_bytes(picture(44))
    fetch_data(source, tmp_path, limits=LIMITS)
    asked = ask(server, "count/ok/1")
    assert remove_data(source, ["OO_1", "OO_4", "OO_3"], tmp_path) == ["images/OO_1.jpg", "OO_4.jpg"]
    done = fetch_data(source, tmp_path, limits=LIMITS)
    assert [each.id for each in done.verdicts if each.verdict == "removed"] == ["OO_1", "OO_3", "OO_4"]
    assert ask(server, "count/ok/1") == asked
    pictures = find_images(tmp_path, ["OO_1", "OO_2", "OO_3", "OO_4"])
    assert (pictures.missing, pictures.removed) == (["OO_1", "OO_3", "OO_4"], ["OO_1", "OO_3", "OO_4"])
    with pytest.raises(UnknownName, match="no image 'OO_44'; did you mean"):
        remove_data(source, ["OO_2", "OO_44"], tmp_path)
    assert (tmp_path / "images" / "OO_2.jpg").exists()


def test_tables_of_the_user_are_used_and_not_mixed_with_the_pinned_ones(server, tmp_path):
    (tmp_path / "OO_Visogender_02102023.tsv").write_text(table(server))
    done = fetch_data("visogender", tmp_path, limits=LIMITS)
    assert (done.files, done.own) == ([], ["OO_Visogender_02102023.tsv"])
    assert done.actions["fetched"] == 5


def test_the_list_says_what_is_there():
    (each,) = [one for one in list_data() if one.name == "visogender"]
    assert "CC BY 4.0" in each.licence
    assert "never for training" in each.licence
    assert each.form.startswith("https://forms.gle/")
    assert each.folder == default_folder("visogender")


def command(*arguments):
    return CliRunner().invoke(data_app, list(map(str, arguments)))


def test_a_dead_network_is_not_taken_for_dead_images(tmp_path):
    rows = [f"OO_{n}\tbaker\tspoon\thttp://host{n}.invalid/x\tYes\tmasculine" for n in range(1, 6)]
    (tmp_path / "OO_mine.tsv").write_text("\n".join([HEADER, *rows]))
    with pytest.raises(InputError, match="none of 5 hosts could be reached") as problem:
        fetch_data("visogender", tmp_path, limits=replace(LIMITS, attempts=1))
    assert "\n" not in str(problem.value)
    (tmp_path / "images" / "OO_1.jpg").write_bytes(picture(1))
    assert fetch_data("visogender", tmp_path, limits=replace(LIMITS, attempts=1)).counts["dead"] == 4


def test_the_command_lists():
    done = command("list")
    assert done.exit_code == 0
    assert "\nmmbias: " in done.stdout
    assert "\nvisogender: " in done.stdout
    assert done.stdout.count("opt out") == 1


def test_the_command_says_in_one_line_that_there_is_no_network(tmp_path, monkeypatch):
    from evenhand.files.download import downloads as download

    here = Limits(connect=1, read=1, total=2, attempts=1)
    monkeypatch.setattr(download, "Limits", lambda: here)
    dead = RemoteFile("OO_x.tsv", ("https://no-such-host.invalid/x",), "0" * 64, 1)
    monkeypatch.setattr("evenhand.benchmarks.visogender.sources.SOURCE", replace(SOURCE, files=(dead,)))
    done = command("fetch", "visogender", "--data", tmp_path)
    assert isinstance(done.exception, InputError)
    assert "cannot be fetched: no such host" in str(done.exception)
    assert "\n" not in str(done.exception)


def test_the_command_prints_a_line_for_each_image_that_is_not_fine(server, tmp_path):
    """The server of the tests is not public: without saying so, none of its images may be asked for."""
    (tmp_path / "OO_mine.tsv").write_text(table(server))
    done = command("check", "visogender", "--data", tmp_path, "-q")
    assert isinstance(done.exception, Incomplete)
    lines = done.stdout.splitlines()
    assert lines[0].split()[:4] == ["OO_1", "dead", "private", "address"]
    assert lines[-1] == "8 images: 7 dead, 1 not asked"
    assert len(lines) == 9


def test_the_command_removes(server, tmp_path):
    (tmp_path / "OO_mine.tsv").write_text(table(server))
    (tmp_path / "OO_5.jpg").write_bytes(picture(5))
    done = command("remove", "visogender", "--id", "OO_5", "--id", "OO_6", "--data", tmp_path)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "deleted OO_5.jpg",
        "1 files deleted; 2 ids will not be fetched or used again",
    ]
    assert not (tmp_path / "OO_5.jpg").exists()


def test_data_that_nobody_knows_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'visogender'"):
        fetch_data("visogendr")


@pytest.fixture
def released():
    """The files of MMBias that are pinned; skipped where they are not beside the project."""
    folder = SHARED / "data" / "mmbias"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    return folder


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


PEOPLE = (
    "muslim", "christian", "jewish", "buddhist", "hindu", "american", "arab", "mexican", "chinese", "lgbt",
    "heterosexual", "physical", "mental", "non-disabled",
)  # fmt: skip


def lacking(done):
    return [part.name for part in done.lacking]


def test_what_is_pinned_of_mmbias_is_fetched_and_the_rest_is_named(server, released, tmp_path, own_home):
    held = [put(server, (released / file.name).read_bytes()) for file in MMBIAS.files]
    files = [replace(file, urls=(url,)) for file, url in zip(MMBIAS.files, held, strict=True)]
    here = replace(MMBIAS, files=files)
    done = fetch_data(here, limits=LIMITS)
    assert done.folder == default_folder("mmbias")
    assert done.files == ["textual_phrases.txt", "URLs.txt", "Valence Images.zip"]
    assert {path.name: path.stat().st_size for path in done.folder.iterdir()} == {
        file.name: file.size for file in MMBIAS.files
    }
    counts = {part.name: (part.present, part.expected) for part in done.parts if part.whole}
    assert counts == {
        "phrases of people": (350, 350),
        "URLs": (3600, 3600),
        "unpleasant photos": (50, 50),
        "pleasant photos": (50, 50),
    }
    assert lacking(done) == [f"photos of {name}" for name in PEOPLE]
    assert "Sexual Orientation.zip" in done.by_hand
    assert fetch_data(here, limits=LIMITS).files == []
    assert lacking(check_data(here)) == lacking(done)


def test_another_content_than_the_pinned_one_stops_the_fetch(server, tmp_path, own_home):
    url = put(server, b"{}")
    here = replace(MMBIAS, files=[replace(MMBIAS.files[0], urls=(url,))])
    with pytest.raises(InputError, match="another file than expected"):
        fetch_data(here, tmp_path / "data", limits=LIMITS)
    assert not (tmp_path / "data" / "textual_phrases.txt").exists()


def test_a_clone_is_used_as_it_is_and_nothing_is_fetched_into_it(tmp_path, own_home):
    folder = release(tmp_path / "clone", images=2)
    before = sorted(folder.rglob("*"))
    done = fetch_data("mmbias", folder, limits=LIMITS)
    assert (done.files, done.own) == ([], ["data/textual_phrases.txt"])
    assert sorted(folder.rglob("*")) == before


def test_the_command_counts_the_groups_beside_those_of_the_release(tmp_path, own_home):
    folder = release(tmp_path / "clone", images=2)
    (folder / "data" / "Images" / "Religion.zip").unlink()
    done = command("check", "mmbias", "--data", folder)
    lines = {line[:22].strip(): line[22:].split(maxsplit=3) for line in done.stdout.splitlines()}
    assert len(lines) == 18
    assert lines["phrases of people"] == ["72", "of", "350", "another textual_phrases.txt than the release's"]
    assert lines["photos of arab"] == ["2", "of", "250"]
    assert lines["photos of muslim"] == ["0", "of", "250", "looked for folders called muslim or islam"]
    assert lines["pleasant photos"] == ["2", "of", "50"]
    assert isinstance(done.exception, Incomplete)
    said = str(done.exception)
    assert said.startswith("18 of 18 parts in ")
    assert "get them from https://github.com/sepehrjng92/MMBias" in said
    assert "\n" not in said


def test_a_whole_release_has_nothing_to_say(released, tmp_path, own_home):
    for file in MMBIAS.files:
        shutil.copy(released / file.name, tmp_path)
    write_zip(
        tmp_path / "people.zip",
        [(f"people/{name}/{n}.jpg", tiny(1, 1, 1, size=2)) for name in PEOPLE for n in range(1, 251)],
    )
    done = command("check", "mmbias", "--data", tmp_path)
    assert (done.exit_code, done.exception) == (0, None)
    assert all(line.split()[-3] == line.split()[-1] for line in done.stdout.splitlines())


def test_a_folder_without_data_is_told_how_to_fetch_them(tmp_path, own_home):
    for folder in (None, tmp_path / "none"):
        with pytest.raises(InputError, match=r"there is no folder .*; type: evenhand data fetch mmbias"):
            check_data("mmbias", folder)
    with pytest.raises(InputError, match="mmbias has no images that are fetched"):
        remove_data("mmbias", ["muslim/1"])
