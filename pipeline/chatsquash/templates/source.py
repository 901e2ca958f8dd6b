"""The files that chat templates stand in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from chatsquash import jsonio
from chatsquash.errors import UsageError

_CONFIG = "tokenizer_config.json"
_IN_A_FOLDER = ("chat_template.jinja", "chat_template.json", _CONFIG)
_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class TemplateSource(NamedTuple):
    """The templates of a model, and the special tokens that they may print."""

    templates: dict[str, str]
    """By name; most models have one, ``default``."""
    tokens: dict[str, str]

    def chosen(self, *, with_tools: bool) -> str:
        """The template that transformers takes for a record."""
        name = "tool_use" if with_tools and "tool_use" in self.templates else "default"
        return self.templates[name]


def packed(path: str) -> bytes:
    """What ``read`` finds, as the option ``template`` has it; the same bytes wherever the file stands."""
    return jsonio.dumps(read(path), sort_keys=True)


def unpacked(data: bytes) -> TemplateSource:
    """The template of an option; raises ``UsageError`` for what ``packed`` does not give."""
    value = jsonio.value(data)
    are_texts = isinstance(value, list) and len(value) == 2 and all(isinstance(each, dict) for each in value)
    if not are_texts or "default" not in value[0]:
        raise UsageError("template: is no template; give what chatsquash.templates.source.packed reads of a file")
    return TemplateSource(_texts(value[0].items()), _texts(value[1].items()))


def read(path: str) -> TemplateSource:
    """The template in a ``.jinja`` file, ``tokenizer_config.json`` or ``chat_template.json``, or in a model's folder.

    Special tokens come from the ``tokenizer_config.json`` in the same folder; without one they are empty.
    """
    file = _file(Path(path))
    text = _text(file)
    templates = _templates(file, text) if file.suffix == ".json" else {"default": text}
    if "default" not in templates:
        raise UsageError(f"{file}: has no template named default; it has {', '.join(templates) or 'none'}")
    config = file.with_name(_CONFIG)
    if not config.is_file():
        return TemplateSource(templates, dict.fromkeys(_TOKENS, ""))
    told = _object(config, _text(config))
    tokens = [(name, told.get(name)) for name in _TOKENS]
    spelled = [(name, token.get("content") if isinstance(token, dict) else token) for name, token in tokens]
    return TemplateSource(templates, _texts(spelled))


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = next((path / name for name in _IN_A_FOLDER if (path / name).is_file()), None)
    if found is None:
        raise UsageError(f"{path}: no chat template in this folder; looked for {', '.join(_IN_A_FOLDER)}")
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file}: is no text in UTF-8") from None
    except OSError as problem:
        raise UsageError(f"{file}: cannot be read ({problem.strerror})") from None


def _object(file: Path, text: str) -> dict[str, Any]:
    try:
        value = jsonio.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{file}: is no JSON; a bare template has the suffix .jinja") from None
    if not isinstance(value, dict):
        raise UsageError(f"{file}: is no JSON object")
    return value


def _templates(file: Path, text: str) -> dict[str, str]:
    held = _object(file, text).get("chat_template")
    if isinstance(held, str):
        return {"default": held}
    if isinstance(held, list):  # older models with several
        held = {each.get("name"): each.get("template") for each in held if isinstance(each, dict)}
    if not isinstance(held, dict):
        raise UsageError(f"{file}: has no chat_template; newer models keep it beside, in chat_template.jinja")
    return _texts(held.items())


def _texts(members: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    return {name: each for name, each in members if isinstance(name, str) and isinstance(each, str)}
