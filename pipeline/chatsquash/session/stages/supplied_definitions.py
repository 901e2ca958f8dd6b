"""Add missing tool definitions and system prompts from files that the user supplies."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from math import isfinite
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.checks import definitions as checks
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Conversation, Json, Message, StageResult, Tool
from chatsquash.core.options import Options
from chatsquash.core.text import error_text, hint, json_type, printable_json, quote
from chatsquash.formats import documents, names
from chatsquash.session.select import flatten

MAX_SIZE = 16 << 20
"""The maximum size of such a file in bytes."""
_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+[ \t]*+\[\[[ \t]*+for[ \t]*+\]\]")
"""The beginning of a file of ``[[for]]`` tables, after comments and blank lines."""
_LONG_KEY = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")
"""A dotted key with more than 32 parts. No real file has one, and the TOML parser takes quadratic time for it."""
_MEMBERS = {"agent", "version", "tools", "system"}


class Table(Struct, frozen=True):
    """Definitions or a system prompt for the logs of an agent, for one version of it, or for all logs."""

    agent: str | None = None
    """The format of the agent's logs."""
    version: str | None = None
    tools: list[Tool] | None = None
    system: str | None = None


SHIPPED = "agent"
"""The value of ``--tools-file`` that selects the definitions in ``formats/agents/tools``."""


def shipped() -> bytes:
    """Return the default tool definitions of open-source agents, one table per agent."""
    folder = files("chatsquash.formats.agents") / "tools"
    tables = sorted((each for each in folder.iterdir() if each.name.endswith(".toml")), key=lambda each: each.name)
    return b"\n".join(each.read_bytes() for each in tables)


def read(path: str, parse: Callable[[bytes, str], object]) -> bytes:
    """Return the bytes of a file after parsing them for validation.

    Raises:
        UsageError: The file cannot be read or parsed.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_SIZE + 1)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
    parse(data, path)
    return data


@lru_cache(maxsize=2)  # cached so that all sessions share the same objects
def tools(data: bytes, place: str) -> tuple[Table, ...]:
    """Parse a file of tool definitions: ``[[for]]`` tables with ``tools``, or a JSON list.

    Args:
        data: The content of the file.
        place: The name of the file in errors.
    """
    if tables := _tables_with("tools", data, place):
        return tables
    try:
        value = jsonio.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        raise UsageError(f"{place}: neither a JSON list of definitions nor tables that begin with [[for]]") from None
    return (Table(tools=_definitions(value, place)),)


@lru_cache(maxsize=2)
def system(data: bytes, place: str) -> tuple[Table, ...]:
    """Parse a file of system prompts: ``[[for]]`` tables with ``system``, or a single prompt."""
    if tables := _tables_with("system", data, place):
        return tables
    text = _decode(data, place).removesuffix("\n").removesuffix("\r")
    if not text or text.isspace():
        raise UsageError(f"{place}: file is empty; write a system prompt, or tables that begin with [[for]]")
    return (Table(system=text),)


class Supplied(NamedTuple):
    """The tables that the options supply for incomplete logs."""

    tools: tuple[Table, ...]
    system: tuple[Table, ...]


def tables(options: Options) -> Supplied:
    """Return the tables of the files in the options; raise ``UsageError`` if a file is malformed."""
    return Supplied(
        tools(options.tools_file, "tools_file") if options.tools_file is not None else (),
        system(options.system_file, "system_file") if options.system_file is not None else (),
    )


def supply(conversation: Conversation, supplied: Supplied) -> StageResult:
    """Add missing tool definitions and a missing system prompt to a conversation; report both."""
    findings = []
    if not conversation.tools and (table := _find_table(supplied.tools, conversation)):
        assert table.tools is not None
        conversation = replace(conversation, tools=table.tools)
        findings.append(checks.supplied_tools(len(table.tools)))
    has_system = any(message["role"] == "system" for message in conversation.messages)
    if not has_system and (table := _find_table(supplied.system, conversation)):
        prompt: Message = {"role": "system", "content": table.system}
        conversation = replace(conversation, messages=[prompt, *conversation.messages])
        findings.append(checks.supplied_system())
    return conversation, findings


def _find_table(tables: tuple[Table, ...], conversation: Conversation) -> Table | None:
    """Return the most specific table: for the agent and its version, for the agent, or for all logs."""
    agent, version = conversation.source, conversation.version
    by_name = {(table.agent, table.version): table for table in tables}
    keys = ((agent, version), (agent, None), (None, None))
    return next((by_name[key] for key in keys if key in by_name), None)


def _decode(data: bytes, place: str) -> str:
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise UsageError(f"{place}:{line}: not valid UTF-8; save it as UTF-8") from None


def _tables(data: bytes, place: str) -> list[Table]:
    """Parse ``[[for]]`` tables; no two may be for the same logs."""
    text = _decode(data, place)
    if long := _LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise UsageError(f"{place}:{line}: a key has more than 32 parts; write tools as JSON text in '''")
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{place}: not valid TOML ({error_text(problem)})") from None
    except (ValueError, RecursionError):  # a number with too many digits, or too many brackets
        raise UsageError(f"{place}: cannot be parsed as TOML; write tools as JSON text in '''") from None
    if extra := next((key for key in parsed if key != "for"), None):
        raise UsageError(f"{place}: {quote(extra)} is outside [[for]]; move it below one")
    tables = [_table(each, f"{place}: [[for]] {number}") for number, each in enumerate(parsed["for"], 1)]
    first: dict[tuple[str | None, str | None], int] = {}
    for number, table in enumerate(tables, 1):
        if (earlier := first.setdefault((table.agent, table.version), number)) != number:
            message = f"is for the same logs as [[for]] {earlier}; give each a different agent or version"
            raise UsageError(f"{place}: [[for]] {number} {message}")
    return tables


def _table(members: dict[str, Any], place: str) -> Table:
    for key, value in members.items():
        if key not in _MEMBERS:
            raise UsageError(f"{place}: unknown key {quote(key)}; use agent, version, tools or system")
        if key != "tools" and (not isinstance(value, str) or not value):
            raise UsageError(
                f"{place}: {key} is {'empty' if value == '' else json_type(value)}; write a string in quotes"
            )
    agent, version = members.get("agent"), members.get("version")
    if agent is not None and agent not in (known := (*names(), *documents.names())):
        raise UsageError(f"{place}: unknown agent {quote(agent)}; {hint(agent, known)}")
    if version is not None and agent is None:
        raise UsageError(f"{place} has a version but no agent; add the agent")
    definitions = _parse_definitions(members["tools"], f"{place}: tools") if "tools" in members else None
    return Table(agent, version, definitions, members.get("system"))


def _parse_definitions(value: object, place: str) -> list[Tool]:
    """Parse definitions that are written as JSON text or as TOML tables."""
    if isinstance(value, str):
        try:
            value = jsonio.loads(value)
        except (ValueError, RecursionError):
            raise UsageError(f"{place} is not valid JSON; write a list of definitions as in a request") from None
    elif not all(map(_is_json, jsonio.leaves(value))):
        raise UsageError(f"{place} has a date or a number that JSON does not support; write it as a string")
    return _definitions(value, place)


def _is_json(leaf: object) -> bool:
    return isfinite(leaf) if isinstance(leaf, float) else leaf is None or isinstance(leaf, str | int)


def _definitions(value: Json, place: str) -> list[Tool]:
    if not isinstance(value, list) or not value:
        actual = "an empty list" if value == [] else json_type(value)
        raise UsageError(f"{place} is {actual}; write a list of definitions as in a request")
    for number, tool in enumerate(value, 1):
        if not isinstance(tool, dict):
            raise UsageError(f"{place}: definition {number} is {json_type(tool)}; write an object")
    return list(map(flatten, value))


def _tables_with(member: str, data: bytes, place: str) -> tuple[Table, ...]:
    """Return the tables of a file that have a field, or an empty tuple if the file does not contain tables."""
    if len(data) > MAX_SIZE:
        raise UsageError(f"{place}: file is larger than {MAX_SIZE >> 20} MiB; keep only definitions missing from logs")
    if not _HEAD.match(data):
        return ()
    tables = tuple(table for table in _tables(data, place) if getattr(table, member) is not None)
    if not tables:
        raise UsageError(f"{place}: no [[for]] has {member}; add it, or omit the option")
    return tables


def as_toml(agent: str | None, definitions: list[Tool], prompt: str | None) -> str:
    """Return a table as TOML; the only unprintable characters in it are line feeds and tabs.

    Without an agent, a comment shows where to add it.


    Raises:
        ValueError: The prompt contains a lone surrogate.
    """
    lines = ["[[for]]", f'agent = "{agent}"' if agent else '# agent = "claude_code"  # for its logs only']
    if definitions:
        # A TOML literal string cannot contain three apostrophes; in JSON one of them can be escaped.
        spelled = printable_json(definitions, indent=True).decode().replace("'''", "''\\u0027")
        lines.append(f"tools = '''\n{spelled}\n'''")
    if prompt is not None:
        lines.append(f'system = """\n{_escape(prompt)}"""')
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Escape a string for a multi-line basic string in TOML."""
    text.encode()  # raises ValueError, because TOML cannot represent a lone surrogate
    spelled = text.replace("\\", "\\\\").replace('"""', '""\\"')
    if spelled.isprintable():
        return spelled
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\U{ord(char):08x}" for char in spelled)
