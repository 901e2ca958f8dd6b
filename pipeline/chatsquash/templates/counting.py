"""Tokens of texts and of records, by the tokenizer of a model."""

from __future__ import annotations

import sys
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatsquash import chat, jsonio, reasoning
from chatsquash.errors import UsageError

if TYPE_CHECKING:
    from chatsquash.model import Message
    from chatsquash.records.reading import StoredRecord
    from chatsquash.templates.bounded import Template

_FILE = "tokenizer.json"


class RefusedError(Exception):
    """The template cannot render a record, or the tokenizer cannot divide it; the text says why."""


def packed(path: str) -> bytes:
    """A ``tokenizer.json``, or that in the folder of a model, as the option ``tokenizer`` has it."""
    file = Path(path) / _FILE if Path(path).is_dir() else Path(path)
    try:
        data = file.read_bytes()
    except OSError as problem:
        raise UsageError(f"{file}: cannot be read ({problem.strerror})") from None
    Tokenizer(data, str(file))
    return data


class Tokenizer:
    """Gives the tokens of texts; special tokens in a text are what they say, and none is added."""

    def __init__(self, data: bytes, place: str = "--tokenizer") -> None:
        """``data``: what a ``tokenizer.json`` holds; ``place`` is what errors call it.

        Raises ``UsageError`` without the package, and for what is no tokenizer.
        """
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise UsageError("--tokenizer needs the package tokenizers: pip install 'chatsquash[tokens]'") from None
        try:
            self._tokenizer: Any = Tokenizer.from_str(data.decode())
        except Exception as problem:  # noqa: BLE001 - that is all it raises
            raise UsageError(f"{place}: is no tokenizer.json ({problem})") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, texts: list[str]) -> int:
        """How many tokens texts have, one by one."""
        return sum(map(len, self._encoded(texts)))

    def spelled(self, text: str) -> bytes:
        """The tokens of a text, each as four bytes, so that one begins with another as their tokens do."""
        ids = array("I", self._encoded([text])[0].ids)
        if sys.byteorder == "little":
            ids.byteswap()
        return ids.tobytes()

    def _encoded(self, texts: list[str]) -> list[Any]:
        # No tokenizer takes lone surrogates.
        clean = [text.encode("utf-8", "replace").decode() for text in texts if text]
        try:
            found: list[Any] = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        except Exception as problem:  # noqa: BLE001 - that is all it raises, such as for a word that is not in its table
            raise RefusedError(f"nothing, but the tokenizer takes no such text ({problem})") from None
        return found


class Counter:
    """Counts the tokens of records: of what a template makes of them, or of all their texts one by one."""

    def __init__(self, tokenizer: Tokenizer, template: Template | None = None) -> None:
        self._tokenizer, self._template = tokenizer, template

    def __call__(self, held: StoredRecord) -> int:
        """The tokens of a record; raises ``RefusedError`` where the template cannot render it."""
        if self._template is None:
            return self._tokenizer.count([*texts(held), definitions(held)])
        if self._template.given_up:
            raise UsageError(f"the template is {self._template.given_up}")
        rendered = self._template.render(held.messages, held.tools)
        if rendered.text is None:
            raise RefusedError(rendered.problem)
        return self._tokenizer.count([rendered.text])


def texts(held: StoredRecord) -> list[str]:
    """All texts of a record: what is said, thought and called."""
    return [text for message in held.messages for text in said(message)]


def said(message: Message) -> list[str]:
    """The texts of a message."""
    found = [chat.text(message), reasoning.text(message)]
    for function in (call["function"] for call in chat.calls(message) if chat.call_name(call)):
        arguments = function.get("arguments")
        found += function["name"], arguments if isinstance(arguments, str) else jsonio.dumps(arguments).decode()
    return [text for text in found if isinstance(text, str)]


def definitions(held: StoredRecord) -> str:
    """The definitions of a record as JSON; empty if it has none."""
    return jsonio.dumps(held.tools).decode() if held.tools else ""
