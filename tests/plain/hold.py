"""What the plain way gives, and what the general path gives of the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec.structs import asdict

from chatsquash.log import Log
from chatsquash.options import Options
from chatsquash.read import lines, transcript
from chatsquash.read.sessions import MixedSessionsError
from chatsquash.run import session
from chatsquash.run.session import Converter
from chatsquash.stages.transcribed import PlainWay

KEY = b"a key for what is held to another"
USUAL = Options(anonymize_key=KEY)


class _Watched(PlainWay):
    """The plain way, which counts the logs that it takes."""

    taken = 0

    def session(self, *given: Any) -> Any:
        found = super().session(*given)
        _Watched.taken += 1
        return found


class _Never(PlainWay):
    """A plain way that no log goes."""

    @staticmethod
    def fits(options: Options) -> bool:
        return False


@contextmanager
def plain_way() -> Iterator[type[_Watched]]:
    """Logs are read in the plain way where they can be; gives what counts them."""
    _Watched.taken = 0
    with patch.object(session, "PlainWay", _Watched):
        yield _Watched


@contextmanager
def general_path() -> Iterator[None]:
    """All logs are read in the general way."""
    with patch.object(session, "PlainWay", _Never):
        yield


@contextmanager
def small_pieces(chunk: int, batch: int, near: int) -> Iterator[None]:
    """Files are read, and what is left of lines is parsed, so many bytes at once."""
    with (
        patch.object(lines, "CHUNK", chunk),
        patch.object(transcript, "_BATCH", batch),
        patch.object(transcript, "_NEAR", near),
    ):
        yield


class Both:
    """Converts logs one after the other by the plain way and by the general path."""

    def __init__(self, options: Options):
        with plain_way() as watched:
            self._watched, self._plain = watched, Converter(options)
        with general_path():
            self._general = Converter(options)

    def hold(self, data: bytes, path: Path) -> bool:
        """Fail where the outcomes of a log differ; gives whether the plain way took it."""
        path.write_bytes(data)
        log = Log(str(path), path.name, path.name, len(data))
        self._watched.taken = 0
        plain = _outcome(self._plain, log)
        general = _outcome(self._general, log)
        assert plain == general, _difference(plain, general)
        return self._watched.taken > 0


def _outcome(converter: Converter, log: Log) -> dict[str, str]:
    """All that became of a log, as texts: to Python, 1, 1.0 and True are the same."""
    try:
        outcome = converter.convert(log)
    except MixedSessionsError:
        return {"mixed": "sessions"}
    return {name: repr(value) for name, value in asdict(outcome).items()}


def _difference(plain: dict[str, str], general: dict[str, str]) -> str:
    """Where outcomes differ, with what stands before and behind."""
    told = []
    for name in {**plain, **general}:
        one, other = plain.get(name, ""), general.get(name, "")
        same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
        at = max(0, same - 150)
        if one != other:
            told.append(f"{name}, from {at} on: {one[at : at + 500]}\n  but in general: {other[at : at + 500]}")
    return "\n".join(told)


def options(**more: Any) -> Options:
    """The usual options but for these."""
    return replace(USUAL, **more)


OPTIONS = [
    USUAL,
    options(cleanup_goose=False),
    options(on_invalid="keep"),
    options(integrity_analysis=False),
    options(anonymize=False, anonymize_key=None),
    options(metadata=True, format="jsonl"),
    options(only_model=("gpt*",)),
    options(max_line=3000),
    options(max_messages=6),
    options(max_nesting=9),
    options(max_rejected=1),
    options(sessions_by="file"),
    options(json_tool_calls=True, reasoning="inline"),
    options(tools="used", system="drop"),
    options(tools="last", check_arguments=True),
    options(merge_consecutive=True, split_parallel=True),
    options(conversations="all", loss="weight"),
    options(restore="all"),
    options(trace_replies=True),
    options(cleanup=("claude-code",)),
]
"""What the plain way is held to the general path with; the last few need entries, which it then leaves to that."""
