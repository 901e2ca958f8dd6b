"""With TRL itself: settings that train on the replies are certified, 200 others are refused."""

import json
import random
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import trl
from datasets import load_dataset
from jinja2 import TemplateError
from trl import SFTConfig, SFTTrainer

from chatsquash import Options, convert
from chatsquash.recipe.inside.sitecustomize import labelled_rows
from chatsquash.recipe.labels import LabelError, LabelledRow, compare
from chatsquash.recipe.replies import replies_of
from chatsquash.storage.folder import Folder
from chatsquash.templates.confined import Template
from chatsquash.templates.counting import Tokenizer
from tests.train.inside.model import model as make_model
from tests.train.inside.model import tokenizer as make_tokenizer

ROOT = Path(__file__).parents[3]
TEMPLATES = Path(trl.__file__).parent / "chat_templates"
LOGS = ("anthropic", "ollama", "pi", "gemini", "openai_responses", "qwen_code")
SHAPES = {
    "messages": Options(preset="hf", format="parquet"),
    "replies": Options(preset="hf", format="parquet", samples="reply"),
}
HARMLESS = [
    {"per_device_train_batch_size": 3},
    {"learning_rate": 1e-3},
    {"gradient_accumulation_steps": 4},
    {"seed": 7},
    {"data_seed": 3},
    {"max_length": 1 << 15},
    {"num_train_epochs": 2},
    {"pad_to_multiple_of": 8},
]
WRONG = {
    "messages": [
        *(
            {"assistant_only_loss": False},
            {"packing": True, "max_length": 9000},
            {"packing": True, "packing_strategy": "wrapped", "max_length": 2000},
        ),
        *({"max_length": length} for length in (16, 64, 200, 500)),
        *({"template": name} for name in ("qwen2_5_training", "llama3_training", "glm4moe_training", "phi3_training")),
        *({"change": name} for name in ("first", "tools", "reasoning", "results", "half", "twice")),
    ],
    "replies": [
        *(
            {"completion_only_loss": False},
            {"packing": True, "max_length": 9000},
            {"packing": True, "packing_strategy": "wrapped", "max_length": 2000},
        ),
        *({"max_length": length} for length in (16, 64, 200, 500)),
        *({"template": name} for name in ("qwen2_5", "llama3", "glm4moe", "phi3")),
        *({"change": name} for name in ("first", "tools", "reasoning", "results", "half", "twice")),
    ],
}


def changed(rows, name):
    """The rows as a trainer has them that loses a part of the records."""
    member = "messages" if "messages" in rows.column_names else "prompt"
    if name in ("half", "twice"):
        return rows.select(range(0, len(rows), 2) if name == "half" else [*range(len(rows)), 0])
    change = {
        "first": lambda row: {member: row[member][1:] or row[member]},
        "tools": lambda row: {"tools": None},
        "results": lambda row: {member: [{**each, "content": each["content"][:20]} for each in row[member]]},
        "reasoning": lambda row: {
            key: [{**each, "reasoning_content": None} for each in row[key]]
            for key in ("messages", "prompt", "completion")
            if key in row
        },
    }[name]
    return rows.map(change)


@pytest.fixture(scope="module", params=SHAPES)
def place(request, tmp_path_factory):
    """The shorter sample logs in a shape, a model that knows them, and the replies to train on."""
    folder = tmp_path_factory.mktemp(request.param)
    options = SHAPES[request.param]
    convert([ROOT / "sample_logs" / name for name in LOGS], folder / "out", options)
    rows = load_dataset(str(folder / "out"), split="train")
    known = make_tokenizer(
        [str(row) for row in rows], str(TEMPLATES / "qwen3.jinja"), ("<|im_end|>", "", "<|im_start|>")
    )
    known.save_pretrained(folder / "model")
    make_model(len(known)).save_pretrained(folder / "model")
    files = sorted(path.relative_to(folder / "out").as_posix() for path in (folder / "out/data").iterdir())
    with closing(Template(str(folder / "model"))) as template, closing(Folder(folder / "out")) as output:
        yield request.param, folder, rows, replies_of(output, files, options, template, None)


def batches(place, settings, folder):
    """The rows that the trainer makes with some settings."""
    shape, model, rows, _ = place
    settings = {"max_length": None, **settings}
    if shape == "messages":
        settings = {"assistant_only_loss": True, **settings}
    template, change = settings.pop("template", None), settings.pop("change", None)
    more = {"chat_template_path": str(TEMPLATES / f"{template}.jinja")} if template else {}
    arguments = SFTConfig(
        output_dir=str(folder),
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        dataset_num_proc=None,
        **more,
        **settings,
    )
    rows = changed(rows, change) if change else rows
    trainer = SFTTrainer(model=str(model / "model"), args=arguments, train_dataset=rows)
    for inputs in trainer.get_train_dataloader():
        for ids, trained in labelled_rows(inputs):
            yield LabelledRow(ids, [bool(each) for each in trained])


def certify(place, settings, folder):
    tokenizer = Tokenizer((place[1] / "model/tokenizer.json").read_bytes())
    return compare(place[3], batches(place, settings, folder), tokenizer)


def test_harmless_settings_are_certified(place, tmp_path):
    replies = sum(map(len, place[3]))
    assert replies > 15
    for settings in [{}, *HARMLESS]:
        assert certify(place, settings, tmp_path).replies == replies, settings


def test_a_hundred_wrong_settings_are_refused(place, tmp_path):
    certified, reasons = [], set()
    for seed in range(100):
        draw = random.Random(seed)
        wrong = WRONG[place[0]][seed % len(WRONG[place[0]])]
        settings = {**draw.choice(HARMLESS), **wrong}
        try:
            certify(place, settings, tmp_path)
        except (LabelError, TemplateError) as refusal:  # some templates cannot render with this tokenizer
            reasons.add((type(refusal).__name__, str(refusal)[:90]))
            continue
        certified.append((seed, settings))
    for reason in sorted(reasons):
        print(*reason)
    assert certified == []


def test_the_page_certifies_the_sample_logs(place, tmp_path):
    """The commands of docs/how-to/recipe.md, with this environment as ``trl`` and a limit that fits a small tokenizer."""
    page = (ROOT / "docs/how-to/recipe.md").read_text(encoding="utf-8")
    command = re.search(r"```sh\n(chatsquash recipe .*)\n```", page)[1]
    shown = re.search(r"```text\n(.*)\n```", page)[1]
    (tmp_path / "model").symlink_to(place[1] / "model")
    (tmp_path / "trl").symlink_to(sys.prefix)
    options = Options(trainer=f"trl={tmp_path / 'model'}", samples="reply", preset="hf", format="parquet")
    convert([ROOT / "sample_logs" / name for name in LOGS], tmp_path / "dataset", options)
    script = tmp_path / "dataset/trainer/train.sh"
    script.write_text(script.read_text().replace("max_length 8192", "max_length 65536"))
    words = [sys.executable, "-m", "chatsquash", *command.split()[1:]]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(shown)
    assert json.loads((tmp_path / "certificate.json").read_text())["packages"]["trl"] == trl.__version__
