"""A call of the reply failed, and a later call of the model to the same tool succeeded."""

from tests.steps.clients import (
    NOT_FOUND,
    claude,
    claude_edit,
    claude_read,
    cline,
    codex,
    codex_shell,
    copilot,
    gemini,
    gemini_edit,
    goose,
    goose_editor,
    kimi,
    kimi_edit,
    mini,
    opencode,
    openhands,
    openhands_edit,
    openhands_editor,
)
from tests.steps.sessions import call, reply, user

FAILED = "failed_call"
CASES = {
    "claude_wrong_string": [
        user("Rename the option."),
        reply(
            claude_edit("/w/cli.py", "--out", "--output", NOT_FOUND.format("--out"), "failed"), facts=FAILED
        ),
        reply(claude_edit("/w/cli.py", '"--out"', '"--output"')),
        reply("Renamed."),
    ],
    "claude_exit_code": [
        user("Run the tests."),
        reply(
            claude("pytest -q", "Exit code 127\n/bin/bash: line 1: pytest: command not found", "failed"), facts=FAILED
        ),
        reply("I use the module.", claude("python -m pytest -q", "12 passed in 0.4s")),
        reply("All 12 tests pass."),
    ],
    "codex_exit_code": [
        user("Which Python is it?"),
        reply(codex("python --version", "bash: python: command not found", 127), facts=FAILED),
        reply(codex("python3 --version", "Python 3.12.3")),
        reply("3.12.3."),
    ],
    "codex_shell_json": [
        user("Build it."),
        reply(codex_shell("make build", "make: *** No rule to make target 'build'.  Stop.", 2), facts=FAILED),
        reply(codex_shell("make all", "cc -o app app.c")),
        reply("It is built."),
    ],
    "gemini_marked": [
        user("Zmień tytuł."),
        reply(
            gemini_edit("/w/index.html", "<h1>A</h1>", "<h1>B</h1>", "Error: Failed to edit, 0 occurrences found.", "failed"),
            facts=FAILED,
        ),
        reply(gemini_edit("/w/index.html", "<h1> A </h1>", "<h1>B</h1>")),
        reply("Gotowe."),
    ],
    "opencode_missing_file": [
        user("Show the config."),
        reply(call("read", {"filePath": "/w/config.yml"}, "File not found: /w/config.yml", "failed"), facts=FAILED),
        reply(call("read", {"filePath": "/w/config.yaml"}, "00001| port: 80")),
        reply("The port is 80."),
    ],
    "goose_two_failures": [
        user("Start the server."),
        reply(goose("npm start", 'npm error Missing script: "start"', "failed"), facts=FAILED),
        reply(goose("node index.js", "Error: Cannot find module 'express'", "failed"), facts=FAILED),
        reply(goose("npm install && node index.js", "listening on 3000")),
        reply("It listens on port 3000."),
    ],
    "cline_other_turn": [
        user("<task>\nCount the users.\n</task>"),
        reply(cline("psql -c 'select count(*) from user'", "psql: error: connection refused", "failed"), facts=FAILED),
        reply("The database does not run. Shall I start it?"),
        user("Yes."),
        reply(cline("docker compose up -d db", "Started")),
        reply("It runs."),
    ],
    "openhands_editor_error": [
        user("Fix the sum."),
        reply(
            openhands_edit(
                "/workspace/sum.py", "a-b", "a+b",
                "ERROR:\nNo replacement was performed, old_str `a-b` did not appear verbatim in /workspace/sum.py.",
            ),
            facts=FAILED,
        ),
        reply(openhands_edit("/workspace/sum.py", "a - b", "a + b")),
        reply("Fixed."),
    ],
    "kimi_marked": [
        user("改标题"),
        reply(kimi_edit("a.md", "# A", "# B", "<system>ERROR: No replacements were made.</system>", "failed"), facts=FAILED),
        reply(kimi_edit("a.md", "#  A", "# B")),
        reply("完成。"),
    ],
    "one_of_two_parallel_calls": [
        user("Weather in Ulm and Bonn?"),
        reply(
            call("weather", {"town": "Ulm"}, '{"temperature": 4}'),
            call("weather", {"town": "Bon"}, '{"error": "no such town"}'),
            facts=FAILED,
        ),
        reply(call("weather", {"town": "Bonn"}, '{"temperature": 6}')),
        reply("4 and 6 degrees."),
    ],
    "mini_return_code": [
        user("Please solve this issue: sum is wrong."),
        reply(mini("cat src/sum.py", "cat: src/sum.py: No such file or directory", 1), facts=FAILED),
        reply(mini("cat sum.py", "def add(a, b): return a - b")),
        reply(mini("sed -i 's/-/+/' sum.py", "")),
    ],
    "python_traceback": [
        user("Mean of the column?"),
        reply(
            call("python", {"code": "df.colour.mean()"}, 'Traceback (most recent call last):\n  File "<stdin>", line 1\nAttributeError: no colour'),
            facts=FAILED,
        ),
        reply(call("python", {"code": "df.color.mean()"}, "3.5")),
        reply("3.5."),
    ],
    "retried_output": [
        user("Order two."),
        reply(call("order", {"count": "two"}, "count is an integer", "retried"), facts=FAILED),
        reply(call("order", {"count": 2}, "order 17")),
        reply("Order 17."),
    ],
    "goose_editor": [
        user("Add a title."),
        reply(goose_editor("view", "/w/readme.md", "File '/w/readme.md' does not exist", "failed"), facts=FAILED),
        reply(goose_editor("write", "/w/README.md", "Successfully wrote to /w/README.md", file_text="# Tides")),
        reply("Added."),
    ],
    # Look-alikes
    "no_later_success": [
        user("Run the tests."),
        reply(claude("pytest", "Exit code 1\n1 failed", "failed")),
        reply("One test fails."),
    ],
    "success_before": [
        user("Run both."),
        reply(codex("make a", "ok")),
        reply(codex("make b", "make: *** [b] Error 1", 2)),
        reply("b fails."),
    ],
    "other_tool_succeeds": [
        user("Show it."),
        reply(claude_read("/w/a.txt", "<tool_use_error>File does not exist.</tool_use_error>", "failed")),
        reply(claude("ls /w", "b.txt")),
        reply("There is only b.txt."),
    ],
    "success_in_the_same_reply": [
        user("Compare them."),
        reply(
            opencode("cat a", "cat: a: No such file or directory", "failed"),
            opencode("cat b", "beans"),
        ),
        reply("There is no a."),
    ],
    "output_quotes_an_error": [
        user("What is in the log?"),
        reply(claude("tail -2 app.log", "10:02 GET /\n10:03 ERROR: timeout of the upstream, Exit code 1")),
        reply(claude("grep -c ERROR app.log", "1")),
        reply("One timeout."),
    ],
    "source_with_exceptions": [
        user("How are errors handled?"),
        reply(claude_read("/w/io.py", "try:\n    read()\nexcept OSError as error:\n    raise Failed(error)")),
        reply(claude_read("/w/main.py", "import io")),
        reply("OSError becomes Failed."),
    ],
    "count_of_errors_is_zero": [
        user("Lint it."),
        reply(copilot("eslint .", "0 errors, 0 warnings")),
        reply(copilot("eslint --fix .", "0 errors, 0 warnings")),
        reply("Nothing to fix."),
    ],
    "empty_result_then_success": [
        user("Where is foo?"),
        reply(opencode("grep -rn foo src", "")),
        reply(opencode("grep -rn foo lib", "lib/a.js:1: foo()")),
        reply("In lib/a.js."),
    ],
    "both_fail": [
        user("Ping it."),
        reply(gemini("ping -c1 db", "ping: db: Name or service not known\nExit Code: 2", "failed")),
        reply(gemini("ping -c1 db.local", "ping: db.local: Name or service not known\nExit Code: 2", "failed")),
        reply("Neither name is known."),
    ],
    "status_error_null": [
        user("Is it up?"),
        reply(call("status", {"service": "a"}, '{"error": null, "up": true}')),
        reply(call("status", {"service": "b"}, '{"error": "", "up": true}')),
        reply("Both are."),
    ],
    "call_without_result_then_success": [
        user("Look."),
        reply(kimi("sleep 100", None)),
        user("Never mind, list the files."),
        reply(kimi("ls", "a.txt")),
        reply("a.txt."),
    ],
    "tests_that_mention_failures": [
        user("Run the tests."),
        reply(openhands("pytest -q", "test_failed_login PASSED\ntest_error PASSED\n2 passed")),
        reply(openhands("ruff check", "All checks passed!")),
        reply("All is well."),
    ],
    "user_runs_it_successfully": [
        user("Deploy."),
        reply(openhands("./deploy.sh", "./deploy.sh: Permission denied", 126)),
        reply("It is not executable."),
        user("I ran it myself now: 'deployed'."),
        reply("Good."),
    ],
    "editor_view_of_errors": [
        user("Why?"),
        reply(openhands_editor("view", "/w/err.log", "Here's the result of running `cat -n` on /w/err.log:\n     1\tFatal error: out of memory")),
        reply(openhands_editor("view", "/w/mem.log", "Here's the result of running `cat -n` on /w/mem.log:\n     1\t98 %")),
        reply("It had no memory left."),
    ],
}  # fmt: skip
