"""``chatsquash list``: the sessions of results and of logs."""

import json

import pytest

import chatsquash
from chatsquash import Options
from chatsquash.cli.list import as_lines
from tests.conftest import assistant, log_line, user, write_log

CLEAN = Options(anonymize=False)


@pytest.fixture
def logs(here):
    """Two sessions with a record, one without."""
    reminder = "<system-reminder>Be brief.</system-reminder>\nSort my  mail,\nplease"
    write_log(here / "logs/a.jsonl", log_line(reminder, session_id="aaaaaaaa-1", at=1))
    long = [user("count"), assistant("1"), user("Thanks!")]
    write_log(here / "logs/b.jsonl", log_line(*long, session_id="aaaaaaaa-2", at=2, reply="2"))
    (here / "logs/broken.jsonl").write_text("no JSON\n")
    return "logs"


@pytest.fixture
def out(logs, command):
    assert command("convert", logs, "--no-anonymize").code == 3
    return "out"


@pytest.mark.parametrize("source", ["logs", "out"])
def test_a_result_and_its_logs_have_the_same_list(out, source):
    sessions = chatsquash.list(source, CLEAN)
    assert [(each["id"], each["replies"], each["outcome"], each["prompt"]) for each in sessions] == [
        ("aaaaaaaa-1", 1, None, "Sort my mail, please"),
        ("aaaaaaaa-2", 1, "thanks", "count"),
        ("broken", 0, "unknown-format", None),
    ]
    assert [each["agent"] for each in sessions[:2]] == ["openai_chat"] * 2


@pytest.mark.parametrize("preset", ["chat", "hf", "mistral", "openai", "sharegpt"])
@pytest.mark.parametrize("packing", ["jsonl.gz", "parquet"])
def test_every_preset_has_prompts(logs, command, preset, packing):
    command("convert", logs, "--preset", preset, "--format", packing, "--no-anonymize")
    prompts = {each["session"]: each["prompt"] for each in chatsquash.list("out")}
    assert prompts == {"aaaaaaaa-1": "Sort my mail, please", "aaaaaaaa-2": "count", "broken": None}


CHOICES = [
    (["--where", "turns >= 2"], ["aaaaaaaa-2"]),
    (["--where", "CAST(session AS INT) > 0"], []),
    (["--where", "left_out = 'unknown-format'"], ["broken"]),
    (["--sort", "prompt"], ["aaaaaaaa-1", "aaaaaaaa-2", "broken"]),
    (["--sort", "-turns"], ["aaaaaaaa-2", "aaaaaaaa-1", "broken"]),
]


@pytest.mark.parametrize("source", ["logs", "out"])
@pytest.mark.parametrize("arguments, ids", CHOICES, ids=[" ".join(row[0]) for row in CHOICES])
def test_sessions_are_chosen_and_sorted_by_columns(out, command, source, arguments, ids):
    done = command("list", source, *arguments, "--json", *(["--no-anonymize"] if source == "logs" else []))
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ids


def test_a_session_with_several_records_is_listed_once(here, command):
    write_log(here / "logs/a.jsonl", log_line("q", reply="a", at=1), log_line("other", reply="b", at=2))
    command("convert", "logs", "--conversations", "all", "--no-anonymize")
    assert len(chatsquash.frame("out")) == 2
    assert [each["prompt"] for each in chatsquash.list("out")] == ["q"]
    assert [each["prompt"] for each in chatsquash.list("out", where="replies_logged = 2 AND row = 2")] == ["other"]


def test_prompts_of_logs_are_redacted_as_records_are(here, command):
    write_log(here / "logs/a.jsonl", log_line("jo@muehle-nord.de", session_id="s"))
    assert "jo@muehle-nord.de" in command("list", "logs", "--no-anonymize").out
    assert "jo@muehle-nord.de" not in command("list", "logs").out


def test_nothing_in_a_log_controls_the_terminal(here, command):
    write_log(here / "logs/a.jsonl", log_line("\x1b[31mred \u202e", session_id="s\x1b[2J"))
    done = command("list", "logs", "--no-anonymize")
    assert done.code == 0
    assert done.out.replace("\n", "").isprintable()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_line_fits_the_terminal_and_fills_it(width):
    session = {"id": "0123456789", "day": "2026-01-13", "agent": "claude_code", "model": "claude-sonnet-4-5-20250929"}
    session |= {"replies": 12, "tokens": 123_456_789, "outcome": "duplicate-record", "prompt": "日本語 " * 60}
    header, line = as_lines([session], width)
    shown = sum(2 if "\u3000" < char < "\uff00" else 1 for char in line)
    assert width - 2 <= shown <= width
    assert "123M" in line
    assert header.index("prompt") == line.index("日")


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["out", "--sort", "turn"], "--sort turn: unknown column; did you mean turns?"),
        (["out", "--where", "turn > 1"], "has no column turn; did you mean turns?"),
        (["out", "--max-line", "5MB"], "--max-line has no effect on an output folder"),
        (["missing"], "missing"),
    ],
)
def test_errors_say_what_is_wrong(out, command, arguments, told):
    done = command("list", *arguments)
    assert done.code == 2
    assert told in done.err
