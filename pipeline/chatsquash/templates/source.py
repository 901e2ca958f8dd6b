"""The files that contain chat templates, and the result of rendering one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError

LONGEST = 1 << 26
"""Characters of a rendering, of which no trainer takes more."""
_CONFIG = "tokenizer_config.json"
_IN_A_FOLDER = ("chat_template.jinja", "chat_template.json", _CONFIG)
_ADDITIONAL = "additional_chat_templates"
"""The folder of a model with its other templates, each in a file by its name."""
_DEFAULT, _WITH_TOOLS = "default", "tool_use"
_MODEL = re.compile(r"[A-Za-z0-9][\w-]*+(?:\.[\w-]++)*(?:/[A-Za-z0-9][\w-]*+(?:\.[\w-]++)*)?", re.ASCII)
"""The name of a model on the Hugging Face Hub."""
_REVISION = re.compile(r"[0-9a-f]{40}")
_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class TemplateOutput(NamedTuple):
    """What a template made of a record."""

    text: str | None
    problem: str = ""
    """What it raised; empty if nothing."""


class TemplateSource(NamedTuple):
    """The templates of a model, and the special tokens that they may print."""

    templates: dict[str, str]
    """By name; most models have one, ``default``."""
    tokens: dict[str, str]

    def choose(self, *, with_tools: bool) -> str:
        """The template that transformers takes for a record."""
        return self.templates[_WITH_TOOLS if with_tools and _WITH_TOOLS in self.templates else _DEFAULT]

    @property
    def description(self) -> str:
        """Which of several templates is taken when; empty where there is one."""
        unused = sorted(self.templates.keys() - {_DEFAULT, _WITH_TOOLS})
        notes = [f"its template {_WITH_TOOLS} for records with tools"] if _WITH_TOOLS in self.templates else []
        return ", ".join([*notes, *([f"never its template {name}" for name in unused])])


def locate(model: str) -> Path:
    """A file or a folder, or the folder of a model of this name in the local Hugging Face cache.

    Nothing is downloaded. Raises ``UsageError`` with the command that does if there is neither.
    """
    path = Path(model)
    if path.exists() or not _MODEL.fullmatch(model):
        return path
    cache = _cache()
    folder = cache / f"models--{model.replace('/', '--')}"
    try:
        revision = (folder / "refs/main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        revision = ""
    if _REVISION.fullmatch(revision) and (folder / "snapshots" / revision).is_dir():
        return folder / "snapshots" / revision
    if "/" not in model:
        return path
    needs = f"{download(model)} (the program hf is a part of huggingface_hub)"
    raise UsageError(f"{model}: no such file or folder, and no model of this name in {cache}: {needs}")


def download(model: str) -> str:
    """The command that downloads the tokenizer and the templates of a model."""
    return f"hf download {model} --include '*.j*'"


def _cache() -> Path:
    """The local Hugging Face cache, as huggingface_hub has it."""
    for name, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        if value := os.environ.get(name):
            return Path(os.path.expandvars(value)).expanduser() / below
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface/hub"


def pack(path: str) -> bytes:
    """What ``read`` finds, as the option ``template`` has it; the same bytes wherever the file stands."""
    return jsonio.dumps(read(path), sort_keys=True)


def unpack(data: bytes) -> TemplateSource:
    """The template of an option; raises ``UsageError`` for what ``packed`` does not give."""
    value = jsonio.value(data)
    are_texts = isinstance(value, list) and len(value) == 2 and all(isinstance(each, dict) for each in value)
    if not are_texts or _DEFAULT not in value[0]:
        raise UsageError("template: is not a template; give what chatsquash.templates.source.packed reads of a file")
    return TemplateSource(_texts(value[0].items()), _texts(value[1].items()))


def read(path: str) -> TemplateSource:
    """The template in a ``.jinja`` file, ``tokenizer_config.json`` or ``chat_template.json``, or in a model's folder.

    The folder may be that of a model in the local Hugging Face cache, by its name.

    A folder may have more of them in ``additional_chat_templates``; as in transformers, files with templates then stand
    in place of those in ``tokenizer_config.json``.  A file is read alone.

    Special tokens come from the ``tokenizer_config.json`` in the same folder; without one they are empty.
    """
    place = locate(path)
    file = _file(place)
    text = _text(file)
    templates = _templates(file, text) if file.suffix == ".json" else {_DEFAULT: text}
    if additional := _additional(place):
        templates = additional if file.name == _CONFIG else templates | additional
    if _DEFAULT not in templates:
        raise UsageError(f"{file}: has no template named {_DEFAULT}; it has {', '.join(templates) or 'none'}")
    config = file.with_name(_CONFIG)
    if not config.is_file():
        return TemplateSource(templates, dict.fromkeys(_TOKENS, ""))
    settings = _object(config, _text(config))
    tokens = [(name, settings.get(name)) for name in _TOKENS]
    texts = [(name, token.get("content") if isinstance(token, dict) else token) for name, token in tokens]
    return TemplateSource(templates, _texts(texts))


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    file = next((path / name for name in _IN_A_FOLDER if (path / name).is_file()), None)
    if file is None:
        raise UsageError(f"{path}: no chat template in this folder; looked for {', '.join(_IN_A_FOLDER)}")
    return file


def _additional(path: Path) -> dict[str, str]:
    """The other templates of a model's folder, by their names."""
    files = sorted((path / _ADDITIONAL).glob("*.jinja")) if path.is_dir() else []
    return {file.stem: _text(file) for file in files}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: is not a text in UTF-8") from None
    except OSError as problem:
        raise UsageError(f"{file}: cannot be read ({problem.strerror})") from None


def _object(file: Path, text: str) -> dict[str, Any]:
    try:
        value = jsonio.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{file}: is not valid JSON; a bare template has the suffix .jinja") from None
    if not isinstance(value, dict):
        raise UsageError(f"{file}: is not a JSON object")
    return value


def _templates(file: Path, text: str) -> dict[str, str]:
    templates = _object(file, text).get("chat_template")
    if isinstance(templates, str):
        return {"default": templates}
    if isinstance(templates, list):  # older models with several
        templates = {each.get("name"): each.get("template") for each in templates if isinstance(each, dict)}
    if not isinstance(templates, dict):
        raise UsageError(f"{file}: has no chat_template; newer models keep it beside, in chat_template.jinja")
    return _texts(templates.items())


def _texts(members: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    return {name: each for name, each in members if isinstance(name, str) and isinstance(each, str)}
