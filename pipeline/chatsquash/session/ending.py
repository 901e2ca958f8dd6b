"""Detect how a conversation ended: exit code, finish reason, failed results and the user's last message.

Filters and reward models use these values. Each value is returned with its evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from chatsquash.checks.failures import MARKING
from chatsquash.checks.registry import View
from chatsquash.checks.results import decoded_arguments, exchanges
from chatsquash.core import chat, jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json, Message, Origin, Response
from chatsquash.core.outcome import Ending, LastUser
from chatsquash.core.scores import Score, by_name
from chatsquash.core.text import printable

_COMMAND = ("command", "cmd", "commands", "script", "code", "input", "CommandLine")
"""The argument names that may contain a command."""
_COMMAND_NAMES = frozenset(_COMMAND)
_CODES = ("exit_code", "exitCode", "exitcode", "returncode", "return_code", "returnCode", "exit_status")
"""The fields of a result that may contain an exit code."""
_ALWAYS = frozenset([
    "pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "ava", "karma", "rspec", "phpunit", "ctest", "make",
    "gmake", "ninja", "tsc", "msbuild", "xcodebuild", "nosetests", "behave", "nextest", "webpack", "pre-commit",
])  # fmt: skip
"""Programs that run tests or a build with any arguments."""
_VERBS = frozenset([
    "test", "tests", "build", "check", "verify", "package", "compile", "assemble", "nextest", "vet", "clippy",
    "install", "ci",
])  # fmt: skip
_WITH_VERB = frozenset([
    "cargo", "go", "npm", "pnpm", "yarn", "bun", "deno", "dotnet", "swift", "mix", "sbt", "gradle", "gradlew", "mvn",
    "mvnw", "bazel", "bazelisk", "meson", "cmake", "zig", "rake", "lein", "stack", "cabal", "playwright", "cypress",
    "just", "task", "dune", "rebar3", "composer", "flutter", "dart", "hatch", "turbo", "nx",
])  # fmt: skip
"""Programs that run tests or a build with one of the verbs above."""
_NO_BUILD = frozenset(["npm", "pnpm", "yarn", "bun", "composer", "cargo", "go", "deno", "dart", "flutter"])
"""The programs above whose ``install`` and ``ci`` only fetch packages."""
_RUNNERS = frozenset([
    "sudo", "time", "nice", "env", "npx", "bunx", "xvfb-run", "exec", "command", "nohup", "uv", "poetry", "pipenv",
    "hatch", "rye", "bundle", "coverage", "pnpx",
])  # fmt: skip
"""Programs that run another program, which follows them on the command line."""
_BETWEEN = frozenset(["run", "exec", "-m", "x", "python", "python3"])
"""Words between a runner, or Python, and the program it runs."""
_NO_RUN = frozenset(["--version", "--help", "--collect-only", "--dry-run"])
"""Options with which these programs run neither tests nor a build."""
_QUOTED = lazy_compile(r"""'([^']*)(?:'|\Z)|"((?:[^"\\]|\\.)*+)(?:"|\\?\Z)|(?<!\S)\#[^\n]*|\\\n""", re.DOTALL)
"""Text that a shell does not split: quoted strings, comments and line continuations."""
_HERE = lazy_compile(r"(?<!<)<<-?[ ]{0,8}+(['\"]?)(\w{1,64}+)\1")
"""The start of a here-document, with the word that ends it."""
_PLAIN = lazy_compile(r"[\w./:=@-]*\Z")
_SIGN_AT_END = lazy_compile(r"(&&|\|\||\|&?)\s*\n")
_SIGNS = lazy_compile(r"(&&|\|\||\|&?|(?<![<>&])&(?![>&\d])|[;\n()])")
_QUOTED_NAMES = tuple(f'"{name}"' for name in _COMMAND)
"""The argument names as they appear in JSON; quotes inside a string value are escaped and never match."""
_WORDS = 16
"""The maximum number of words examined in a command."""
_EXIT = lazy_compile(
    r"""^\W{0,4}
    (?:(?:the|command|process|program|execution|was|successful|completed|finished|failed|with)[ .]{1,2}){0,6}+
    (?:exit[ _]?(?:code|status)|exited[ ]with(?:[ ](?:code|status))?|return[ _]?code)\b[^\w-]{0,4}(-?\d{1,10})\b""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""A line in which an agent's tool reports how a program ended."""
_CLAUDE_CODE = lazy_compile(r"You are Claude Code|x-anthropic-billing-header: cc_version")
"""The beginning of Claude Code's system prompts."""
_NO_RESULT = lazy_compile(
    r"^(?:<error>)?Command (?:[^\n]{0,80}\bbackground(?:ed)?\b|timed out after|was aborted before completion)"
    r"|^\[(?:Old tool result content cleared|Request interrupted by user)",
    re.MULTILINE,
)
"""Claude Code's messages for a command that is still running or did not finish, or whose output was cleared."""
_MIN_CODE, _MAX_CODE = -(1 << 31), 1 << 32
"""The range of exit codes on all systems; a log may contain any number."""
_RESULT_END = 400
"""The number of characters searched for the exit code at each end of a result."""


def last_exit(view: View, source: str | None = None) -> tuple[int | None, str | None]:
    """Return the exit code of the last test or build command, with its evidence; both are ``None`` if unknown."""
    place, evidence = _last_test_command(view)
    if evidence is None:
        return None, None
    name, results = _results_of(view, place)
    for at, content in results if evidence != "nothing" else ():
        code, where = exit_code(content), "in the result"
        # Claude Code does not log the exit code of a command that succeeded.
        if code is None and name == "Bash" and _is_success(view, source, at):
            code, where = 0, "because there is no error in the result"
        if code is not None and (evidence == "code" or code == 0):
            return code, f"message {at}, {code} {where} of a command that runs tests or a build"
    # Only the last such command counts: an earlier exit code is not how the conversation ended.
    return None, None


def _is_success(view: View, source: str | None, at: int) -> bool:
    """Return whether a result of Claude Code's Bash tool is from a command that finished without an error."""
    message = view.messages[at]
    text = chat.text(message) or ""
    is_unfinished = _NO_RESULT.search(text) is not None
    return _is_claude_code(view, source) and not chat.is_marked_failed(message) and not is_unfinished


def _is_claude_code(view: View, source: str | None) -> bool:
    """Return whether a conversation is from Claude Code, based on the log format or the system prompt."""
    if source != "anthropic":
        return source == "claude_code"
    first = view.messages[0]
    return first["role"] == "system" and _CLAUDE_CODE.search((chat.text(first) or "")[:_EXAMINED]) is not None


_Meaning = Literal["code", "success", "nothing"]


def _last_test_command(view: View) -> tuple[int, _Meaning | None]:
    """Return the last call that runs tests or a build, by number, and the meaning of its exit code."""
    calls = view.columns.calls
    if calls is None:
        for place, call in reversed([*enumerate(view.once(exchanges).calls)]):
            function = call.call_object.get("function")
            arguments = function.get("arguments") if isinstance(function, dict) else None
            if isinstance(arguments, str) and (meaning := runs_tests(_command(arguments, None))):
                return place, meaning
        return 0, None
    members = view.once(decoded_arguments)
    for place in range(len(members) - 1, -1, -1):
        if (command := _command(calls.arguments[place], members[place])) and (meaning := runs_tests(command)):
            return place, meaning
    return 0, None


def _results_of(view: View, place: int) -> tuple[Json, list[tuple[int, Json]]]:
    """Return the name of a call, and its results with their positions."""
    columns = view.columns
    # If all results follow their calls in order, the columns already pair them.
    if columns.calls is not None and columns.are_matched:
        at = slice(place, place + 1)
        return columns.calls.names[place], [*zip(columns.results[at], columns.result_contents[at], strict=True)]
    call = view.once(exchanges).calls[place]
    return call.name, [(each.at, view.messages[each.at].get("content")) for each in call.results]


def _command(arguments: str, members: Json) -> str:
    """Return the command in a call's arguments, or an empty string.

    ``members`` are the decoded arguments if they are known to be an object.
    """
    if members is None:
        if arguments[:1] == "{" and not any(map(arguments.__contains__, _QUOTED_NAMES)):
            return ""
        try:
            members = jsonio.loads(arguments)
        except (ValueError, RecursionError):
            return arguments  # the arguments of a tool that takes plain text
    if type(members) is not dict:
        return members if isinstance(members, str) else ""
    if _COMMAND_NAMES.isdisjoint(members):
        return ""
    command: Json = next((members[name] for name in _COMMAND if members.get(name)), "")
    if isinstance(command, list):
        words = [each for each in command if isinstance(each, str)]
        return words[-1] if len(words) == 3 and words[1] in ("-c", "-lc", "-ic") else " ".join(words)
    return command if isinstance(command, str) else ""


def runs_tests(command: str) -> _Meaning | None:
    """Return what the exit code of a shell command means for its last test run or build, or ``None`` if it has neither.

    ``code``: it is the exit code of that program. ``success``: 0 means success, but any other code may come from
    another program. ``nothing``: it is the exit code of another program, as in ``pytest | tail``.
    """
    if not command:
        return None
    parts = _SIGNS.split(_SIGN_AT_END.sub(r"\1", _QUOTED.sub(_unquoted, _without_here_documents(command))))
    test_parts = [at for at in range(0, len(parts), 2) if _is_test_command(parts[at].split(None, _WORDS)[:_WORDS])]
    if not test_parts:
        return None
    rest = parts[test_parts[-1] + 1 :]
    # Separators at the end have no effect, except that & does not wait for the command.
    while len(rest) > 1 and not rest[-1].strip() and rest[-2] != "&":
        del rest[-2:]
    # After ||, the tests may not have run.
    if test_parts[-1] and parts[test_parts[-1] - 1] == "||":
        return "nothing"
    # With pipefail, a pipeline fails if any of its commands does.
    harmless = {"&&", "(", ")", *(("|", "|&") if "pipefail" in command else ())}
    meaning: Literal["code", "success"] = "success" if rest else "code"
    return meaning if harmless.issuperset(rest[::2]) else "nothing"


def _unquoted(match: re.Match[str]) -> str:
    """Replace a quoted string with a single word: its content if a shell would not split that."""
    text = match[1] if match[1] is not None else match[2]
    return " " if text is None else text if _PLAIN.match(text) else "_"


def _is_test_command(words: list[str]) -> bool:
    """Return whether the words of one command run tests or a build, possibly through runners."""
    at, is_module = 0, False
    if not _NO_RUN.isdisjoint(words):
        return False
    while at < len(words):
        name = words[at].rpartition("/")[2].removesuffix(".sh").removesuffix(".exe")
        is_between = name in _BETWEEN or name.startswith(("-", "python")) or name.isdigit()
        if name in _ALWAYS or (is_module and name == "unittest"):
            return True
        if name in _WITH_VERB and (name not in _RUNNERS or words[at + 1 : at + 2] != ["run"]):
            return _has_verb(name, words[at + 1 :])
        if not ("=" in name or name in _RUNNERS or name == "timeout" or is_between):
            return False
        is_module = is_module or name == "-m"
        at += 1
    return False


def _has_verb(name: str, words: list[str]) -> bool:
    verbs = {part for word in words if not word.startswith("-") for part in word.replace(":", " ").split()}
    verbs |= {"build"} if "--build" in words else set()
    return bool((_VERBS - {"install", "ci"} if name in _NO_BUILD else _VERBS) & verbs)


def _without_here_documents(command: str) -> str:
    """Remove here-documents from a command."""
    if "<<" not in command:
        return command
    result: list[str] = []
    lines = iter(command.split("\n"))
    for line in lines:
        result.append(_HERE.sub("", line))
        for here in _HERE.finditer(line):
            next((each for each in lines if each.strip(" \t") == here[2]), None)
    return "\n".join(result)


def exit_code(content: Json) -> int | None:
    """Return the exit code in a result: in a field of its JSON, or in a line near one of its ends."""
    text = chat.text({"role": "tool", "content": content}) or ""
    if text[:1] == "{" and (member := _code_in_json(text)) is not None:
        return member
    for part in (text[-_RESULT_END:], text[:_RESULT_END]):
        if match := _EXIT.search(part):
            return _valid_code(int(match[1]))
    return None


def _code_in_json(text: str) -> int | None:
    try:
        value = jsonio.loads(text)
    except (ValueError, RecursionError):
        return None
    holders = [value, *(each for each in value.values() if isinstance(each, dict))]
    codes = (fields[name] for fields in holders for name in _CODES if name in fields)
    return next((code for code in map(_valid_code, codes) if code is not None), None)


def _valid_code(value: Json) -> int | None:
    return value if type(value) is int and _MIN_CODE <= value < _MAX_CODE else None


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
_INTERNATIONAL = frozenset(["no", "nope", "stop", "perfect", "nice", "great", "terrible", "cheers", "rather"])
"""Words that messages in other languages may begin with, too."""
_COMMON = [
    "again", "and", "are you", "but", "can you", "does", "doesn't", "don't", "from", "have to", "how", "i'm", "instead",
    "is it", "is not", "isn't", "it", "it's", "its", "make", "my", "not", "now", "of", "one", "please", "should",
    "still", "that", "the", "then", "there", "they", "this", "to the", "we", "what", "when", "which", "why", "with",
    "work", "would", "you", "your",
]  # fmt: skip
"""Common English words that are rare in other languages."""


def _any_of(phrases: tuple[str, ...] | list[str], begin: str = r"\b") -> re.Pattern[str]:
    longest_first = sorted(phrases, key=len, reverse=True)
    return lazy_compile(rf"{begin}(?:{'|'.join(map(re.escape, longest_first))})\b")


_COMPLAINT, _ENGLISH = _any_of(COMPLAINTS), _any_of(_COMMON)
_CORRECTION = _any_of(CORRECTIONS, r"(?:\A|[.!?\n]\s{0,2}|,\s|\bbut\s)")
_THANK = _any_of(THANKS, r"(?:\A|[.!?\n,]\s{0,2}|\b(?:ok|okay|yes|so|now|very|many)\s)")
_RULES: tuple[tuple[LastUser, re.Pattern[str]], ...] = (
    ("complaint", _COMPLAINT), ("correction", _CORRECTION), ("thanks", _THANK),
)  # fmt: skip
_EXAMINED = 600
"""The number of characters examined in a message; comments on the work usually precede pasted text."""
_TAGGED = lazy_compile(r"\s*+<([a-z][\w-]{0,40})>")


def judge_last_message(view: View) -> tuple[LastUser, str | None]:
    """Classify the user's last message after a reply, and return its position and the deciding words as evidence."""
    roles = view.columns.roles
    if "user" not in roles or "assistant" not in roles:
        return "none", None
    for at in range(len(roles) - 1, roles.index("assistant"), -1):
        if roles[at] != "user":
            continue
        text = _typed_text(chat.text(view.messages[at]) or "")
        if text:
            kind, phrase = judge_text(text)
            return kind, f"message {at}" + (f", {phrase!r}" if phrase else "")
    return "none", None


def judge_messages(messages: Iterable[Message]) -> tuple[LastUser, str]:
    """Classify the user's last message among those that follow a reply, and return the deciding words."""
    texts = (_typed_text(chat.text(message) or "") for message in reversed([*messages]) if message["role"] == "user")
    return next((judge_text(text) for text in texts if text), ("none", ""))


def _typed_text(text: str) -> str:
    """Return the start of the user's own text, without the tagged blocks that clients add."""
    at = 0
    while tag := _TAGGED.match(text, at):
        closing = f"</{tag[1]}>"
        at = text.find(closing, tag.end())
        if at < 0:
            return ""
        at += len(closing)
    return text[at:].lstrip()[:_EXAMINED]


def judge_text(text: str) -> tuple[LastUser, str]:
    """Classify a message as a reaction to the reply; return *unknown* if it is not English, and the deciding words."""
    plain = text.lower().replace("\u2019", "'")
    is_english = _ENGLISH.search(plain) is not None and _is_mostly_ascii(plain)
    for kind, pattern in _RULES:
        for match in pattern.finditer(plain):
            words = match[0].strip(" .,!?\n")
            if is_english or words.split()[-1] not in _INTERNATIONAL or words == plain.strip(" .,!?\n"):
                return kind, words
    return ("none" if is_english else "unknown"), ""


def _is_mostly_ascii(text: str) -> bool:
    """Return whether at most a tenth of the letters are outside ASCII, which are rare in English."""
    if text.isascii():
        return True
    letters = list(filter(str.isalpha, text))
    return sum(map(str.isascii, letters)) >= 0.9 * len(letters)


_MAX_LISTED = 20
"""The maximum number of messages listed as evidence."""
_MAX_REASON = 64
"""The maximum length of a finish reason; a log may contain any text there."""


def detect_ending(
    view: View,
    reply: Response,
    origin: Origin | None = None,
    source: str | None = None,
    scores: tuple[Score, ...] = (),
) -> Ending:
    """Detect how a conversation ended.

    Args:
        view: The messages as they were logged.
        reply: The last reply.
        origin: The origin of a conversation from an agent file.
        source: The format of the log.
        scores: The scores in the log's entry of the last reply.
    """
    finish, evidence, truncated, why = _finish_reason(reply)
    reward, reward_evidence = (origin.reward, origin.reward_evidence) if origin else (None, None)
    exits, last_user, failed = last_exit(view, source), judge_last_message(view), failed_results(view)
    score_values = _score_values(scores, origin) if scores or origin else (None, None)
    return Ending(*exits, reward, reward_evidence, finish, evidence, truncated, why, *failed, *score_values, *last_user)


def _score_values(scores: tuple[Score, ...], origin: Origin | None) -> tuple[str | None, str | None]:
    """Return the scores of a conversation and of its last reply as JSON, with their sources."""
    if origin:
        scores = (*origin.scores, *(origin.replies[-1].scores if origin.replies else ()))
    if not scores:
        return None, None
    sources = sorted({f"{each.source}, of the {'conversation' if each.is_shared else 'last reply'}" for each in scores})
    return jsonio.dumps(by_name(scores)).decode(), "; ".join(sources)


def failed_results(view: View) -> tuple[int, str | None]:
    """Count the tool results that the log marks as errors, and list the first ones."""
    if MARKING.isdisjoint(view.columns.keys):
        return 0, None
    failed = [at for at in view.columns.results if chat.is_marked_failed(view.messages[at])]
    if not failed:
        return 0, None
    more = f" and {len(failed) - _MAX_LISTED} more" if len(failed) > _MAX_LISTED else ""
    return len(failed), f"message{'s' * (len(failed) > 1)} {', '.join(map(str, failed[:_MAX_LISTED]))}{more}"


def _finish_reason(reply: Response) -> tuple[str | None, str | None, bool | None, str | None]:
    """Return the finish reason and whether the reply was truncated, each with its evidence; ``None`` if not logged."""
    reason = None if reply.finish_reason is None else printable(reply.finish_reason[:_MAX_REASON])
    evidence = None if reason is None else "finish reason of the last reply"
    if reply.cut:
        return reason, evidence, True, "the stream of the last reply was interrupted"
    if reason is None:
        return None, None, None, None
    return reason, evidence, chat.is_truncated(reason), evidence
