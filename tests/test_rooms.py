"""What a room holds is one module each, in a folder that the room looks into."""

import json
import os
import subprocess
import sys
import zlib

import pytest

from chatsquash.sources import compression
from tests.conftest import log_line

# Each room, and a module that is added to it.
FORMAT = '''\
"""Parrot's service: turns are pairs of a speaker and a text."""

from chatsquash.core.blocks import Text, Turn
from chatsquash.formats.base import LoadedTurn, Mark, Marks, Stream, Tools
from chatsquash.core.model import Response

NAME = "parrot"
PLACE = 25
TURNS, SYSTEM, TOOLS, REFERS, START = "squawks", (), (), (), None
marks = Marks(request=(Mark(6, "squawks", lambda body: isinstance(body.get("squawks"), list)),))


def system(value):
    return []


def load(turn, state):
    who, said = turn
    return LoadedTurn([Turn("assistant" if who == "parrot" else "user", (Text(said),))], state)


def close(state):
    return []


def tools(value):
    return Tools([])


def reply(body):
    return Response({"role": "assistant", "content": body["squawk"]}, 1, "stop")


def assemble(events):
    return Stream(None, False)
'''
AGENT = '''\
"""Owl's diary: an object with nights."""

from chatsquash.core.model import Conversation

NAME = "owl"
HAS_TOOLS = False


def fits(objects):
    return "nights" if objects and all(isinstance(each, dict) and "nights" in each for each in objects) else None


def conversations(objects):
    return [Conversation([{"role": "user", "content": night} for night in each["nights"]], []) for each in objects]


def dump(conversation):
    return {"nights": [message["content"] for message in conversation.messages]}
'''
CHECK = '''\
from chatsquash.checks.registry import Fact, check


@check("warning", kind="record")
def shouted_text(view):
    """Reported when a message is in capitals."""
    for at, message in enumerate(view.messages):
        if message["content"].isupper():
            yield Fact("the message is in capitals", at)
'''
PRESET = '''\
"""For cats: what was said, and by whom."""

from chatsquash.records.presets import NO_CHOICES, Column, ShapeResult
from chatsquash.records import StoredRecord

NAME = "cat"
SCHEMA = {"type": "object"}
COLUMNS = (Column("meows", "messages"),)


def shape(conversation, choices=NO_CHOICES):
    return ShapeResult({"meows": [[each["role"], each["content"]] for each in conversation.messages]}, [])


def read(value):
    if "meows" not in value:
        return None
    return StoredRecord([{"role": role, "content": said} for role, said in value["meows"]], None)
'''
RULE = '''\
"""Pings that a client puts in."""

from chatsquash.session.cleaning import CleaningRule


def tidy(message):
    return None if message["content"] == "PING" else message


PLACE = 3
RULES = (CleaningRule(name="pings", roles=("user",), tidy=tidy),)
'''
REPORT = '''\
"""How many sessions were seen."""

from chatsquash.dataset.reports import Report, ReportDeclaration

SEEN = "reports/seen.txt"


class Seen(Report):
    def __init__(self):
        self.logs = []

    def add(self, taken):
        self.logs.append(taken.log.name)
        return ()

    def render(self):
        yield SEEN, "\\n".join([*self.logs, ""]).encode()


REPORTS = (ReportDeclaration((SEEN,), lambda options: Seen(), is_complete=True),)
'''
ADDED = [
    ("chatsquash.formats.providers", "parrot", FORMAT),
    ("chatsquash.formats.agents", "owl", AGENT),
    ("chatsquash.checks", "shouting", CHECK),
    ("chatsquash.records.presets", "cat", PRESET),
    ("chatsquash.session.cleaning", "pings", RULE),
    ("chatsquash.dataset.reports", "seen", REPORT),
]
START = """\
import importlib, sys
for pair in sys.argv.pop(1).split(","):
    package, _, folder = pair.partition("=")
    importlib.import_module(package).__path__.append(folder)
from chatsquash.cli.main import cli
cli(sys.argv[1:])
"""
REQUEST = {"squawks": [["sailor", "HELLO"], ["parrot", "ahoy"], ["sailor", "more"]]}
SAID = [["user", "HELLO"], ["assistant", "ahoy"], ["user", "more"], ["assistant", "pieces of eight"]]


@pytest.fixture
def chatsquash(tmp_path, monkeypatch):
    """The command, with a folder beside each room's own."""
    monkeypatch.chdir(tmp_path)
    rooms = []
    for package, name, text in ADDED:
        folder = tmp_path / "rooms" / package
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text(text)
        rooms.append(f"{package}={folder}")

    def run(*args, code=0):
        command = [sys.executable, "-P", "-c", START, ",".join(rooms), *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def logs(tmp_path):
    entry = {"session_id": "s", "timestamp": 1, "request": REQUEST, "response": {"squawk": "pieces of eight"}}
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(json.dumps(entry) + "\n")
    return folder


def test_a_format_a_check_and_a_preset_are_used_to_convert(chatsquash, logs, tmp_path):
    chatsquash("convert", "logs", "-q", "--preset", "cat", "-o", "out")
    (data,) = (tmp_path / "out" / "data").glob("*.jsonl")
    assert json.loads(data.read_text()) == {"meows": SAID}
    findings = map(json.loads, (tmp_path / "out" / "reports" / "findings.jsonl").read_text().splitlines())
    assert [found["message"] for found in findings if found["code"] == "shouted-text"] == [0]


def test_a_cleaning_rule_is_applied_and_counted(chatsquash, tmp_path):
    messages = [{"role": "user", "content": said} for said in ("PING", "hello", "PING")]
    entry = {"session_id": "s", "timestamp": 1, "request": {"messages": messages}}
    (tmp_path / "a.jsonl").write_text(json.dumps(entry) + "\n")
    summary = json.loads(chatsquash("convert", "a.jsonl", "--cleanup", "pings", "-q", "--json", "-o", "out"))
    record = json.loads((tmp_path / "out" / "1970-01-01.jsonl").read_text())
    assert [message["content"] for message in record["messages"]] == ["hello"]
    assert summary["cleaned"] == {"pings": 2}
    assert "pings 2" in (tmp_path / "out" / "reports" / "integrity-report.txt").read_text()


def test_a_report_is_written(chatsquash, logs, tmp_path):
    chatsquash("convert", "logs", "-q", "-o", "out")
    assert (tmp_path / "out" / "reports" / "seen.txt").read_text() == "a.jsonl\n"
    outputs = json.loads((tmp_path / "out" / "run.json").read_text())["outputs"]
    assert "reports/seen.txt" in [each["path"] for each in outputs]
    chatsquash("verify", "out")


def test_a_preset_that_knows_no_flags_says_so(chatsquash, logs, tmp_path):
    chatsquash("convert", "logs", "-q", "--preset", "cat", "--loss", "weight", "-o", "out")
    (record,) = (tmp_path / "out/data").glob("*.jsonl")
    assert json.loads(record.read_text()) == {"meows": SAID}
    texts = [json.loads(line)["text"] for line in (tmp_path / "out/reports/findings.jsonl").read_text().splitlines()]
    assert sum("member weight of assistant messages 2" in text for text in texts) == 1


def test_a_preset_is_read_back_by_check(chatsquash, logs):
    chatsquash("convert", "logs", "-q", "--preset", "cat", "-o", "out")
    assert "shouted-text" in chatsquash("check", "out/data")


def test_an_agents_file_is_read_and_written(chatsquash, tmp_path):
    (tmp_path / "diary.json").write_text(json.dumps({"nights": ["who?", "you"]}))
    chatsquash("translate", "diary.json", "-q", "--to", "owl", "-o", "copies")
    assert json.loads((tmp_path / "copies" / "diary.json").read_text()) == {"nights": ["who?", "you"]}
    chatsquash("convert", "diary.json", "-q", "-o", "out")
    record = json.loads((tmp_path / "out" / "undated.jsonl").read_text())
    assert record["messages"] == [{"role": "user", "content": night} for night in ("who?", "you")]


def test_they_are_listed_where_their_place_is(chatsquash):
    told = chatsquash("formats")
    names = [line.split()[0] for line in told.splitlines() if line]
    assert names.index("openai_responses") + 1 == names.index("parrot") == names.index("anthropic") - 1
    assert names.index("openhands") < names.index("owl") or names.index("otel") < names.index("owl")
    assert "Parrot's service" in told
    assert "cat" in chatsquash("convert", "--help-all")


class Squeezed:
    """What expands a stream of the toy compression: a mark, and behind it what zlib makes."""

    needs_input = True

    def __init__(self):
        self._one = zlib.decompressobj()
        self._mark = len(MARK)

    def decompress(self, data, most):
        rest = data[self._mark :]
        self._mark -= len(data) - len(rest)
        return self._one.decompress(rest)

    def __getattr__(self, name):
        return getattr(self._one, name)


MARK = b"TOY!"


def squeeze(data):
    return MARK + zlib.compress(data)


@pytest.fixture
def toy(monkeypatch):
    """A row for the toy compression."""
    kind = compression.Compression(b"TOY!", Squeezed, ("zlib.error",))
    monkeypatch.setitem(compression.KINDS, ".toy", kind)


def test_a_compression_is_used_wherever_logs_and_datasets_are_read(toy, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps(log_line("hi", session_id=name)).encode() + b"\n" for name in "xy"]
    one, two = tmp_path / "logs" / "one.jsonl.toy", tmp_path / "logs" / "two.jsonl.TOY"
    one.parent.mkdir()
    one.write_bytes(squeeze(lines[0]))
    two.write_bytes(squeeze(lines[0]) + squeeze(lines[1]))
    assert command("convert", "logs", "-q", "-o", "out", "--sessions-by", "id", "--group-by", "scenario").code == 0
    files = sorted(path.name for path in (tmp_path / "out").glob("*.jsonl"))
    assert files == ["one.jsonl", "two.jsonl"], "named without the suffix"
    assert len((tmp_path / "out" / "two.jsonl").read_bytes().splitlines()) == 2
    assert command("verify", "out", "--logs").code == 0
    two.write_bytes(squeeze(lines[1]))
    assert "two.jsonl.TOY: file has changed since" in command("verify", "out", "--logs").out
    (tmp_path / "logs" / "two.jsonl").write_bytes(lines[1])
    assert "1  second copy\n" in command("convert", "logs", "-o", "again").err
    (tmp_path / "records.jsonl.toy").write_bytes(squeeze((tmp_path / "out" / "one.jsonl").read_bytes()))
    assert command("check", "records.jsonl.toy").code == 0
    assert command("translate", one, "--to", "portable", "-q", "-o", "-").code == 0


def test_a_compression_whose_stream_is_damaged_or_ends_early_is_said(toy, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = squeeze(json.dumps(log_line("hi")).encode() + b"\n")
    for changed, problem in ((data[:-1] + b"?", "is damaged"), (data[:-3], "ends early")):
        (tmp_path / "a.jsonl.toy").write_bytes(changed)
        assert command("convert", "a.jsonl.toy", "-q", "-o", "out").code == 3
        report = (tmp_path / "out" / "reports" / "integrity-report.txt").read_text()
        assert f"the compressed data {problem}" in report


@pytest.mark.parametrize("where", ["", "logs"])
def test_nothing_is_imported_from_the_working_folder_or_from_the_logs(tmp_path, where):
    trap = tmp_path / where
    (trap / "formats").mkdir(parents=True)
    for name in ("parrot", "chatsquash", "json", "formats/__init__", "formats/parrot", "sitecustomize"):
        (trap / f"{name}.py").write_text("raise SystemExit('the trap was sprung')\nNAME = 'parrot'\n")
    (trap / "a.jsonl").write_text(json.dumps({"session_id": "s", "timestamp": 1, "request": {"messages": []}}) + "\n")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [os.path.join(os.path.dirname(sys.executable), "chatsquash")]
    for args in (["formats"], ["convert", str(trap / "a.jsonl"), "-q", "-o", "out"], ["check", str(trap / "a.jsonl")]):
        done = subprocess.run([*command, *args], capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
        assert "sprung" not in done.stdout + done.stderr
        assert "parrot" not in done.stdout
