"""Calls that read history which the commit of the task does not reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.checks.registry import View
from chatsquash.checks.steps.conversation import Step, StepCall
from chatsquash.checks.steps.git import HASH, PREFIX, REMOTE, GitUse, git_use
from chatsquash.checks.steps.shell import Command, commands, from_words
from chatsquash.core import chat
from chatsquash.core.lazy import lazy_compile

_MEMBERS = ("command", "cmd", "commands", "script", "shell_command", "bash_command", "keystrokes", "input")
"""The arguments with commands."""
_TOOL = lazy_compile(r"(?:\A|_)git_(log|show|diff|checkout|reflog)\Z")
"""Names of the tools of MCP's git server."""


def reads_future(view: View, steps: list[Step]) -> Iterator[int]:
    """Yield replies with a call that reads history which the commit of the task does not reach."""
    known = _Known(view)
    for step in steps:
        reads = False
        for call in (*step.calls, *_calls_in_text(step)):
            uses = [use for arguments in _git_commands(call) if (use := git_use(arguments))]
            unknown = [use for use in uses if use.is_future or known.lacks(use, step.at)]
            reads = reads or any(use.reads for use in unknown)
            if uses and not unknown and any(use.shows for use in uses):
                known.add(call.text)
        if reads:
            yield step.at


class _Known:
    """Hashes and branches that a conversation contains before a message."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._shown: set[str] = set()
        self._named: dict[str, int] | None = None

    def add(self, output: str) -> None:
        """Add the hashes in the output of a command."""
        self._shown.update(each[:PREFIX] for each in HASH.findall(output))

    def lacks(self, use: GitUse, at: int) -> bool:
        """Return whether a command names a hash or a branch that does not occur before a message."""
        for each in use.hashes:
            if each[:PREFIX] not in self._shown and not self._is_named(each[:PREFIX], at):
                return True
        return any(not self._is_named(each, at) for each in use.remotes)

    def _is_named(self, name: str, at: int) -> bool:
        """Return whether a message of the user or the system before ``at`` contains a hash or a branch."""
        if self._named is None:
            self._named = {}
            for index, message in enumerate(self._view.messages):
                if message.get("role") in ("user", "system", "developer"):
                    text = chat.text(message) or ""
                    for each in HASH.findall(text):
                        self._named.setdefault(each[:PREFIX], index)
                    for each in REMOTE.findall(text):
                        self._named.setdefault(each, index)
        return self._named.get(name, at) < at


def _git_commands(call: StepCall) -> Iterator[list[str]]:
    """Yield the arguments of each git command that a call runs."""
    for command in _commands(call):
        if command.words[:1] == ["git"]:
            yield command.words[1:]
    if match := _TOOL.search(call.name):
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        values = (arguments.get(name) for name in ("revision", "target", "branch_name", "ref"))
        yield [match[1], *(value for value in values if isinstance(value, str))]


def _commands(call: StepCall) -> Iterator[Command]:
    arguments = call.arguments
    if isinstance(arguments, str):
        arguments = {"input": arguments}
    if not isinstance(arguments, dict):
        return
    for name in _MEMBERS:
        value = arguments.get(name)
        extra = arguments.get("args")
        if name == "command" and isinstance(value, str) and isinstance(extra, list):
            value = [value, *extra]
        if isinstance(value, str):
            if "git" in value:
                yield from commands(value)
        elif isinstance(value, list):
            yield from _of_list(name, value)


def _of_list(name: str, items: list[Any]) -> Iterator[Command]:
    """Yield the commands in a list: a command with its arguments, or one command in each item."""
    words = [item for item in items if isinstance(item, str)]
    if not any("git" in word for word in words) and not any(isinstance(item, dict) for item in items):
        return
    if name == "command":
        yield from from_words(words)
        return
    nested = [item.get(key) for item in items if isinstance(item, dict) for key in ("command", "cmd", "keystrokes")]
    for text in (*words, *nested):
        if isinstance(text, str) and "git" in text:
            yield from commands(text)


def _calls_in_text(step: Step) -> Iterator[StepCall]:
    """Yield the commands in code blocks that an agent without tools ran, because an observation follows."""
    if step.calls or "```" not in step.text or "git" not in step.text or not step.following:
        return
    answer = chat.text(step.following[0]) or ""
    if not answer.lstrip().lower().startswith(("<returncode>", "observation:", "<output>", "execution result")):
        return
    blocks = step.text.split("```")[1::2]
    for block in blocks:
        language, _, body = block.partition("\n")
        if language.strip().lower().endswith(("bash", "sh", "bash_command", "shell")):
            yield StepCall("", {"command": body}, b"", "ok", (step.following[0],))
