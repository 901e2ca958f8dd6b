"""The same call directly after it failed, or a claim of success directly after a failed result."""

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
    goose,
    kimi,
    mini,
    opencode,
    openhands,
)
from tests.steps.sessions import call, reply, user

IGNORED = "ignored_result"
AGAIN = "repeated_call ignored_result"
MISSING = "Exit code 1\nsh: 1: jest: not found"
CASES = {
    "claude_edit_again": [
        user("Rename it."),
        reply(claude_edit("/w/a.py", "x", "y", NOT_FOUND.format("x"), "failed")),
        reply(claude_edit("/w/a.py", "x", "y", NOT_FOUND.format("x"), "failed"), facts=AGAIN),
        reply("x is not in a.py, so nothing was renamed."),
    ],
    "codex_command_again": [
        user("Run it."),
        reply(codex_shell("npm test", "sh: jest: command not found", 127), facts="failed_call"),
        reply("I try again.", codex_shell("npm test", "sh: jest: command not found", 127), facts="failed_call repeated_call ignored_result"),
        reply(codex_shell("npx jest", "3 passed")),
        reply("Three tests pass."),
    ],
    "a_retry_that_worked": [
        user("Pogoda?"),
        reply(call("weather", {"town": "Łódź"}, "Error: service unavailable", "failed"), facts="failed_call"),
        reply(call("weather", {"town": "Łódź"}, "śnieg"), facts=IGNORED),
        reply("Śnieg."),
    ],
    "goose_again": [
        user("Start it."),
        reply(goose("systemctl start db", "Failed to connect to bus: No such file or directory", "failed")),
        reply(goose("systemctl start db", "Failed to connect to bus: No such file or directory", "failed"), facts=AGAIN),
        reply("There is no systemd here; the database could not be started."),
    ],
    "keys_in_another_order": [
        user("Book it."),
        reply(call("book", {"seat": 4, "train": "EC 41"}, '{"error": "seat is taken"}')),
        reply(call("book", {"train": "EC 41", "seat": 4}, '{"error": "seat is taken"}'), facts=AGAIN),
        reply("Seat 4 is taken. Another one?"),
    ],
    "three_in_a_row": [
        user("Connect."),
        reply(mini("ssh box true", "ssh: connect to host box port 22: Connection refused", 255)),
        reply(mini("ssh box true", "ssh: connect to host box port 22: Connection refused", 255), facts=AGAIN),
        reply(mini("ssh box true", "ssh: connect to host box port 22: Connection refused", 255), facts="loop repeated_call ignored_result"),
        reply("The box refuses the connection."),
    ],
    "claims_that_tests_pass": [
        user("Fix the test."),
        reply(claude_edit("/w/a.py", "1", "2")),
        reply(claude("npm test", MISSING, "failed")),
        reply("I fixed the bug and all tests pass now.", facts=IGNORED),
    ],
    "claims_done_after_a_failed_edit": [
        user("Set the port to 8080."),
        reply(claude_edit("/w/a.ini", "port=80", "port=8080", NOT_FOUND.format("port=80"), "failed")),
        reply("Done! The port is now set to 8080.", facts=IGNORED),
    ],
    "claims_in_german": [
        user("Baue das Projekt."),
        reply(codex_shell("make", "make: *** [all] Error 2", 2)),
        reply("Das Projekt wurde erfolgreich gebaut.", facts=IGNORED),
    ],
    "claims_success_of_a_deployment": [
        user("Deploy it."),
        reply(openhands("./deploy.sh", "bash: ./deploy.sh: No such file or directory", 127)),
        reply("The application has been successfully deployed.", facts=IGNORED),
    ],
    "claims_completion": [
        user("<task>\nInstall the linter.\n</task>"),
        reply(cline("npm i -D eslint", "npm error code E404\nExit code 1", "failed")),
        reply("ESLint is installed and everything is set up successfully.", facts=IGNORED),
    ],
    "claims_that_it_is_committed": [
        user("Commit the change."),
        reply(opencode("git commit -m fix", "fatal: not a git repository (or any of the parent directories): .git", "failed")),
        reply("I have successfully committed the change.", facts=IGNORED),
    ],
    "claims_after_two_calls": [
        user("Order both."),
        reply(call("order", {"id": 1}, '{"ok": false, "error": "sold out"}')),
        reply("Your order is complete. Everything worked.", facts=IGNORED),
    ],
    "claims_fixed": [
        user("Fix the build."),
        reply(copilot("npm run build", "src/a.ts(1,1): error TS2304: Cannot find name 'x'.", 2)),
        reply("The build is fixed and works now.", facts=IGNORED),
    ],
    # Look-alikes
    "other_arguments": [
        user("Read it."),
        reply(claude_read("/w/a", "<tool_use_error>File does not exist.</tool_use_error>", "failed"), facts="failed_call"),
        reply(claude_read("/w/a.txt", "text")),
        reply("Text."),
    ],
    "another_call_between": [
        user("Run the tests."),
        reply(claude("npm test", MISSING, "failed"), facts="failed_call"),
        reply(claude("npm install", "added 300 packages")),
        reply(claude("npm test", "3 passed")),
        reply("All three tests pass."),
    ],
    "user_between": [
        user("Ping the server."),
        reply(goose("ping -c1 box", "Error: ping: box: No address associated with hostname", "failed"), facts="failed_call"),
        reply("The name is unknown."),
        user("I added it to /etc/hosts. Try once more."),
        reply(goose("ping -c1 box", "1 received")),
        reply("It answers now."),
    ],
    "repeated_after_a_success": [
        user("Poll it."),
        reply(kimi("state", "waiting")),
        reply(kimi("state", "ready")),
        reply("It is ready."),
    ],
    "says_that_it_failed": [
        user("Build it."),
        reply(codex("make", "make: *** [all] Error 2", 2)),
        reply("The build failed with error 2."),
    ],
    "says_so_in_german": [
        user("Baue es."),
        reply(codex("make", "make: *** [all] Error 2", 2)),
        reply("Das ist leider fehlgeschlagen."),
    ],
    "says_so_in_french": [
        user("Compile."),
        reply(opencode("make", "make: *** [all] Error 2", "failed")),
        reply("La compilation a échoué."),
    ],
    "says_so_in_chinese": [
        user("编译"),
        reply(kimi("make", "<system>ERROR: Command failed with exit code: 2.</system>", "failed")),
        reply("命令失败了。"),
    ],
    "asks_the_user": [
        user("Show the log."),
        reply(cline("cat app.log", "cat: app.log: No such file or directory", "failed")),
        reply("I do not see app.log. Where is it?"),
    ],
    "success_and_a_failure_mentioned": [
        user("Fix it and push."),
        reply(openhands("git push", "fatal: could not read Username for 'https://github.com'", 128)),
        reply("The bug is fixed, but I could not push: there are no credentials."),
    ],
    "failure_and_then_a_success": [
        user("Build it."),
        reply(gemini("make", "Error: make: not found\nExit Code: 127", "failed"), facts="failed_call"),
        reply(gemini("ninja", "built")),
        reply("The build succeeded."),
    ],
    "a_question_is_answered": [
        user("Is there a Makefile?"),
        reply(mini("cat Makefile", "cat: Makefile: No such file or directory", 1)),
        reply("No, there is not."),
    ],
    "a_call_follows": [
        user("Install it."),
        reply(claude("pip install foo", "Exit code 1\nERROR: No matching distribution found for foo", "failed"), facts="failed_call"),
        reply("The package is called foo-py.", claude("pip install foo-py", "Successfully installed foo-py-1.0")),
        reply("foo-py is installed successfully."),
    ],
    "success_without_failure": [
        user("Commit it."),
        reply(copilot("git commit -am fix", "[main 1a2b3c4] fix")),
        reply("Committed successfully."),
    ],
    "no_matches_reported": [
        user("Are there TODOs?"),
        reply(copilot("grep -rn TODO src", "", 1)),
        reply("There are none in src."),
    ],
    "the_other_tool_with_the_same_arguments": [
        user("Open it."),
        reply(call("view", {"path": "a"}, "Error: a is a directory", "failed")),
        reply(call("list", {"path": "a"}, "b c")),
        reply("a has two entries, b and c."),
    ],
}  # fmt: skip
