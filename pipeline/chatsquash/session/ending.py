"""How a conversation ended, as far as its log tells: what a filter or a reward model asks first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from chatsquash.checks.exchanges import exchanges
from chatsquash.checks.registry import View
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Origin, Response
from chatsquash.core.outcome import Ending, LastUser
from chatsquash.core.text import printable

_COMMAND = ("command", "cmd", "commands", "script", "code", "input", "CommandLine")
"""The members of arguments that hold a command."""
_CODES = ("exit_code", "exitCode", "exitcode", "returncode", "return_code", "returnCode", "exit_status")
"""The members of a result that hold an exit code."""
_ALWAYS = frozenset([
    "pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "ava", "karma", "rspec", "phpunit", "ctest", "make",
    "gmake", "ninja", "tsc", "msbuild", "xcodebuild", "nosetests", "behave", "nextest", "webpack", "pre-commit",
])  # fmt: skip
"""Programs that run tests or a build, whatever is asked of them."""
_VERBS = frozenset([
    "test", "tests", "build", "check", "verify", "package", "compile", "assemble", "nextest", "vet", "clippy",
    "install", "ci",
])  # fmt: skip
_WITH_VERB = frozenset([
    "cargo", "go", "npm", "pnpm", "yarn", "bun", "deno", "dotnet", "swift", "mix", "sbt", "gradle", "gradlew", "mvn",
    "mvnw", "bazel", "bazelisk", "meson", "cmake", "zig", "rake", "lein", "stack", "cabal", "playwright", "cypress",
    "just", "task", "dune", "rebar3", "composer", "flutter", "dart", "hatch", "turbo", "nx",
])  # fmt: skip
"""Programs that do so where they are told to."""
_NO_BUILD = frozenset(["npm", "pnpm", "yarn", "bun", "composer", "cargo", "go", "deno", "dart", "flutter"])
"""Those of which ``install`` and ``ci`` fetch packages."""
_RUNNERS = frozenset([
    "sudo", "time", "nice", "env", "npx", "bunx", "xvfb-run", "exec", "command", "nohup", "uv", "poetry", "pipenv",
    "hatch", "rye", "bundle", "coverage", "pnpx",
])  # fmt: skip
"""Programs that run another one, which stands behind them."""
_BETWEEN = frozenset(["run", "exec", "-m", "x", "python", "python3"])
"""Words that stand between a runner, or Python, and what it runs."""
_NO_RUN = frozenset(["--version", "--help", "--collect-only", "--dry-run"])
"""Options with which they run nothing."""
_QUOTED = re.compile(r"""'([^']*)(?:'|\Z)|"((?:[^"\\]|\\.)*+)(?:"|\\?\Z)|(?<!\S)\#[^\n]*|\\\n""", re.DOTALL)
"""What a shell does not divide: quoted texts, comments, and lines that go on."""
_HERE = re.compile(r"(?<!<)<<-?[ ]{0,8}+(['\"]?)(\w{1,64}+)\1")
"""What begins a text that stands in the command itself, for a program to read: its last line says just this word."""
_PLAIN = re.compile(r"[\w./:=@-]*\Z")
_SIGN_AT_END = re.compile(r"(&&|\|\||\|&?)\s*\n")
_SIGNS = re.compile(r"(&&|\|\||\|&?|(?<![<>&])&(?![>&\d])|[;\n()])")
_NAMED = tuple(f'"{name}"' for name in _COMMAND)
"""These as they stand in arguments, and nowhere in the texts that these hold."""
_WORDS = 16
"""Words of a command that are looked at."""
_EXIT = re.compile(
    r"""^\W{0,4}
    (?:(?:the|command|process|program|execution|was|successful|completed|finished|failed|with)[ .]{1,2}){0,6}+
    (?:exit[ _]?(?:code|status)|exited[ ]with(?:[ ](?:code|status))?|return[ _]?code)\b[^\w-]{0,4}(-?\d{1,10})\b""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""A line in which an agent's program says how the program that it ran ended."""
_CLAUDE_CODE = re.compile(r"You are Claude Code|x-anthropic-billing-header: cc_version")
"""What the system prompt of Claude Code begins with."""
_NO_RESULT = re.compile(
    r"^(?:<error>)?Command (?:[^\n]{0,80}\bbackground(?:ed)?\b|timed out after|was aborted before completion)"
    r"|^\[(?:Old tool result content cleared|Request interrupted by user)",
    re.MULTILINE,
)
"""What Claude Code writes of a command that still runs or did not finish, also after its output, or was long ago."""
_LEAST, _MOST = -(1 << 31), 1 << 32
"""Between these are the exit codes of all systems; a log may name any number."""
_SHOWN = 400
"""Characters at each end of a result in which it says so."""


def last_exit(view: View, source: str | None = None) -> tuple[int | None, str | None]:
    """The exit code, and the message that says it; ``None`` where there is no such command, or none is told.

    ``source`` is the format of the log: Claude Code names no code of a command that succeeded.
    """
    for call, results in _calls(view):
        if evidence := runs_tests(_command(call["arguments"])):
            for at, content in results if evidence != "nothing" else ():
                code, where = exit_code(content), "in the result"
                if code is None and call.get("name") == "Bash" and _is_success(view, source, at):
                    code, where = 0, "since there is no error in the result"
                if code is not None and (evidence == "code" or code == 0):
                    return code, f"message {at}, {code} {where} of a command that runs tests or a build"
            return None, None
    return None, None


def _is_success(view: View, source: str | None, at: int) -> bool:
    """Whether a result of Claude Code's Bash is that of a command that ended without an error."""
    message = view.messages[at]
    text = chat.text(message) or ""
    is_unfinished = _NO_RESULT.search(text) is not None
    return _is_claude_code(view, source) and not chat.is_marked_failed(message) and not is_unfinished


def _is_claude_code(view: View, source: str | None) -> bool:
    """Whether a conversation is of Claude Code: of its own file, or in requests that its system prompt begins."""
    if source != "anthropic":
        return source == "claude_code"
    first = view.messages[0]
    return first["role"] == "system" and _CLAUDE_CODE.search((chat.text(first) or "")[:_LOOKED_AT]) is not None


def _calls(view: View) -> Iterator[tuple[dict[str, Any], list[tuple[int, Json]]]]:
    """The name and the arguments of each call, the last one first, and its results with the places of these."""
    columns = view.columns
    if columns.calls is not None and columns.matched:
        count = len(columns.results)
        answered = list(zip(columns.results, columns.given, strict=True))
        for at in reversed(range(len(columns.calls.given))):
            yield columns.calls.given[at]["function"], [answered[at]] if at < count else []
        return
    for call in reversed(view.once(exchanges).calls):
        function = call.given.get("function")
        if isinstance(function, dict) and isinstance(function.get("arguments"), str):
            yield function, [(each.at, view.messages[each.at].get("content")) for each in call.results]


def _command(arguments: str) -> str:
    """The command that arguments hold; empty for none."""
    if arguments[:1] == "{" and not any(map(arguments.__contains__, _NAMED)):
        return ""
    try:
        members = jsonio.loads(arguments)
    except (ValueError, RecursionError):
        return arguments  # those of a tool that takes a text
    if isinstance(members, str):
        return members
    command: Any = (
        next((members[name] for name in _COMMAND if members.get(name)), "") if isinstance(members, dict) else ""
    )
    if isinstance(command, list):
        words = [each for each in command if isinstance(each, str)]
        return words[-1] if len(words) == 3 and words[1] in ("-c", "-lc", "-ic") else " ".join(words)
    return command if isinstance(command, str) else ""


def runs_tests(command: str) -> Literal["code", "success", "nothing"] | None:
    """Whether a shell's command runs tests or a build, as its words tell, and what its exit code says of the last ones.

    ``code``: it is theirs.  ``success``: they went well if it is 0, and else another program may have failed.
    ``nothing``: it is that of another program, as of ``pytest | tail``.
    """
    parts = _SIGNS.split(_SIGN_AT_END.sub(r"\1", _QUOTED.sub(_unquoted, _without_texts(command))))
    met = [at for at in range(0, len(parts), 2) if _is_one(parts[at].split(None, _WORDS)[:_WORDS])]
    if not met:
        return None
    behind = parts[met[-1] + 1 :]
    while len(behind) > 1 and not behind[-1].strip() and behind[-2] != "&":
        del behind[-2:]
    if met[-1] and parts[met[-1] - 1] == "||":
        return "nothing"
    harmless = {"&&", "(", ")", *(("|", "|&") if "pipefail" in command else ())}
    meaning: Literal["code", "success"] = "success" if behind else "code"
    return meaning if harmless.issuperset(behind[::2]) else "nothing"


def _unquoted(match: re.Match[str]) -> str:
    """A word in place of a quoted text, which is itself where a shell would not divide it."""
    text = match[1] if match[1] is not None else match[2]
    return " " if text is None else text if _PLAIN.match(text) else "_"


def _is_one(words: list[str]) -> bool:
    """Whether the words of one command are such a program, behind others that run it."""
    at, met = 0, False
    if not _NO_RUN.isdisjoint(words):
        return False
    while at < len(words):
        name = words[at].rpartition("/")[2].removesuffix(".sh").removesuffix(".exe")
        is_between = name in _BETWEEN or name.startswith(("-", "python")) or name.isdigit()
        if name in _ALWAYS or (met and name == "unittest"):
            return True
        if name in _WITH_VERB and (name not in _RUNNERS or words[at + 1 : at + 2] != ["run"]):
            return _has_verb(name, words[at + 1 :])
        if not ("=" in name or name in _RUNNERS or name == "timeout" or is_between):
            return False
        met = met or name == "-m"
        at += 1
    return False


def _has_verb(name: str, words: list[str]) -> bool:
    verbs = {part for word in words if not word.startswith("-") for part in word.replace(":", " ").split()}
    verbs |= {"build"} if "--build" in words else set()
    return bool((_VERBS - {"install", "ci"} if name in _NO_BUILD else _VERBS) & verbs)


def _without_texts(command: str) -> str:
    """A command without the texts that stand in it for programs to read."""
    if "<<" not in command:
        return command
    kept: list[str] = []
    lines = iter(command.split("\n"))
    for line in lines:
        kept.append(_HERE.sub("", line))
        for here in _HERE.finditer(line):
            next((each for each in lines if each.strip(" \t") == here[2]), None)
    return "\n".join(kept)


def exit_code(content: Json) -> int | None:
    """The exit code that a result names: in a member of its JSON, or in a line at one of its ends."""
    text = chat.text({"role": "tool", "content": content}) or ""
    if text[:1] == "{" and (member := _member(text)) is not None:
        return member
    for part in (text[-_SHOWN:], text[:_SHOWN]):
        if match := _EXIT.search(part):
            return _code(int(match[1]))
    return None


def _member(text: str) -> int | None:
    try:
        value = jsonio.loads(text)
    except (ValueError, RecursionError):
        return None
    holders = [value, *(each for each in value.values() if isinstance(each, dict))]
    codes = (holder[name] for holder in holders for name in _CODES if name in holder)
    return next((code for code in map(_code, codes) if code is not None), None)


def _code(value: Json) -> int | None:
    return value if type(value) is int and _LEAST <= value < _MOST else None


COMPLAINTS = (
    "does not work", "doesn't work", "not working", "didn't work", "did not work", "still fails", "still failing",
    "still broken", "still wrong", "still not", "still doesn't", "still the same", "same error", "another error",
    "is wrong", "that's wrong", "wrong again", "is broken", "it fails", "it failed", "it crashes", "it crashed",
    "you broke", "you deleted", "you removed", "you forgot", "you missed", "you ignored", "you didn't", "you did not",
    "why did you", "not what i", "makes no sense", "this is bad", "useless", "terrible",
)  # fmt: skip
CORRECTIONS = (
    "no", "nope", "actually", "instead", "i meant", "i mean", "i said", "rather", "revert", "undo", "don't", "do not",
    "stop", "wait", "should not", "shouldn't", "should be", "should have", "not like that", "the other way",
)  # fmt: skip
THANKS = (
    "thanks", "thank you", "thx", "cheers", "perfect", "great", "awesome", "excellent", "nice", "well done",
    "good job", "looks good", "lgtm", "it works", "works now", "works great", "love it", "amazing",
)  # fmt: skip
_ABROAD = frozenset(["no", "nope", "stop", "perfect", "nice", "great", "terrible", "cheers", "rather"])
"""Those that people who write in other languages begin with, too."""
_COMMON = [
    "again", "and", "are you", "but", "can you", "does", "doesn't", "don't", "from", "have to", "how", "i'm", "instead",
    "is it", "is not", "isn't", "it", "it's", "its", "make", "my", "not", "now", "of", "one", "please", "should",
    "still", "that", "the", "then", "there", "they", "this", "to the", "we", "what", "when", "which", "why", "with",
    "work", "would", "you", "your",
]  # fmt: skip
"""Words that few texts in other languages have."""


def _any_of(phrases: tuple[str, ...] | list[str], begin: str = r"\b") -> re.Pattern[str]:
    longest_first = sorted(phrases, key=len, reverse=True)
    return re.compile(rf"{begin}(?:{'|'.join(map(re.escape, longest_first))})\b")


_COMPLAINT, _ENGLISH = _any_of(COMPLAINTS), _any_of(_COMMON)
_CORRECTION = _any_of(CORRECTIONS, r"(?:\A|[.!?\n]\s{0,2}|,\s|\bbut\s)")
_THANK = _any_of(THANKS, r"(?:\A|[.!?\n,]\s{0,2}|\b(?:ok|okay|yes|so|now|very|many)\s)")
_RULES: tuple[tuple[LastUser, re.Pattern[str]], ...] = (
    ("complaint", _COMPLAINT), ("correction", _CORRECTION), ("thanks", _THANK),
)  # fmt: skip
_LOOKED_AT = 600
"""Characters of a message that are looked at: what is said of the work stands before what is pasted."""
_TAGGED = re.compile(r"\s*+<([a-z][\w-]{0,40})>")


def last_word(view: View) -> tuple[LastUser, str | None]:
    """What the last message of a user behind a reply says, and which message that is."""
    roles = view.columns.roles
    first = next((at for at, role in enumerate(roles) if role == "assistant"), len(roles))
    for at in range(len(roles) - 1, first, -1):
        if roles[at] != "user":
            continue
        text = _said(chat.text(view.messages[at]) or "")
        if text:
            kind, phrase = judge_text(text)
            return kind, f"message {at}" + (f", {phrase!r}" if phrase else "")
    return "none", None


def _said(text: str) -> str:
    """The beginning of what a person said: without blocks in tags, which clients add."""
    at = 0
    while tag := _TAGGED.match(text, at):
        closing = f"</{tag[1]}>"
        at = text.find(closing, tag.end())
        if at < 0:
            return ""
        at += len(closing)
    return text[at:].lstrip()[:_LOOKED_AT]


def judge_text(text: str) -> tuple[LastUser, str]:
    """What a message says of what came before it, and the words that tell; *unknown* where it is not English."""
    plain = text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    letters = [char for char in plain if char.isalpha()]
    is_english = bool(_ENGLISH.search(plain)) and sum(map(str.isascii, letters)) >= 0.9 * len(letters)
    for kind, pattern in _RULES:
        for match in pattern.finditer(plain):
            words = match[0].strip(" .,!?\n")
            if is_english or words.split()[-1] not in _ABROAD or words == plain.strip(" .,!?\n"):
                return kind, words
    return ("none" if is_english else "unknown"), ""


_LISTED = 20
"""Messages that evidence lists."""
_LONGEST = 64
"""Characters of a reason that are kept, which may be any text."""


def ending(view: View, reply: Response, origin: Origin | None = None, source: str | None = None) -> Ending:
    """How a conversation ended: ``view`` is of its messages as they were logged, ``reply`` its last one.

    ``source`` is the format of the log.
    """
    finish, evidence, truncated, why = _finish_reason(reply)
    reward, rewarded = (origin.reward, origin.reward_evidence) if origin else (None, None)
    exits, said, failed = last_exit(view, source), last_word(view), failed_results(view)
    return Ending(*exits, reward, rewarded, finish, evidence, truncated, why, *failed, *said)


def failed_results(view: View) -> tuple[int, str | None]:
    """How many tool results the log marks as errors, and which messages the first ones are."""
    failed = [at for at, each in enumerate(view.messages) if each["role"] == "tool" and chat.is_marked_failed(each)]
    if not failed:
        return 0, None
    more = f" and {len(failed) - _LISTED} more" if len(failed) > _LISTED else ""
    return len(failed), f"message{'s' * (len(failed) > 1)} {', '.join(map(str, failed[:_LISTED]))}{more}"


def _finish_reason(reply: Response) -> tuple[str | None, str | None, bool | None, str | None]:
    """Why a reply ended, and whether it was cut off, each with its evidence; ``None`` for what nobody logged."""
    reason = None if reply.finish_reason is None else printable(reply.finish_reason[:_LONGEST])
    evidence = None if reason is None else "finish reason of the last reply"
    if reply.cut:
        return reason, evidence, True, "the stream of the last reply broke off"
    if reason is None:
        return None, None, None, None
    return reason, evidence, chat.is_truncated(reason), evidence
