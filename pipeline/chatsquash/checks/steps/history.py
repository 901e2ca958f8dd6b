"""Calls that read history which the commit of the task does not reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from chatsquash.checks.registry import View
from chatsquash.checks.steps.client_texts import is_cleared
from chatsquash.checks.steps.conversation import Step, StepCall
from chatsquash.checks.steps.shell import Command, commands, from_words
from chatsquash.core import chat
from chatsquash.core.lazy import lazy_compile

_MEMBERS = ("command", "cmd", "commands", "script", "shell_command", "bash_command", "keystrokes", "input")
"""The arguments with commands."""
_TOOL = lazy_compile(r"(?:\A|_)git_(log|show|diff|checkout|reflog)\Z")
"""Names of the tools of MCP's git server."""
_GLOBAL_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_LOGS = frozenset({"log", "shortlog", "whatchanged", "rev-list", "show", "format-patch", "grep", "diff", "show-branch"})
"""Commands that accept all branches or tags instead of a revision."""
_READERS = _LOGS | {
    *("difftool", "diff-tree", "blame", "annotate", "cat-file", "ls-tree", "checkout", "switch", "restore"),
    *("cherry-pick", "archive", "range-diff", "reset", "read-tree"),
}
"""Commands that show or copy the content of revisions."""
_SHOWING = _READERS - {"show-branch"} | {
    *("commit", "rev-parse", "merge-base", "describe", "merge", "rebase", "revert", "status", "cherry", "hash-object"),
    *("write-tree", "commit-tree", "ls-files", "bisect", "am", "pull", "init"),
}
"""Commands whose output contains commits that the current one reaches, unless it names others."""
_ALL = ("--all", "--remotes", "--branches", "--tags", "--glob", "--reflog", "--walk-reflogs", "-g")
_VALUES = frozenset(
    (
        *("--grep", "--author", "--committer", "--since", "--until", "--after", "--before", "--max-count", "--skip"),
        *("--exclude", "--output", "--orphan", "--format", "--pretty", "--date", "--max-depth", "--threads"),
    )
)
"""Long options with a value in the next argument."""
_SHORT_VALUES = {
    **dict.fromkeys(("log", "shortlog", "whatchanged", "rev-list", "show", "diff", "format-patch"), "nSGLO"),
    **dict.fromkeys(("blame", "annotate"), "LS"),
    "grep": "efABCmO",
    "checkout": "bB",
    "switch": "cC",
    "archive": "o",
    "cherry-pick": "mX",
}
"""Short options with a value in the next argument, by command."""
_HASH = lazy_compile(r"(?:(?<![0-9a-zA-Z])|(?<=\\[nt]))[0-9a-f]{7,40}(?![0-9a-zA-Z])")
"""A hash, also after a line feed or a tab in JSON."""
_REMOTE = lazy_compile(r"(?:refs/remotes/|remotes/)[\w./-]+|(?:origin|upstream)/[\w./-]*\w")
_REFLOG = lazy_compile(r"@\{(?!-)[^}]{0,100}\}")
_SUFFIX = lazy_compile(r"[~^].*\Z", 16)  # DOTALL
_PREFIX = 7
"""The number of characters by which hashes are compared."""


class _Use(NamedTuple):
    """How a git command uses history."""

    reads: bool
    """Whether it shows or copies content of revisions."""
    is_future: bool
    """Whether it names revisions that the current commit need not reach."""
    remotes: tuple[str, ...] = ()
    """Remote-tracking branches that it names."""
    hashes: tuple[str, ...] = ()
    """Hashes that it names."""
    shows: bool = False
    """Whether its output contains hashes of commits that the current one reaches."""


def reads_future(view: View, steps: list[Step]) -> Iterator[int]:
    """Yield replies with a call that reads history which the commit of the task does not reach."""
    names = _KnownNames(view)
    for step in steps:
        reads = False
        for call in (*step.calls, *_calls_in_text(step)):
            uses = [use for arguments in _git_commands(call) if (use := _use(arguments))]
            unknown = [use for use in uses if use.is_future or names.lacks(use, step.at)]
            reads = reads or any(use.reads for use in unknown)
            if uses and not unknown and any(use.shows for use in uses):
                names.add(call)
        if reads:
            yield step.at


class _KnownNames:
    """Hashes and branches that a conversation contains before a message."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._hashes: set[str] = set()
        self._mentions: dict[str, int] | None = None
        self._is_incomplete = False
        """Whether the client cleared a result that may have contained hashes."""

    def add(self, call: StepCall) -> None:
        """Add the hashes in the result of a command."""
        self._hashes.update(each[:_PREFIX] for each in _HASH.findall(call.text))
        self._is_incomplete = self._is_incomplete or not call.results or is_cleared(call.text)

    def lacks(self, use: _Use, at: int) -> bool:
        """Return whether a command names a hash or a branch that does not occur before a message."""
        for each in () if self._is_incomplete else use.hashes:
            if each[:_PREFIX] not in self._hashes and not self._is_mentioned(each[:_PREFIX], at):
                return True
        return any(not self._is_mentioned(each, at) for each in use.remotes)

    def _is_mentioned(self, name: str, at: int) -> bool:
        """Return whether a message of the user or the system before ``at`` contains a hash or a branch."""
        if self._mentions is None:
            self._mentions = {}
            for index, message in enumerate(self._view.messages):
                if message.get("role") in ("user", "system", "developer"):
                    text = chat.text(message) or ""
                    for each in _HASH.findall(text):
                        self._mentions.setdefault(each[:_PREFIX], index)
                    for each in _REMOTE.findall(text):
                        self._mentions.setdefault(each, index)
        return self._mentions.get(name, at) < at


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


def _use(arguments: list[str]) -> _Use | None:
    """Return how a git command uses history; ``None`` without a command."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in _GLOBAL_VALUES else 1
    if at >= len(arguments):
        return None
    name, rest = arguments[at], arguments[at + 1 :]
    if name == "reflog":
        return _Use(not rest or rest[0] not in ("expire", "delete", "exists", "drop"), is_future=True)
    if name == "fsck":
        return _Use(any(each in ("--lost-found", "--unreachable") for each in rest), is_future=True)
    if name not in _READERS and name not in _SHOWING:
        return None
    options, revisions = _parse(name, rest)
    is_all = name in _LOGS and any(_is_all(name, option) for option in options)
    ends = [end for revision in revisions for end in _ends(name, revision)]
    return _Use(
        name in _READERS,
        is_all or any(map(_is_reflog, ends)),
        tuple(each for end in ends if (each := _remote(end))),
        tuple(each for end in ends if (each := _hash(end))),
        name in _SHOWING,
    )


def _is_all(name: str, option: str) -> bool:
    if option == "-g" and name not in ("log", "show", "rev-list", "shortlog", "whatchanged"):
        return False
    return option.partition("=")[0] in _ALL


def _parse(name: str, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Divide arguments into options and revisions; paths after ``--`` are ignored."""
    options: list[str] = []
    revisions: list[str] = []
    is_negated = False
    at = 0
    while at < len(arguments) and arguments[at] != "--":
        word = arguments[at]
        at += 1
        if word == "--not":
            is_negated = not is_negated
        elif word in ("--source", "-s") and name == "restore":
            revisions += arguments[at : at + 1]
            at += 1
        elif word.startswith("--source=") and name == "restore":
            revisions.append(word.partition("=")[2])
        elif word.startswith("-") and word != "-":
            options.append(word)
            if word in _VALUES or (len(word) == 2 and word[1] in _SHORT_VALUES.get(name, "")):
                at += 1
        elif not is_negated and name != "restore":
            revisions.append(word)
    if name == "grep" and not {"-e", "-f"}.intersection(options):
        del revisions[:1]  # the pattern
    return options, revisions


def _ends(name: str, revision: str) -> list[str]:
    """Return the revisions of a range whose content is shown, without paths and ancestors."""
    if revision.startswith("^"):
        return []
    revision = revision.partition(":")[0] if not revision.startswith(":") else ""
    is_diff = name in ("diff", "difftool", "diff-tree", "range-diff")
    for sign, shows_first in (("...", not is_diff), ("..", is_diff)):
        if sign in revision:
            first, _, second = revision.partition(sign)
            return [_SUFFIX.sub("", end) for end in ((first, second) if shows_first else (second,)) if end]
    return [_SUFFIX.sub("", revision)] if revision else []


def _is_reflog(revision: str) -> bool:
    if revision in ("ORIG_HEAD", "FETCH_HEAD"):
        return True
    match = _REFLOG.search(revision)
    return match is not None and not revision.startswith(("stash", "refs/stash"))


def _remote(revision: str) -> str:
    match = _REMOTE.match(revision)
    return revision if match is not None and match.end() == len(revision) else ""


def _hash(revision: str) -> str:
    match = _HASH.match(revision)
    if match is None or match.end() != len(revision):
        return ""
    return revision if len(revision) == 40 or any(map(str.isdecimal, revision)) else ""
