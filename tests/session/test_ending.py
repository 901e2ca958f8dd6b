"""How a conversation ended: by the commands in it, its last reply, what its user said last, and its reward."""

import json
from pathlib import Path

from msgspec.structs import astuple

from chatsquash import Options
from chatsquash.checks.registry import View
from chatsquash.conversion.convert import convert
from chatsquash.core.model import Conversation, Response
from chatsquash.session.ending import COMPLAINTS, CORRECTIONS, THANKS, detect_ending, exit_code, judge_text, runs_tests
from tests.conftest import assistant, cases, user
from tests.outputs import report


@cases("command",
    "pytest -q", "cd app && python -m pytest tests/", "PYTHONPATH=. uv run pytest", "sudo make -j8", "npm test",
    "npm run test:unit", "yarn build", "npx --yes jest", "cargo nextest run", "go vet ./...", "./gradlew check",
    "timeout 60 ctest --output-on-failure", "python3 -m unittest discover", "cmake --build build", "(cd x; tox)",
    "poetry run python -m pytest", "coverage run -m pytest", "mvn -q verify", "bundle exec rspec", "uv run tox",
    "dotnet build", "/usr/bin/make all", "hatch test",
)  # fmt: skip
def test_commands_that_run_tests_or_a_build(command):
    assert runs_tests(command)


@cases("command",
    "", "ls", "cat Makefile", "echo pytest", "git commit -m 'run pytest'", "npm install", "go get x", "pip install pytest",
    "cargo run", "rm -rf build", "grep -rn make .", "npm ci", "which make", "cd test", "hatch run fmt", "python build.py",
)  # fmt: skip
def test_other_commands(command):
    assert not runs_tests(command)


@cases("command, expected",
    ("pytest -q", "code"), ("pytest 2>&1", "code"), ("cd x && pytest;", "code"), ("(cd x; tox)\n", "code"),
    ("pytest -k 'a | b; c'", "code"), ("make \\\n  test", "code"), ("pytest # then | tail", "code"),
    ("pytest && git push", "success"), ("pytest &&\n git push", "success"),
    ("set -o pipefail; pytest | tail", "success"), ("pytest -q 2>&1 | tail -5", "nothing"),
    ("(make) | tee log", "nothing"), ("pytest || true", "nothing"), ("ls || pytest", "nothing"),
    ("make test; echo done", "nothing"), ("make\nls", "nothing"), ("make test &", "nothing"), ("make --version", None),
    ("cat > a.sh <<'EOF'\npytest\nEOF", None), ("cat > a.sh <<EOF && make\nls\nEOF\n", "code"),
    ('git commit -m "x; make it \\" work"', None), ("cat <<EOF\nmake", None), ("echo 'x\nmake\n'", None),
)  # fmt: skip
def test_what_the_exit_code_of_a_command_says_of_its_tests(command, expected):
    assert runs_tests(command) == expected


@cases("command, code, expected",
    ("pytest | tail", 0, None), ("pytest || true", 0, None), ("pytest && git push", 1, None),
    ("pytest && git push", 0, 0), ("pytest", 1, 1),
)  # fmt: skip
def test_a_code_of_another_program_is_none_of_the_tests(command, code, expected):
    view = said(user("go"), *ran("pytest", "Exit code: 3", "a"), *ran(command, f"Exit code: {code}", "b"))
    assert detect_ending(view, Response()).exit == expected


@cases("content, expected",
    ("Exit code: 1\nfailed", 1), ("ok\nProcess exited with code 0", 0), ('{"output": "x", "exit_code": 2}', 2),
    ('{"metadata": {"exit_code": 0}}', 0), ("<returncode>3</returncode>", 3), ("[exit code 0]", 0),
    ("Command finished with exit code 137.", 137), ("Exit status: -9", -9), ("3 passed", None), ("", None),
    ('{"exit_code": true}', None), ('{"exit_code": 3221225477}', 0xC0000005), (f'{{"exit_code": {10**30}}}', None),
    ("exit code 9999999999", None), ("a" * 1000 + "\nexit code 1\n" + "b" * 1000, None), ("it says exit code 4 here", None),
    ([{"type": "text", "text": "Exit code: 5"}], 5), ('{"a": ' + "[" * 500, None),
)  # fmt: skip
def test_exit_codes(content, expected):
    assert exit_code(content) == expected


def tool_call(arguments, call_id, name="bash"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(*messages):
    return View(Conversation(list(messages), []))


def ran(command, content, call_id="c", name="bash", **members):
    arguments = json.dumps({"command": command}) if isinstance(command, (str, list)) else command
    return [
        assistant(None, tool_calls=[tool_call(arguments, call_id, name)]),
        {"role": "tool", "tool_call_id": call_id, "content": content, **members},
    ]


def test_the_last_run_counts_and_other_commands_do_not():
    view = said(
        user("go"), *ran("pytest", "Exit code: 1", "a"), *ran(["bash", "-lc", "cd x && make"], "exit code 0", "b"),
        *ran("ls", "Exit code: 2", "c"),
    )  # fmt: skip
    found = detect_ending(view, Response())
    assert (found.exit, found.exit_evidence) == (
        0,
        "message 4, 0 in the result of a command that runs tests or a build",
    )


def test_a_run_whose_result_names_no_code_is_unknown_though_one_before_did():
    view = said(user("go"), *ran("pytest", "Exit code: 1", "a"), *ran("pytest", "3 passed", "b"))
    assert astuple(detect_ending(view, Response()))[:2] == (None, None)


CLAUDE_CODE = {"role": "system", "content": "You are Claude Code, Anthropic's official CLI for Claude."}
BILLED = {"role": "system", "content": "x-anthropic-billing-header: cc_version=2.1.197.dc1; cc_entrypoint=cli;"}
BACKGROUND = "Command running in background with ID: b1. Output is being written to: /tmp/b1.output"


@cases("source, first, result, expected",
    ("claude_code", user("go"), ran("pytest", "3 passed", name="Bash"), 0),
    ("anthropic", CLAUDE_CODE, ran("pytest && git push", "3 passed", name="Bash"), 0),
    ("anthropic", BILLED, ran("pytest", "3 passed", name="Bash"), 0),
    ("anthropic", user("go"), ran("pytest", "3 passed", name="Bash"), None),
    ("openai_chat", CLAUDE_CODE, ran("pytest", "3 passed", name="Bash"), None),
    ("claude_code", user("go"), ran("pytest", "Exit code 2", name="Bash", is_error=True), 2),
    ("claude_code", user("go"), ran("pytest", "The user rejected it.", name="Bash", is_error=True), None),
    ("claude_code", user("go"), ran("pytest | tail", "3 passed", name="Bash"), None),
    ("claude_code", user("go"), ran("pytest", BACKGROUND, name="Bash"), None),
    ("claude_code", user("go"), ran("pytest", "..\n" + BACKGROUND, name="Bash"), None),
    ("claude_code", user("go"), ran("pytest", "Command was manually backgrounded by user with ID: b1", name="Bash"), None),
    ("claude_code", user("go"), ran("pytest", "<error>Command was aborted before completion</error>", name="Bash"), None),
    ("claude_code", user("go"), ran("pytest", "..\nCommand timed out after 2m 0.0s", name="Bash"), None),
    ("claude_code", user("go"), ran("pytest", "[Old tool result content cleared]", name="Bash"), None),
    ("claude_code", user("go"), ran("pytest", "3 passed", name="mcp__shell__run"), None),
)  # fmt: skip
def test_a_bash_result_of_claude_code_without_an_error_counts_as_exit_code_0(source, first, result, expected):
    assert detect_ending(said(first, *result), Response(), source=source).exit == expected


def test_results_that_stand_elsewhere_are_found_all_the_same():
    (call, result), (other, answer) = ran("pytest", "Exit code: 1", "a"), ran("ls", "x", "b")
    both = {**call, "tool_calls": [*call["tool_calls"], *other["tool_calls"]]}
    assert detect_ending(said(user("go"), both, answer, result), Response()).exit == 1


@cases("reply, expected",
    (Response(finish_reason="stop"), ("stop", False)), (Response(finish_reason="length"), ("length", True)),
    (Response(), (None, None)), (Response(finish_reason="stop", cut=True), ("stop", True)), (Response(cut=True), (None, True)),
    (Response(finish_reason="x\x1b[2J" + "y" * 100), ("x\x1b[2J" + "y" * 59, True)),
)  # fmt: skip
def test_why_the_last_reply_ended(reply, expected):
    found = detect_ending(said(user("go"), assistant("done")), reply)
    assert (found.finish, found.truncated) == expected
    assert (found.finish_evidence is None, found.truncated_evidence is None) == tuple(each is None for each in expected)


@cases("text, expected",
    ("Thanks, that is all.", "thanks"), ("Perfect!", "thanks"), ("ok great, now the docs", "thanks"),
    ("It still fails with the same error", "complaint"), ("Thanks, but it doesn\u2019t work.", "complaint"),
    ("No, use tabs instead", "correction"), ("Actually, I meant the other file", "correction"),
    ("Now add a test for it.", "none"), ("Please fix the failing test", "none"), ("Nein, das ist falsch", "unknown"),
    ("No olvides las pruebas", "unknown"), ("Perfect, ora aggiungi i test", "unknown"), ("No.", "correction"),
    ("In der Datei steht noch der Name", "unknown"), ("Stop, das ist falsch", "unknown"), ("No, not that", "correction"),
    ("Merci beaucoup pour votre aide", "unknown"), ("\u305d\u308c\u3067\u3044\u3044", "unknown"), ("x = 1", "unknown"),
)  # fmt: skip
def test_what_a_user_said_last(text, expected):
    assert judge_text(text)[0] == expected
    found = detect_ending(said(user("Write it."), assistant("Here."), user(text), assistant("Done.")), Response())
    assert (found.last_user, found.last_user_evidence and found.last_user_evidence.split(",")[0]) == (
        expected,
        "message 2",
    )


def test_each_word_of_a_kind_tells_at_the_beginning():
    for kind, words in (("complaint", COMPLAINTS), ("correction", CORRECTIONS), ("thanks", THANKS)):
        assert {judge_text(f"{word}, so it is")[0] for word in words} == {kind}


def test_the_words_are_those_of_the_docs():
    page = (Path(__file__).parents[2] / "docs/output.md").read_text(encoding="utf-8")
    for kind, words in (("complaint", COMPLAINTS), ("correction", CORRECTIONS), ("thanks", THANKS)):
        assert f"| `{kind}` | {', '.join(words)} |" in page


def test_what_clients_put_in_is_no_word_of_the_user():
    reminder = "<system-reminder>That's wrong.</system-reminder>"
    view = said(user("Go."), assistant("Done."), user(f"{reminder}\nThank you."), assistant("."), user(reminder))
    assert astuple(detect_ending(view, Response()))[-2:] == ("thanks", "message 2, 'thank you'")


def test_many_blocks_that_clients_put_in_take_no_time_each():
    blocks = "<a></a>\n" * 200_000  # minutes, were what is behind each of them copied
    assert (
        detect_ending(said(user("Go."), assistant("Done."), user(blocks + " Thanks.")), Response()).last_user
        == "thanks"
    )


def test_nobody_spoke_after_the_work():
    assert astuple(detect_ending(said(user("Thanks!"), assistant("Done.")), Response()))[-2:] == ("none", None)


def trajectory(**members):
    steps = [{"step_id": 1, "source": "user", "message": "Go."}, {"step_id": 2, "source": "agent", "message": "Done."}]
    agent = {"name": "terminus", "version": "1", "model_name": "m"}
    return {"schema_version": "ATIF-v1.4", "session_id": "s", "agent": agent, "steps": steps, **members}


@cases("members, expected",
    ({}, (None, None)), ({"extra": {"reward": 1}}, (1.0, "extra.reward of the trajectory")),
    ({"final_metrics": {"extra": {"reward": 0.5}}}, (0.5, "final_metrics.extra.reward of the trajectory")),
    ({"reward": True}, (None, None)), ({"reward": 10**400}, (None, None)),
    ({"rewards": {"reward": 0}}, (0.0, "rewards.reward of the trajectory")),
)  # fmt: skip
def test_the_reward_of_a_trajectory(here, members, expected):
    (here / "logs").mkdir()
    (here / "logs/a.json").write_text(json.dumps(trajectory(**members)))
    convert("logs", "out", Options(metadata=True, format="jsonl"))
    (row,) = report("sessions.jsonl")
    assert (row["reward"], row["reward_evidence"]) == expected
    (record,) = map(json.loads, (here / "out/data/train-00000-of-00001.jsonl").read_text().splitlines())
    assert (record["reward"], record["reward_evidence"]) == expected


def test_the_reward_that_harbor_has_beside_a_trajectory_counts_more(here):
    trial = here / "logs/task__1"
    (trial / "agent").mkdir(parents=True)
    (trial / "agent/trajectory.json").write_text(json.dumps(trajectory(extra={"reward": 1})))
    (trial / "result.json").write_text(
        json.dumps({"trial_name": "x", "verifier_result": {"rewards": {"reward": 0.25}}})
    )
    summary = convert("logs", "out")
    (row,) = report("sessions.jsonl")
    assert (row["reward"], row["reward_evidence"]) == (0.25, "rewards.reward of the result.json")
    assert (summary.written, dict(summary.left_out)) == (1, {})
