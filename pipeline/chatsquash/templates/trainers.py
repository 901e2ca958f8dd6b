"""The chat templates that come with trainers, read from their installed packages without importing them."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json
from chatsquash.records import StoredRecord
from chatsquash.templates.source import TemplateSource, locate, read

_GENERATION = re.compile(r"\{%-?\s*generation\s*-?%\}")
_TRAINING = "_training"
_NO_TOKENS = dict.fromkeys(
    ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"), ""
)


class TrainerTemplate(NamedTuple):
    """The template with which a trainer renders records."""

    source: TemplateSource
    description: str
    """The origin of the template, for the user."""
    prepare: Callable[[StoredRecord], StoredRecord] | None
    """Changes that the trainer makes to records before rendering them."""

    def prepare_record(self, sample: StoredRecord) -> StoredRecord:
        """Return the record as the trainer would render it."""
        try:
            return self.prepare(sample) if self.prepare else sample
        except RecursionError:  # rendering the original record reports the problem
            return sample


class Trainer(NamedTuple):
    """The location of the templates of a trainer, and the changes that it makes to records."""

    title: str
    package: str
    folder: str
    """The folder of the templates in the package; empty if they are not files."""
    choose: Callable[[TemplateSource, Path], tuple[TemplateSource, str]] | None = None
    """Returns the template to use instead of that of a model, and a remark; ``None`` if it is always the model's."""
    prepare: Callable[[StoredRecord], StoredRecord] | None = None
    clean: Callable[[str], str] | None = None
    """Changes that the trainer makes to the text of a template file."""


def _for_training(source: TemplateSource, folder: Path) -> tuple[TemplateSource, str]:
    """Choose a template as ``trl.chat_template_utils.get_training_chat_template`` does for assistant-only loss."""
    own = source.templates["default"]
    if _GENERATION.search(own):
        return source, ""
    for file in sorted(folder.glob(f"*{_TRAINING}.jinja")):
        plain = file.with_name(f"{file.stem.removesuffix(_TRAINING)}.jinja")
        if plain.is_file() and _text(plain) == own:
            return TemplateSource({"default": _text(file)}, source.tokens), f"using its training variant {file.name}"
    return source, "for which it has no training variant: assistant_only_loss is rejected; prompt and completion work"


def _with_objects(sample: StoredRecord) -> StoredRecord:
    """Return a record as axolotl prepares it: without null members, and with arguments parsed from JSON strings."""
    return replace(
        sample,
        messages=[_parse_calls(_drop_nulls(message)) for message in sample.messages],
        tools=_drop_nulls(sample.tools),
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
    """Join the stripped lines of a template, as Oumi does."""
    return "".join(line.strip() for line in text.splitlines())


TRAINERS = {
    "axolotl": Trainer("axolotl", "axolotl", "utils/chat_templates/templates", prepare=_with_objects),
    "llama-factory": Trainer("LLaMA-Factory", "llamafactory", ""),
    "ms-swift": Trainer("ms-swift", "swift", ""),
    "oumi": Trainer("Oumi", "oumi", "datasets/chat_templates", clean=_join_lines),
    "trl": Trainer("TRL", "trl", "chat_templates", choose=_for_training),
}
"""Trainers by name, which is also the name of their distribution, apart from hyphens."""


def split_model(trainer: str, template: str | None) -> tuple[str, str | None]:
    """Split ``TRAINER=MODEL`` into trainer and template; raise ``UsageError`` if both arguments contain a template.

    >>> split_model("trl=org/model", None)
    ('trl', 'org/model')
    """
    name, _, model = trainer.partition("=")
    if model and template:
        raise UsageError(f"--template {template} has no effect with --for {trainer}; use only one of them")
    return name, model or template


def find_trainer(name: str) -> Trainer:
    """Return a trainer; raise ``UsageError`` if it is unknown or its templates are not files."""
    if name not in TRAINERS:
        raise UsageError(f"--for {name}: unknown trainer; expected one of {', '.join(TRAINERS)}")
    trainer = TRAINERS[name]
    if not trainer.folder:
        reason = "defines its templates in Python, so rendering them would require running it"
        raise UsageError(f"--for {name}: {trainer.title} {reason}; docs/training.md describes its data format")
    return trainer


def choose_template(name: str, template: str) -> TrainerTemplate:
    """Return the template that a trainer uses.

    Args:
        name: The name of the trainer.
        template: A model or template file, or the name of a template of the trainer.

    Raises:
        UsageError: The trainer is unknown or not installed, or there is no such template.
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
        source, remark = trainer.choose(source, folder)
        description = ", ".join(filter(None, [description, remark]))
    return TrainerTemplate(source, description, trainer.prepare)


def missing_template(name: str) -> UsageError:
    """Return the error for a trainer without a template."""
    folder, title = _folder(name, find_trainer(name))
    known = ", ".join(_files(folder))
    return UsageError(f"--for {name}: add --template MODEL, or the name of a template of {title}: {known}")


def _files(folder: Path) -> dict[str, Path]:
    return {file.stem: file for file in sorted(folder.glob("*.jinja"))}


def _folder(name: str, trainer: Trainer) -> tuple[Path, str]:
    """Return the folder with the templates of a trainer, and its title with the version."""
    try:
        title = f"{trainer.title} {version(name)}"
    except PackageNotFoundError:
        reason = f"{trainer.title} is not installed in this environment; pip install {name}"
        raise UsageError(f"--for {name}: {reason}, or use --template MODEL without --for") from None
    spec = find_spec(trainer.package)
    places = [Path(each) / trainer.folder for each in (spec and spec.submodule_search_locations) or ()]
    folder = next((place for place in places if place.is_dir()), None)
    if folder is None:
        raise UsageError(f"--for {name}: {title} has no templates in {trainer.package}/{trainer.folder}")
    return folder, title


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
