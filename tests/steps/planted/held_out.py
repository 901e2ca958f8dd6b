"""A second set, written after the detectors were developed on the first one, and without looking at them.

When it was first run, all facts were right, except that a request to "try again", which was repeated, counted as
``asked_again``; that session was removed, because the definition does not decide it.
"""

from tests.steps.clients import (
    CLAUDE_REJECTION,
    claude,
    claude_edit,
    claude_read,
    claude_write,
    cline,
    cline_edit,
    codex,
    codex_patch,
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
    opencode_edit,
    openhands,
    openhands_edit,
    openhands_editor,
)
from tests.steps.sessions import call, reply, user

CASES = {
    # repeated_call
    "same_search_after_reading": [
        user("Find the handler of /login."),
        reply(claude("rg -n login src", "src/app.ts:8: login")),
        reply(claude_read("/w/src/app.ts", "export function login() {}")),
        reply("Let me search again.", claude("rg -n login src", "src/app.ts:8: login"), facts="repeated_call"),
        reply("In src/app.ts."),
    ],
    "todo_read_twice": [
        user("What is left?"),
        reply(call("TodoRead", {}, '[{"content": "a", "status": "pending"}]')),
        reply(call("TodoRead", {}, '[{"content": "a", "status": "pending"}]'), facts="repeated_call"),
        reply("a is left."),
    ],
    "three_parallel_calls_again": [
        user("Prices?"),
        reply(call("price", {"id": 1}, "3"), call("price", {"id": 2}, "4"), call("price", {"id": 3}, "5")),
        reply(call("price", {"id": 3}, "5"), call("price", {"id": 1}, "3"), facts="repeated_call"),
        reply("3, 4 and 5."),
    ],
    "page_listed_again_with_null": [
        user("Show the issues."),
        reply(call("list_issues", {"page": 1, "label": None}, "#4 #7")),
        reply(call("list_issues", {"label": None, "page": 1}, "#4 #7"), facts="repeated_call"),
        reply("4 and 7."),
    ],
    "a_false_is_not_zero": [
        user("Show it."),
        reply(call("show", {"all": False}, "a")),
        reply(call("show", {"all": 0}, "a")),
        reply("a."),
    ],
    "trimmed_by_the_client": [
        user("Read the log."),
        reply(gemini("cat a.log", "<tool_output_masked>\noutput hidden to save context\n</tool_output_masked>")),
        reply(call("read_file", {"file_path": "b"}, "x")),
        reply("Read."),
    ],
    "user_interjects": [
        user("Read a."),
        reply(kimi("cat a", "1")),
        user("And b, too."),
        reply(kimi("cat a", "1"), kimi("cat b", "2")),
        reply("1 and 2."),
    ],
    "different_case_in_the_path": [
        user("Read both."),
        reply(openhands("cat README", "hello")),
        reply(openhands("cat readme", "hello")),
        reply("They are equal."),
    ],
    # loop
    "two_calls_three_times_with_other_texts": [
        user("Get it to build."),
        *(
            step
            for round_ in range(3)
            for step in (
                reply(f"Attempt {round_}.", goose("make", f"error in line {round_}"), facts="loop" if round_ == 2 else ""),
                reply(goose("git status --short", f"M {round_}.c"), facts="loop" if round_ == 2 else ""),
            )
        ),
        reply("I am stuck."),
    ],
    "four_times_after_a_start": [
        user("Wait for port 80."),
        reply(copilot("docker compose up -d", "started")),
        reply(copilot("nc -z localhost 80", "closed 1")),
        reply(copilot("nc -z localhost 80", "closed 2")),
        reply(copilot("nc -z localhost 80", "closed 3"), facts="loop"),
        reply(copilot("nc -z localhost 80", "open"), facts="loop"),
        reply("It is open."),
    ],
    "custom_tool_three_times": [
        user("Run the cell."),
        reply(call("python", "step()", "1")),
        reply(call("python", "step()", "2")),
        reply(call("python", "step()", "3"), facts="loop"),
        reply("Three steps."),
    ],
    "same_tool_with_growing_arguments": [
        user("Search."),
        reply(call("search", {"q": "a"}, "none")),
        reply(call("search", {"q": "a b"}, "none")),
        reply(call("search", {"q": "a b c"}, "none")),
        reply("Nothing."),
    ],
    "two_pairs_then_one": [
        user("Test."),
        reply(mini("make", "1")),
        reply(mini("./t", "2")),
        reply(mini("make", "3")),
        reply(mini("./t", "4")),
        reply(mini("ls", "5")),
        reply("Tested."),
    ],
    "different_texts_in_a_row": [
        user("Count."),
        reply("One."),
        reply("Two."),
        reply("Three."),
    ],
    "three_turns_with_the_same_call": [
        user("Time?"),
        reply(call("clock", {}, "10:00")),
        reply("10:00."),
        user("Time now?"),
        reply(call("clock", {}, "10:01")),
        reply("10:01."),
        user("What is the time at last?"),
        reply(call("clock", {}, "10:02")),
        reply("10:02."),
    ],
    # undone
    "editor_of_swe_agent": [
        user("Fix the bug."),
        reply(openhands_edit("/testbed/a.py", "x = f(y)", "x = g(y)"), facts="undone"),
        reply(openhands("python -m pytest -q", "1 failed")),
        reply(openhands_edit("/testbed/a.py", "x = g(y)", "x = f(y)")),
        reply("f is right."),
    ],
    "goose_file_written_back": [
        user("Try port 90."),
        reply(goose_editor("write", "/w/p.ini", "Successfully wrote to /w/p.ini", file_text="port=80")),
        reply(goose_editor("write", "/w/p.ini", "Successfully wrote to /w/p.ini", file_text="port=90"), facts="undone"),
        reply(goose("./run", "address in use")),
        reply(goose_editor("write", "/w/p.ini", "Successfully wrote to /w/p.ini", file_text="port=80")),
        reply("80 it is."),
    ],
    "copilot_created_and_written_back": [
        user("Try a shorter text."),
        reply(call("create", {"path": "/w/a.md", "file_text": "# Long title\n"}, "Created file /w/a.md")),
        reply(claude_write("/w/b.md", "other")),
        reply(call("edit", {"path": "/w/a.md", "old_str": "# Long title", "new_str": "# T"}, "File /w/a.md updated with changes."), facts="undone"),
        reply(call("edit", {"path": "/w/a.md", "old_str": "# T", "new_str": "# Long title"}, "File /w/a.md updated with changes.")),
        reply("I kept the long one."),
    ],
    "patch_of_two_hunks_reversed": [
        user("Rename both."),
        reply(codex_patch("m.go", "-a := 1\n+b := 1\n@@\n-use(a)\n+use(b)"), facts="undone"),
        reply(codex("go build", "undefined: a")),
        reply(codex_patch("m.go", "-b := 1\n+a := 1\n@@\n-use(b)\n+use(a)")),
        reply("I renamed nothing."),
    ],
    "deleted_lines_put_back": [
        user("Remove the check."),
        reply(gemini_edit("/w/a.js", "check();\nrun();", "run();"), facts="undone"),
        reply(gemini("npm test", "1 failing")),
        reply(gemini_edit("/w/a.js", "run();", "check();\nrun();")),
        reply("The check is needed."),
    ],
    "the_same_edit_twice": [
        user("Fix both places."),
        reply(kimi_edit("a.py", "x", "y")),
        reply(kimi_edit("a.py", "x", "y"), facts="repeated_call"),
        reply("Fixed."),
    ],
    "a_comment_is_added_to_the_old_text": [
        user("Try."),
        reply(opencode_edit("/w/a.c", "n = 1;", "n = 2;")),
        reply(opencode_edit("/w/a.c", "n = 2;", "n = 1; // must be 1")),
        reply("Tried."),
    ],
    "denied_first_edit": [
        user("Change it."),
        reply(claude_edit("/w/a.py", "a", "b", CLAUDE_REJECTION.split(" STOP")[0] + " To tell you how to proceed, the user said:\nthe other way", "failed"), facts="denied failed_call"),
        reply(claude_edit("/w/a.py", "b", "a")),
        reply("The other way."),
    ],
    "views_between_two_versions": [
        user("Improve it."),
        reply(cline_edit("a.ts", "let a = 1", "const a = 1")),
        reply(cline_edit("a.ts", "const a = 1", "const a = 2")),
        reply("Improved."),
    ],
    # ignored_result
    "same_query_after_a_timeout": [
        user("How many rows?"),
        reply(call("sql", {"query": "select count(*) from t"}, '{"error": "timeout"}')),
        reply(call("sql", {"query": "select count(*) from t"}, '{"error": "timeout"}'), facts="repeated_call ignored_result"),
        reply("The query times out."),
    ],
    "denied_and_done_again": [
        user("Clean up."),
        reply(opencode("rm -rf out", "The user rejected permission to use this specific tool call.", "failed"), facts="denied"),
        reply(opencode("rm -rf out", "The user rejected permission to use this specific tool call.", "failed"), facts="denied repeated_call ignored_result"),
        reply("I leave the folder as it is, since you rejected the command."),
    ],
    "claims_after_a_traceback": [
        user("Make the plot."),
        reply(call("python", {"code": "plot()"}, "Traceback (most recent call last):\n  File \"<stdin>\", line 1, in <module>\nNameError: name 'plot' is not defined")),
        reply("I created the plot successfully. It is saved as plot.png.", facts="ignored_result"),
    ],
    "claims_in_spanish": [
        user("Instala las dependencias."),
        reply(goose("npm ci", "npm error code EUSAGE", "failed")),
        reply("Listo, todas las dependencias se instalaron correctamente.", facts="ignored_result"),
    ],
    "claims_in_french": [
        user("Lance les tests."),
        reply(codex_shell("make test", "make: *** [test] Error 1", 2)),
        reply("Tous les tests passent maintenant avec succès.", facts="ignored_result"),
    ],
    "claims_in_chinese": [
        user("提交修改"),
        reply(kimi("git push", "fatal: unable to access 'https://example.org/a.git/': Could not resolve host: example.org", "failed")),
        reply("修改已成功提交并推送。", facts="ignored_result"),
    ],
    "admits_it_with_other_words": [
        user("Push it."),
        reply(copilot("git push", "fatal: Authentication failed for 'https://github.com/a/b'", 128)),
        reply("The commit is ready locally. Pushing needs credentials that I do not have."),
    ],
    "admits_it_in_polish": [
        user("Zbuduj."),
        reply(gemini("make", "make: *** [all] Error 1\nExit Code: 2", "failed")),
        reply("Nie udało się zbudować projektu."),
    ],
    "retries_after_waiting": [
        user("Fetch it."),
        reply(goose("curl http://a", "curl: (7) Failed to connect to a port 80", "failed"), facts="failed_call"),
        reply(goose("sleep 5", "ok")),
        reply(goose("curl http://a", "hello")),
        reply("It says hello."),
    ],
    "a_grep_without_hits": [
        user("Does the code use eval?"),
        reply(openhands("grep -rn 'eval(' src", "", 1)),
        reply("No, eval is not used in src."),
    ],
    # asked_again
    "polite_repetition": [
        user("Convert the table in report.md to CSV and save it as report.csv."),
        reply("The table has three columns.", facts="asked_again"),
        user("please convert the table in report.md to CSV and save it as report.csv"),
        reply(claude_write("/w/report.csv", "a,b,c")),
        reply("Saved."),
    ],
    "again_in_italian": [
        user("Quali file sono stati modificati nell'ultima settimana?"),
        reply("Molti file.", facts="asked_again"),
        user("quali file sono stati modificati nell'ultima settimana"),
        reply(kimi("git log --since=1.week --name-only", "a.py")),
        reply("a.py."),
    ],
    "again_in_korean": [
        user("로그인 페이지의 버그를 고쳐 주세요"),
        reply("로그인 페이지를 보았습니다.", facts="asked_again"),
        user("로그인 페이지의 버그를 고쳐 주세요!!"),
        reply("고쳤습니다."),
    ],
    "again_with_again": [
        user("Run the integration tests against the staging server."),
        reply("They need a token.", facts="asked_again"),
        user("Run the integration tests against the staging server again."),
        reply("Running."),
    ],
    "another_language_of_the_same_length": [
        user("Write the greeting in Danish, please."),
        reply("Hej."),
        user("Write the greeting in Finnish, please."),
        reply("Hei."),
    ],
    "next_version": [
        user("Release version 1.4.2 of the library and tag it."),
        reply("Released."),
        user("Release version 1.4.3 of the library and tag it."),
        reply("Released."),
    ],
    "another_line": [
        user("Explain line 12 of main.c in one sentence."),
        reply("It opens the file."),
        user("Explain line 21 of main.c in one sentence."),
        reply("It closes the file."),
    ],
    "without_instead_of_with": [
        user("Draw the chart with a legend and save it."),
        reply("Drawn."),
        user("Draw the chart without a legend and save it."),
        reply("Drawn without it."),
    ],
    # interrupted and denied
    "codex_while_a_command_runs": [
        user("Train it."),
        reply("I start.", call("exec_command", {"cmd": "python train.py"}, "Wall time: 31.2 seconds\naborted by user"), facts="interrupted"),
        user("<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>"),
        user("Use fewer steps."),
        reply("I use 10."),
    ],
    "gemini_cancels_one_of_two": [
        user("Run both."),
        reply(gemini("make a", "ok"), gemini("make b", "[Operation Cancelled] Reason: User cancelled the operation.", "failed"), facts="interrupted"),
        user("a was enough."),
        reply("Good."),
    ],
    "claude_denies_a_plan": [
        user("Plan it."),
        reply(call("ExitPlanMode", {"plan": "1. Delete everything."}, CLAUDE_REJECTION.split(" STOP")[0] + " To tell you how to proceed, the user said:\nno deletions", "failed"), facts="denied"),
        reply("Without deletions, then."),
    ],
    "kimi_denies_with_feedback": [
        user("重命名"),
        reply(kimi("mv a b", "<system>ERROR: The tool call is rejected by the user. User feedback: keep the name</system>", "failed"), facts="denied"),
        reply("好的，保留名称。"),
    ],
    "openhands_marks_a_rejection": [
        user("Install it."),
        reply(call("terminal", {"command": "sudo apt install x"}, "Action rejected: no sudo please", "denied"), facts="denied"),
        reply("Then I cannot install it."),
    ],
    "a_test_about_denials": [
        user("Run the tests of the permission dialog."),
        reply(codex("npm test", "PASS dialog.test.ts\n  ✓ shows 'The user denied this operation.'")),
        reply("They pass."),
    ],
    "sudo_password": [
        user("Restart nginx."),
        reply(copilot("sudo systemctl restart nginx", "sudo: a password is required", 1)),
        reply("sudo wants a password."),
    ],
    "ctrl_c_in_a_transcript": [
        user("What does this log of a terminal say?\n$ make\n^C\nmake: *** [all] Interrupt"),
        reply("Somebody pressed Ctrl-C while make ran."),
        user("And what should I do?"),
        reply("Run make again."),
    ],
    "an_api_that_aborts": [
        user("Call the API."),
        reply(call("fetch", {"url": "https://a"}, '{"error": "AbortError: The operation was aborted"}')),
        reply("The request was aborted by the server."),
    ],
    "a_commit_that_a_hook_rejects": [
        user("Commit it."),
        reply(claude("git commit -m x", "Exit code 1\nhusky - pre-commit hook exited with code 1 (error)", "failed")),
        reply("The pre-commit hook fails."),
    ],
    # reads_future
    "log_with_a_branch_of_the_remote": [
        user("Fix issue 12 in /testbed."),
        reply(openhands("cd /testbed && git log HEAD..origin/main --oneline", "0b1c2d3 Fix #12"), facts="reads_future"),
        reply("It is fixed upstream."),
    ],
    "diff_with_the_upstream_master": [
        user("Fix issue 12."),
        reply(mini("git diff HEAD upstream/master -- src/a.py", "+ fixed"), facts="reads_future"),
        reply("Fixed."),
    ],
    "show_of_a_reflog_entry": [
        user("Fix issue 12."),
        reply(claude("git show 'HEAD@{2}:src/a.py' > /tmp/a.py", ""), facts="reads_future"),
        reply("Fixed."),
    ],
    "all_after_a_format": [
        user("Fix issue 12."),
        reply(codex_shell("git log --format='%h %s' --since=2023-01-01 --all -- src/a.py", "0b1c2d3 Fix"), facts="reads_future"),
        reply("Fixed."),
    ],
    "grep_in_all_commits": [
        user("Fix issue 12."),
        reply(kimi("for c in $(git rev-list --all); do git grep -n fix $c; done", "0b1c2d3:a"), facts="reads_future"),
        reply("Fixed."),
    ],
    "show_of_the_next_commit_by_hash": [
        user("Fix issue 12."),
        reply(opencode("git log -1 --format=%H", "d16bfe05a744909de4b27f5875fe0d4ed41ce607")),
        reply(opencode("git show a5917978be39d13cd90b517e1de4e7a539ffaa48 -- a.py | head -40", "+ fixed"), facts="reads_future"),
        reply("Fixed."),
    ],
    "blame_and_its_commit": [
        user("Who wrote line 3?"),
        reply(goose("git blame -L3,3 a.py", "^3f2a1bc9 (Ann 2020-01-01 3) x = 1")),
        reply(goose("git show 3f2a1bc9 --stat", " a.py | 1 +")),
        reply("Ann."),
    ],
    "commit_named_by_the_user_in_short": [
        user("Cherry-pick 9fceb02d onto this branch."),
        reply(claude("git cherry-pick 9fceb02d", "[fix 1a2b3c4] Fix")),
        reply("Picked."),
    ],
    "fetch_and_rebase_on_request": [
        user("What is the difference between git log --all and git log?"),
        reply("--all shows the commits of all references."),
    ],
    "tag_of_a_release_note": [
        user("Write the notes."),
        reply(claude_write("/w/NOTES.md", "Use `git show 0b1c2d3e` and `git reflog` to see it.")),
        reply("Written."),
    ],
    "sed_over_a_script": [
        user("Replace it in the script."),
        reply(mini("sed -i 's/git log --all/git log/' ci.sh", "")),
        reply(mini("cat ci.sh", "git log\n# was: git log --all")),
        reply("Replaced."),
    ],
    "stash_list_and_tags": [
        user("What is here?"),
        reply(copilot("git tag --list; git stash list", "v1.0")),
        reply("One tag."),
    ],
    "editor_writes_hook": [
        user("Add a hook."),
        reply(openhands_editor("create", "/w/.git/hooks/post-merge", "File created successfully at: /w/.git/hooks/post-merge", file_text="#!/bin/sh\ngit log ORIG_HEAD..HEAD --oneline\n")),
        reply("Added."),
    ],
    "commit_from_own_output": [
        user("Commit and amend."),
        reply(cline("git commit -am 'x'", "[main 7d8e9f0] x")),
        reply(cline("git show 7d8e9f0 --stat", " a | 1 +")),
        reply("Done."),
    ],
}  # fmt: skip
