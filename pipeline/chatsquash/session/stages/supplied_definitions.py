"""Definitions of tools and system prompts that a log lacks, from files that the user gives."""

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

LARGEST = 16 << 20
"""Bytes that such a file may have."""
_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+[ \t]*+\[\[[ \t]*+for[ \t]*+\]\]")
"""What a file of tables begins with, behind comments and blank lines."""
_LONG_KEY = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")
"""A key of more parts than any has, since the parser takes time that grows with their square."""
_MEMBERS = {"agent", "version", "tools", "system"}


class Table(Struct, frozen=True):
    """What a file has for the logs of an agent, of one version of it, or for all."""

    agent: str | None = None
    """The format of its logs."""
    version: str | None = None
    tools: list[Tool] | None = None
    system: str | None = None


SHIPPED = "agent"
"""The value of ``--tools-file`` that names the definitions in ``formats/agents/tools``."""


def shipped() -> bytes:
    """Return the definitions of open-source agents, as these send them by default: one table for each agent."""
    folder = files("chatsquash.formats.agents") / "tools"
    tables = sorted((each for each in folder.iterdir() if each.name.endswith(".toml")), key=lambda each: each.name)
    return b"\n".join(each.read_bytes() for each in tables)


def read(path: str, parse: Callable[[bytes, str], object]) -> bytes:
    """The bytes of a file that ``parse`` can read; raises ``UsageError``."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
    parse(data, path)
    return data


@lru_cache(maxsize=2)  # so that the definitions are the same objects for all sessions
def tools(data: bytes, place: str) -> tuple[Table, ...]:
    """The tables of a file of definitions that have some; ``place`` is what errors call it."""
    if tables := _having("tools", data, place):
        return tables
    try:
        value = jsonio.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        raise UsageError(f"{place}: is neither a JSON list of definitions nor tables that begin with [[for]]") from None
    return (Table(tools=_definitions(value, place)),)


@lru_cache(maxsize=2)
def system(data: bytes, place: str) -> tuple[Table, ...]:
    """The tables of a file with system prompts that have one."""
    if tables := _having("system", data, place):
        return tables
    text = _decode(data, place).removesuffix("\n").removesuffix("\r")
    if not text or text.isspace():
        raise UsageError(f"{place}: is empty; it holds the text of a system prompt, or tables that begin with [[for]]")
    return (Table(system=text),)


class Supplied(NamedTuple):
    """What the options give for logs that lack it."""

    tools: tuple[Table, ...]
    system: tuple[Table, ...]


def tables(options: Options) -> Supplied:
    """The tables of the files that options hold; raises ``UsageError``."""
    return Supplied(
        tools(options.tools_file, "tools_file") if options.tools_file is not None else (),
        system(options.system_file, "system_file") if options.system_file is not None else (),
    )


def supply(conversation: Conversation, given: Supplied) -> StageResult:
    """The conversation with definitions and a system prompt where it has none, which is reported."""
    findings = []
    if not conversation.tools and (table := _fitting(given.tools, conversation)):
        assert table.tools is not None
        conversation = replace(conversation, tools=table.tools)
        findings.append(checks.supplied_tools(len(table.tools)))
    has_system = any(message["role"] == "system" for message in conversation.messages)
    if not has_system and (table := _fitting(given.system, conversation)):
        prompt: Message = {"role": "system", "content": table.system}
        conversation = replace(conversation, messages=[prompt, *conversation.messages])
        findings.append(checks.supplied_system())
    return conversation, findings


def _fitting(tables: tuple[Table, ...], conversation: Conversation) -> Table | None:
    """The table for an agent and its version, else for the agent, else for all."""
    agent, version = conversation.source, conversation.version
    by_name = {(table.agent, table.version): table for table in tables}
    wanted = ((agent, version), (agent, None), (None, None))
    return next((by_name[key] for key in wanted if key in by_name), None)


def _decode(data: bytes, place: str) -> str:
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise UsageError(f"{place}:{line}: is no UTF-8; save it as UTF-8") from None


def _tables(data: bytes, place: str) -> list[Table]:
    """The tables of a file, each for other logs than the rest."""
    text = _decode(data, place)
    if long := _LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise UsageError(f"{place}:{line}: has a key of more than 32 parts; write tools as JSON text in '''")
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{place}: is no TOML, {error_text(problem)}") from None
    except (ValueError, RecursionError):  # a number of too many digits, or too many brackets
        raise UsageError(f"{place}: is no TOML that can be read; write tools as JSON text in '''") from None
    if beside := next((key for key in parsed if key != "for"), None):
        raise UsageError(f"{place}: {quote(beside)} stands outside of [[for]]; put it below one")
    tables = [_table(each, f"{place}: [[for]] {number}") for number, each in enumerate(parsed["for"], 1)]
    first: dict[tuple[str | None, str | None], int] = {}
    for number, table in enumerate(tables, 1):
        if (one := first.setdefault((table.agent, table.version), number)) != number:
            message = f"is for the same logs as [[for]] {one}; give each its own agent, or a version"
            raise UsageError(f"{place}: [[for]] {number} {message}")
    return tables


def _table(given: dict[str, Any], place: str) -> Table:
    for key, value in given.items():
        if key not in _MEMBERS:
            raise UsageError(f"{place} has {quote(key)}; known are agent, version, tools, system")
        if key != "tools" and (not isinstance(value, str) or not value):
            raise UsageError(
                f"{place}: {key} is {'empty' if value == '' else json_type(value)}; write a text in quotes"
            )
    agent, version = given.get("agent"), given.get("version")
    if agent is not None and agent not in (known := (*names(), *documents.names())):
        raise UsageError(f"{place}: agent {quote(agent)} is not known; {hint(agent, known)}")
    if version is not None and agent is None:
        raise UsageError(f"{place} has a version and no agent; name the agent")
    listed = _parse_definitions(given["tools"], f"{place}: tools") if "tools" in given else None
    return Table(agent, version, listed, given.get("system"))


def _parse_definitions(value: object, place: str) -> list[Tool]:
    """Definitions as JSON text, or as tables."""
    if isinstance(value, str):
        try:
            value = jsonio.loads(value)
        except (ValueError, RecursionError):
            raise UsageError(f"{place} is no JSON; write a list of definitions, as requests have them") from None
    elif not all(map(_is_json, jsonio.leaves(value))):
        raise UsageError(f"{place} has a date or a number that JSON does not have; write it as a text")
    return _definitions(value, place)


def _is_json(leaf: object) -> bool:
    return isfinite(leaf) if isinstance(leaf, float) else leaf is None or isinstance(leaf, str | int)


def _definitions(value: Json, place: str) -> list[Tool]:
    if not isinstance(value, list) or not value:
        seen = "an empty list" if value == [] else json_type(value)
        raise UsageError(f"{place} is {seen}; write a list of definitions, as requests have them")
    for number, tool in enumerate(value, 1):
        if not isinstance(tool, dict):
            raise UsageError(f"{place}: definition {number} is {json_type(tool)}; write an object")
    return list(map(flatten, value))


def _having(member: str, data: bytes, place: str) -> tuple[Table, ...]:
    """The tables of a file that have a member; none of a file that is no file of tables."""
    if len(data) > LARGEST:
        raise UsageError(f"{place}: is larger than {LARGEST >> 20} MiB; leave in it only what logs lack")
    if not _HEAD.match(data):
        return ()
    tables = tuple(table for table in _tables(data, place) if getattr(table, member) is not None)
    if not tables:
        raise UsageError(f"{place}: no [[for]] has {member}; add it, or leave the option out")
    return tables


def as_toml(agent: str | None, definitions: list[Tool], prompt: str | None) -> str:
    """A table as text, which holds no character that does not print but line feeds and tabs.

    Without an agent, a comment says where to name it.  Raises ``ValueError`` for a prompt with half of a UTF-16 pair.
    """
    lines = ["[[for]]", f'agent = "{agent}"' if agent else '# agent = "claude_code"  # for its logs only']
    if definitions:
        # In a TOML text that escapes nothing, one of three apostrophes is escaped by JSON itself.
        spelled = printable_json(definitions, indent=True).decode().replace("'''", "''\\u0027")
        lines.append(f"tools = '''\n{spelled}\n'''")
    if prompt is not None:
        lines.append(f'system = """\n{_basic(prompt)}"""')
    return "\n".join(lines)


def _basic(text: str) -> str:
    """What stands between the quotes of a TOML text on several lines."""
    text.encode()  # TOML has no half of a UTF-16 pair
    spelled = text.replace("\\", "\\\\").replace('"""', '""\\"')
    if spelled.isprintable():
        return spelled
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\U{ord(char):08x}" for char in spelled)
