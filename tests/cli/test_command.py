"""The command by exit code and whole output."""

import json
import re
from pathlib import Path

import orjson
import pytest
from click.shell_completion import ShellComplete

import chatsquash
from chatsquash import Options
from chatsquash.cli.main import cli
from chatsquash.core.option_declarations import OptionDeclaration
from chatsquash.core.options import list_options
from chatsquash.dataset.omissions import ReplyTotals
from chatsquash.dataset.summary import Summary
from chatsquash.inspect.agents import known_agents
from chatsquash.sources import no_logs
from chatsquash.translate import conversations
from tests.checks.rows import assistant, call, tool
from tests.conftest import cases, log_line, write_log

BAD = b'{"no": "entry"}'
BACKWARD = [log_line("a", at=2), log_line("a", at=1)]
GOOD, TOOLLESS = log_line("hi", tools=[tool()]), log_line("hi")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The present folder is a new one; it holds one good log."""
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs" / "a.jsonl", GOOD)
    return tmp_path


def without_times(text: str) -> str:
    return re.sub(r"[\d.]+ s for", "S s for", text)


def files(folder="out"):
    return sorted(path.name for path in Path(folder).glob("*") if path.name[0] != ".")


SUMMARY = """\
1 record written to out (1 file)
1 of 1 logged reply in the records
nothing needs attention

files          1  S s for 316 bytes
sessions       1  written
conversations  1  written
lines          1  selected
replies        1  carried
"""


def test_convert_shows_its_summary_on_standard_error(command):
    code, out, err = command("convert", "logs")
    assert (code, out, without_times(err)) == (0, "", SUMMARY)


def test_quiet_says_nothing(command):
    assert command("convert", "logs", "--quiet") == command("convert", "logs", "-q") == (0, "", "")


def test_json_is_the_summary_on_standard_output(command):
    (Path("logs") / "x.\x1b").touch()
    code, out, err = command("convert", "logs", "--json")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["sessions"] == {
        "seen": 1, "written": 1, "left_out": {}, "filtered": {}, "duplicates": 0, "joined": 0,
    }  # fmt: skip
    assert summary["other_files"] == {".\\x1b": 1}
    assert (summary["output"], summary["files"]) == ("out", ["2026-01-13.jsonl"])


def test_what_was_left_out_shows_in_the_summary_and_in_the_exit_code(command, here):
    write_log(here / "logs" / "b.jsonl", *BACKWARD)
    (here / "logs" / "README.md").touch()
    code, out, err = command("convert", "logs", "--exclude", "c*")
    assert (code, out) == (3, "")
    assert (
        without_times(err)
        == """\
1 record written to out (1 file)
1 of 3 logged replies in the records
needs attention: 1 session skipped, 1 error, 1 warning

files          2  S s for 702 bytes
sessions       2  1 written, 1 skipped (timestamp-order)
conversations  2  1 written, 1 skipped
lines          3  1 selected, 2 skipped
replies        3  1 carried, 1 refused, 1 retried
not read       1  .md
errors         1  timestamp-order
warnings       1  divided-session
notes          1  --verbose lists them

skipped: 1 session (timestamp-order): chatsquash explain timestamp-order
"""
    )


@cases("lines, options, code",
    ("all written", [GOOD], [], 0),
    ("errors in a record do not matter", [log_line("x", tools=["none"])], [], 0),
    ("a session left out", BACKWARD, [], 3),
    ("a finding that was named", [TOOLLESS], ["--fail-on", "no-tools"], 3),
    ("one of several, and several at once", [TOOLLESS], ["--fail-on", "bad-line, no-tools", "--fail-on", "short-tail"], 3),
    ("a finding that is not there", [GOOD], ["--fail-on", "bad-line"], 0),
    ("an error in a record", [log_line("x", tools=["none"])], ["--fail-on", "error"], 3),
    ("no error in a record", [GOOD], ["--fail-on", "error"], 0),
    ("what is named decides in place of what is left out", [GOOD, BAD], ["--fail-on", "no-messages"], 0),
    ("what is left out is an error, too", [GOOD, BAD], ["--fail-on", "error"], 3),
    ("a code that no finding has", [GOOD], ["--fail-on", "bad-lines"], 2),
    ("no record at all", [GOOD], ["--max-chars", "1"], 3),
    ("no record at all, whatever is named", [GOOD], ["--max-chars", "1", "--fail-on", "bad-line"], 3),
    ("a session kept", BACKWARD, ["--on-invalid", "keep"], 0),
    ("a line left out", [GOOD, BAD], [], 3),
    ("nothing but blank lines", [b"", b""], [], 3),
    ("stopped by abort", BACKWARD, ["--on-invalid", "abort"], 1),
    ("abort lets bad lines pass", [GOOD, BAD], ["--on-invalid", "abort"], 3),
    ("stopped by strict", [GOOD, BAD], ["--strict"], 1),
    ("strict with nothing to stop for", [GOOD, b""], ["--strict"], 0),
    ("single file", [GOOD], ["--single-file"], 0),
    ("single file twice over", [GOOD], ["--single-file", "--group-by", "none"], 0),
    ("single file against another grouping", [GOOD], ["--single-file", "--group-by", "date"], 2),
    ("an unknown option", [GOOD], ["--nope"], 2),
    ("an unknown choice", [GOOD], ["--on-invalid", "nope"], 2),
    ("no workers", [GOOD], ["--workers", "0"], 2),
    ("no session", [GOOD], ["--limit", "0"], 2),
    ("no day", [GOOD], ["--since", "yesterday"], 2),
    ("no key", [GOOD], ["--anonymize-key-file", "nope"], 2),
)  # fmt: skip
def test_exit_codes(command, here, lines, options, code):
    write_log(here / "logs" / "a.jsonl", *lines)
    result = command("convert", "logs", *options)
    assert (result.code, result.out) == (code, ""), result.err
    assert "Traceback" not in result.err
    assert Path("out").exists() == (code in (0, 3))


LOGS_ARE = f"{no_logs.READ}\n{no_logs.NEXT}"
CHOOSE = "choose another with --output"


@cases("arguments, err",
    ("a wrong path", ["nope"], "error: nope: cannot be read (No such file or directory)\n"),
    ("a wrong path beside a good one", ["logs", "nope"], "error: nope: cannot be read (No such file or directory)\n"),
    ("a glob that nothing fits", ["*.x"], "error: *.x: no match\n"),
    ("nothing to read", ["other"], f"error: other: no session logs to read; found: 1 .md\n{LOGS_ARE}\n"),
    ("logs in the output folder", ["logs", "-o", "."], f"error: logs: is in the output folder, which is never read; {CHOOSE}\n"),
    ("an output folder of others", ["logs", "-o", "other"],
     f"error: other: folder is not empty and was not written by chatsquash; {CHOOSE}, or add to it with --force\n"),
    ("an output that is a file", ["logs", "-o", "file"], "error: file: not a folder; choose another with --output\n"),
    ("a code that is nearly one, to drop", ["logs", "--drop", "no-tols"],
     "error: --drop no-tols: unknown finding code; did you mean no-tools?\n"),
    ("a code that is none, to drop", ["logs", "--drop", "nothing"],
     "error: --drop nothing: unknown finding code; chatsquash explain lists all codes, errors stands for any error\n"),
    ("a code that is none, to fail on", ["logs", "--fail-on", "nothing"],
     "error: --fail-on nothing: unknown finding code; chatsquash explain lists all codes, error stands for any error\n"),
    ("nearly an agent", ["--agent", "claude-cod"],
     f"error: --agent claude-cod: unknown agent; did you mean claude_code? Expected one of {', '.join(known_agents())}\n"),
    ("nearly a format", ["logs", "--from", "openai-chatt"],
     f"error: --from 'openai-chatt': unknown value; did you mean openai_chat? Expected one of {', '.join(conversations.known_formats())}\n"),
    ("nearly an agent to clean up after", ["logs", "--cleanup", "claude_cod"],
     "error: --cleanup 'claude_cod': unknown value; did you mean claude-code? Expected one of goose, claude-code\n"),
    ("a day that is none", ["logs", "--since", "1.1.2026"], "error: --since 1.1.2026: not a date; write YYYY-MM-DD\n"),
    ("names cannot speak to the terminal", ["\x1b]0;\n"], "error: \\x1b]0;\\n: cannot be read (No such file or directory)\n"),
)  # fmt: skip
def test_errors_say_where_what_and_what_to_do(command, arguments, err):
    Path("other").mkdir()
    Path("other/README.md").touch()
    Path("file").touch()
    assert command("convert", *arguments) == (2, "", err)


@cases(
    "arguments, error",
    (
        "convert logs --single-file --group-by scenario",
        "--group-by scenario has no effect with --single-file; use only one of them",
    ),
    ("convert logs --reset hf", "--reset: no such option; did you mean --preset?"),
    ("convert logs --zzz", "--zzz: no such option; see chatsquash convert --help"),
    ("convert logs --workers x", "--workers: 'x' is not a whole number; see chatsquash convert --help"),
    ("convert logs --min-turns -1", "--min-turns: -1 is not in the range x>=0; see chatsquash convert --help"),
    ("convert", "LOGS is missing; pass folders, files, globs or URLs, as in chatsquash convert logs"),
    ("check", "DATASETS is missing; see chatsquash check --help"),
    ("nope", "no such command 'nope'; see chatsquash --help"),
)
def test_errors_of_usage_look_like_all_others(command, arguments, error):
    assert command(*arguments.split()) == (2, "", f"error: {error}\n")


def test_a_full_disk_is_an_error_without_a_traceback(command, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device", "out/x")

    monkeypatch.setattr("chatsquash.core.platform.sync", full)
    go_on = "1 session done, but nothing new was written; run the same command with --resume to continue"
    assert command("convert", "logs") == (1, "", f"error: out/x: No space left on device; {go_on}\n")
    assert [path.name for path in Path("out").iterdir()] == [".chatsquash"]


def test_an_interrupt_ends_with_130(command, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("chatsquash.conversion.inputs.outcomes", interrupt)
    code, out, err = command("convert", "logs")
    assert (code, out, err.strip()) == (130, "", "interrupted")
    assert not Path("out").exists()


def test_verbose_shows_the_role_traces_of_sessions_with_errors(command, here):
    evil = {"role": "\x1b[2J", "content": "x"}
    write_log(here / "logs" / "b.jsonl", log_line("x", evil, assistant("", call(name="nope")), assistant()))
    write_log(here / "logs" / "c.jsonl", *BACKWARD)
    for options in (["-v"], ["--verbose", "--full"]):
        code, out, err = command("convert", "logs", *options)
        assert (code, out) == (3, "")
        first, second, *_ = err.splitlines()
        assert first.startswith("logs/b.jsonl: user \\x1b[2J At Ac")
        assert second.startswith("logs/c.jsonl: user")


def test_a_role_trace_names_the_mcp_servers_of_the_tools(command, here):
    tools = [
        {"type": "function", "function": {"name": name}} for name in ("mcp__git__log", "notes__add", "mcp__\x1b__x")
    ]
    write_log(here / "logs" / "b.jsonl", log_line("x", assistant("", call(name="nope")), tools=tools))
    first, *_ = command("convert", "logs", "-v").err.splitlines()
    assert first == "logs/b.jsonl: user At Ac (MCP servers: \\x1b, git, notes)"


# Options and variables


@cases("variables, options, expected",
    ("a flag", {"CHATSQUASH_SINGLE_FILE": "1"}, [], ["conversations.jsonl"]),
    ("a flag that is off", {"CHATSQUASH_SINGLE_FILE": "no"}, [], ["2026-01-13.jsonl"]),
    ("a folder", {"CHATSQUASH_OUTPUT": "other"}, [], None),
    ("an option wins over its variable", {"CHATSQUASH_GROUP_BY": "none"}, ["--group-by", "scenario"], ["a.jsonl", "b.jsonl"]),
    ("also over that of another one", {"CHATSQUASH_SINGLE_FILE": "1"}, ["--group-by", "scenario"], ["a.jsonl", "b.jsonl"]),
    ("and the other way round", {"CHATSQUASH_GROUP_BY": "scenario"}, ["--single-file"], ["conversations.jsonl"]),
    ("of two variables the single file wins", {"CHATSQUASH_GROUP_BY": "scenario", "CHATSQUASH_SINGLE_FILE": "1"}, [], ["conversations.jsonl"]),
    ("globs, separated by spaces", {"CHATSQUASH_INCLUDE": "x* b*", "CHATSQUASH_SINGLE_FILE": "1"}, [], ["conversations.jsonl"]),
    ("globs that fit nothing", {"CHATSQUASH_EXCLUDE": "a* b*"}, [], None),
    ("an empty one counts as not set", {"CHATSQUASH_GROUP_BY": "", "CHATSQUASH_SINCE": ""}, [], ["2026-01-13.jsonl"]),
)  # fmt: skip
def test_every_option_can_be_set_by_a_variable(command, here, monkeypatch, variables, options, expected):
    write_log(here / "logs" / "b.jsonl", log_line("b"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    command("convert", "logs", *options)
    assert files() == (sorted(["README.md", *expected, "reports", "run.json"]) if expected else [])


@pytest.fixture
def options(command, monkeypatch):
    """The options that ``chatsquash convert`` makes of arguments, whether or not they can be meant."""
    seen = []
    monkeypatch.setattr("chatsquash.conversion.convert.convert", lambda *given: seen.append(given[2]) or WRITTEN)
    monkeypatch.setattr("chatsquash.dataset.option_rules.PAIRS", ())
    monkeypatch.setattr("chatsquash.dataset.option_rules.refuse_invalid_values", lambda _: None)

    def made(*arguments: str) -> Options:
        ended = command("convert", "logs", "-q", *arguments)
        assert ended.code == 0, ended.err
        return seen.pop()

    return made


def test_the_defaults_of_the_command_are_those_of_the_options(options):
    assert options("--workers", "1", "--no-anonymize") == Options(anonymize=False)


ANOTHER = {"KINDS": "secrets", "NAME=REGEX": "ticket=T-[0-9]+", "REGION": "DE", "TRAINER[=MODEL]": "trl"}


def another(option: OptionDeclaration) -> tuple[object, list[str]]:
    """A value of an option that is not the default, and how it is typed."""
    if option.kind is bool:
        return not option.default, [option.flag.replace("--", "--no-") if option.default else option.flag]
    if option.metavar in ANOTHER:
        value = ANOTHER[option.metavar]
        return (value,) if option.kind == tuple[str, ...] else value, [option.flag, value]
    if option.metavar == "SIZE":
        return 64_000, [option.flag, "64kB"]
    value = min(7, option.most or 7) if option.kind is int else "x" if option.metavar else option.choices[-1]
    return (value,) if option.kind == tuple[str, ...] else value, [option.flag, str(value)]


@cases(
    "typed, expected",
    ("a format with hyphens", ["--from", "openai-chat"], {"from_format": "openai_chat"}),
    ("a format as it is listed", ["--from", "openai_chat"], {"from_format": "openai_chat"}),
    ("a set of cleaning rules with underscores", ["--cleanup", "claude_code"], {"cleanup": ("claude-code",)}),
    ("several sets", ["--cleanup", "claude_code", "--cleanup", "goose"], {"cleanup": ("claude-code", "goose")}),
)
def test_hyphens_and_underscores_of_names_are_the_same(options, typed, expected):
    made = options(*typed)
    assert {name: getattr(made, name) for name in expected} == expected


WRITTEN = Summary(replies=ReplyTotals(seen=1, written=1))
PLAIN = [each for each in list_options() if not each.secret and not each.content]


@pytest.mark.parametrize("option", PLAIN, ids=lambda each: each.name)
def test_every_option_can_be_typed_and_be_set_by_a_variable_of_its_name(options, monkeypatch, option):
    value, typed = another(option)
    assert value != option.default
    assert getattr(options(*typed), option.name) == value
    variable = f"CHATSQUASH_{option.flag.strip('-').replace('-', '_').upper()}"
    for text in ["true", "1"] if value is True else ["no"] if value is False else typed[1:]:
        monkeypatch.setenv(variable, text)
        assert getattr(options(), option.name) == value


PACKED = ("template", "tokenizer", "loss_labels")
"""Options of which something is read from the file; their own tests say what."""
FILES = [each for each in list_options() if each.content and each.name not in PACKED]


@pytest.mark.parametrize("option", FILES, ids=lambda each: each.name)
def test_an_option_that_names_a_file_has_what_it_holds(options, monkeypatch, here, option):
    (here / "given").write_bytes(b'[{"name": "ls"}]')
    assert getattr(options(option.flag, "given"), option.name) == b'[{"name": "ls"}]'
    variable = f"CHATSQUASH_{option.flag.strip('-').replace('-', '_').upper()}"
    monkeypatch.setenv(variable, "given")
    assert getattr(options(), option.name) == b'[{"name": "ls"}]'
    monkeypatch.setenv(variable, "")
    assert getattr(options(), option.name) is None


@pytest.mark.parametrize("arguments", [[], ["convert"], ["check"], ["inspect"]])
def test_help_is_on_standard_output(command, arguments):
    short, long = (command(*arguments, flag) for flag in ("-h", "--help"))
    assert short == long
    assert (long.code, long.err) == (0, "")
    assert long.out.startswith("Usage: chatsquash")


@cases(
    "typed, expected",
    ("codes of findings to explain", "explain no-to", ["no-tools"]),
    ("another code", "explain no-tools secret-", ["secret-found"]),
    ("a code to drop", "convert logs --drop no-to", ["no-tools"]),
    ("any error to drop", "convert logs --drop erro", ["errors"]),
    ("any error to fail on", "convert logs --fail-on erro", ["error"]),
    ("the last of several codes", "convert logs --fail-on error,no-to", ["error,no-tools"]),
    ("the last of several facts", "convert logs --loss-skip loop,fail", ["loop,failed_call"]),
    ("a code of a check", "check out --fail-on secret-", ["secret-found"]),
    ("an agent", "convert --agent claude", ["claude_code"]),
    ("an agent that is typed with a hyphen", "convert --agent claude-", ["claude_code"]),
    ("a format to read", "convert logs --from claude", ["claude_ai", "claude_code"]),
    ("a format to inspect", "inspect logs --from pydantic", ["pydantic_ai"]),
    ("rules of cleaning", "convert logs --cleanup cl", ["claude-code"]),
    ("a format that is read only, to read", "translate x --from bed", ["bedrock"]),
    ("no format that is read only, to write", "translate x --to bed", []),
    ("a format to write", "translate x --to anth", ["anthropic"]),
)
def test_the_shell_completes_names(typed, expected):
    *arguments, begun = typed.split()
    found = ShellComplete(cli, {}, "chatsquash", "_CHATSQUASH_COMPLETE").get_completions(arguments, begun)
    assert [each.value for each in found] == expected


@pytest.mark.parametrize("arguments", [["convert"], ["check"], ["inspect"], ["nope"]])
def test_missing_arguments_and_unknown_commands_are_usage_errors(command, arguments):
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")


def test_without_a_command_there_is_help(command):
    code, out, err = command()
    assert (code, out) == (2, "")
    assert "Make a dataset:" in err


def test_version(command):
    assert command("--version") == (0, f"chatsquash, version {chatsquash.__version__}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_the_command(command, monkeypatch, shell):
    monkeypatch.setenv("_CHATSQUASH_COMPLETE", f"{shell}_source")
    monkeypatch.setattr("click.shell_completion.BashComplete._check_version", lambda *_: None)
    code, out, err = command()
    assert (code, err) == (0, "")
    assert "_chatsquash_completion" in out


@pytest.mark.parametrize("options, count", [([], 3), (["--workers", "2"], 2)])
def test_there_are_as_many_workers_as_cores_unless_told_otherwise(command, monkeypatch, options, count):
    seen = []
    monkeypatch.setattr("chatsquash.core.platform.cores", lambda: 3)
    monkeypatch.setattr(
        "chatsquash.conversion.inputs.outcomes", lambda jobs, options, *_, **__: seen.append(options.workers) or []
    )
    command("convert", "logs", *options)
    assert seen == [count]


# check


def test_check_prints_findings_and_ends_with_3_for_an_error(command, here):
    write_log(here / "data.jsonl", {"messages": [{"role": "user", "content": "x"}], "tools": []}, "[]")
    code, out, err = command("check", "data.jsonl")
    counts = ["needs attention: 1 error", "", "errors  1  bad-record", "notes   1  no-tools", ""]
    assert (code, err.splitlines()[:-1]) == (3, counts)
    assert err.splitlines()[-1] == "A dataset line is not a record: chatsquash explain bad-record"
    first, second = out.splitlines()
    assert first.startswith("INFO\tsession=data\tinput=data.jsonl:1\t[no-tools] ")
    assert second.startswith("ERROR\tsession=data\tinput=data.jsonl:2\t[bad-record] ")


CALLS_ALONE = {"messages": [{"role": "user", "content": "x"}, assistant("", call())], "tools": []}
WITH_SECRET = {"messages": [{"role": "user", "content": "export DB_PASSWORD=kettle9drum"}], "tools": [tool()]}


@cases("record, options, code",
    ("an error by itself", CALLS_ALONE, [], 3),
    ("an error that is not named", CALLS_ALONE, ["--redact", "secrets", "--fail-on", "secret-found"], 0),
    ("an error that is named", CALLS_ALONE, ["--fail-on", "no-tools,calls-without-tools"], 3),
    ("any error", CALLS_ALONE, ["--fail-on", "error"], 3),
    ("a warning that --redact asks for", WITH_SECRET, ["--redact", "secrets"], 3),
    ("a warning that is named", WITH_SECRET, ["--redact", "secrets", "--fail-on", "secret-found"], 3),
    ("a warning where errors alone count", WITH_SECRET, ["--redact", "secrets", "--fail-on", "error"], 0),
    ("an info that is named", {"messages": [{"role": "user", "content": "x"}], "tools": []}, ["--fail-on", "no-tools"], 3),
    ("a code that no finding has", CALLS_ALONE, ["--fail-on", "secrets-found"], 2),
    ("what nothing looks for", WITH_SECRET, ["--fail-on", "secret-found"], 2),
    ("renderings without a template", WITH_SECRET, ["--fail-on", "template-error"], 2),
    ("addresses that nothing looks for", WITH_SECRET, ["--redact", "secrets", "--fail-on", "address-not-redacted"], 2),
)  # fmt: skip
def test_check_ends_with_3_for_findings_that_count(command, here, record, options, code):
    write_log(here / "data.jsonl", record)
    result = command("check", "data.jsonl", *options)
    assert result.code == code, result
    assert "Traceback" not in result.err


def test_check_says_which_option_finds_what_fail_on_names(command, here):
    write_log(here / "data.jsonl", WITH_SECRET)
    found = command("check", "data.jsonl", "--fail-on", "secret-found")
    assert found.err == "error: --fail-on secret-found has no effect without --redact; add it\n"


def test_check_shows_a_rendering_and_counts_nothing(command, here):
    write_log(here / "data.jsonl", WITH_SECRET)
    (here / "t.jinja").write_text("{{ messages }}")
    code, _, err = command("check", "data.jsonl", "--template", "t.jinja", "--show", "1", "--fail-on", "error")
    assert (code, err.splitlines()[-1]) == (2, "error: --fail-on has no effect with --show; use only one of them")


def test_check_prints_json_lines_on_request(command, here):
    write_log(here / "data.jsonl", "[]")
    code, out, err = command("check", "data.jsonl", "--json")
    (line,) = out.splitlines()
    found = orjson.loads(line)
    assert (code, found["code"], found["record"]) == (3, "bad-record", "data.jsonl:1")
    assert err.splitlines()[:3] == ["needs attention: 1 error", "", "errors  1  bad-record"]


def test_check_ends_with_0_for_warnings_and_for_nothing(command, here):
    write_log(here / "a.jsonl", {"messages": [{"role": "user", "content": "x"}], "tools": []})
    write_log(here / "b.jsonl", {"messages": [{"role": "user", "content": "x"}], "tools": [tool()]})
    assert command("check", "a.jsonl").code == 0
    assert command("check", "b.jsonl") == (0, "", "nothing needs attention\n")


@cases(
    "variable, options, expected",
    ("the default", None, [], ["context limit was reached"]),
    ("another one", None, ["--flag-phrase", "rate limit"], ["rate limit"]),
    ("two", None, ["--flag-phrase", "rate limit", "--flag-phrase", "CONTEXT"], ["rate limit", "CONTEXT"]),
    ("a variable with one a line", "rate limit\r\n\ncontext limit\n", [], ["rate limit", "context limit"]),
    ("an option in place of the variable", "rate limit", ["--flag-phrase", "context"], ["context"]),
    ("none", None, ["--flag-phrase", ""], []),
)
def test_phrases_are_flagged_in_runs_and_in_checks(command, here, monkeypatch, variable, options, expected):
    if variable:
        monkeypatch.setenv("CHATSQUASH_FLAG_PHRASE", variable)
    text = "The Rate Limit and the context limit was reached."
    write_log(here / "a.jsonl", {"messages": [{"role": "user", "content": text}], "tools": [tool()]})
    write_log(here / "phrases" / "a.jsonl", log_line(text))
    code, out, _ = command("check", "a.jsonl", *options)
    assert code == 0
    assert [line.split("'")[1] for line in out.splitlines()] == expected
    command("convert", "phrases", "-q", *options)
    report = map(json.loads, Path("out/reports/findings.jsonl").read_text().splitlines())
    assert [each["text"].split("'")[1] for each in report if each["code"] == "flagged-phrase"] == expected


def test_check_tells_addresses_on_request(command, here):
    write_log(here / "a.jsonl", {"messages": [{"role": "user", "content": "jane@corp.com"}], "tools": [tool()]})
    assert command("check", "a.jsonl").out == ""
    code, out, _ = command("check", "--anonymize", "a.jsonl")
    assert code == 0
    assert "[address-not-redacted] messages[0]: 1 e-mail address" in out


def test_check_of_a_file_without_records_ends_with_3(command, here):
    (here / "a.jsonl").write_bytes(b"")
    code, out, _ = command("check", "a.jsonl")
    assert (code, "[empty-dataset]" in out) == (3, True)


def test_check_reads_several_datasets_and_folders(command, here):
    for name in ("a", "b", "c/d"):
        write_log(here / f"{name}.jsonl", "[]")
    code, out, _ = command("check", "b.jsonl", "a.jsonl", "c")
    inputs = [line.split("\t")[2] for line in out.splitlines()]
    assert (code, inputs) == (3, ["input=b.jsonl:1", "input=a.jsonl:1", "input=c/d.jsonl:1"])


def test_check_of_what_is_not_there_is_a_usage_error(command):
    assert command("check", "nope") == (2, "", "error: nope: cannot be read (No such file or directory)\n")


def test_check_of_what_convert_wrote_is_clean(command):
    assert command("convert", "logs", "-q").code == 0
    assert command("check", "out") == (0, "", "nothing needs attention\n")


# inspect


def test_inspect_prints_a_table(command):
    code, out, err = command("inspect", "logs/a.jsonl")
    assert (code, err) == (0, "")
    assert (
        out
        == """\
logs/a.jsonl: session s1
format: openai_chat (choices[].message in the response)
line  time                     kept  added  tools  reply    outcome   roles added
1     2026-01-13 10:00:00.000  0     1      1      Ac 38 B  selected  user
record: 175 bytes
"""
    )


def test_inspect_shows_text_on_request_only(command):
    assert "hi" not in command("inspect", "logs/a.jsonl").out
    assert "    user: hi\n" in command("inspect", "logs/a.jsonl", "-v").out


def test_inspect_of_what_is_not_there_is_a_usage_error(command):
    assert command("inspect", "nope") == (2, "", "error: nope: cannot be read (No such file or directory)\n")


def test_a_long_error_is_cut_in_its_middle(command):
    code, out, err = command("convert", "x" * 5_000)
    assert (code, out) == (2, "")
    assert err.startswith("error: xxx")
    assert err.endswith("x: cannot be read (File name too long)\n")
    assert " … " in err
    assert len(err) < 3_020


@cases(
    "arguments, error",
    (
        "--format parquet --group-by date",
        "--group-by date has no effect on the files of a dataset folder; remove it",
    ),
    ("--preset hf --single-file", "--single-file has no effect on the files of a dataset folder; remove it"),
    ("--full --resume", "--full has no effect with --resume; use only one of them"),
    ("--quiet --verbose", "--verbose has no effect with --quiet; use only one of them"),
    ("--shard-size 5MB", "--shard-size has no effect without --format; add it, as in --format parquet"),
    ("--keep logprobs", "--keep logprobs has no effect without --preset hf; add it"),
    ("--pairs logged", "--pairs logged has no effect without --format; add it, as in --format jsonl"),
    ("--drop arguments-invalid", "--drop arguments-invalid has no effect without --check-arguments; add it"),
    ("--redact none --anonymize", "--redact none has no effect with --anonymize; use only one of them"),
    ("--report --no-merge --engine ray", "--report has no effect with --no-merge; use only one of them"),
    (
        "--report --samples tokens --preset hf",
        "a report shows messages, which --samples tokens does not write; use --samples reply",
    ),
    ("--quiet --progress json", "--progress json has no effect with --quiet; use only one of them"),
)
def test_options_without_effect_are_refused(command, here, arguments, error):
    write_log(here / "logs/a.jsonl", log_line())
    assert command("convert", "logs", *arguments.split()) == (2, "", f"error: {error}\n")
    assert not (here / "out").exists()
