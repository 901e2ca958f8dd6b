"""What the plain way gives, and what the general path gives of the same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec.structs import asdict

from chatsquash import compiled
from chatsquash.entries import cuts, lines, transcript
from chatsquash.entries.sessions import MixedSessionsError
from chatsquash.log import Log
from chatsquash.options import Options
from chatsquash.run import usual
from chatsquash.run.convert import convert
from chatsquash.run.session import Converter
from chatsquash.stages.transcribed import PlainWay
from tests.conftest import tree

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


class _Compiled(usual.CompiledWay):
    """What is compiled, which counts the logs that it takes."""

    taken = 0

    def outcome(self, *given: Any) -> Any:
        found = super().outcome(*given)
        _Compiled.taken += found is not None
        return found


@contextmanager
def compiled_way() -> Iterator[type[_Compiled]]:
    """Logs are read by what is compiled where they can be; gives what counts them."""
    _Compiled.taken = 0
    with patch.object(usual, "CompiledWay", _Compiled):
        yield _Compiled


@contextmanager
def plain_way() -> Iterator[type[_Watched]]:
    """Logs are read in the plain way, in Python, where they can be; gives what counts them."""
    _Watched.taken = 0
    with patch("chatsquash.run.plain.PlainWay", _Watched), patch.object(compiled, "module", lambda: None):
        yield _Watched


@contextmanager
def general_path() -> Iterator[None]:
    """All logs are read in the general way."""
    with patch("chatsquash.run.plain.PlainWay", _Never):
        yield


@contextmanager
def small_pieces(chunk: int, batch: int, near: int) -> Iterator[None]:
    """Files are read, and what is left of lines is parsed, so many bytes at once."""
    with (
        patch.object(lines, "CHUNK", chunk),
        patch.object(transcript, "_BATCH", batch),
        patch.object(cuts, "_NEAR", near),
    ):
        yield


class Ways:
    """Converts logs one after the other by the plain way, by what is compiled of it, and by the general path."""

    def __init__(self, options: Options):
        with plain_way() as watched:
            self._watched, self._plain = watched, Converter(options)
        with general_path():
            self._general = Converter(options)
        with compiled_way() as self._fast:
            self._compiled = Converter(options) if compiled.module() else None
        self._refused = 0
        self.taken = 0
        """How many logs what is compiled took."""

    def hold(self, data: bytes, path: Path, *, always: bool = False) -> bool:
        """Fail where the outcomes of a log differ; gives whether the plain way took it.

        Of those that it did not take, which the general path read, one in four is held to that, unless ``always``.
        """
        path.unlink(missing_ok=True)  # to cut a file and write it anew makes some file systems wait for the disk
        path.write_bytes(data)
        log = Log(str(path), path.name, path.name, len(data))
        self._watched.taken = 0
        plain = _outcome(self._plain, log)
        is_taken = self._watched.taken > 0
        if self._compiled:
            self._fast.taken = 0
            found = _outcome(self._compiled, log)
            assert found == plain, _difference(found, plain)
            self.taken += self._fast.taken
        self._refused += not is_taken
        if always or is_taken or self._refused % 4 == 1:
            general = _outcome(self._general, log)
            assert plain == general, _difference(plain, general)
        return is_taken


def both_folders(data: list[bytes], options: Options, here: Path) -> tuple[dict[str, bytes | None], int]:
    """Fail where the outputs of a folder of logs differ; gives its files, and how many logs the plain way took."""
    for number, each in enumerate(data):
        path = here / "logs" / f"2026-01-{13 + number % 3}" / f"s{number:03}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(each)
    with plain_way() as watched:
        plain = _converted(here, "plain", options)
    taken = watched.taken
    assert _converted(here, "compiled", options) == plain
    with general_path():
        general = _converted(here, "general", options)
    assert plain.keys() == general.keys()
    for name, file in plain.items():
        assert file == general[name], name
    return plain, taken


def _converted(here: Path, out: str, options: Options) -> dict[str, bytes | None]:
    convert(here / "logs", here / out, options)
    files = tree(here / out)
    run = json.loads(files["run.json"] or b"")
    del run["seconds"], run["compiled"]
    return {**files, "run.json": json.dumps(run).encode()}


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


TAKING = [
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
    options(merge_consecutive=True, split_parallel=True),
    options(keep_rejected=True, flag_phrase=("no such file",)),
    options(preset="hf", media="drop", unpaired="close"),
]
"""What the plain way is held to the general path with."""
REFUSING = [
    options(check_arguments=True),
    options(conversations="all", loss="weight"),
    options(restore="all"),
    options(trace_replies=True),
    options(cleanup=("claude-code",)),
    options(from_format="openai_chat"),
]
"""Options that need an entry for each line, which the general path reads."""
