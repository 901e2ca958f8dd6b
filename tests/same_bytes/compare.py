"""The outcome of a case, and the comparison of two outcomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

Outcome = dict[str, bytes]
"""Exit codes, streams and files by their names; the name of a file ends in its mode."""


class Variable(NamedTuple):
    """Bytes that differ between two runs of one revision."""

    names: str
    """A pattern for the names within an outcome."""
    bytes: bytes
    """A pattern for the bytes."""
    replacement: bytes
    reason: str


VARIABLE = [
    Variable(r".*run\.json .*|.* stdout", rb'("seconds": ?)[0-9.e-]+', rb"\g<1>0", "the duration of a run"),
    Variable(r".*run\.json .*", rb'("chatsquash_version": ?)"[^"]*"', rb'\1""', "the version"),
    Variable(r".*run\.json .*", rb'("compiled": ?)[^,\n]*', rb"\1null", "whether compiled code was installed"),
    Variable(r".* stderr", rb"[0-9.,]+ s( for [0-9.,]+ \w+)( \([^)\n]*/s\))?", rb"0 s\1", "the duration and the rate in the summary"),
    Variable(r".* stderr", rb"(?m)^[0-9.]+ of [0-9.]+ [kMG]?B, .* left: .*\n", b"", "progress, which is printed every 30 s on a busy machine"),
    Variable(r".* stderr", rb"Traceback \(most recent call last\):\n(?: .*\n)+", b"Traceback\n", "paths and lines of code; the exception itself is compared"),
    Variable(r".*", rb"(?:/[\w.-]+)*/same-bytes-[a-z0-9_]{8}(?=[/\"])", b"ROOT", "the temporary folder in which a run was killed"),
    Variable(r".*/\.chatsquash/state\.json .*", rb"(\[\d+,)\d+\]", rb"\1 0]", "when a file was written"),
    Variable(r".*/\.chatsquash/state\.json .*", rb'("run\.json":\[)\d+', rb"\g<1>0", "the size depends on the digits of seconds"),
    Variable(
        r".*/\.chatsquash/state\.json .*",
        rb'("memory":)"[^"]*"',
        rb'\1""',
        "contains the names of journals and times of logs; the next run into the folder shows what it is good for",
    ),
]  # fmt: skip
UNCOMPARED = {
    r".*/\.chatsquash/lock .*": "contains the id of a process",
    r".*/\.chatsquash/journal/.*": "is named by time and process; resumed runs show what it contains",
    r".*/\.chatsquash/shards/(part|done)-.*": "is named by hashes of paths in the temporary folder; merge shows its contents",
}


def compared(outcome: Outcome) -> Outcome:
    """Drop what differs between two runs of one revision."""
    return {name: _constant(name, data) for name, data in outcome.items() if not _is_uncompared(name)}


def _constant(name: str, data: bytes) -> bytes:
    for variable in VARIABLE:
        if re.fullmatch(variable.names, name, re.DOTALL):
            data = re.sub(variable.bytes, variable.replacement, data)
    return data


def _is_uncompared(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in UNCOMPARED)


def without_root(data: bytes, root: Path) -> bytes:
    """Replace the temporary folder of the runs, whose name always has the same length."""
    return data.replace(str(root).encode(), b"ROOT")


def files(folder: Path, root: Path, is_input: Callable[[Path], bool]) -> Outcome:
    """All files and folders below a folder but for inputs."""
    outcome = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if is_input(relative):
            continue
        name = f"{relative} {path.lstat().st_mode:o}"
        if path.is_symlink():
            outcome[name] = str(path.readlink()).encode()
        else:
            outcome[name] = without_root(path.read_bytes(), root) if path.is_file() else b""
    return outcome


def differences(base: Outcome, new: Outcome) -> Iterator[str]:
    """A few lines for each name that is missing, additional or different."""
    base, new = compared(base), compared(new)
    for name in sorted(base.keys() | new.keys()):
        if name not in new:
            yield f"{name}: missing"
        elif name not in base:
            yield f"{name}: additional"
        elif base[name] != new[name]:
            yield f"{name}: {_first_difference(base[name], new[name])}"


def _first_difference(base: bytes, new: bytes) -> str:
    """The first lines that differ, from a little before the first differing byte."""
    base_lines, new_lines = base.split(b"\n"), new.split(b"\n")
    pairs = zip(base_lines, new_lines, strict=False)
    number = next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(base_lines), len(new_lines)))
    one, other = (lines[number] if number < len(lines) else None for lines in (base_lines, new_lines))
    at = next((n for n, (a, b) in enumerate(zip(one or b"", other or b"", strict=False)) if a != b), 0)
    start = max(0, at - 60)
    return f"line {number + 1}, byte {at + 1}\n      base {_part(one, start)}\n      new  {_part(other, start)}"


def _part(line: bytes | None, start: int) -> str:
    return "(no such line)" if line is None else repr(line[start : start + 160])[1:]
