"""The user or the client interrupted the reply or its calls.

The texts are those of the clients: Claude Code ("[Request interrupted by user]", "Command was aborted before completion"),
Codex ("<turn_aborted>", "aborted by user after 5.0s"), Gemini CLI and Qwen Code ("[Operation Cancelled] Reason: ..."),
OpenCode ("[Tool execution was interrupted]"), goose ("Interrupted by the user to make a correction"), Cline ("[Response
interrupted by user]", "Task was interrupted before this tool call could be completed.").
"""

from tests.steps.clients import (
    CLAUDE_REJECTION,
    claude,
    claude_edit,
    claude_read,
    cline,
    codex,
    copilot,
    gemini,
    goose,
    kimi,
    mini,
    opencode,
    openhands,
)
from tests.steps.sessions import call, reply, user

INTERRUPTED = "interrupted"
CLAUDE, CLAUDE_TOOL = "[Request interrupted by user]", "[Request interrupted by user for tool use]"
CODEX = (
    "<turn_aborted>\nThe user interrupted the previous turn on purpose. Any running unified exec processes may still be "
    "running in the background.\n</turn_aborted>"
)
GEMINI = "[Operation Cancelled] Reason: User cancelled the operation."
CASES = {
    "claude_text": [
        user("Explain the module."),
        reply("The module has three parts. First,", facts=INTERRUPTED),
        user(CLAUDE),
        user("Only the first part, please."),
        reply("It reads the table."),
    ],
    "claude_running_command": [
        user("Run the slow tests."),
        reply(claude("make slow", "test_a ok\n<error>Command was aborted before completion</error>", "failed"), facts=INTERRUPTED),
        user(CLAUDE_TOOL),
        user("Stop there, that is enough."),
        reply("All right."),
    ],
    "claude_rejection_and_marker": [
        user("Clean up."),
        reply(claude("rm -rf build", CLAUDE_REJECTION, "failed"), facts="interrupted denied"),
        user(CLAUDE_TOOL),
        user("Keep the build."),
        reply("I keep it."),
    ],
    "claude_finished_call_then_marker": [
        user("Print the table."),
        reply("I print it.", claude("python table.py", "Brest 06:12"), facts=INTERRUPTED),
        user(CLAUDE_TOOL),
        user("Only Brest."),
        reply("Brest 06:12."),
    ],
    "codex_text": [
        user("Erkläre den Code."),
        reply("Der Code liest zuerst", facts=INTERRUPTED),
        user(CODEX),
        user("Kürzer bitte."),
        reply("Er liest eine Tabelle."),
    ],
    "codex_aborted_command": [
        user("Run it."),
        reply(call("exec_command", {"cmd": "sleep 100"}, "aborted by user after 5.0s"), facts="interrupted failed_call"),
        user(CODEX),
        user("Use a shorter time."),
        reply(codex("sleep 1", "")),
        reply("It slept."),
    ],
    "codex_aborted_shell": [
        user("Run it."),
        reply(call("shell", {"command": ["bash", "-lc", "make"]}, "Wall time: 4.1 seconds\naborted by user"), facts=INTERRUPTED),
        user(CODEX),
        user("Not now."),
        reply("As you like."),
    ],
    "gemini_cancelled": [
        user("Build it."),
        reply(gemini("make all", GEMINI, "failed"), facts=INTERRUPTED),
        user("Only the docs."),
        reply(call("read_file", {"file_path": "docs"}, "x")),
        reply("Here are the docs."),
    ],
    "qwen_cancelled": [
        user("构建项目"),
        reply(call("run_shell_command", {"command": "make", "is_background": False}, GEMINI, "failed"), facts=INTERRUPTED),
        user("等一下"),
        reply("好的。"),
    ],
    "opencode_interrupted": [
        user("Ask the calendar."),
        reply(call("calendar", {"day": 5}, "[Tool execution was interrupted]", "failed"), facts=INTERRUPTED),
        user("And?"),
        reply("It is Monday."),
    ],
    "opencode_aborted": [
        user("Find the leak."),
        reply(opencode("valgrind ./app", "Tool execution aborted", "failed"), facts=INTERRUPTED),
        user("Look at the code first."),
        reply("It is in a.c."),
    ],
    "goose_correction": [
        user("Installe tout."),
        reply(goose("npm install", "Interrupted by the user to make a correction", "failed"), facts=INTERRUPTED),
        reply("The existing call to developer__shell was interrupted. How would you like to proceed?"),
        user("Utilise pnpm."),
        reply("D'accord."),
    ],
    "cline_text": [
        user("<task>\nDescribe the API.\n</task>"),
        reply("The API has two\n\n[Response interrupted by user]", facts=INTERRUPTED),
        user("Use a table, please."),
        reply("| path | use |"),
    ],
    "cline_call": [
        user("<task>\nStart it.\n</task>"),
        reply(cline("npm start", "Task was interrupted before this tool call could be completed.", "failed"), facts=INTERRUPTED),
        user("[TASK RESUMPTION] This task was interrupted 8 minutes ago."),
        reply("I look at its state first."),
    ],
    "marked_as_interrupted": [
        user("Fetch it."),
        reply(call("fetch", {"url": "http://a"}, "", "interrupted"), facts=INTERRUPTED),
        user("Leave that."),
        reply("Left."),
    ],
    # Look-alikes
    "the_user_says_stop": [
        user("Sort the list."),
        reply("Sorted by name."),
        user("Stop. Sort it by size instead."),
        reply("Sorted by size."),
    ],
    "the_marker_is_quoted": [
        user("Write a parser."),
        reply("It parses all lines."),
        user("How does it treat the line '[Request interrupted by user]' of Claude Code's logs?"),
        reply("As text."),
    ],
    "the_marker_in_a_result": [
        user("Which lines did the client write?"),
        reply(claude("grep -n interrupted log.jsonl", "12: [Request interrupted by user for tool use]")),
        reply("Line 12."),
    ],
    "the_marker_in_a_file": [
        user("Read it."),
        reply(claude_read("/w/README.md", "The tool prints\naborted by user after 5.0s\nif you press Escape.")),
        reply("Escape stops it."),
    ],
    "keyboard_interrupt_of_a_program": [
        user("Why did it end?"),
        reply(mini("cat err.log", 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nKeyboardInterrupt', 0)),
        reply("Somebody pressed Ctrl-C."),
    ],
    "a_command_that_timed_out": [
        user("Run the tests."),
        reply(claude("make slow", "Command timed out after 2m 0.0s", "failed")),
        reply("It timed out after two minutes."),
    ],
    "a_connection_that_was_interrupted": [
        user("Download it."),
        reply(goose("curl -O http://a/b", "curl: (18) transfer closed with 12 bytes remaining to read", "failed")),
        reply("The connection was interrupted by the server."),
    ],
    "core_dumped": [
        user("Run it."),
        reply(openhands("./app", "Aborted (core dumped)", 134)),
        reply("It aborts: an assertion fails."),
    ],
    "killed_for_memory": [
        user("Train it."),
        reply(copilot("python train.py", "Killed", 137)),
        reply("It was killed, probably for want of memory."),
    ],
    "npm_cancelled": [
        user("Create the app."),
        reply(opencode("npm create vite", "Operation cancelled", "failed")),
        reply("The prompt needs an answer; I pass it as an option next."),
    ],
    "the_agent_kills_it": [
        user("Start the server and stop it."),
        reply(kimi("node a.js & sleep 1; kill -INT $!", "received SIGINT, shutting down")),
        reply("It starts and stops."),
    ],
    "an_ordinary_next_turn": [
        user("Name a port."),
        reply("Hamburg."),
        user("Another one."),
        reply("Brest."),
    ],
    "a_denied_call_with_feedback": [
        user("Clean up."),
        reply(claude("rm -rf dist", CLAUDE_REJECTION.split(" STOP")[0] + " To tell you how to proceed, the user said:\nkeep dist", "failed"), facts="denied"),
        reply("I keep dist."),
    ],
    "codex_exit_130": [
        user("Watch it."),
        reply(codex("timeout -s INT 5 tail -f a.log", "line 1", 130)),
        reply("One line in five seconds."),
    ],
    "an_interruption_in_the_code": [
        user("Handle signals."),
        reply(claude_edit("/w/a.py", "run()", "try:\n    run()\nexcept KeyboardInterrupt:\n    print('interrupted by user')")),
        reply('It prints "interrupted by user" now.'),
    ],
}  # fmt: skip
