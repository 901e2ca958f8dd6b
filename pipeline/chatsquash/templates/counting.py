"""Count the tokens of texts and records with the tokenizer of a model."""

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
    from chatsquash.records import StoredRecord
    from chatsquash.templates.source import TemplateOutput

_FILE = "tokenizer.json"
_CACHE_SIZE = 1 << 24
"""Approximate number of characters of texts whose tokens are cached."""


class RefusedError(Exception):
    """A record that the template cannot render or the tokenizer cannot encode; the message is the reason."""


def pack(path: str) -> bytes:
    """Read a ``tokenizer.json`` as the value of the ``tokenizer`` option.

    Args:
        path: The file, the folder of a model, or the name of a model in the local Hugging Face cache.

    Raises:
        UsageError: There is no such file, or it is not a tokenizer.
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
    """Return the message for a missing tokenizer, with the way to get one."""
    if not place.is_dir():
        return f"{path}: no such file or folder; pass one, or a model in the Hugging Face cache such as org/model"
    if place != Path(path):
        return f"{path}: no {_FILE} in the Hugging Face cache; `{download(path)}` downloads it if the model has one"
    return f"{place}: no {_FILE} in this folder; AutoTokenizer of transformers writes one with save_pretrained"


def of_template(path: str) -> str | None:
    """Return the model whose template this is, if it also has a tokenizer."""
    return path if (locate(path) / _FILE).is_file() else None


class Tokenizer:
    """Encodes texts as tokens; special tokens in a text are recognised, and none are added."""

    def __init__(self, data: bytes, place: str = "--tokenizer") -> None:
        """Load a tokenizer.

        Args:
            data: The content of a ``tokenizer.json``.
            place: The path or option for error messages.

        Raises:
            UsageError: The package tokenizers is not installed, or the content is not a tokenizer.
        """
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise UsageError("--tokenizer requires the tokenizers package: pip install 'chatsquash[tokens]'") from None
        try:
            self._tokenizer: Any = Tokenizer.from_str(data.decode())
        except Exception as problem:  # noqa: BLE001 - that is all it raises
            raise UsageError(f"{place}: not a tokenizer.json ({error_text(problem)})") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._special = _special(self._tokenizer.get_added_tokens_decoder().values())
        self._known: dict[str, bytes] = {}
        """The tokens of parts of texts, most of which occur again in the next text of a session."""
        self._size = 0
        """The number of characters of these parts."""

    def count(self, texts: list[str]) -> int:
        """Return the total number of tokens of texts that are encoded separately."""
        return sum(map(len, self._encode(texts)))

    def token_bytes(self, text: str) -> bytes:
        """Return the tokens of a text as four bytes each, in big-endian order.

        One result is a prefix of another exactly if its tokens are.
        """
        parts = self._split(text)
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

    def decode(self, ids: list[int]) -> str | None:
        """Return the text of token ids, including special tokens; ``None`` if an id is not in the vocabulary."""
        if not ids or max(ids) >= self._tokenizer.get_vocab_size():
            return None
        text: str = self._tokenizer.decode(ids, skip_special_tokens=False)
        return text

    def _split(self, text: str) -> list[str]:
        """Split a text before special tokens, where its tokens do not depend on the preceding text."""
        if self._special is None:
            return [text] if text else []
        starts = [match.start() for match in self._special.finditer(text) if match.lastindex]
        return [text[at:end] for at, end in pairwise([0, *starts, len(text)]) if at < end]

    def _encode(self, texts: list[str]) -> list[Any]:
        # Tokenizers reject lone surrogates.
        clean = [text.encode("utf-8", "replace").decode() for text in texts if text]
        try:
            encodings: list[Any] = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        except Exception as problem:  # noqa: BLE001 - it raises nothing more specific, for example for an unknown word
            raise RefusedError(f"nothing, but the tokenizer rejects the text ({error_text(problem)})") from None
        return encodings


def _special(tokens: Iterable[Any]) -> re.Pattern[str] | None:
    """Return a pattern for the special tokens that are matched before normalization.

    A token is in a group if texts can be split before it, which excludes tokens that also match the space in front of
    them. Returns ``None`` if there are no such tokens, or if adjacent words decide whether one is matched.
    """
    first = [each for each in tokens if not each.normalized and each.content]
    if not first or any(each.single_word for each in first):
        return None
    longest_first = sorted(first, key=lambda each: len(each.content), reverse=True)
    patterns = ((re.escape(each.content), each.lstrip) for each in longest_first)
    return re.compile("|".join(text if takes_more else f"({text})" for text, takes_more in patterns))


class RecordRenderer(Protocol):
    """A template that renders records, such as ``templates.confined.Template``."""

    @property
    def given_up(self) -> str:
        """Why the template is no longer used; empty while it is."""

    def render(self, messages: list[Message], tools: Json) -> TemplateOutput:
        """Render a record."""


class Counter:
    """Counts the tokens of records: of their renderings, or without a template of each of their texts."""

    def __init__(self, tokenizer: Tokenizer, template: RecordRenderer | None = None) -> None:
        self._tokenizer, self._template = tokenizer, template

    def __call__(self, sample: StoredRecord) -> int:
        """Count the tokens of a record; raise ``RefusedError`` if the template cannot render it."""
        if self._template is None:
            return self._tokenizer.count([*texts(sample), definitions(sample)])
        if self._template.given_up:
            raise UsageError(f"rendering was {self._template.given_up}")
        output = self._template.render(sample.messages, sample.tools)
        if output.text is None:
            raise RefusedError(output.problem)
        return len(self._tokenizer.token_bytes(output.text)) // 4
