"""Read the settings files of agents, which may contain anything."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import Any

_LONGEST = 4 << 20
_COMMENTS = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\Z|\\\Z))|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)')
_SECTION = re.compile(r"(\w+)\s*:\s*(?:#.*)?")
_MEMBER = re.compile(r"(\s+)(\w+)\s*:\s+([\w.-]+)\s*(?:#.*)?")
_FLOW_MEMBER = re.compile(r"(?<![\w.-])(\w{1,100}):\s+([\w.-]+)")
_OTHER = re.compile(r"[\"']?(\w+)[\"']?\s*:\s*(.*)")
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class UnreadableError(ValueError):
    """A settings file that exists but has no usable content."""

    def __init__(self, path: str, reason: str) -> None:
        """Record the path and the reason."""
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


def read_settings(path: str, *, allows_comments: bool = False) -> dict[str, Any] | None:
    """Read a JSON or YAML file with an object; return ``None`` if there is none.

    Args:
        path: the path; a name that ends with ``.yaml`` is a YAML file
        allows_comments: whether a JSON file may contain comments

    Raises:
        UnreadableError: if the file is not a regular file, is too large or is malformed
    """
    content = _read(path)
    if content is None:
        return None
    try:
        text = content.decode("utf-8-sig")
        if path.endswith((".yaml", ".yml")):
            return _sections(text)
        values = json.loads(_COMMENTS.sub(lambda match: match[1] or " ", text) if allows_comments else text)
    except (ValueError, RecursionError):
        raise UnreadableError(path, "malformed file") from None
    if not isinstance(values, dict):
        raise UnreadableError(path, "no object")
    return values


def _read(path: str) -> bytes | None:
    """Return the content of a regular file; never wait for a pipe or device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as problem:
        raise UnreadableError(path, problem.strerror or "not readable") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableError(path, "not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(_LONGEST + 1)
    except OSError as problem:
        raise UnreadableError(path, problem.strerror or "not readable") from None
    finally:
        os.close(descriptor)
    if len(content) > _LONGEST:
        raise UnreadableError(path, "larger than 4 MiB")
    return content


def _sections(text: str) -> dict[str, Any]:
    """Read the scalar members of the top-level sections of a YAML file.

    A section that is neither a block nor a flow mapping is returned as text; other content is skipped.
    """
    values: dict[str, Any] = {}
    section, indentation = dict[str, Any](), ""
    for line in text.splitlines():
        if match := _SECTION.fullmatch(line):
            section, indentation = {}, ""
            values[match[1]] = section
        elif line[:1].isspace() and line.strip():
            indentation = indentation or line[: len(line) - len(line.lstrip())]
            if (match := _MEMBER.fullmatch(line)) and match[1] == indentation:
                section[match[2]] = _scalar(match[3])
        elif match := _OTHER.match(line):
            section = {}
            values[match[1]] = _flow(match[2]) if match[2].startswith("{") else match[2]
    return values


def _flow(text: str) -> dict[str, Any]:
    return {match[1]: _scalar(match[2]) for match in _FLOW_MEMBER.finditer(text)}


def _scalar(text: str) -> bool | float | str:
    if text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text
