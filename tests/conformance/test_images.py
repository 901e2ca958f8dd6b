"""Images that ``--media keep`` wrote come back from ``datasets`` byte by byte."""

import base64
import json
from io import BytesIO
from pathlib import Path

import pytest
from datasets import Image, List, load_dataset
from PIL import Image as Pillow

from chatsquash import Options, convert
from tests.conftest import log_line, user, write_log


def drawn(kind, colour):
    made = BytesIO()
    Pillow.new("RGB", (3, 2), colour).save(made, kind)
    return made.getvalue()


IMAGES = [drawn("PNG", "red"), drawn("JPEG", "green"), drawn("GIF", "blue"), drawn("WEBP", "white")]


def image(data):
    url = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


@pytest.fixture
def logs(tmp_path):
    """Sessions with one image, with all of them and one twice, and with none."""
    for number, shown in enumerate(([], [0], [3, 2, 1, 0, 1], [])):
        content = [{"type": "text", "text": f"{number}?"}, *(image(IMAGES[each]) for each in shown)]
        write_log(tmp_path / f"logs/{number}.jsonl", log_line(user(content), reply="yes"))
    return tmp_path / "logs"


def loaded(folder, cache, **options):
    dataset = load_dataset(*folder, split="train", cache_dir=str(cache), **options)
    assert dataset.features["images"] == List(Image())
    return dataset


def data_of(dataset):
    """The bytes of each record's images."""
    return [[each["bytes"] or Path(each["path"]).read_bytes() for each in row] for row in dataset["images"]]


def sizes(dataset):
    found = []
    for row in dataset["images"]:
        for picture in row:
            with picture:  # which a file of several frames keeps open
                found.append(picture.size)
    return found


WANTED = [[], [IMAGES[0]], [IMAGES[each] for each in (3, 2, 1, 0, 1)], []]


def check(dataset, folder):
    assert sizes(dataset) == [(3, 2)] * 6
    dataset = dataset.cast_column("images", List(Image(decode=False)))
    assert data_of(dataset) == WANTED
    said = dataset[2]["messages"][0]["content"]
    assert said == [{"type": "text", "text": "2?"}, *[{"type": "image"}] * 5]
    assert dataset[0]["messages"][0]["content"] == "0?"
    records = json.loads((folder / "run.json").read_bytes())["counts"]["sessions"]["written"]
    assert len(dataset) == records == 4


@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize("with_card", [True, False])
def test_parquet_gives_images_with_and_without_its_card(logs, tmp_path, metadata, with_card):
    options = Options(preset="hf", media="keep", format="parquet", anonymize=False, metadata=metadata)
    convert(logs, tmp_path / "out", options)
    files = {} if with_card else {"data_files": str(tmp_path / "out/data/*.parquet")}
    check(loaded([str(tmp_path / "out") if with_card else "parquet"], tmp_path / "cache", **files), tmp_path / "out")


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_lines_give_images_inside_their_folder(logs, tmp_path, monkeypatch, packing):
    convert(logs, tmp_path / "out", Options(preset="hf", media="keep", format=packing, anonymize=False))
    monkeypatch.chdir(tmp_path / "out")
    check(loaded([str(tmp_path / "out")], tmp_path / "cache"), tmp_path / "out")
