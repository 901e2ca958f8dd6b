"""Calls in the forms of agents, with the names of their tools, arguments and results.

The forms are those of the recordings and golden cases (see ``tests/agents``), and of the agents' sources where they are in
none: Cline (``src/core/prompts/responses.ts``), goose (``developer__text_editor``), OpenHands (``str_replace_editor``).
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from chatsquash.core.blocks import Outcome
from tests.steps.sessions import PlantedCall, call

_numbers = count(4096)


def claude(command: str, output: str, outcome: Outcome = "success", title: str = "Run a command") -> PlantedCall:
    return call("Bash", {"command": command, "description": title}, output, outcome)


def claude_read(path: str, text: str, outcome: Outcome = "success") -> PlantedCall:
    numbered = "\n".join(f"{at:6}\t{line}" for at, line in enumerate(text.split("\n"), 1))
    return call("Read", {"file_path": path}, numbered if outcome == "success" else text, outcome)


def claude_edit(
    path: str, old: str, new: str, result: str | None = None, outcome: Outcome = "success", **options: Any
) -> PlantedCall:
    text = f"The file {path} has been updated successfully." if result is None else result
    return call("Edit", {"file_path": path, "old_string": old, "new_string": new, **options}, text, outcome)


def claude_write(path: str, content: str, result: str | None = None, outcome: Outcome = "success") -> PlantedCall:
    text = f"File created successfully at: {path}" if result is None else result
    return call("Write", {"file_path": path, "content": content}, text, outcome)


NOT_FOUND = "<tool_use_error>String to replace not found in file.\nString: {}</tool_use_error>"
CLAUDE_REJECTION = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


def codex(command: str, output: str, code: int = 0) -> PlantedCall:
    head = f"Chunk ID: {next(_numbers):06x}\nWall time: 0.0{next(_numbers)} seconds\nProcess exited with code {code}"
    return call("exec_command", {"cmd": command}, f"{head}\nOriginal token count: 12\nOutput:\n{output}\n")


def codex_shell(command: str, output: str, code: int = 0) -> PlantedCall:
    value = {"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.2}}
    return call("shell", {"command": ["bash", "-lc", command], "workdir": "/work/app"}, json.dumps(value))


def codex_patch(path: str, lines: str, result: str | None = None) -> PlantedCall:
    """Return a call of the tool with one text; ``lines`` are those of the patch."""
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n{lines}\n*** End Patch"
    done = f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\nM {path}\n"
    return call("apply_patch", patch, done if result is None else result)


def gemini(command: str, output: str, outcome: Outcome = "success") -> PlantedCall:
    wrapped = f"<untrusted_context>\nOutput: {output}\nProcess Group PGID: {next(_numbers)}\n</untrusted_context>"
    text = wrapped if outcome == "success" else output
    return call("run_shell_command", {"command": command, "description": "Run it"}, text, outcome)


def gemini_edit(path: str, old: str, new: str, result: str | None = None, outcome: Outcome = "success") -> PlantedCall:
    text = f"Successfully modified file: {path} (1 replacements)." if result is None else result
    arguments = {"file_path": path, "instruction": "Change it", "old_string": old, "new_string": new}
    return call("replace", arguments, text, outcome)


def opencode(command: str, output: str, outcome: Outcome = "success") -> PlantedCall:
    return call("bash", {"command": command, "description": "Runs it"}, output, outcome)


def opencode_edit(
    path: str, old: str, new: str, result: str = "Edit applied successfully.", outcome: Outcome = "success"
) -> PlantedCall:
    return call("edit", {"filePath": path, "oldString": old, "newString": new}, result, outcome)


def opencode_write(path: str, content: str) -> PlantedCall:
    return call("write", {"content": content, "filePath": path}, "Wrote file successfully.")


def goose(command: str, output: str, outcome: Outcome = "success") -> PlantedCall:
    return call("developer__shell", {"command": command}, output, outcome)


def goose_editor(command: str, path: str, result: str, outcome: Outcome = "success", **arguments: Any) -> PlantedCall:
    return call("developer__text_editor", {"command": command, "path": path, **arguments}, result, outcome)


def cline(command: str, output: str, outcome: Outcome = "success") -> PlantedCall:
    arguments = {"command": command, "requires_approval": False}
    text = f"Command executed.\nOutput:\n{output}" if outcome == "success" else output
    return call("execute_command", arguments, text, outcome)


def cline_edit(path: str, old: str, new: str, result: str | None = None) -> PlantedCall:
    text = f"The content was successfully saved to {path}." if result is None else result
    diff = f"------- SEARCH\n{old}\n=======\n{new}\n+++++++ REPLACE"
    return call("replace_in_file", {"path": path, "diff": diff}, text)


def cline_write(path: str, content: str) -> PlantedCall:
    text = f"The content was successfully saved to {path}."
    return call("write_to_file", {"path": path, "content": content}, text)


def openhands(command: str, output: str, code: int = 0) -> PlantedCall:
    tail = f"[The command completed with exit code {code}.]\n[Current working directory: /workspace]"
    return call("execute_bash", {"command": command}, f"{output}\n{tail}")


def openhands_editor(command: str, path: str, result: str, **arguments: Any) -> PlantedCall:
    return call("str_replace_editor", {"command": command, "path": path, **arguments}, result)


def openhands_edit(path: str, old: str, new: str, result: str | None = None) -> PlantedCall:
    text = (
        f"The file {path} has been edited. Here's the result of running `cat -n` on a snippet of {path}:\n     1\t{new}"
    )
    return openhands_editor("str_replace", path, text if result is None else result, old_str=old, new_str=new)


def kimi(command: str, output: str, outcome: Outcome = "success") -> PlantedCall:
    text = f"<system>Command executed successfully.</system>{output}" if outcome == "success" else output
    return call("Shell", {"command": command}, text, outcome)


def kimi_edit(path: str, old: str, new: str, result: str | None = None, outcome: Outcome = "success") -> PlantedCall:
    text = f"<system>File successfully edited. Applied 1 edit(s) with 1 total replacement(s).</system>{path}"
    arguments = {"path": path, "edit": {"old": old, "new": new}}
    return call("StrReplaceFile", arguments, text if result is None else result, outcome)


def copilot(command: str, output: str, code: int = 0) -> PlantedCall:
    return call("bash", {"command": command, "description": "Run"}, f"{output}\n<exited with exit code {code}>")


def copilot_edit(path: str, old: str, new: str) -> PlantedCall:
    return call("edit", {"path": path, "old_str": old, "new_str": new}, f"File {path} updated with changes.")


def mini(command: str, output: str, code: int = 0) -> PlantedCall:
    return call("bash", {"command": command}, json.dumps({"returncode": code, "output": output}))
