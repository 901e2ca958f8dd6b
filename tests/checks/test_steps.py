"""Facts about replies that messages show: how commands, edits, denials, interruptions and requests are recognised.

``tests/steps`` measures the facts on sessions that were planted and labelled without knowing the detectors.  The rows here are
forms of clients; those without a source are made up.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsquash.checks.denials import is_denied
from chatsquash.checks.registry import View
from chatsquash.checks.steps import find_steps
from chatsquash.checks.steps.client_texts import is_cleared, is_client_request, is_interrupted_result, is_interruption
from chatsquash.checks.steps.requests import is_repetition
from chatsquash.checks.steps.shell import commands
from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.model import Conversation
from tests.checks.rows import assistant, call, result, user
from tests.conftest import cases
from tests.steps import planted
from tests.steps.sessions import KINDS


def facts(messages: list[Any]) -> dict[int, frozenset[str]]:
    return find_steps(View(Conversation(messages, [])))


def turn(tool: str, arguments: Any, output: str = "done", call_id: str = "c1") -> list[Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return [assistant("", call(call_id, tool, text)), result(output, call_id)]


def has_fact(kind: str, *turns: list[Any]) -> list[bool]:
    """Whether each of these replies, in a conversation of their own, has a fact."""
    messages = [user("Fix it."), *(message for each in turns for message in each)]
    places = facts(messages)
    return [kind in places.get(at, ()) for at, message in enumerate(messages) if message["role"] == "assistant"]


def test_a_conversation_without_replies_has_no_facts():
    assert facts([user("Fix it.")]) == facts([]) == {}


def test_the_facts_are_those_of_the_options():
    assert {*KINDS, "truncated"} == set(STEP_FACTS)


@cases("text, words",
    ("words and quotes", "git 'log' \"--all\" -S\\ x", [["git", "log", "--all", "-S x"]]),
    ("lists, pipes, background", "a; b && c || d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
    ("a comment, and a hash within a word", "a # git log --all\nb c#d", [["a"], ["b", "c#d"]]),
    ("subshells and braces", "(cd x && git log); { ls; }", [["cd", "x"], ["git", "log"], ["ls"]]),
    ("keywords, assignments, redirections", "if A=1 git log 2>&1 >out.txt; then ls; fi", [["git", "log"], ["ls"]]),
    ("commands that run others", "sudo -u me env A=b timeout 5 nice git log", [["git", "log"]]),
    ("xargs with options", "ls | xargs -n 1 git show", [["ls"], ["git", "show"]]),
    ("a path", "/usr/bin/git log", [["git", "log"]]),
    ("a substitution in quotes runs", 'echo "a $(git log --all) b"', [["git", "log", "--all"], ["echo", "a \0 b"]]),
    ("one in backticks, too", "echo `git log`", [["git", "log"], ["echo", "\0"]]),
    ("one in single quotes does not", "echo '$(git log)'", [["echo", "$(git log)"]]),
    ("a process substitution", "diff <(git log) b", [["git", "log"], ["diff", "\0", "b"]]),
    ("a nested shell", "bash -lc 'cd x; git log'", [["cd", "x"], ["git", "log"], ["bash", "-lc", "cd x; git log"]]),
    ("a shell with a here-document", "sh <<X\ngit log\nX\nls", [["git", "log"], ["sh"], ["ls"]]),
    ("another here-document is text", "cat <<'X' > f\ngit log\nX\nls", [["cat"], ["ls"]]),
    ("with tabs before its end", "cat <<-X\n\tgit log\n\tX\nls", [["cat"], ["ls"]]),
    ("without an end", "cat <<X\ngit log", [["cat"]]),
    ("two of them", "cat <<A; cat <<B\ngit log\nA\ngit log\nB\nls", [["cat"], ["cat"], ["ls"]]),
    ("a here-string is text", "grep x <<< 'git log'; ls", [["grep", "x"], ["ls"]]),
    ("a container", "docker exec c bash -c 'git log'", [["git", "log"], ["bash", "-c", "git log"], ["docker", "exec", "c", "bash", "-c", "git log"]]),
    ("another host", "ssh host 'git log; ls'", [["git", "log"], ["ls"], ["ssh", "host", "git log; ls"]]),
    ("eval", "eval git log", [["git", "log"], ["eval", "git", "log"]]),
    ("a quote that is not closed", "echo 'git log", [["echo", "git log"]]),
    ("a substitution that is not closed", "echo $(git log", [["git", "log"], ["echo", "\0"]]),
    ("a line that continues", "git \\\n log", [["git", "log"]]),
    ("dollar quotes", "echo $'git log'", [["echo", "git log"]]),
    ("nothing", " \n;;", []),
)  # fmt: skip
def test_shell_text_is_divided_into_commands(text, words):
    assert [command.words for command in commands(text)] == words


FUTURE = (
    "git log --all", "cd x && git --no-pager log -p --all -- a.py", "git -C /x rev-list --remotes", "git log --branches=fix*",
    "git log --tags --oneline", "git log -g", "git show --walk-reflogs", "git reflog", "git reflog show main",
    "git show HEAD@{2}", "git show main@{yesterday}:a.py", "git diff ORIG_HEAD", "git log ..FETCH_HEAD", "git show @{u}",
    "git show origin/main:a.py", "git log HEAD..upstream/dev", "git log origin/a...HEAD", "git diff origin/main",
    "git checkout origin/main -- a.py", "git restore --source=origin/main a.py", "git restore -s origin/main a.py",
    "git grep x origin/main", "git grep -e x origin/main", "git show 1a2b3c4d", "git show 1a2b3c4d^:a.py", "git diff HEAD 1a2b3c4d",
    "git cat-file -p 1a2b3c4d", "git cherry-pick -n 1a2b3c4d", "git diff 1a2b3c4d..", "git blame 1a2b3c4d -- a.py",
    "git fsck --lost-found", 'X="$(git log --all)"; ls', "bash -c 'git log --all'", "git log 'refs/remotes/origin/x'",
    "git show " + "deadbeef" * 5,
)  # fmt: skip
PRESENT = (
    "git log", "git log --all-match --grep=x", "git log --grep --all", "git log -S --all", "git log -- --all", "git log main",
    "git add --all", "git commit --all -m x", "git fetch --all", "git push --tags origin", "git branch --all", "git pull origin main",
    "git fetch origin main", "git log -5 v1.2", "git describe --tags", "git log origin/main..HEAD", "git log ^origin/main HEAD",
    "git log HEAD --not origin/main", "git diff origin/main...HEAD", "git grep origin/main", "git log -- origin/main",
    "git show HEAD~3", "git show HEAD^{tree}", "git show stash@{0}", "git checkout @{-1}", "git stash list", "git status",
    "git reflog expire --all", "git rev-parse origin/main", "git merge-base origin/main HEAD", "git push origin/x", "git fsck",
    "git show deadbeef", "git commit -m 'like git log --all'", "echo git log --all", "grep -rn 'git log --all' .",
    "echo 'git reflog' > notes.txt", "# git log --all", "cat > a.sh <<'X'\ngit log --all\nX", "sed -i 's/a/git reflog/' f", "git",
)  # fmt: skip


@pytest.mark.parametrize("command", FUTURE)
def test_history_that_the_current_commit_need_not_contain(command):
    assert has_fact("reads_future", turn("Bash", {"command": command})) == [True]


@pytest.mark.parametrize("command", PRESENT)
def test_history_that_the_current_commit_contains_and_mere_mentions(command):
    assert has_fact("reads_future", turn("Bash", {"command": command})) == [False]


@cases("tool, arguments",
    ("Codex: a list of arguments", "shell", {"command": ["bash", "-lc", "git log --all"]}),
    ("a list of arguments without a shell", "shell", {"command": ["git", "log", "--all"]}),
    ("Codex: exec_command", "exec_command", {"cmd": "git log --all"}),
    ("a command and its arguments", "run", {"command": "git", "args": ["log", "--all"]}),
    ("Cline: several commands", "run_commands", {"commands": ["ls", "git log --all"]}),
    ("Terminus: keystrokes", "terminal", {"commands": [{"keystrokes": "git log --all\n"}]}),
    ("MCP's git server", "mcp__git__git_show", {"revision": "origin/main"}),
    ("a tool with one text", "shell", "git log --all"),
)  # fmt: skip
def test_commands_are_recognised_in_the_arguments_of_agents(tool, arguments):
    assert has_fact("reads_future", turn(tool, arguments)) == [True]


SHOW = turn("Bash", {"command": "git show 1a2b3c4d5e"}, "diff", "c2")


@cases("command, output, is_known",
    ("a plain log", "git log --oneline", "1a2b3c4 Docs", True),
    ("blame", "git blame a.py", "1a2b3c4d (Ann 2021-03-04) x", True),
    ("a commit", "git commit -m x", "[main 1a2b3c4] x", True),
    ("the current commit", "git rev-parse HEAD", "1a2b3c4d5e" * 4, True),
    ("in JSON", "git log --oneline", '{"output": "0000000 a\\n1a2b3c4 b"}', True),
    ("all branches", "git log --all --oneline", "1a2b3c4 Docs", False),
    ("both", "git log; git log --all", "1a2b3c4 Docs", False),
    ("another branch's head", "git rev-parse origin/main", "1a2b3c4d5e" * 4, False),
    ("a list of branches", "git branch -av", "  remotes/origin/x 1a2b3c4 Docs", False),
    ("no git", "cat CHANGES", "1a2b3c4 Docs", False),
    ("another commit", "git log --oneline", "1a2b3c5 Docs", False),
)  # fmt: skip
def test_a_commit_that_an_ordinary_command_showed_is_known(command, output, is_known):
    assert has_fact("reads_future", turn("Bash", {"command": command}, output), SHOW)[1] is not is_known


@cases("message, is_known",
    ("the user names the commit", user("What does 1a2b3c4 do?"), True),
    ("the system prompt", {"role": "system", "content": "Recent commits:\n1a2b3c4 Docs"}, True),
    ("the assistant", assistant("1a2b3c4"), False),
)  # fmt: skip
def test_a_commit_that_a_message_names_is_known(message, is_known):
    messages = [message, user("Fix it."), *SHOW]
    assert ("reads_future" in facts(messages).get(2, ())) is not is_known


def test_a_branch_that_the_user_names_is_known():
    rebase = turn("Bash", {"command": "git diff origin/main"})
    assert "reads_future" not in facts([user("Compare with origin/main."), *rebase]).get(1, ())
    assert "reads_future" in facts([user("Compare with origin/dev."), *rebase])[1]


def patch(old: str, new: str, before: str = " a\n", after: str = "") -> str:
    return f"*** Begin Patch\n*** Update File: f.py\n@@\n{before}-{old}\n+{new}\n{after}*** End Patch"


def diff(old: str, new: str) -> str:
    return f"--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n a\n-{old}\n+{new}\n"


def block(old: str, new: str) -> str:
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE"


def roo(old: str, new: str) -> str:
    return f"<<<<<<< SEARCH\n:start_line:3\n-------\n{old}\n=======\n{new}\n>>>>>>> REPLACE"


EDITORS = [
    ("Claude Code: Edit", "Edit", lambda a, b: {"file_path": "f.py", "old_string": a, "new_string": b}),
    ("with context", "Edit", lambda a, b: {"file_path": "f.py", "old_string": f"x\n{a}", "new_string": f"x\n{b}"}),
    ("MultiEdit", "MultiEdit", lambda a, b: {"file_path": "f.py", "edits": [{"old_string": a, "new_string": b}]}),
    ("Gemini CLI: replace", "replace", lambda a, b: {"file_path": "f.py", "old_string": a, "new_string": b, "expected_replacements": 1}),
    ("OpenCode: edit", "edit", lambda a, b: {"filePath": "f.py", "oldString": a, "newString": b}),
    ("Copilot CLI: edit", "edit", lambda a, b: {"path": "f.py", "old_str": a, "new_str": b}),
    ("Kimi: StrReplaceFile", "StrReplaceFile", lambda a, b: {"path": "f.py", "edit": {"old": a, "new": b}}),
    ("pi: edit", "edit", lambda a, b: {"path": "f.py", "oldText": a, "newText": b}),
    ("OpenHands, SWE-agent, goose", "str_replace_editor", lambda a, b: {"command": "str_replace", "path": "f.py", "old_str": a, "new_str": b}),
    ("Codex: apply_patch", "apply_patch", patch),
    ("as a function", "apply_patch", lambda a, b: {"input": patch(a, b)}),
    ("in a shell", "shell", lambda a, b: {"command": ["apply_patch", patch(a, b)]}),
    ("in a here-document", "exec_command", lambda a, b: {"cmd": f"apply_patch <<'EOF'\n{patch(a, b)}\nEOF"}),
    ("OpenCode: patch", "patch", lambda a, b: {"patchText": patch(a, b)}),
    ("a unified diff", "apply_diff", lambda a, b: {"diff": diff(a, b)}),
    ("Cline: replace_in_file", "replace_in_file", lambda a, b: {"path": "f.py", "diff": block(a, b)}),
    ("Roo Code: apply_diff", "apply_diff", lambda a, b: {"path": "f.py", "diff": roo(a, b)}),
]  # fmt: skip


@cases("tool, arguments", *EDITORS)
def test_a_replacement_that_is_swapped_is_undone(tool, arguments):
    there, back = turn(tool, arguments("n = 1", "n = 2")), turn(tool, arguments("n = 2", "n = 1"))
    other = turn(tool, arguments("n = 2", "n = 3"))
    assert has_fact("undone", there, back) == [True, False]
    assert has_fact("undone", there, turn("Read", {"file_path": "g"}), back, there) == [True, False, True, False]
    assert has_fact("undone", there, other) == [False, False]
    assert has_fact("undone", turn(tool, arguments("n = 1", "n = 2"), "Error: no match"), back) == [False, False]


WRITERS = [
    ("Claude Code: Write", "Write", lambda text: {"file_path": "f.py", "content": text}),
    ("Gemini CLI: write_file", "write_file", lambda text: {"file_path": "f.py", "content": text}),
    ("OpenCode: write", "write", lambda text: {"filePath": "f.py", "content": text}),
    ("Cline: write_to_file", "write_to_file", lambda text: {"path": "f.py", "content": text}),
    ("OpenHands, SWE-agent: create", "str_replace_editor", lambda text: {"command": "create", "path": "f.py", "file_text": text}),
    ("goose: write", "text_editor", lambda text: {"command": "write", "path": "f.py", "file_text": text}),
    ("mini-swe-agent: a here-document", "bash", lambda text: {"command": f"cat <<'EOF' > f.py\n{text}\nEOF"}),
    ("tee", "bash", lambda text: {"command": f"tee f.py <<'EOF'\n{text}\nEOF"}),
]  # fmt: skip


@cases("tool, arguments", *WRITERS)
def test_a_file_that_is_written_as_before_undoes_what_was_written_since(tool, arguments):
    first, second, third = (turn(tool, arguments(text)) for text in ("one", "two", "three"))
    edit = turn("Edit", {"file_path": "f.py", "old_string": "two", "new_string": "2"})
    assert has_fact("undone", first, second, first) == [False, True, False]
    assert has_fact("undone", first, second, edit, first) == [False, True, True, False]
    assert has_fact("undone", first, second, third) == [False] * 3
    assert has_fact("undone", first, first) == [False, False]


def edit(old: str, new: str, file: str = "/w/f.py", output: str = "done", **more: Any) -> list[Any]:
    return turn("Edit", {"file_path": file, "old_string": old, "new_string": new, **more}, output)


@cases("turns, undone",
    ("another file", [edit("a", "b"), edit("b", "a", "/w/g.py")], [False, False]),
    ("the same file by another path", [edit("a", "b"), edit("b", "a", "/w/x/../f.py")], [True, False]),
    ("a part", [edit("a b", "c d"), edit("c", "a")], [False, False]),
    ("another place", [edit("x: 1", "x: 2"), edit("y: 2", "y: 1")], [False, False]),
    ("less context", [edit("def f():\n    return 1\n", "def f():\n    return 2\n"), edit("return 2", "return 1")], [True, False]),
    ("one occurrence of all", [edit("a", "b", replace_all=True), edit("b", "a")], [False, False]),
    ("all occurrences", [edit("a", "b", replace_all=True), edit("b", "a", replace_all=True)], [True, False]),
    ("nothing replaced", [edit("a", "a"), edit("a", "a")], [False, False]),
    ("the user denied it", [edit("a", "b", output="The user doesn't want to proceed with this tool use."), edit("b", "a")], [False, False]),
    ("a swap that had no effect", [edit("a", "b"), edit("b", "a", output="No replacement was performed, old_str `b` did not appear verbatim")], [False, False]),
    ("the content as read", [turn("Read", {"file_path": "/w/f.py"}, "     1\tone"), turn("Write", {"file_path": "/w/f.py", "content": "two"}), turn("Write", {"file_path": "/w/f.py", "content": "one"})], [False, True, False]),
    ("a part as read", [turn("Read", {"file_path": "/w/f.py", "limit": 1}, "     1\tone"), turn("Write", {"file_path": "/w/f.py", "content": "two"}), turn("Write", {"file_path": "/w/f.py", "content": "one"})], [False, False, False]),
    ("undo_edit", [turn("str_replace_editor", {"command": "insert", "path": "f", "insert_line": 1, "new_str": "x"}), turn("str_replace_editor", {"command": "undo_edit", "path": "f"})], [True, False]),
    ("an inserted text is removed", [turn("str_replace_editor", {"command": "insert", "path": "f", "insert_line": 1, "new_str": "x"}), turn("str_replace_editor", {"command": "str_replace", "path": "f", "old_str": "x"})], [True, False]),
    ("appended texts are no content", [turn("append_file", {"path": "f", "content": "x"}), turn("append_file", {"path": "f", "content": "y"}), turn("append_file", {"path": "f", "content": "x"})], [False] * 3),
    ("two edits by one call", [edit("a", "b"), edit("c", "d"), turn("MultiEdit", {"file_path": "/w/f.py", "edits": [{"old_string": "d", "new_string": "c"}, {"old_string": "b", "new_string": "a"}]})], [True, True, False]),
    ("one of two files", [turn("apply_patch", "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Update File: b\n@@\n-1\n+2\n*** End Patch"), turn("apply_patch", "*** Begin Patch\n*** Update File: a\n@@\n-2\n+1\n*** End Patch")], [False, False]),
    ("a new file that is deleted", [turn("apply_patch", "*** Begin Patch\n*** Add File: a\n+1\n*** End Patch"), turn("apply_patch", "*** Begin Patch\n*** Delete File: a\n*** End Patch")], [False, False]),
    ("the same texts in two patches of other places", [turn("apply_patch", patch("1", "2", " def f():\n")), turn("apply_patch", patch("2", "1", " def g():\n"))], [False, False]),
)  # fmt: skip
def test_an_edit_is_undone_by_its_exact_opposite_in_the_same_place(turns, undone):
    assert has_fact("undone", *turns) == undone


def test_blocks_in_replies_are_edits_unless_they_match_nothing():
    """Aider applies blocks in the text of a reply; its answer to a block without a match is in its base_coder.py."""
    first, second = f"f.py\n```\n{block('1', '2')}\n```", f"f.py\n```\n{block('2', '1')}\n```"
    messages = [user("a"), assistant(first), user("b"), assistant(second), user("c"), assistant("d")]
    assert "undone" in facts(messages)[1]
    messages[2] = user("# 1 SEARCH/REPLACE block failed to match!")
    assert facts(messages) == {}


DENIALS = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",  # Claude Code
    "The user doesn\u2019t want to take this action right now. STOP what you are doing.",
    "[Operation Cancelled] Reason: User denied execution.",  # Gemini CLI, in published sessions
    '{"error": "[Operation Cancelled] Reason: User did not allow tool call"}',  # Qwen Code
    "The user denied this operation and provided the following feedback:\n<feedback>\nno\n</feedback>",  # Cline, Roo Code
    "[execute_command for 'npm i'] Result:\nThe user denied this operation.",
    "exec command rejected by user", "patch rejected by user",  # Codex
    "Error: The user rejected permission to use this specific tool call.",  # OpenCode
    "ERROR: The tool call is rejected by the user.",  # Kimi CLI
    "The user has chosen to disallow the tool call.",  # ellmer
)  # fmt: skip
NO_DENIALS = (
    "Permission to use Bash has been denied.", "permission denied by user settings", "bash: /root: Permission denied",
    "ERROR 1045 (28000): Access denied for user 'root'@'localhost'", "sandbox: operation not permitted", "10:02 user denied",
    "Claude requested permissions to write to /w/a, but you haven't granted it yet.", "test_user_denied_by_user PASSED",
    "def deny():\n    return 'rejected by user'", "The docs say that the user rejected it.", "x" * 500 + "\nrejected by user",
)  # fmt: skip


@pytest.mark.parametrize("text", DENIALS)
def test_a_result_reports_that_the_user_denied_the_call(text):
    assert is_denied(result(text))
    assert has_fact("denied", turn("Bash", {}, text)) == [True]


@pytest.mark.parametrize("text", NO_DENIALS)
def test_other_refusals_and_mere_mentions_are_not_the_users(text):
    assert not is_denied(result(text))
    assert has_fact("denied", turn("Bash", {}, text)) == [False]


@cases("text",
    ("Claude Code", "[Request interrupted by user for tool use]"),
    ("Claude Code, a command", "x\n<error>Command was aborted before completion</error>"),
    ("Codex", "aborted by user after 5.0s"),
    ("Codex, a shell", "Wall time: 3.2 seconds\naborted by user"),
    ("Gemini CLI", "[Operation Cancelled] Reason: User cancelled the operation."),
    ("OpenCode", "[Tool execution was interrupted]"),
    ("OpenCode, an error", "Tool execution aborted"),
    ("Cline", "Task was interrupted before this tool call could be completed."),
)  # fmt: skip
def test_a_result_reports_that_the_call_was_interrupted(text):
    assert is_interrupted_result(text)
    assert has_fact("interrupted", turn("Bash", {}, text)) == [True]


@pytest.mark.parametrize(
    "text",
    [
        "Operation cancelled",
        "received SIGINT",
        "The build was aborted by user code",
        "a\nInterrupted by user",
        "KeyboardInterrupt",
    ],
)
def test_a_program_that_stops_is_not_an_interruption(text):
    assert not is_interrupted_result(text)


@cases("text",
    ("Claude Code", "[Request interrupted by user]"),
    ("Codex", "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>"),
    ("Cline", "[TASK RESUMPTION] This task was interrupted 5 minutes ago."),
)  # fmt: skip
def test_a_message_reports_that_the_reply_was_interrupted(text):
    assert is_interruption(text)
    assert "interrupted" in facts([user("Go."), assistant("I"), user(text), assistant("ok")])[1]
    assert facts([user("Go."), assistant("I"), user(f"Why does it say {text}?"), assistant("ok")]) == {}


@pytest.mark.parametrize(
    "text",
    [
        "[Old tool result content cleared]",
        "Old environment output: (12 lines omitted)",
        "<removed>",
        "[content omitted to save tokens]",
    ],
)
def test_placeholders_of_results_are_recognised(text):
    assert is_cleared(text)
    repeated = turn("Read", {"path": "a"}, text)
    assert has_fact("repeated_call", repeated, repeated) == [False, False]


@pytest.mark.parametrize("text", ["removed 3 files\nok", "Tool results were removed from the tests.\n" * 20, "x = 1"])
def test_other_results_are_not_placeholders(text):
    assert not is_cleared(text)


SAME = [
    ("case and punctuation", "Fix the login bug!", "fix the Login bug"),
    ("white space", "Fix the  login\nbug", "Fix the login bug"),
    ("a short request", "Run tests", "run tests."),
    ("please, again", "Fix the login bug in auth.py", "Please fix the login bug in auth.py again!"),
    ("I said", "Use four spaces", "I said use four spaces"),
    ("a complaint before it", "Fix the login bug", "That's wrong. It still doesn't work. Fix the login bug."),
    ("the place first", "Fix the login bug in auth.py", "In auth.py, fix the login bug"),
    ("a typing error", "Write documentation for the parser module", "Write documentatoin for the parser module"),
    ("accents", "¿Cuál es el total?", "cual es el total"),
    ("Japanese", "テストを直して", "テストを直して。"),
]
DIFFERENT = [
    ("continue", "continue", "Continue."),
    ("go on", "ok, go on", "ok go on"),
    ("continue in Chinese", "继续", "继续"),
    ("another file", "Fix the login bug in auth.py", "Fix the login bug in user.py"),
    ("another number", "Set the limit to 10 requests", "Set the limit to 100 requests"),
    ("a negation", "Delete the old tests", "Do not delete the old tests"),
    ("the other way round", "Rename foo to bar", "Rename bar to foo"),
    ("more", "Fix the login bug", "Fix the login bug and write a test for it"),
    ("another verb", "Add the import", "Remove the import"),
    ("a similar identifier", "Run test_alpha again with coverage on", "Run test_alphb again with coverage on"),
    ("a command", "/compact", "/compact"),
    ("only fillers", "please do it again", "do it now please"),
    ("nothing", "", ""),
]


@cases("before, text", *SAME)
def test_a_request_is_repeated(before, text):
    assert is_repetition(before, text)
    assert "asked_again" in facts([user(before), assistant("a"), user(text), assistant("b")])[1]


@cases("before, text", *DIFFERENT)
def test_another_request_or_an_acknowledgement_is_no_repetition(before, text):
    assert not is_repetition(before, text)


def test_notes_of_the_client_are_no_part_of_a_request():
    wrapped = "<task>Fix the bug in f.py</task>\n<environment_details>\n10:{}\n</environment_details>"
    messages = [user(wrapped.format(1)), assistant("a"), user("<system-reminder>x</system-reminder>"), assistant("b")]
    messages += [user("[Request interrupted by user]"), user(wrapped.format(2)), assistant("c")]
    assert facts(messages) == {3: {"asked_again", "interrupted"}}


def test_a_request_after_results_that_the_model_has_not_answered_is_not_repeated():
    """Pydantic AI sends the prompt again after the result of a call."""
    messages = [user("Where is Fez?"), *turn("search", {"q": "Fez"}, "Morocco"), user("Where is Fez?"), assistant("x")]
    assert facts(messages) == {}
    messages[2] = result("The user doesn't want to proceed with this tool use.")
    assert facts(messages) == {1: {"asked_again", "denied"}}


def test_another_image_is_another_request():
    images = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{name}"}} for name in ("AAAA", "BBBB")]
    text = {"type": "text", "text": "What is in the picture?"}
    assert facts([user([text, images[0]]), assistant("a"), user([text, images[1]]), assistant("b")]) == {}
    assert facts([user([text, images[0]]), assistant("a"), user([text, images[0]]), assistant("b")]) == {
        1: {"asked_again"}
    }


@pytest.mark.parametrize(
    "text",
    [
        "<returncode>1</returncode>",
        "OBSERVATION: nothing",
        "Please continue working on the task on whatever approach you think is suitable.",
    ],
)
def test_what_an_agent_writes_as_the_user_is_no_request(text):
    """mini-swe-agent's and SWE-agent's observations, and the answer of OpenHands' evaluation to a question."""
    assert is_client_request(text)
    assert facts([user("Fix it."), assistant("a"), user(text), assistant("b"), user(text), assistant("c")]) == {}


FAILED = turn("Bash", {"command": "make"}, "make: *** [all] Error 2")
CLAIMS = (
    "Done!",
    "I fixed the bug, and all tests pass.",
    "The TypeError is fixed.",
    "Everything works without errors.",
    "Fertig, alles läuft.",
    "已完成。",
)
NO_CLAIMS = (
    "The build failed.", "Done, but make reports an error.", "I could not build it.", "Should I install make?", "Fixed, although make isn't there.",
    "The change is complete; the tests were not run.", "", "Der Fehler ist nicht behoben.", "构建失败。",
)  # fmt: skip


@pytest.mark.parametrize("text", CLAIMS)
def test_a_claim_of_success_directly_after_a_failure_ignores_it(text):
    assert has_fact("ignored_result", FAILED, [assistant(text)]) == [False, True]
    assert has_fact("ignored_result", FAILED, turn("Bash", {"command": "ls"}), [assistant(text)]) == [False] * 3
    assert has_fact("ignored_result", turn("Bash", {}, "built"), [assistant(text)]) == [False, False]


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_a_text_that_mentions_the_failure_or_claims_nothing_does_not(text):
    assert has_fact("ignored_result", FAILED, [assistant(text)]) == [False, False]


def test_a_search_without_matches_is_no_failure_to_mention():
    search = turn("Bash", {"command": "grep -rn foo ."}, "Exit code 1")
    assert has_fact("ignored_result", search, [assistant("Done: foo is removed everywhere.")]) == [False, False]


def test_a_program_that_runs_again_after_an_edit_is_not_repeated():
    test, view = turn("Bash", {"command": "pytest"}, "1 failed"), turn("Bash", {"command": "cat a.py"}, "x")
    change = edit("a", "b", "/w/b.py")
    assert has_fact("repeated_call", test, change, test) == [False] * 3
    assert has_fact("repeated_call", view, change, view) == [False, False, True]
    assert has_fact("repeated_call", test, view, test) == [False, False, True]


@cases("output",
    ("Codex", "Chunk ID: {0}a\nWall time: 0.0{0} seconds\nProcess exited with code 0\nOutput:\nx"),
    ("Codex, as JSON", '{{"output": "x", "metadata": {{"exit_code": 0, "duration_seconds": {0}.5}}}}'),
    ("Gemini CLI", "Output: x\nProcess Group PGID: {0}"),
)  # fmt: skip
def test_times_and_process_numbers_of_the_client_do_not_make_results_differ(output):
    first, second = (turn("Bash", {"command": "ls"}, output.format(n)) for n in (1, 2))
    assert has_fact("repeated_call", first, second) == [False, True]
    assert has_fact("repeated_call", first, turn("Bash", {"command": "ls"}, output.format(1).replace("x", "y"))) == [
        False,
        False,
    ]


def test_after_a_cleared_result_no_commit_is_unknown():
    log = turn("Bash", {"command": "git log --oneline"}, "[Old tool result content cleared]")
    assert has_fact("reads_future", log, SHOW) == [False, False]


@pytest.mark.parametrize(
    "text", ["[ERROR] Failed to execute goal", "Format error in the CSV export", "Execution results differ"]
)
def test_texts_that_users_paste_are_requests(text):
    assert not is_client_request(text)


def test_a_cycle_is_a_loop_from_its_third_round():
    a, b, c = (turn("Bash", {"command": name}, name) for name in "abc")
    assert has_fact("loop", a, a, a, a) == [False, False, True, True]
    assert has_fact("loop", a, b, a, b, a, b) == [False] * 4 + [True] * 2
    assert has_fact("loop", a, a, b, a, a) == [False] * 5
    assert has_fact("loop", a, b, c, a, c, b, a, b, c) == [False] * 9
    assert has_fact("loop", *[[assistant("I will.")]] * 3) == [False, False, True]
    assert has_fact("loop", *[[assistant("")]] * 4) == [False] * 4


PLANTED = [session for kind in planted.MODULES for session in planted.sessions(kind)]
CONVERSATIONS = st.sampled_from(PLANTED)


@settings(max_examples=60)
@given(CONVERSATIONS)
def test_later_turns_change_nothing_but_the_last_reply_and_corrections(session):
    """A later turn may correct a failed call, undo an edit, or repeat the request; an unrelated one does none of these."""
    messages = session.messages
    if messages[-1]["role"] == "user":
        messages = messages[:-1]
    later = [
        user("What is the weather in Reykjavik tomorrow?"),
        *turn("zz_weather", {"q": 1}, "rain", "zz"),
        assistant("Rain."),
    ]
    assert facts([*messages, *later]) == facts(messages)


@settings(max_examples=60)
@given(CONVERSATIONS, st.randoms(use_true_random=False))
def test_the_order_of_members_and_the_ids_of_calls_do_not_matter(session, random):
    texts = json.dumps([{name: value for name, value in each.items() if name != "_x"} for each in session.messages])
    before = json.loads(texts)
    after = json.loads(texts)
    for message in after:
        for each in message.get("tool_calls") or ():
            each["id"] = f"new-{each['id']}"
            if "function" in each:
                members = list(json.loads(each["function"]["arguments"]).items())
                random.shuffle(members)
                each["function"]["arguments"] = json.dumps(dict(members), indent=1)
        if "tool_call_id" in message:
            message["tool_call_id"] = f"new-{message['tool_call_id']}"
    assert facts(after) == facts(before)


HOSTILE = [
    {"role": "assistant", "content": None, "tool_calls": [{"id": 7, "function": None}, {"custom": 3}, {"function": {"arguments": {"a": 1}}}]},
    {"role": "assistant", "content": [1, {"type": "text", "text": 3}], "tool_calls": "x"},
    {"role": "tool", "tool_call_id": [1], "content": {"a": 1}},
    {"role": "user", "content": {"a": 1}},
    assistant("", call("c1", "Edit", '{"file_path": 3, "old_string": [], "new_string": {}, "edits": [1, {"path": []}]}')),
    result("x"),
    assistant("", call("c1", "Bash", '{"command": {"git": 1}, "commands": [[], {"keystrokes": 1}], "cmd": [1, "git"], "args": 3}')),
    result("x"),
    assistant("", call("c1", "Bash", '{"a":' * 100_000), call("c1", "Edit", '{"file_path": "\\ud800", "old_string": "\\ud800", "new_string": ""}')),
    result("\ud800 user denied"),
    assistant("", call("c1", "Bash", '{"n": 1e999, "command": "git show \\u0000 $((((((`"}')),
]  # fmt: skip


def test_values_of_other_types_raise_nothing():
    assert facts([user("a"), *HOSTILE, *HOSTILE]) is not None


def _events(messages: list[Any]) -> int:
    """The number of calls of functions and methods, which take time in proportion to their arguments at most."""
    count = 0

    def profile(*_: Any) -> None:
        nonlocal count
        count += 1

    view = View(Conversation(messages, []))
    sys.setprofile(profile)
    try:
        find_steps(view)
    finally:
        sys.setprofile(None)
    return count


def _many(count: int, *turns: list[Any]) -> list[Any]:
    return [user("Go."), *(message for _ in range(count) for each in turns for message in each)]


@cases("make",
    ("equal calls", lambda n: _many(n, turn("Bash", {"command": "git log; ls"}, "x"))),
    ("failures", lambda n: _many(n, turn("Bash", {"command": "ls"}, "Error: x"))),
    ("edits there and back", lambda n: _many(n, edit("a", "b"), edit("b", "a"))),
    ("edits there", lambda n: _many(n, edit("a", "b"))),
    ("files written in turn", lambda n: _many(n, *(turn("Write", {"path": "f", "content": text}) for text in "abc"))),
    ("one call with many replacements", lambda n: _many(2, turn("MultiEdit", {"path": "f", "edits": [{"old": "a", "new": "b"}, {"old": "b", "new": "a"}] * n}))),
    ("requests", lambda n: [user("Fix the bug."), assistant("ok")] * n),
    ("unknown commits", lambda n: [user("Fix 7654321."), *_many(n, turn("Bash", {"command": "git show 1234567"}))]),
    ("signs of shells", lambda n: _many(1, turn("Bash", {"command": "git" + "$(" * n + '"`<<a\n' * n}))),
    ("nested quotes", lambda n: _many(1, turn("Bash", {"command": "git; bash -c '" * n}))),
    ("patches", lambda n: _many(1, turn("apply_patch", patch("a", "b", after="@@\n-a\n+b\n" * n)))),
)  # fmt: skip
def test_work_grows_with_the_size_of_the_conversation(make):
    once, twice = _events(make(300)), _events(make(600))
    assert twice <= 2.2 * once + 500
