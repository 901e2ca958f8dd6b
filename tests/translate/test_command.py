"""``chatsquash translate``, by exit code and whole output."""

import gzip
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from chatsquash.translate import conversations
from tests.conftest import cases

SAMPLES = Path(__file__).parents[2] / "sample_logs"
COMMAND = [sys.executable, "-m", "chatsquash", "translate"]
CALL = {"id": "call_a", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}
pytestmark = pytest.mark.usefixtures("here")
TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
MESSAGES = [
    {"role": "user", "content": "What is there?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_a", "name": "ls", "content": "a.txt"},
    {"role": "assistant", "content": "One file."},
]
BODY = {"messages": MESSAGES}
PORTABLE = [
    {"role": "user", "content": "What is there?"},
    {"role": "assistant", "content": None, "toolCalls": [{"id": "call_a", "name": "ls", "arguments": {"path": "."}}]},
    {"role": "user", "content": None, "toolResults": [{"id": "call_a", "name": "ls", "result": "a.txt"}]},
    {"role": "assistant", "content": "One file."},
]
THOUGHTFUL = {"messages": [MESSAGES[0], {"role": "assistant", "content": "x", "reasoning_content": "hm"}]}


@pytest.fixture
def given(monkeypatch):
    """Puts bytes on standard input."""

    def put(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


def put(name, *values):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("".join(json.dumps(value) + "\n" for value in values))
    return name


def files(folder="out"):
    return sorted(path.name for path in Path(folder).iterdir())


def piped(data, *arguments):
    """Exit code, standard output and standard error of a process."""
    ended = subprocess.run([*COMMAND, *arguments], input=data, capture_output=True, check=False, timeout=60)
    return ended.returncode, ended.stdout, ended.stderr.decode()


# What it writes and says


def test_a_document_comes_out_as_another(command):
    put("a.json", PORTABLE)
    assert command("translate", "a.json", "--to", "openai_chat", "-o", "out") == (
        0,
        "",
        "1 conversation written as openai_chat\n",
    )
    assert json.loads(Path("out/a.json").read_text())["messages"] == MESSAGES


def test_what_was_not_held_is_said_by_kind(command):
    put("a.jsonl", {**BODY, "tools": [TOOL]}, THOUGHTFUL, THOUGHTFUL)
    code, out, err = command("translate", "a.jsonl", "--to", "portable", "-o", "out")
    assert (code, out) == (0, "")
    assert (
        err
        == """\
3 conversations written as portable

unsupported  3  2 turns[].blocks[], 1 tools[]
"""
    )
    assert files() == ["a-1.json", "a-2.json", "a-3.json"]


def test_what_was_not_read_and_what_is_not_linked_is_said_too(command):
    search = {"type": "web_search_20250305", "name": "web_search"}
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}]}
    put(
        "a.json",
        {"model": "claude-x", "max_tokens": 9, "tools": [search], "messages": [MESSAGES[0], asked, MESSAGES[0]]},
    )
    code, out, err = command("translate", "a.json", "--to", "openai_chat", "-o", "out")
    assert (code, out) == (0, "")
    assert (
        err
        == """\
1 conversation written as openai_chat

ignored         1  tools that the service runs
request option  2  1 max_tokens, 1 model
not linked      1  calls without a result
"""
    )
    found = command("translate", "a.json", "--to", "openai_chat", "-o", "strict", "--lossless")
    assert found.code == 1
    assert "a: ignored: tools that the service runs; remove --lossless to write the rest" in found.err
    assert not Path("strict").exists()


def test_all_branches_of_a_history_may_be_asked_for(command):
    shutil.copy(SAMPLES / "documents/oumi_history-choir.json", "h.json")
    assert command("translate", "h.json", "--to", "oumi_history", "-o", "out", "--all-branches", "--quiet").code == 0
    history = json.loads(Path("out/h.json").read_text())
    logged = json.loads(Path("h.json").read_text())
    places = ("parent_branch_id", "branch_point_index", "name")
    assert {key: [b[each] for each in places] for key, b in history["branches"].items()} == {
        key: [b[each] for each in places] for key, b in logged["branches"].items()
    }


def test_a_glob_may_be_left_to_us(command):
    put("in/a.json", BODY)
    put("in/b.json", BODY)
    assert command("translate", "in/*.json", "--to", "gemini", "-o", "new/folder/x.jsonl", "--jsonl").code == 0
    assert len(Path("new/folder/x.jsonl").read_text().splitlines()) == 2


LINES = [
    ("x.jsonl", bytes),
    ("x.JSONL", bytes),
    ("x.ndjson", bytes),
    ("x.jsonl.gz", gzip.decompress),
    ("x.NdJson.GZ", gzip.decompress),
    ("x.jsonl.zst", lambda held: zstandard.ZstdDecompressor().decompressobj().decompress(held)),
]


@pytest.mark.parametrize("name, opened", LINES, ids=[row[0] for row in LINES])
def test_a_name_of_lines_is_one_file_of_them(command, name, opened):
    put("a.jsonl", BODY, BODY)
    assert command("translate", "a.jsonl", "--to", "gemini", "-o", name).code == 0
    assert [json.loads(line)["contents"] != [] for line in opened(Path(name).read_bytes()).splitlines()] == [True] * 2
    assert command("translate", name, "--to", "anthropic", "-o", "back").code == 0


def test_a_conversation_that_says_nothing_is_left_out_of_what_is_sent(command):
    put("a.jsonl", BODY, {"messages": [{"role": "system", "content": "s"}]})
    asked = ["translate", "a.jsonl", "--to", "anthropic", "--sendable", "-o", "x.jsonl"]
    code, _, err = command(*asked)
    assert (code, "adapted  1  empty conversations dropped" in err) == (0, True)
    assert len(Path("x.jsonl").read_text().splitlines()) == 1
    assert command(*asked, "--force", "--lossless").err.startswith("error: a: nothing to send")


@pytest.mark.parametrize("option", ["--quiet", "-q"])
def test_quiet_says_nothing(command, option):
    put("a.json", THOUGHTFUL)
    assert command("translate", "a.json", "--to", "portable", "-o", "out", option) == (0, "", "")
    assert files() == ["a.json"]


def test_several_inputs_keep_their_order(command):
    for name in "cab":
        put(f"{name}.json", {"messages": [{"role": "user", "content": name}]})
    out = command("translate", "c.json", "a.json", "b.json", "--to", "openai_chat", "--jsonl", "-o", "-").out
    assert [json.loads(line)["messages"][0]["content"] for line in out.splitlines()] == ["c", "a", "b"]


def test_every_session_of_a_log_that_holds_several_is_written(command):
    found = command("translate", SAMPLES / "litellm/proxy.jsonl", "--to", "openai_chat", "-o", "out")
    assert (found.code, found.err.splitlines()[0]) == (0, "2 conversations written as openai_chat")
    assert files() == ["bakery.json", "cats.json"]


def test_the_sample_logs_are_translated_whole(command):
    shutil.copytree(SAMPLES, "in")
    found = command("translate", "in", "--to", "pydantic_ai", "-o", "out")
    assert found.code == 0
    count = len(files())
    assert found.err.splitlines()[0] == f"{count} conversations written as pydantic_ai"
    assert found.err.splitlines()[-1] == "e-mail addresses are unchanged; add --anonymize to replace them"
    again = command("translate", "out", "--to", "openai_chat", "-o", "back")
    assert (again.code, len(files("back"))) == (0, count)


@pytest.mark.parametrize("name", ["openai_chat", "anthropic", "gemini", "openai_responses", "clippy", "oumi"])
def test_a_folder_that_was_written_is_read_again(command, name):
    put("a.jsonl", BODY, BODY)
    assert command("translate", "a.jsonl", "--to", name, "-o", "there").code == 0
    assert command("translate", "there", "--to", "portable", "-o", "back").code == 0
    assert [json.loads((Path("back") / each).read_text()) for each in files("back")] == [PORTABLE] * 2


def test_other_json_files_in_a_folder_are_passed_over(command):
    put("in/a.json", BODY)
    put("in/package.json", {"name": "x", "scripts": {}})
    put("in/messages.json", {"messages": {"hello": "Hallo"}})
    Path("in/no.json").write_bytes(b"\xff")
    assert command("translate", "in", "--to", "gemini", "-o", "out").code == 0
    assert files() == ["a.json"]


# Pipes


def test_a_pipe_goes_through():
    code, out, err = piped(json.dumps(PORTABLE).encode(), "-", "--to", "openai_chat", "-o", "-")
    assert (code, json.loads(out)["messages"], err) == (0, MESSAGES, "1 conversation written as openai_chat\n")


def test_two_commands_in_a_pipe_give_back_what_came():
    _, there, _ = piped(json.dumps(PORTABLE).encode(), "-", "--to", "vercel_ai", "-o", "-")
    code, back, _ = piped(there, "-", "--to", "portable", "-o", "-")
    assert (code, json.loads(back)) == (0, PORTABLE)


def test_only_the_document_is_on_standard_output(command, given):
    given(json.dumps(THOUGHTFUL).encode())
    code, out, err = command("translate", "-", "--to", "portable", "-o", "-")
    assert (code, out.count("\n"), out[0]) == (0, 1, "[")
    assert "unsupported  1  turns[].blocks[]" in err


def test_standard_input_may_hold_lines_and_a_byte_order_mark(command, given):
    mark = b"\xef\xbb\xbf"
    given(mark + b"\n".join([json.dumps(PORTABLE).encode()] * 2))
    assert command("translate", "-", "--to", "openai_chat", "-o", "out").code == 0
    assert files() == ["stdin-1.json", "stdin-2.json"]
    given(mark + json.dumps(PORTABLE, indent=2).encode())
    assert command("translate", "-", "--to", "openai_chat", "-o", "-").code == 0


def test_standard_input_names_files_stdin(command, given):
    given(json.dumps(BODY).encode())
    assert command("translate", "-", "--to", "gemini", "-o", "out").code == 0
    assert files() == ["stdin.json"]


def test_a_reader_that_leaves_early_is_no_error(here):
    put("in.jsonl", *[BODY] * 2000)
    with subprocess.Popen(
        [*COMMAND, "in.jsonl", "--to", "openai_chat", "--jsonl", "-o", "-", "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        process.wait(60)
    assert b"Traceback" not in err


# What goes wrong


def test_lossless_refuses(command):
    put("a.json", BODY)
    put("b.json", THOUGHTFUL)
    code, out, err = command("translate", "a.json", "b.json", "--to", "portable", "-o", "out", "--lossless")
    assert (code, out) == (1, "")
    assert err == ("error: b: portable does not support turns[1].blocks[0]; remove --lossless to write the rest\n")
    assert not Path("out").exists()


def test_lossless_prints_nothing_either(command, given):
    given(json.dumps(THOUGHTFUL).encode())
    code, out, _ = command("translate", "-", "--to", "portable", "-o", "-", "--lossless")
    assert (code, out) == (1, "")


def test_force_replaces(command):
    put("a.json", BODY)
    put("out/a.json", 1)
    code, _, err = command("translate", "a.json", "--to", "gemini", "-o", "out")
    assert (code, err) == (2, "error: out/a.json: already exists; add --force to replace it\n")
    assert Path("out/a.json").read_text() == "1\n"
    assert command("translate", "a.json", "--to", "gemini", "-o", "out", "--force").code == 0
    assert "contents" in Path("out/a.json").read_text()


def test_a_file_of_lines_is_not_replaced_unless_forced(command):
    put("a.json", BODY)
    put("out.jsonl", 1)
    assert command("translate", "a.json", "--to", "gemini", "--jsonl", "-o", "out.jsonl").code == 2
    assert Path("out.jsonl").read_text() == "1\n"
    assert command("translate", "a.json", "--to", "gemini", "--jsonl", "-o", "out.jsonl", "--force").code == 0
    assert files(".") == ["a.json", "out.jsonl"], "nothing else is left"


def test_hyphens_and_underscores_of_formats_are_the_same(command):
    put("a.json", BODY)
    found = [command("translate", "a.json", "-q", "--to", to, "--from", of, "-o", "-") for to, of in SPELLED]
    assert found[0].code == 0
    assert found[0] == found[1]


SPELLED = [("vercel_ai", "openai_chat"), ("vercel-ai", "openai-chat")]


@cases("arguments, expected",
    ("another format than is said", ["x.json", "--to", "gemini", "--from", "gemini", "-o", "out"], "error: x.json: not gemini: no list of contents"),
    ("no format to write", ["a.json", "-o", "out"], "--to FORMAT is missing"),
    ("no place to write to", ["a.json", "--to", "gemini"], "--output OUT is missing"),
    ("nothing to read", ["--to", "gemini", "-o", "out"], "IN is missing"),
    ("an unknown format to write", ["a.json", "--to", "nope", "-o", "out"], "error: nope: unknown format; expected one of"),
    ("an unknown format to read", ["a.json", "--to", "gemini", "--from", "no", "-o", "out"], "no: unknown format"),
    ("a format that is only read", ["a.json", "--to", "codex", "-o", "out"], "error: codex: can be read but not written; expected one of"),
    ("nearly a format", ["a.json", "--to", "antropic", "-o", "out"], "error: antropic: unknown format; did you mean anthropic? Expected one of gemini"),
    ("no such file", ["b.json", "--to", "gemini", "-o", "out"], "error: b.json: cannot be read (No such file"),
    ("broken lines alone", ["bad.jsonl", "--to", "gemini", "-o", "out"], "error: bad.jsonl: line 1 is not JSON"),
    ("a folder without any", ["empty", "--to", "gemini", "-o", "out"], "error: empty: no session logs to read"),
    ("nothing known", ["x.json", "--to", "gemini", "-o", "out"], 'error: x.json: no known format: the request is an object with the keys "x"'),
    ("a broken document", ["atif.json", "--to", "gemini", "-o", "out"], "error: atif.json: not atif: entry 1: steps is a number"),
    ("lines in a compression that is only read", ["a.json", "--to", "gemini", "-o", "x.jsonl.bz2"], "error: x.jsonl.bz2: files with the suffix .bz2 can be read but not written; use .gz or .zst"),
    ("nothing to send", ["system.json", "--to", "gemini", "--sendable", "-o", "out"], "error: system: nothing to send: only system messages remain"),
    ("several conversations to print", ["a.json", "a.json", "--to", "gemini", "-o", "-"], "error: 2 conversations; print them with --jsonl, or choose a folder with --output"),
    ("a place that is a file", ["a.json", "--to", "gemini", "-o", "x.json/y"], "error: x.json"),
)  # fmt: skip
def test_wrong_use_is_said_and_nothing_is_written(command, arguments, expected):
    put("a.json", BODY)
    put("x.json", {"x": 1})
    put("system.json", {"messages": [{"role": "system", "content": "s"}]})
    put("atif.json", {"schema_version": "ATIF-v1.6", "steps": 3})
    Path("bad.jsonl").write_text("{oops\n{oops\n")
    Path("empty").mkdir()
    code, out, err = command("translate", *arguments)
    assert code in (1, 2)
    assert out == ""
    assert expected in err
    assert not Path("out").exists()


def test_an_unknown_format_to_write_is_answered_with_those_that_are_written(command):
    put("a.json", BODY)
    offered = (
        command("translate", "a.json", "--to", "nope", "-o", "out").err.partition("expected one of ")[2].split(", ")
    )
    assert [name.strip() for name in offered] == [*conversations.writable_formats()]


def test_bad_lines_are_told_and_the_exit_code_says_so(command):
    Path("a.jsonl").write_text(json.dumps(BODY) + "\n" + "{\x1b[31m\n" * 30)
    code, out, err = command("translate", "a.jsonl", "--to", "gemini", "-o", "out")
    assert (code, out) == (3, "")
    told = err.splitlines()
    assert [line.split(": ")[0] for line in told[:20]] == [f"a.jsonl:{number}" for number in range(2, 22)]
    assert told[20:22] == ["... and 10 more lines that cannot be read", "1 conversation written as gemini"]
    assert "ignored  30  lines that cannot be read" in told
    assert "\x1b" not in err
    assert Path("out/a.json").exists()
    assert command("translate", "a.jsonl", "--to", "gemini", "-o", "quiet", "--quiet") == (3, "", "")
    assert command("translate", "a.jsonl", "--to", "gemini", "-o", "strict", "--lossless").code == 1


def test_reasoning_that_is_left_out_for_a_service_counts_once(command):
    said = {"role": "assistant", "content": "k", "reasoning_content": "Hm."}
    put("a.json", {"messages": [{"role": "user", "content": "q"}, said]})
    fitted = command("translate", "a.json", "--to", "anthropic", "--sendable", "-o", "out.jsonl")
    assert fitted.err.splitlines()[2:] == ["adapted  1  reasoning dropped"]
    refused = command("translate", "a.json", "--to", "anthropic", "--sendable", "--lossless", "-o", "again.jsonl")
    assert (refused.code, "does not support turns[1].blocks[" in refused.err) == (1, True), refused.err
