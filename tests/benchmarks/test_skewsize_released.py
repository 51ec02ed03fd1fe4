"""DomainNet, Waterbirds and CelebA in the layouts of their releases, and counting what is there."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.errors import InputError, ParameterError, UnknownName, UserError
from evenhand.workflows.data.engine import check_data, list_data
from tests.benchmarks import skewsize_layouts as layouts
from tests.benchmarks.indicator_models import Answers, Classifies, Compares
from tests.benchmarks.skewsize_layouts import ask, cells, dropped

DOMAINS = {"clipart": 3, "real": 4, "sketch": 2}
CLASSES = ("aircraft_carrier", "axe", "The_Mona_Lisa")


def logits_of(truths: list[str], names: tuple[str, ...]) -> np.ndarray:
    return np.eye(len(names), dtype=np.float32)[[names.index(truth) for truth in truths]]


def test_domainnet_is_asked_by_its_test_lists(tmp_path):
    places = layouts.domainnet(tmp_path, DOMAINS, CLASSES)
    layouts.domainnet(tmp_path / "other", DOMAINS, CLASSES, "train")
    (tmp_path / "real_train.txt").write_text("real/axe/no.png 1\n")
    logits = logits_of([place.split("/")[1] for place in places], CLASSES)
    logits[0] = logits[0][::-1]  # a carrier in clipart is the Mona Lisa
    run = ask("domainnet", Classifies(logits, CLASSES), tmp_path)
    assert run.finding("accuracy", "domain").value == pytest.approx(26 / 27)
    assert {part.key: part.n for part in run.finding("accuracy", "domain").parts} == {
        "clipart": 9, "real": 12, "sketch": 6
    }  # fmt: skip
    assert run.finding("worst_group_accuracy", "domain").value == pytest.approx(8 / 9)
    assert run.finding("skewsize", "domain").part("aircraft_carrier").value > 0
    assert run.manifest["asking"]["notes"] == {"domains without a list": 3}


def test_domainnet_takes_words_with_spaces(tmp_path):
    places = layouts.domainnet(tmp_path, DOMAINS, CLASSES)
    words = {
        "aircraft_carrier": "an aircraft carrier",
        "axe": "It is an axe.",
        "The_Mona_Lisa": "the Mona Lisa",
    }
    run = ask("domainnet", Answers([words[place.split("/")[1]] for place in places]), tmp_path)
    assert run.finding("accuracy", "domain").value == 1.0
    said = Compares(["aircraft carrier", "axe", "The Mona Lisa"], [
        place.split("/")[1].replace("_", " ") for place in places
    ])  # fmt: skip
    run = ask("domainnet", said, tmp_path, templates="a photo of a {label}")
    assert run.finding("accuracy", "domain").value == 1.0


def test_a_folder_around_domainnet_is_entered(tmp_path):
    places = layouts.domainnet(tmp_path / "DomainNet", DOMAINS, CLASSES)
    logits = logits_of([place.split("/")[1] for place in places], CLASSES)
    run = ask("domainnet", Classifies(logits, CLASSES), tmp_path)
    assert run.finding("accuracy", "domain").value == 1.0
    assert counted("domainnet", tmp_path)[1]["classes"] == (3, 345, "")


def test_broken_lines_and_missing_images_of_domainnet_are_counted(tmp_path):
    places = layouts.domainnet(tmp_path, DOMAINS, CLASSES)
    (tmp_path / places[0]).unlink()
    (tmp_path / places[1]).write_bytes(b"")
    with (tmp_path / "real_test.txt").open("a") as file:
        file.write(f"{places[-7]} 2\n\nreal/axe/no_number.png\n../../secret/axe/x.png 1\n/etc/axe/passwd 1\n")
        file.write(f"{places[9]} 0\n")  # of real, and there already
    text = (tmp_path / "sketch_test.txt").read_text()
    (tmp_path / "sketch_test.txt").write_text(text.replace(".png 2", ".png 7"))
    run = ask(
        "domainnet", Classifies(logits_of([p.split("/")[1] for p in places], CLASSES), CLASSES), tmp_path
    )
    assert dropped(run) == {
        "line that is no path and number": 1,
        "image path that leaves the folder": 2,
        "image on an earlier line": 2,
        "no such file": 1,
        "empty file": 1,
    }
    assert run.finding("accuracy", "domain").n == 25
    assert run.manifest["asking"]["notes"] == {
        "domains without a list": 3,
        "classes with several numbers; the folder's name counts": 1,
    }
    told = r"there is no list such as clipart_train\.txt .* there is clipart_test\.txt, so choose another"
    with pytest.raises(InputError, match=told):
        ask("domainnet", Answers([""]), tmp_path, split="train")
    with pytest.raises(InputError, match="there is no folder"):
        ask("domainnet", Answers([""]), tmp_path / "nowhere")


def birds(folder):
    """Twelve birds of the test split, two of training; a waterbird on land is called a landbird."""
    rows = [
        (number, f"{number:03}.Bird/b{number}.png", number % 2, 2, number // 2 % 2) for number in range(12)
    ]
    rows += [(20, "t/t1.png", 0, 0, 0), (21, "t/t2.png", 1, 0, 1)]
    layouts.waterbirds(folder, rows)
    names = ("landbird", "waterbird")
    logits = logits_of([names[y if y in (place, 0) else 0] for _, _, y, _, place in rows], names)
    return Classifies(logits, names)


def test_waterbirds_are_read_as_wilds_hands_them_out(tmp_path):
    model = birds(tmp_path / "waterbirds_v1.0")
    run = ask("waterbirds", model, tmp_path)
    assert run.counts["predictions"].n_total == 12
    assert run.finding("accuracy", "place").value == pytest.approx(0.75)
    assert run.finding("worst_class_group_accuracy", "place").value == 0.0
    skew = run.finding("skewsize", "place")
    assert skew.value is None or abs(skew.value) < 1e-9
    assert skew.part("waterbird").value == pytest.approx(1.0)
    assert ask("waterbirds", model, tmp_path, split="all").counts["predictions"].n_total == 14
    told = r"no usable row of the split 'val', but train: 2, test: 12; choose another -p split="
    with pytest.raises(InputError, match=told):
        ask("waterbirds", model, tmp_path, split="val")


def test_numbers_of_waterbirds_may_have_a_point(tmp_path):
    model = birds(tmp_path)
    table = tmp_path / "metadata.csv"
    text = table.read_text()
    table.write_text(text.replace(",2,", ",2.0,"))
    assert ask("waterbirds", model, tmp_path).counts["predictions"].n_total == 12
    table.write_text(text.replace(",2,", ",two,").replace(",0,0,0,", ",0,zero,0,"))
    told = r"'test', but train: 1 \(left out: row with a value that cannot be: 13, such as 'two' in 'split', "
    with pytest.raises(InputError, match=told + r"where 0, 1, 2 can be\); choose another -p split="):
        ask("waterbirds", model, tmp_path)


def test_answers_about_birds(tmp_path):
    birds(tmp_path)
    said = ["a land bird", "It is a waterbird."] * 6
    assert ask("waterbirds", Answers(said), tmp_path).finding("accuracy", "place").value == 1.0


def test_broken_rows_of_waterbirds_are_counted(tmp_path):
    model = birds(tmp_path)
    with (tmp_path / "metadata.csv").open("a") as file:
        file.write("30,a.png,2,2,0,x\n31,b.png,0,2,,x\n32,../../b.png,0,2,1,x\n")
        file.write("33,000.Bird/b0.png,0,2,1,x\n34,gone.png,1,2,1,x\n")
    run = ask("waterbirds", model, tmp_path)
    assert dropped(run) == {
        "row with a value that cannot be": 2,
        "image path that leaves the folder": 1,
        "sample on an earlier row": 1,
        "no such file": 1,
    }
    (tmp_path / "metadata.csv").write_text("img_id,img_filename,y,split\n0,a.png,0,2\n")
    with pytest.raises(UnknownName, match="there is no column 'place'"):
        ask("waterbirds", model, tmp_path)
    (tmp_path / "metadata.csv").unlink()
    with pytest.raises(InputError, match=r"needs one metadata.csv and has none"):
        ask("waterbirds", model, tmp_path)


def faces(folder):
    """Sixteen faces of the test split in all combinations, and one of training."""
    rows = [
        (f"{n:06}.png", 1 if n % 2 else -1, 1 if n // 2 % 2 else -1, 1 if n // 4 % 2 else -1)
        for n in range(17)
    ]
    layouts.celeba(folder, rows, [(row[0], 0 if n == 16 else 2) for n, row in enumerate(rows)])
    return rows


def test_celeba_is_read_as_wilds_hands_it_out(tmp_path):
    rows = faces(tmp_path)
    said = [
        "Yes." if blond == 1 and male == -1 else "no" for _, blond, male, _ in rows
    ]  # blond men are missed
    run = ask("celeba", Answers(said), tmp_path)
    assert run.counts["predictions"].n_total == 16
    assert run.finding("accuracy", "perceived_gender").value == pytest.approx(0.75)
    assert run.finding("skewsize", "perceived_gender").part("blond hair").value == pytest.approx(1.0)
    assert set(run.annotations["perceived_gender"]) == {"male", "female"}
    assert run.manifest["about"]["annotated_by"] == {"perceived_gender": "annotators"}
    crossed = ask("celeba", Answers(said), tmp_path, by="perceived_gender,perceived_gender+Young")
    assert crossed.finding("accuracy", ("perceived_gender", "Young")).value == pytest.approx(0.75)
    other = ask("celeba", Answers(["yes", "no"] * 9), tmp_path, truth="Young", by="Male", spelling="any")
    assert set(other.counts["predictions"].axis("truth").levels) == {"young", "not young"}
    with pytest.raises(ParameterError, match="-p truth=Male is the attribute too"):
        ask("celeba", Answers(said), tmp_path, truth="Male")


def as_authors_write(folder):
    """The tables of ``faces`` as the authors of CelebA hand them out, in folders of their archives."""
    header, *lines = (folder / "list_attr_celeba.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines]
    names = "  ".join(header.split(",")[1:])
    text = "\n".join([str(len(rows)), names + " ", *[f"{a}  {' '.join(rest)}" for a, *rest in rows]])
    for place in ("Anno", "Eval", "Img"):
        (folder / place).mkdir()
    (folder / "Anno" / "list_attr_celeba.txt").write_text(text + "\n")
    (folder / "list_attr_celeba.csv").unlink()
    partition = (folder / "list_eval_partition.csv").read_text().splitlines()[1:]
    lines = [line.replace(",", " ") for line in partition]
    (folder / "Eval" / "list_eval_partition.txt").write_text("\n".join(lines))
    (folder / "list_eval_partition.csv").unlink()
    (folder / "img_align_celeba").rename(folder / "Img" / "img_align_celeba")


def test_celeba_is_read_as_its_authors_and_kaggle_hand_it_out(tmp_path):
    rows = faces(tmp_path / "authors")
    as_authors_write(tmp_path / "authors")
    said = ["Yes." if blond == 1 and male == -1 else "no" for _, blond, male, _ in rows]
    run = ask("celeba", Answers(said), tmp_path / "authors")
    assert run.finding("accuracy", "perceived_gender").value == pytest.approx(0.75)
    assert run.finding("accuracy", "perceived_gender").n == 16
    assert dropped(run) == {}
    assert counted("celeba", tmp_path / "authors")[1]["images"] == (17, 17, "")
    faces(tmp_path / "kaggle")
    images = tmp_path / "kaggle" / "img_align_celeba"
    images.rename(tmp_path / "kaggle" / "x")
    images.mkdir()
    (tmp_path / "kaggle" / "x").rename(images / "img_align_celeba")
    run = ask("celeba", Answers(said), tmp_path / "kaggle")
    assert (run.finding("accuracy", "perceived_gender").n, dropped(run)) == (16, {})
    for table in (tmp_path / "kaggle").glob("*.csv"):
        table.write_text(table.read_text().replace(",", "   "))
    blank = ask("celeba", Answers(said), tmp_path / "kaggle")
    assert blank.counts == run.counts


def test_broken_rows_of_celeba_are_counted(tmp_path):
    rows = faces(tmp_path)
    with (tmp_path / "list_attr_celeba.csv").open("a") as file:
        file.write("x.png,3,1,1\ny.png,1,1,1\n000000.png,1,1,1\n")
    run = ask("celeba", Answers(["yes", "no"] * (len(rows) // 2 + 1)), tmp_path)
    assert dropped(run) == {
        "row with a value that cannot be": 1,
        "sample on an earlier row": 1,
        "image without a split": 1,
    }
    with pytest.raises(UnknownName, match=r"there is no column 'gender'.*-p by=perceived_gender is Male"):
        ask("celeba", Answers(["yes"]), tmp_path, by="gender")
    with pytest.raises(UnknownName, match="there is no column 'Smiling'"):
        ask("celeba", Answers(["yes"]), tmp_path, truth="Smiling")


HAIR = {
    "blond hair": (
        "Yes", "I think yes", "Yes, blonde", "Blonde", "The person has blonde hair.", "Yes, she does.",
        "She has long, blonde hair.", "**Yes**", "The answer is yes.", "Yes, but I can't be certain.",
        "It looks blond", "Yes, the person in the black shirt has blond hair.", "Yes; golden",
        "The person's hair is blonde", "Yes, no doubt.",
    ),
    "not blond hair": (
        "No, this person has brown hair.", "No, this person does not have blond hair.", "not blond", "no",
        "The person does not have blond hair.", "No, they do not.", "Brown hair", "Brown", "Not really.",
        "no the person has black hair", "It is brown, not blond.", "The person doesn\u2019t have blond hair.",
        "No. They do not have any blond hair.", "No, not brown.", "She is a brunette.", "No blond hair",
        "No\nThe person has brown hair.", "I don't think so", "He isn't blond; he is dark-haired",
    ),
    "(refusal)": (
        "I cannot tell whether this person has blond hair.", "No, I cannot help with that.", "Unknown",
        "There is no person in the image.", "It is hard to say if the hair is blond.",
    ),
    "": (
        "No, the person is blond.", "Yes and no", "Yes. Wait, no.", "Not brown.",
        "Yes, the person has light brown hair.", "The person has neither blond nor brown hair",
    ),
}  # fmt: skip
SEX = {
    "male": ("man", "He is a man", "The person appears to be male.", "This is not a woman."),
    "female": ("A woman.", "Not a man", "It is a young woman with long hair", "female, I think"),
    "": ("Yes", "Neither"),
}
BIRDS = {
    "waterbird": ("The bird is a waterbird.", "a water-bird", "duck", "There is a duck. It is a waterbird."),
    "landbird": ("It is not a waterbird.", "This is a landbird, not a waterbird.", "Sparrow"),
    "": ("Not a duck", "A bird on the water", "Yes"),
}


def understood(run, expected):
    """What came of answers beside what a person says; an empty label: none of the labels, so open."""
    right = {said: label for label, texts in expected.items() for said in texts}
    found = dict(run.tables["answers"].select("raw", "prediction").iter_rows())
    labels = set(expected) - {""}
    return {
        said: found[said] for said in found if (found[said] if found[said] in labels else "") != right[said]
    }


@pytest.mark.parametrize(
    ("name", "expected", "given"),
    [
        ("celeba", HAIR, {}),
        ("celeba", SEX, {"truth": "Male", "by": "Blond_Hair"}),
        ("waterbirds", BIRDS, {}),
    ],
)
def test_answers_to_a_question_with_two_answers(tmp_path, name, expected, given):
    said = [text for texts in expected.values() for text in texts]
    if name == "celeba":
        rows = [(f"{n:06}.png", n % 2 * 2 - 1, n // 2 % 2 * 2 - 1, 1) for n in range(len(said))]
        layouts.celeba(tmp_path, rows, [(row[0], 2) for row in rows])
    else:
        rows = [(n, f"b{n}.png", n % 2, 2, n // 2 % 2) for n in range(len(said))]
        layouts.waterbirds(tmp_path, rows)
    run = ask(name, Answers(said), tmp_path, spelling="any", **given)
    assert understood(run, expected) == {}


def test_words_of_another_attribute_are_no_class(tmp_path):
    layouts.celeba(tmp_path, [(f"{n}.png", n % 2, n // 2, 1 - n % 2) for n in range(4)], [
        (f"{n}.png", 2) for n in range(4)
    ])  # fmt: skip
    said = ["The person is a young woman.", "brunette", "No, the person is old.", "elderly"]
    meant = ["young", "brunette", "not young", "not young"]
    run = ask("celeba", Answers(said), tmp_path, truth="Young", by="Male", spelling="any")
    assert dict(run.tables["answers"].select("raw", "prediction").iter_rows()) == dict(
        zip(said, meant, strict=True)
    )


def counted(name, folder):
    done = check_data(name, folder)
    return done, {part.name: (part.present, part.expected, part.note) for part in done.parts}


def test_data_is_counted_beside_the_releases(tmp_path):
    places = layouts.domainnet(tmp_path / "domains", DOMAINS, CLASSES)
    (tmp_path / "domains" / places[0]).unlink()
    done, parts = counted("domainnet", tmp_path / "domains")
    assert parts["classes"] == (3, 345, "")
    assert parts["clipart test: lines"] == (9, 14_604, "")
    assert parts["clipart test: images"] == (8, 9, "")
    assert parts["quickdraw train: lines"] == (0, 120_750, "no list")
    assert not done.complete
    assert "http://ai.bu.edu/M3SDA/" in done.by_hand
    birds(tmp_path / "birds")
    _, parts = counted("waterbirds", tmp_path / "birds")
    assert parts["test: rows"] == (12, 5_794, "")
    assert parts["images"] == (14, 14, "")
    assert parts["test: waterbird, land"] == (3, None, "")
    faces(tmp_path / "faces")
    _, parts = counted("celeba", tmp_path / "faces")
    assert parts["train: rows"] == (1, 162_770, "")
    assert parts["test: blond hair, female"] == (4, None, "")


def test_settings_of_imagenet_star_are_counted(tmp_path):
    cells(tmp_path, {"in_the_grass/n01443537": 50, "in_the_grass/n01629819": 49, "base/n01443537": 3})
    _, parts = counted("imagenet_star", tmp_path)
    assert parts["in the grass"] == (
        99, 50_000, "2 of 1,000 classes, 1 classes without just 50 images"
    )  # fmt: skip
    assert parts["at dusk"] == (0, 50_000, "0 of 1,000 classes")
    assert parts["further folder base"] == (3, None, "")
    assert len(parts) == 24


def test_the_data_are_listed_with_licence_and_home():
    listed = {one.name: one for one in list_data()}
    for name in ("imagenet_star", "domainnet", "waterbirds", "celeba"):
        assert listed[name].by_hand
        assert listed[name].licence
        assert listed[name].home.startswith("http")
    with pytest.raises(UserError, match="there is no folder"):
        check_data("celeba", None)
