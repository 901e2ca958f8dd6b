"""Read chat templates from files, folders of models and the Hugging Face cache."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError

LONGEST = 1 << 26
"""The maximum number of characters of a rendering, more than any trainer accepts."""
_CONFIG = "tokenizer_config.json"
_IN_A_FOLDER = ("chat_template.jinja", "chat_template.json", _CONFIG)
_ADDITIONAL = "additional_chat_templates"
"""The folder for further templates of a model, one file per template."""
_DEFAULT, _WITH_TOOLS = "default", "tool_use"
_MODEL = re.compile(r"[A-Za-z0-9][\w-]*+(?:\.[\w-]++)*(?:/[A-Za-z0-9][\w-]*+(?:\.[\w-]++)*)?", re.ASCII)
"""The name of a model on the Hugging Face Hub."""
_REVISION = re.compile(r"[0-9a-f]{40}")
_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class TemplateOutput(NamedTuple):
    """The result of rendering a record."""

    text: str | None
    """The rendering; ``None`` if the template raised an exception."""
    problem: str = ""
    """The exception."""


class TemplateSource(NamedTuple):
    """The templates of a model and its special tokens, which templates can print."""

    templates: dict[str, str]
    """By name; most models only have ``default``."""
    tokens: dict[str, str]

    def choose(self, *, with_tools: bool) -> str:
        """Return the template that transformers uses for a record with or without tools."""
        return self.templates[_WITH_TOOLS if with_tools and _WITH_TOOLS in self.templates else _DEFAULT]

    @property
    def description(self) -> str:
        """When each of several templates is used, or an empty string if there is only one."""
        unused = sorted(self.templates.keys() - {_DEFAULT, _WITH_TOOLS})
        notes = [f"its template {_WITH_TOOLS} for records with tools"] if _WITH_TOOLS in self.templates else []
        return ", ".join([*notes, *([f"never its template {name}" for name in unused])])


def locate(model: str) -> Path:
    """Return the path of a file or folder, or of the model with this name in the local Hugging Face cache.

    Nothing is downloaded. Raises ``UsageError`` with the command that downloads the model if it is not in the cache.
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
    hint = f"run `{download(model)}` (hf is part of huggingface_hub)"
    raise UsageError(f"{model}: no such file or folder, and no such model in {cache}: {hint}")


def download(model: str) -> str:
    """Return the command that downloads the tokenizer and the templates of a model."""
    return f"hf download {model} --include '*.j*'"


def _cache() -> Path:
    """Return the local Hugging Face cache, with the same rules as huggingface_hub."""
    for name, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        if value := os.environ.get(name):
            return Path(os.path.expandvars(value)).expanduser() / below
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface/hub"


def pack(path: str) -> bytes:
    """Read a template as the value of the ``template`` option; the bytes do not depend on the path."""
    return jsonio.dumps(read(path), sort_keys=True)


def unpack(data: bytes) -> TemplateSource:
    """Decode the result of ``pack``; raise ``UsageError`` for any other value."""
    value = jsonio.value(data)
    are_texts = isinstance(value, list) and len(value) == 2 and all(isinstance(each, dict) for each in value)
    if not are_texts or _DEFAULT not in value[0]:
        raise UsageError("template: not a template; use the result of chatsquash.templates.source.pack")
    return TemplateSource(_texts(value[0].items()), _texts(value[1].items()))


def read(path: str) -> TemplateSource:
    """Read the templates of a file or a model.

    For a folder, further templates in ``additional_chat_templates`` are also read; as in transformers, they replace all
    templates of ``tokenizer_config.json``. Special tokens come from the ``tokenizer_config.json`` in the same folder;
    without one they are empty.

    Args:
        path: A ``.jinja`` file, a ``tokenizer_config.json`` or ``chat_template.json``, the folder of a model, or the
            name of a model in the local Hugging Face cache.

    Raises:
        UsageError: There is no default template, or a file cannot be read.
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
    """Return the further templates in the folder of a model, by name."""
    files = sorted((path / _ADDITIONAL).glob("*.jinja")) if path.is_dir() else []
    return {file.stem: _text(file) for file in files}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: not valid UTF-8") from None
    except OSError as problem:
        raise UsageError(f"{file}: cannot be read ({problem.strerror})") from None


def _object(file: Path, text: str) -> dict[str, Any]:
    try:
        value = jsonio.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{file}: not valid JSON; a bare template has the suffix .jinja") from None
    if not isinstance(value, dict):
        raise UsageError(f"{file}: not a JSON object")
    return value


def _templates(file: Path, text: str) -> dict[str, str]:
    templates = _object(file, text).get("chat_template")
    if isinstance(templates, str):
        return {"default": templates}
    if isinstance(templates, list):  # older models with several templates
        templates = {each.get("name"): each.get("template") for each in templates if isinstance(each, dict)}
    if not isinstance(templates, dict):
        raise UsageError(f"{file}: no chat_template in this file; newer models store it in chat_template.jinja")
    return _texts(templates.items())


def _texts(members: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    return {name: each for name, each in members if isinstance(name, str) and isinstance(each, str)}
