"""Tokens of texts and of records, by the tokenizer of a model."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from chatsquash.core.errors import UsageError
from chatsquash.core.text import error_text
from chatsquash.records.reading import definitions, texts
from chatsquash.templates.source import download, locate

if TYPE_CHECKING:
    from chatsquash.core.model import Json, Message
    from chatsquash.records.line import StoredRecord
    from chatsquash.templates.source import TemplateOutput

_FILE = "tokenizer.json"
_CACHE_SIZE = 1 << 24
"""Characters of texts whose tokens are kept, about."""


class RefusedError(Exception):
    """The template cannot render a record, or the tokenizer cannot divide it; the text says why."""


def pack(path: str) -> bytes:
    """A ``tokenizer.json``, or that of a model, as the option ``tokenizer`` has it.

    A model is a folder, or its name if it is in the local Hugging Face cache.
    """
    place = locate(path)
    file = place / _FILE if place.is_dir() else place
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise UsageError(_missing(path, place)) from None
    except OSError as problem:
        raise UsageError(f"{file}: cannot be read ({problem.strerror})") from None
    Tokenizer(data, str(file))
    return data


def _missing(path: str, place: Path) -> str:
    """The error for a tokenizer that is not there, with what makes one."""
    if not place.is_dir():
        return f"{path}: no such file or folder; name one, or a model in the Hugging Face cache, as in org/model"
    if place != Path(path):
        return f"{path}: no {_FILE} in the Hugging Face cache; {download(path)} gets it if the model has one"
    return f"{place}: no {_FILE} in this folder; AutoTokenizer of transformers writes one with save_pretrained"


def of_template(path: str) -> str | None:
    """The model that a template was named by, if it has a tokenizer, too."""
    return path if (locate(path) / _FILE).is_file() else None


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
            raise UsageError(f"{place}: is not a tokenizer.json ({error_text(problem)})") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._special = _special(self._tokenizer.get_added_tokens_decoder().values())
        self._known: dict[str, bytes] = {}
        """Parts of texts, most of which come again in the next text of a session, and their tokens."""
        self._size = 0
        """How many characters these have."""

    def count(self, texts: list[str]) -> int:
        """How many tokens texts have, one by one."""
        return sum(map(len, self._encode(texts)))

    def token_bytes(self, text: str) -> bytes:
        """The tokens of a text, each as four bytes, so that one begins with another as their tokens do."""
        parts = self._parts(text)
        new = [part for part in dict.fromkeys(parts) if part not in self._known]
        if self._size > _CACHE_SIZE:
            self._known, self._size, new = {}, 0, [*dict.fromkeys(parts)]
        for part, encoding in zip(new, self._encode(new), strict=True):
            ids = array("I", encoding.ids)
            if sys.byteorder == "little":
                ids.byteswap()
            self._known[part] = ids.tobytes()
            self._size += len(part)
        return b"".join(map(self._known.__getitem__, parts))

    def _parts(self, text: str) -> list[str]:
        """A text in parts, none empty, that have their tokens for themselves: each begins with a special token."""
        if self._special is None:
            return [text] if text else []
        starts = [match.start() for match in self._special.finditer(text) if match.lastindex]
        return [text[at:end] for at, end in pairwise([0, *starts, len(text)]) if at < end]

    def _encode(self, texts: list[str]) -> list[Any]:
        # No tokenizer takes lone surrogates.
        clean = [text.encode("utf-8", "replace").decode() for text in texts if text]
        try:
            encodings: list[Any] = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        except Exception as problem:  # noqa: BLE001 - that is all it raises, such as for a word that is not in its table
            raise RefusedError(f"nothing, but the tokenizer takes no such text ({error_text(problem)})") from None
        return encodings


def _special(tokens: Iterable[Any]) -> re.Pattern[str] | None:
    """What finds the tokens that are looked for before all else; those before which a text divides are a group.

    ``None`` where the words beside such a token tell whether it is one.
    """
    first = [each for each in tokens if not each.normalized and each.content]
    if not first or any(each.single_word for each in first):
        return None
    longest_first = sorted(first, key=lambda each: len(each.content), reverse=True)
    patterns = ((re.escape(each.content), each.lstrip) for each in longest_first)
    return re.compile("|".join(text if takes_more else f"({text})" for text, takes_more in patterns))


class RecordRenderer(Protocol):
    """A template of ``templates.confined``."""

    @property
    def given_up(self) -> str:
        """Why it is not used any more; empty while it is."""

    def render(self, messages: list[Message], tools: Json) -> TemplateOutput:
        """The text of a record."""


class Counter:
    """Counts the tokens of records: of what a template makes of them, or of all their texts one by one."""

    def __init__(self, tokenizer: Tokenizer, template: RecordRenderer | None = None) -> None:
        self._tokenizer, self._template = tokenizer, template

    def __call__(self, sample: StoredRecord) -> int:
        """The tokens of a record; raises ``RefusedError`` where the template cannot render it."""
        if self._template is None:
            return self._tokenizer.count([*texts(sample), definitions(sample)])
        if self._template.given_up:
            raise UsageError(f"the template is {self._template.given_up}")
        output = self._template.render(sample.messages, sample.tools)
        if output.text is None:
            raise RefusedError(output.problem)
        return len(self._tokenizer.token_bytes(output.text)) // 4
