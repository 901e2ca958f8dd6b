"""Calls that edit files are shown as diffs, whatever tool they call."""

import json

import pytest

from chatsquash.view.pages.edits import edit_diff
from chatsquash.view.pages.texts import PageTexts

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"
EDITS = {
    "of Claude Code": ({"file_path": "a.py", "old_string": "a\nb", "new_string": "a\nc"}, "@@ a.py @@\n a\n-b\n+c"),
    "of an editor": ({"command": "str_replace", "path": "a", "old_str": "b", "new_str": "c"}, "@@ a @@\n-b\n+c"),
    "several in one call": (
        {"file_path": "a", "edits": [{"old_string": "b", "new_string": "c"}, {"old_string": "d", "new_string": ""}]},
        "@@ a @@\n-b\n+c\n-d\n+",
    ),
    "without a path": ({"old_string": "b", "new_string": "c"}, "-b\n+c"),
    "a patch": ({"input": PATCH}, PATCH),
    "a patch in a command": ({"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}, PATCH),
    "a patch that is cut": ({"patch": PATCH[:40]}, PATCH[:40]),
    "no edit": ({"command": "ls"}, None),
    "texts that are no strings": ({"old_string": 1, "new_string": None}, None),
    "a list": ([1], None),
    "an edit that changes nothing": ({"old_string": "b", "new_string": "b"}, None),
}


@pytest.mark.parametrize(("arguments", "expected"), EDITS.values(), ids=EDITS)
def test_an_edit_is_a_diff(arguments, expected):
    assert edit_diff(json.dumps(arguments)) == expected


def test_arguments_that_are_a_patch_are_a_diff():
    assert edit_diff(PATCH) == PATCH


@pytest.mark.parametrize("arguments", ['{"old_string": "a', '"old_string"', "[" * 10_000 + '"old_string"'])
def test_arguments_that_are_no_json_are_no_diff(arguments):
    assert edit_diff(arguments) is None


def test_texts_whose_lines_repeat_without_end_are_removed_and_added():
    old, new = "a\n" * 8_000, "a\nb\n" * 4_000
    lines = edit_diff(json.dumps({"old_string": old, "new_string": new})).split("\n")
    assert (len(lines), lines[0], lines[-2]) == (16_002, "-a", "+b")


def test_a_page_has_the_diff_and_the_arguments_folded():
    body = PageTexts().body("call", json.dumps({"old_string": "<b>", "new_string": "c"}))
    assert '<pre class="edit">\n<span class="removed">-&lt;b&gt;</span>\n<span class="added">+c</span></pre>' in body
    assert "<details><summary>arguments</summary><pre" in body
