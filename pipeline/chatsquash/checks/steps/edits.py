"""The edits of files that calls make, in the forms of coding agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from chatsquash.checks.denials import is_denied
from chatsquash.checks.steps.changes import Change, blocks_in, normal_path, patches_in, reading, replacing, writing
from chatsquash.checks.steps.client_texts import is_interrupted_result
from chatsquash.checks.steps.conversation import Step, StepCall
from chatsquash.checks.steps.shell import commands
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json
from chatsquash.core.text import remove_delimited

_PATHS = (
    *("file_path", "filePath", "path", "target_file", "targetFile", "TargetFile", "filename", "file", "absolute_path"),
    *("relative_workspace_path", "relative_path", "target_path", "filepath", "file_name"),
)
_PAIRS = (
    *(("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"), ("old_text", "new_text")),
    *(("oldText", "newText"), ("search", "replace"), ("find", "replace"), ("old", "new"), ("old_code", "new_code")),
    *(("old_content", "new_content"), ("original_text", "new_text"), ("TargetContent", "ReplacementContent")),
)
"""The members with the old and the new text of a replacement."""
_LISTS = ("edits", "edit", "replacements", "changes", "ReplacementChunks")
_ALL = ("replace_all", "replaceAll", "expected_replacements", "allow_multiple", "AllowMultiple")
_CONTENTS = ("content", "contents", "file_text", "text", "file_content", "CodeContent")
_WRITES = lazy_compile(r"(?i)write|create|save|overwrite")
_PARTIAL = lazy_compile(r"(?i)append|insert|comment|issue|pull|message|todo|memory|note")
_READS = lazy_compile(r"(?i)read|view|open")
_RANGES = (
    "offset",
    "limit",
    "view_range",
    "start_line",
    "end_line",
    "line_start",
    "start",
    "end",
    "lines",
    "line_offset",
)
_EDITOR_COMMANDS = frozenset({"create", "write", "str_replace", "replace", "insert", "undo_edit", "view"})
"""The commands of editors such as ``str_replace_editor``."""
_PATCH_MEMBERS = ("input", "patch", "patchText", "patch_text", "diff", "command", "cmd", "content")
_LIST_MEMBERS = frozenset(_LISTS)
_OLD = frozenset(old for old, _ in _PAIRS)
_MEMBERS = frozenset({*_PATHS, *_LISTS, *_PATCH_MEMBERS})
"""The members of which a call that changes a file has at least one."""
_NO_EFFECT = lazy_compile(
    r"""(?ix)no[ ](?:replacement|change|edit|match)s?[ ](?:was|were|is|are)[ ](?:performed|made|applied|found|needed)
    |did[ ]not[ ]appear[ ]verbatim|(?:not|no[ ]match(?:es)?)[ ]found[ ]in[ ](?:the[ ])?(?:file|content)
    |\b0[ ]occurrences|\bhas[ ]not[ ]been[ ](?:changed|modified|read)|failed[ ]to[ ](?:apply|edit|match|find)"""
)
"""Results of edits that changed nothing."""
_RESULT_START = 400


class Edit(NamedTuple):
    """A successful call that changes files, or shows one that is written later."""

    at: int
    """The index of the message."""
    changes: list[Change]

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing."""
        return all(change.kind == "read" for change in self.changes)


def edits(steps: list[Step]) -> list[Edit]:
    """Return the successful edits of a conversation in order, and calls that show files which others write."""
    calls = [(step, call, list(_changes(call))) for step in steps for call in step.calls or (None,)]
    written_files = {change.file for _, _, changes in calls for change in changes if change.content is not None}
    all_edits: list[Edit] = []
    for step, call, changes in calls:
        of_call = list(_in_text(step)) if call is None else changes or list(_view_of_file(call, written_files))
        if of_call and (call is None or _is_successful(call)):
            all_edits.append(Edit(step.at, of_call))
    return all_edits


def _is_successful(call: StepCall) -> bool:
    if call.state not in ("ok", "empty") or any(map(is_denied, call.results)):
        return False
    text = call.text
    return not is_interrupted_result(text) and _NO_EFFECT.search(text[:_RESULT_START]) is None


def _changes(call: StepCall | None) -> Iterator[Change]:
    """Yield the changes that a call makes, by the members of its arguments."""
    if call is None:
        return
    arguments = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    if _MEMBERS.isdisjoint(arguments):
        return  # most calls change nothing
    path, command = _path(arguments), arguments.get("command")
    if path and isinstance(command, str) and command in _EDITOR_COMMANDS:
        yield from _of_editor(path, command, arguments)
        return
    for changes in (_replacement, _list_of_replacements, _complete_file, _patches):
        results = list(changes(call.name, path, arguments))
        if results:
            yield from results
            return


def _of_editor(path: str, command: str, arguments: dict[str, Any]) -> Iterator[Change]:
    """Yield the change of an editor with commands: those of Anthropic, SWE-agent, OpenHands and goose."""
    if command == "undo_edit":
        yield Change(path, kind="undo")
    elif command == "insert":
        text = next(
            (arguments[name] for name in ("new_str", "insert_text") if isinstance(arguments.get(name), str)), ""
        )
        if text:
            yield replacing(path, [("", text)])
    elif replacements := _replacements(arguments):
        yield replacing(path, replacements, _mode(arguments))
    elif command == "str_replace" and isinstance(arguments.get("old_str"), str):
        yield replacing(path, [(arguments["old_str"], "")])  # without a new text, the old text is deleted
    elif command in ("create", "write"):
        yield from _complete_file("write", path, arguments)


def _replacement(_: str, path: str, arguments: dict[str, Any]) -> Iterator[Change]:
    """Yield one replacement."""
    if path and (replacements := _replacements(arguments)):
        yield replacing(path, replacements, _mode(arguments))


def _list_of_replacements(_: str, path: str, arguments: dict[str, Any]) -> Iterator[Change]:
    """Yield the changes in a list of replacements, by file."""
    by_file: dict[str, list[tuple[str, str]]] = {}
    modes: dict[str, str] = {}
    for name in () if _LIST_MEMBERS.isdisjoint(arguments) else _LISTS:
        items = arguments.get(name)
        for item in items if isinstance(items, list) else [items]:
            if not isinstance(item, dict):
                continue
            file = _path(item) or path
            if file and (replacements := _replacements(item)):
                by_file.setdefault(file, []).extend(replacements)
                modes[file] = _mode(item) or modes.get(file, "")
    for file, pairs in by_file.items():
        yield replacing(file, pairs, modes[file])


def _complete_file(tool: str, path: str, arguments: dict[str, Any]) -> Iterator[Change]:
    """Yield the change that writes a complete file."""
    if not path or _WRITES.search(tool) is None or _PARTIAL.search(tool) is not None:
        return
    content = next((arguments[name] for name in _CONTENTS if isinstance(arguments.get(name), str)), None)
    if content is not None and not arguments.get("append") and arguments.get("mode") not in ("a", "append"):
        yield writing(path, content)


def _patches(_: str, path: str, arguments: dict[str, Any]) -> Iterator[Change]:
    """Yield the changes of patches, SEARCH/REPLACE blocks, and commands that contain a patch or a file."""
    for name in _PATCH_MEMBERS:
        text = arguments.get(name)
        if isinstance(text, list):
            text = "\n".join(item for item in text if isinstance(item, str))
        if not isinstance(text, str):
            continue
        yield from patches_in(text)
        if path and (blocks := [block[1:] for block in blocks_in(text)]):
            yield replacing(path, blocks)
        if name in ("command", "cmd") and "<<" in text and "*** Begin Patch" not in text:
            yield from _documents(text)


def _documents(text: str) -> Iterator[Change]:
    """Yield the files that a command writes from here-documents."""
    for command in commands(text):
        if command.words[:1] not in (["cat"], ["tee"]) or not command.stdin or command.appends:
            continue
        files = [command.output] if command.words[0] == "cat" else command.words[1:]
        if len(files) == 1 and files[0] and not files[0].startswith("-"):
            yield writing(normal_path(files[0]), command.stdin)


def _in_text(step: Step) -> Iterator[Change]:
    """Yield the changes in the text of a reply, as aider applies them, unless the next message reports a failure."""
    if "<<<<<<< SEARCH" not in step.text:
        return
    answers = " ".join(str(each.get("content"))[:2000] for each in step.following[:2])
    if "failed to match" in answers or "SearchReplaceNoExactMatch" in answers:
        return
    by_file: dict[str, list[tuple[str, str]]] = {}
    for file, old, new in blocks_in(step.text):
        if file:
            by_file.setdefault(normal_path(file), []).append((old, new))
    for file, replacements in by_file.items():
        yield replacing(file, replacements)


_LINE_NUMBER = lazy_compile(r"[ ]*\d+(?:\t|\u2192|: |\| ?)")


def _view_of_file(call: StepCall, written_files: set[str]) -> Iterator[Change]:
    """Yield the complete content of a file that a call shows, if others write the file."""
    arguments = call.arguments
    if not isinstance(arguments, dict) or any(arguments.get(name) for name in _RANGES):
        return
    is_view = arguments.get("command") == "view"
    if (path := _path(arguments)) in written_files and (is_view or _READS.search(call.name) is not None):
        yield reading(path, _without_numbers(call.text))


def _without_numbers(text: str) -> str:
    """Return the content of a file from a result, without the numbers of lines and the lines around it."""
    lines = remove_delimited(text, "<system-reminder>", "</system-reminder>").split("\n")
    matches = [(line, _LINE_NUMBER.match(line)) for line in lines]
    with_number = [line[match.end() :] for line, match in matches if match is not None]
    return "\n".join(with_number if len(with_number) >= len(lines) - 4 and with_number else lines)


def _replacements(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    for old, new in () if _OLD.isdisjoint(arguments) else _PAIRS:
        if isinstance(arguments.get(old), str) and isinstance(arguments.get(new), str):
            return [(arguments[old], arguments[new])]
    return []


def _mode(arguments: dict[str, Any]) -> str:
    values = [str(arguments[name])[:20] for name in _ALL if arguments.get(name)]
    return "" if values == ["1"] else ",".join(values)


def _path(arguments: dict[str, Any]) -> str:
    path: Json = next((arguments[name] for name in _PATHS if arguments.get(name)), "")
    return normal_path(path) if isinstance(path, str) else ""
