"""The chat templates that trainers bring, read from what is installed beside us; no trainer is imported."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json
from chatsquash.records.line import StoredRecord
from chatsquash.templates.source import TemplateSource, locate, read

_GENERATION = re.compile(r"\{%-?\s*generation\s*-?%\}")
_TRAINING = "_training"
_NO_TOKENS = dict.fromkeys(
    ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"), ""
)


class TrainerTemplate(NamedTuple):
    """What a trainer renders records with."""

    source: TemplateSource
    description: str
    """Which template that is, for people."""
    prepare: Callable[[StoredRecord], StoredRecord] | None
    """What the trainer makes of records before it renders them."""

    def prepare_record(self, sample: StoredRecord) -> StoredRecord:
        """A record as the trainer renders it."""
        try:
            return self.prepare(sample) if self.prepare else sample
        except RecursionError:  # what is so deep, the template is told of as it stands
            return sample


class Trainer(NamedTuple):
    """Where a trainer keeps its templates, and what it makes of records before it renders them."""

    title: str
    package: str
    folder: str
    """In the package; empty where the templates are no files."""
    choose: Callable[[TemplateSource, Path], tuple[TemplateSource, str]] | None = None
    """The template for a model that has this one, and what is to be known of it; else it is the model's own."""
    prepare: Callable[[StoredRecord], StoredRecord] | None = None
    clean: Callable[[str], str] | None = None
    """What it makes of the text of one of its files."""


def _for_training(source: TemplateSource, folder: Path) -> tuple[TemplateSource, str]:
    """As ``trl.chat_template_utils.get_training_chat_template`` does where loss is on the assistant only."""
    own = source.templates["default"]
    if _GENERATION.search(own):
        return source, ""
    for file in sorted(folder.glob(f"*{_TRAINING}.jinja")):
        plain = file.with_name(f"{file.stem.removesuffix(_TRAINING)}.jinja")
        if plain.is_file() and _text(plain) == own:
            return TemplateSource({"default": _text(file)}, source.tokens), f"in its training form, {file.name}"
    return source, "of which it has no training form: assistant_only_loss is refused, prompt and completion are not"


def _with_objects(sample: StoredRecord) -> StoredRecord:
    """The record as axolotl has it: without null members, and arguments that are texts as objects."""
    return sample._replace(
        messages=[_parse_calls(_drop_nulls(message)) for message in sample.messages], tools=_drop_nulls(sample.tools)
    )


def _parse_calls(message: Any) -> Any:
    calls = message.get("tool_calls")
    return {**message, "tool_calls": list(map(_with_object, calls))} if isinstance(calls, list) else message


def _with_object(call: Json) -> Json:
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if not isinstance(arguments, str):
        return call
    return {**call, "function": {**call["function"], "arguments": jsonio.value(arguments, arguments)}}


def _drop_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _drop_nulls(member) for key, member in value.items() if member is not None}
    return list(map(_drop_nulls, value)) if isinstance(value, list) else value


def _join_lines(text: str) -> str:
    """As Oumi reads its files: lines without white space around them, as one."""
    return "".join(line.strip() for line in text.splitlines())


TRAINERS = {
    "axolotl": Trainer("axolotl", "axolotl", "utils/chat_templates/templates", prepare=_with_objects),
    "llama-factory": Trainer("LLaMA-Factory", "llamafactory", ""),
    "ms-swift": Trainer("ms-swift", "swift", ""),
    "oumi": Trainer("Oumi", "oumi", "datasets/chat_templates", clean=_join_lines),
    "trl": Trainer("TRL", "trl", "chat_templates", choose=_for_training),
}
"""By their names, which are those of their distributions, too, but for hyphens."""


def split_model(trainer: str, template: str | None) -> tuple[str, str | None]:
    """The trainer and the template of ``TRAINER=MODEL``; raises ``UsageError`` if both name a template.

    >>> split_model("trl=org/model", None)
    ('trl', 'org/model')
    """
    name, _, model = trainer.partition("=")
    if model and template:
        raise UsageError(f"--template {template} has no effect with --for {trainer}: use only one of them")
    return name, model or template


def find_trainer(name: str) -> Trainer:
    """A trainer; raises ``UsageError`` for one that is not known, or has no templates that are files."""
    if name not in TRAINERS:
        raise UsageError(f"--for {name}: not known; known are {', '.join(TRAINERS)}")
    trainer = TRAINERS[name]
    if not trainer.folder:
        reason = "has templates of its own, written in Python, which cannot be tried without running it"
        raise UsageError(f"--for {name}: {trainer.title} {reason}; docs/training.md says what they take")
    return trainer


def choose_template(name: str, template: str) -> TrainerTemplate:
    """What a trainer renders records with for a model, or the template that it has by this name.

    Raises ``UsageError`` where it is not installed, and for what is neither a path nor such a name.
    """
    trainer = find_trainer(name)
    folder, title = _folder(name, trainer)
    files = _files(folder)
    if template in files and not Path(template).exists():
        text = _text(files[template])
        source = TemplateSource({"default": trainer.clean(text) if trainer.clean else text}, _NO_TOKENS)
        description = f"{template} of {title}"
    elif locate(template).exists():
        source, description = read(template), f"{template}, as {title} does"
    else:
        raise UsageError(f"--template {template}: no such file, and {title} has no such template: {', '.join(files)}")
    if trainer.choose:
        source, form = trainer.choose(source, folder)
        description = ", ".join(filter(None, [description, form]))
    return TrainerTemplate(source, description, trainer.prepare)


def missing_template(name: str) -> UsageError:
    """The error for a trainer without a template."""
    folder, title = _folder(name, find_trainer(name))
    known = ", ".join(_files(folder))
    return UsageError(f"--for {name}: add --template MODEL, or the name of one that {title} has: {known}")


def _files(folder: Path) -> dict[str, Path]:
    return {file.stem: file for file in sorted(folder.glob("*.jinja"))}


def _folder(name: str, trainer: Trainer) -> tuple[Path, str]:
    """The templates of a trainer, and its name with its version."""
    try:
        title = f"{trainer.title} {version(name)}"
    except PackageNotFoundError:
        reason = f"{trainer.title} is not installed in this environment; pip install {name}"
        raise UsageError(f"--for {name}: {reason}, or give --template MODEL alone") from None
    spec = find_spec(trainer.package)
    places = [Path(each) / trainer.folder for each in (spec and spec.submodule_search_locations) or ()]
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise UsageError(f"--for {name}: {title} has no templates in {trainer.package}/{trainer.folder}")
    return folder, title


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
