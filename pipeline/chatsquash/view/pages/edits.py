"""Calls that edit files, as diffs; detected by their arguments, whatever the name of the tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.view.difference import line_diff

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_PAIRS = (("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("old_text", "new_text"))
_PATHS = ("file_path", "path", "filePath", "filename")
_EDITS = 100
"""Edits of a call that are shown."""


def is_edit(arguments: str) -> bool:
    """Return whether the arguments of a call look like those of an edit."""
    return _BEGIN in arguments or any(f'"{old}"' in arguments for old, _ in _PAIRS)


def edit_diff(arguments: str) -> str | None:
    """Return the arguments of a call as a diff, or ``None`` for a call that is not an edit."""
    if not is_edit(arguments):
        return None
    if arguments.lstrip().startswith(_BEGIN):
        return _patch(arguments)
    try:
        value = jsonio.loads(arguments.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return "\n".join(_edits(value)) or _patch_in(value)


def _edits(value: Json) -> Iterator[str]:
    """Yield the lines of a diff of the texts that a call replaces."""
    if not isinstance(value, dict):
        return
    path = next((value[name] for name in _PATHS if isinstance(value.get(name), str)), "")
    edits = value.get("edits")
    edits_with_pairs = [each for each in [value, *(edits if isinstance(edits, list) else [])][:_EDITS] if _pair(each)]
    if edits_with_pairs and path:
        yield f"@@ {path} @@"
    for each in edits_with_pairs:
        old, new = _pair(each) or ("", "")
        yield from line_diff(old, new)


def _pair(value: Json) -> tuple[str, str] | None:
    """Return the old and the new text of an edit."""
    if not isinstance(value, dict):
        return None
    both = ((value.get(old), value.get(new)) for old, new in _PAIRS)
    return next(((old, new) for old, new in both if isinstance(old, str) and isinstance(new, str)), None)


def _patch_in(value: Any) -> str | None:
    """Return the patch in a value: in a member, or in an argument of a command."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in members:
        if isinstance(each, str) and _BEGIN in each:
            return _patch(each)
        if isinstance(each, list) and (patch := _patch_in([text for text in each if isinstance(text, str)])):
            return patch
    return None


def _patch(text: str) -> str:
    """Return a patch without the text around it, such as a shell command."""
    begin = text.index(_BEGIN)
    end = text.find(_END, begin)
    return text[begin : end + len(_END)] if end >= 0 else text[begin:]
