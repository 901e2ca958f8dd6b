"""The edits that calls make to files: replacements, patches and complete contents, in the forms of coding agents."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any, NamedTuple

from xxhash import xxh3_128_digest

from chatsquash.checks.denials import is_denied
from chatsquash.checks.steps.client_texts import is_interrupted_result
from chatsquash.checks.steps.conversation import Step, StepCall
from chatsquash.checks.steps.patches import blocks_in, patches_in
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json

_PATHS = (
    *("file_path", "filePath", "path", "target_file", "targetFile", "TargetFile", "filename", "file", "absolute_path"),
    *("relative_workspace_path", "relative_path", "target_path", "filepath", "file_name"),
)
_PAIRS = (
    *(("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"), ("old_text", "new_text")),
    *(
        ("oldText", "newText"),
        ("search", "replace"),
        ("find", "replace"),
        ("old", "new"),
        ("old_content", "new_content"),
    ),
    *(("original_text", "new_text"), ("old_code", "new_code"), ("TargetContent", "ReplacementContent")),
)
"""The members with the old and the new text of a replacement."""
_LISTS = ("edits", "replacements", "changes", "ReplacementChunks")
_ALL = ("replace_all", "replaceAll", "expected_replacements", "allow_multiple", "AllowMultiple")
_CONTENTS = ("content", "contents", "file_text", "text", "file_content", "CodeContent")
_WRITES = lazy_compile(r"(?i)write|create|save|overwrite")
_PARTIAL = lazy_compile(r"(?i)append|insert|comment|issue|pull|message|todo|memory|note")
_EDITOR_COMMANDS = frozenset({"create", "write", "str_replace", "replace", "insert", "undo_edit", "edit_file"})
"""The commands of editors such as ``str_replace_editor`` that change a file."""
_PATCHES = ("input", "patch", "patchText", "patch_text", "diff", "command", "cmd", "content")
_NO_EFFECT = lazy_compile(
    r"""(?ix)no[ ](?:replacement|change|edit|match)s?[ ](?:was|were|is|are)[ ](?:performed|made|applied|found|needed)
    |did[ ]not[ ]appear[ ]verbatim|(?:not|no[ ]match(?:es)?)[ ]found[ ]in[ ](?:the[ ])?(?:file|content)
    |\b0[ ]occurrences|\bhas[ ]not[ ]been[ ](?:changed|modified|read)|failed[ ]to[ ](?:apply|edit|match|find)"""
)
"""Results of edits that changed nothing."""
_RESULT_START = 400


class Segment(NamedTuple):
    """A replaced text, without what its beginning and end have in common with the new text."""

    old: bytes
    """A digest of the old text."""
    new: bytes
    head: str
    """The text before it that both texts have in common."""
    tail: str

    def reverts(self, other: Segment) -> bool:
        """Return whether this replacement restores what another one changed, in a context that may be the same."""
        if (self.old, self.new) != (other.new, other.old):
            return False
        heads = self.head.endswith(other.head) or other.head.endswith(self.head)
        return heads and (self.tail.startswith(other.tail) or other.tail.startswith(self.tail))


class Edit(NamedTuple):
    """A successful change of a file."""

    at: int
    """The index of the message."""
    file: str
    segments: tuple[Segment, ...] = ()
    """The replacements, in the order of their digests."""
    mode: str = ""
    """Which occurrences are replaced, if the call says so."""
    content: bytes | None = None
    """A digest of the complete content, if the call writes all of it."""
    is_undo: bool = False
    """Whether the call reverts the last edit of the file, whatever it was."""


def edits(steps: list[Step]) -> list[Edit]:
    """Return the successful edits of a conversation in order."""
    return [
        edit
        for step in steps
        for edit in (
            *(each for call in step.calls if _is_successful(call) for each in _edits_of(step.at, call)),
            *_blocks(step),
        )
    ]


def _is_successful(call: StepCall) -> bool:
    if call.state not in ("ok", "empty") or any(map(is_denied, call.results)):
        return False
    text = call.text
    return not is_interrupted_result(text) and _NO_EFFECT.search(text[:_RESULT_START]) is None


def _edits_of(at: int, call: StepCall) -> Iterator[Edit]:
    """Yield the edits that a call makes, by the members of its arguments."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    command = arguments.get("command")
    path = _path(arguments)
    if path and isinstance(command, str) and command in _EDITOR_COMMANDS:
        yield from _editor_edits(at, path, command, arguments)
        return
    if path and (replacements := _replacements(arguments)):
        yield _replacing(at, path, replacements, _mode(arguments))
        return
    nested = list(_nested(at, path, arguments))
    if nested:
        yield from nested
        return
    if path and (content := _content(call.name, arguments)) is not None:
        yield Edit(at, path, content=content_digest(content))
        return
    yield from _patches(at, path, arguments)


def _editor_edits(at: int, path: str, command: str, arguments: dict[str, Any]) -> Iterator[Edit]:
    """Yield the edit of an editor with commands: those of Anthropic, SWE-agent, OpenHands and goose."""
    if command == "undo_edit":
        yield Edit(at, path, is_undo=True)
    elif command == "insert":
        text = next(
            (arguments[name] for name in ("new_str", "insert_text") if isinstance(arguments.get(name), str)), ""
        )
        if text:
            yield _replacing(at, path, [("", text)], "")
    elif replacements := _replacements(arguments):
        yield _replacing(at, path, replacements, _mode(arguments))
    elif command == "str_replace" and isinstance(arguments.get("old_str"), str) and arguments["old_str"]:
        yield _replacing(at, path, [(arguments["old_str"], "")], "")  # without a new text, the old text is deleted
    elif (content := _content("write", arguments)) is not None:
        yield Edit(at, path, content=content_digest(content))


def _nested(at: int, path: str, arguments: dict[str, Any]) -> Iterator[Edit]:
    """Yield the edits in a list of replacements, by file."""
    by_file: dict[str, list[tuple[str, str]]] = {}
    modes: dict[str, str] = {}
    for name in _LISTS:
        items = arguments.get(name)
        for item in items if isinstance(items, list) else ():
            if not isinstance(item, dict):
                continue
            file = _path(item) or path
            if file and (replacements := _replacements(item)):
                by_file.setdefault(file, []).extend(replacements)
                modes[file] = modes.get(file, "") + _mode(item)
    for file, replacements in by_file.items():
        yield _replacing(at, file, replacements, modes[file])


def _patches(at: int, path: str, arguments: dict[str, Any]) -> Iterator[Edit]:
    """Yield the edits of patches, SEARCH/REPLACE blocks, and commands that contain a patch."""
    for name in _PATCHES:
        text = arguments.get(name)
        if isinstance(text, list):
            text = "\n".join(item for item in text if isinstance(item, str))
        if not isinstance(text, str):
            continue
        for file, replacements, content in patches_in(text):
            if content is not None:
                yield Edit(at, _normal(file), content=content_digest(content))
            elif replacements:
                yield _replacing(at, _normal(file), replacements, "")
        if path and (blocks := [block[1:] for block in blocks_in(text)]):
            yield _replacing(at, path, blocks, "")


def _blocks(step: Step) -> Iterator[Edit]:
    """Yield the edits in the text of a reply, as written for aider, unless the next message reports a failure."""
    if step.calls or "<<<<<<< SEARCH" not in step.text:
        return
    answers = " ".join(str(each.get("content"))[:2000] for each in step.following)
    if "failed to match" in answers or "SearchReplaceNoExactMatch" in answers:
        return
    by_file: dict[str, list[tuple[str, str]]] = {}
    for file, old, new in blocks_in(step.text):
        if file:
            by_file.setdefault(_normal(file), []).append((old, new))
    for file, replacements in by_file.items():
        yield _replacing(step.at, file, replacements, "")


def _replacing(at: int, file: str, replacements: list[tuple[str, str]], mode: str) -> Edit:
    segments = [_segment(old, new) for old, new in replacements if old != new]
    return Edit(at, file, tuple(sorted(segments, key=lambda each: (each.old, each.new))), mode)


def _segment(old: str, new: str) -> Segment:
    head = _common(old, new)
    rest_old, rest_new = old[head:], new[head:]
    tail = _common(rest_old[::-1], rest_new[::-1])
    end_old, end_new = len(rest_old) - tail, len(rest_new) - tail
    return Segment(_digest(rest_old[:end_old]), _digest(rest_new[:end_new]), old[:head], rest_old[end_old:])


def _common(one: str, two: str) -> int:
    """Return the length of the common beginning, by bisection: comparing slices is fast for long texts."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _replacements(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    for old, new in _PAIRS:
        if isinstance(arguments.get(old), str) and isinstance(arguments.get(new), str):
            return [(arguments[old], arguments[new])]
    return []


def _mode(arguments: dict[str, Any]) -> str:
    values = [str(arguments[name]) for name in _ALL if arguments.get(name)]
    return "" if values in ([], ["1"]) else ",".join(value[:20] for value in values)


def _content(tool: str, arguments: dict[str, Any]) -> str | None:
    if _WRITES.search(tool) is None or _PARTIAL.search(tool) is not None:
        return None
    if arguments.get("append") or arguments.get("mode") in ("a", "append"):
        return None
    return next((arguments[name] for name in _CONTENTS if isinstance(arguments.get(name), str)), None)


def _path(arguments: dict[str, Any]) -> str:
    path: Json = next((arguments[name] for name in _PATHS if arguments.get(name)), "")
    return _normal(path) if isinstance(path, str) else ""


def _normal(path: str) -> str:
    return posixpath.normpath(path.strip().replace("\\", "/")) if path.strip() else ""


def content_digest(content: str) -> bytes:
    """Return a digest of the content of a file, regardless of line feeds at its end."""
    return _digest(content.rstrip("\n"))


def _digest(text: str) -> bytes:
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass"))
