"""``chatsquash redact``: datasets that exist, with placeholders in the place of what is private."""

import gzip
import json
import re
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options
from chatsquash.core import jsonio
from chatsquash.redaction import requests
from chatsquash.redaction.redactor import Redactor
from chatsquash.results.redact.redact import Watch, redact
from tests.conftest import cases, examples, tree
from tests.outputs import put

TOKEN = "ghp_Zq7Vn2Lk9Xw4Rt8Bm3Hc6Yd1Pf5Js0GuAe7T"
PLACE = re.compile(r"<[A-Z_]+_[0-9a-f]{10}>")
MAIL = "jane.doe@corp.com"
HOME = "/home/anatolia/project"
ALL = "secrets,paths,emails"
pytestmark = pytest.mark.usefixtures("here")


def lines(name):
    return [json.loads(line) for line in Path(name).read_bytes().splitlines()]


def user(content=f"use {TOKEN}"):
    return {"role": "user", "content": content}


def assistant(content="ok", **fields):
    return {"role": "assistant", "content": content, **fields}


def call(arguments):
    return {"id": "call_1", "type": "function", "function": {"name": "sh", "arguments": arguments}}


def redacted(command, *records, kinds="secrets"):
    """What becomes of records, and what is said."""
    ended = command("redact", put("in.jsonl", *records), "-o", "out.jsonl", "--redact", kinds, "--force")
    return lines("out.jsonl"), ended


# What becomes of a record


def spelled(value):
    """A value with the token's placeholder as P."""
    return json.loads(PLACE.sub("P", json.dumps(value)))


@cases("before, after",
    ("a record as specified", {"messages": [user(), assistant()], "tools": []}, {"messages": [user("use P"), assistant()], "tools": []}),
    ("arguments in text", {"messages": [user("x"), assistant(None, tool_calls=[call(json.dumps({"cmd": TOKEN, "n": 1.5}))])]}, {"messages": [user("x"), assistant(None, tool_calls=[call('{"cmd": "P", "n": 1.5}')])]}),
    ("arguments as an object", {"messages": [user("x"), assistant(None, tool_calls=[call({"cmd": TOKEN, "n": 1})])]}, {"messages": [user("x"), assistant(None, tool_calls=[call({"cmd": "P", "n": 1})])]}),
    ("turns of sharegpt", {"conversations": [{"from": "human", "value": TOKEN}, {"from": "gpt", "value": "k"}], "system": TOKEN, "tools": "[]"}, {"conversations": [{"from": "human", "value": "P"}, {"from": "gpt", "value": "k"}], "system": "P", "tools": "[]"}),
    ("prompt and completion", {"prompt": [user()], "completion": [assistant()]}, {"prompt": [user("use P")], "completion": [assistant()]}),
    ("prompt and completion as texts", {"prompt": TOKEN, "completion": "k"}, {"prompt": "P", "completion": "k"}),
    ("a pair", {"prompt": [user()], "chosen": [assistant()], "rejected": [assistant(TOKEN)]}, {"prompt": [user("use P")], "chosen": [assistant()], "rejected": [assistant("P")]}),
    ("other columns at any depth", {"messages": [user("x")], "meta": {"a": [{"b": TOKEN}]}, "n": 1.5}, {"messages": [user("x")], "meta": {"a": [{"b": "P"}]}, "n": 1.5}),
    ("the name of a member", {"messages": [user("x")], TOKEN: 1, "z": 2}, {"messages": [user("x")], "P": 1, "z": 2}),
    ("no record at all", [TOKEN, {"a": TOKEN}], ["P", {"a": "P"}]),
    ("a text alone", TOKEN, "P"),
    ("a number", 1.5, 1.5),
    ("an image and the id of a call", {"messages": [{"role": "tool", "tool_call_id": TOKEN, "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{TOKEN}"}}]}]}, {"messages": [{"role": "tool", "tool_call_id": TOKEN, "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{TOKEN}"}}]}]}),
)  # fmt: skip
def test_a_record_keeps_its_shape(command, before, after):
    (made,), ended = redacted(command, before)
    # Media and ids of the protocol are passed over, so their token is one that stays.
    expected = json.loads(json.dumps(after))
    assert spelled(made) == expected
    assert ended.code == 0
    assert (TOKEN in json.dumps(made)) == (TOKEN in json.dumps(after))


@cases(
    "said, flags, is_told",
    ("weight", [assistant(TOKEN, weight=1)], [0], False),
    ("loss", [assistant(TOKEN, loss=True)], [False], False),
    ("training", [assistant(TOKEN, training=True), assistant("x", training=True)], [False, True], False),
    ("a message without the flag of others", [assistant(TOKEN), assistant("x", weight=1)], [0, 1], False),
    ("one that is not trained on", [assistant(TOKEN, weight=0)], [0], False),
    ("a flag that is null in others", [assistant(TOKEN, weight=None), assistant("x", weight=1)], [0, 1], False),
    ("no flags", [assistant(TOKEN)], [None], True),
    ("what has the name of a flag and is none", [assistant(TOKEN, loss=0.25)], [0.25], True),
    ("a placeholder in no reply", [user(), assistant("x", weight=1)], [None, 1], False),
)
def test_a_reply_with_a_placeholder_for_a_secret_is_not_trained_on(command, said, flags, is_told):
    (made,), ended = redacted(command, {"messages": said})
    values = [
        next((each[name] for name in ("weight", "loss", "training") if name in each), None) for each in made["messages"]
    ]
    assert [(type(each), each) for each in values] == [(type(each), each) for each in flags]
    assert ("[placeholder-in-reply] messages[0]: 1 reply" in ended.out) == is_told
    assert ended.code == 0


def test_a_path_is_no_secret_so_replies_with_one_are_trained_on(command):
    (made,), ended = redacted(command, {"messages": [assistant(HOME, weight=1)]}, kinds="paths")
    assert made["messages"][0]["weight"] == 1
    assert made["messages"][0]["content"] != HOME
    assert ended.out == ""


def test_replies_of_a_prompt_are_not_trained_on_but_those_of_a_completion_are(command):
    prompt, completion = (
        {"prompt": [assistant(TOKEN)], "completion": [assistant()]},
        {"prompt": [user("x")], "completion": [assistant(TOKEN)]},
    )
    _, ended = redacted(command, prompt, completion)
    assert re.findall(r"input=(\S+)\t\[placeholder-in-reply\] (\S+):", ended.out) == [("in.jsonl:2", "messages[1]")]


@cases(
    "line",
    ("spaces and escapes", b'{ "messages" : [{"role":"user","content":"\\u00e9 1.50"}], "n": 1.50 }'),
    ("a carriage return", b'{"a": 1}\r'),
    ("digits that a double cannot hold", b'{"n": 0.12345678901234567890}'),
    ("lone surrogates", b'{"a":"\\ud800"}'),
)
def test_a_line_in_which_nothing_is_found_stays_byte_for_byte(command, line):
    ended = command("redact", put("in.jsonl", line), "-o", "out.jsonl", "--redact", ALL)
    assert ended.code == 0
    assert Path("out.jsonl").read_bytes() == line + b"\n"


def test_a_member_that_another_of_its_name_hides_is_not_written(command):
    hidden = b'{"a": {"b": "%s", "b": "x"}, "c": "%s", "c": "y"}' % (TOKEN.encode(), TOKEN.encode())
    made, _ = redacted(command, hidden)
    assert made == [{"a": {"b": "x"}, "c": "y"}]
    assert TOKEN.encode() not in Path("out.jsonl").read_bytes()


def test_a_number_that_changes_where_a_line_is_written_anew_is_said(command):
    _, ended = redacted(command, b'{"k": "%s", "n": 0.12345678901234567890}' % TOKEN.encode())
    assert "input=in.jsonl:1\t[number-changed]" in ended.out


def test_blank_lines_and_a_mark_of_byte_order_go(command):
    Path("in.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n  \n{"a": 2}')
    assert command("redact", "in.jsonl", "-o", "out.jsonl", "--redact", ALL).code == 0
    assert Path("out.jsonl").read_bytes() == b'{"a": 1}\n{"a": 2}\n'


# What cannot be searched


@pytest.mark.parametrize(
    "line", [b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000], ids=["no JSON", "no text", "NaN", "too deep"]
)
def test_a_line_that_is_no_json_is_left_out_and_said(command, line):
    made, ended = redacted(command, {"a": 1}, line, {"a": 2})
    assert made == [{"a": 1}, {"a": 2}]
    assert ended.code == 3
    assert ended.out.startswith("ERROR\tsession=in\tinput=in.jsonl:2\t[unsearched-line] line skipped")
    assert "needs attention: 1 unsearchable record skipped" in ended.err.splitlines()


def test_a_record_on_which_the_search_fails_is_left_out(command, monkeypatch):
    def fails(text):
        if "bad" in text:
            raise ValueError(text)
        return []

    monkeypatch.setattr(requests, "redactor", lambda *_: Redactor([fails]))
    made, ended = redacted(command, {"a": "good"}, {"a": f"bad {TOKEN}"})
    assert made == [{"a": "good"}]
    assert ended.code == 3
    assert "input=in.jsonl:2\t[redaction-failed] text cannot be searched for private data (ValueError)" in ended.out
    assert TOKEN not in ended.out + ended.err


# What is said and reported


def test_the_summary_says_what_was_replaced(command):
    put("in/a.jsonl", {"a": f"{TOKEN} {TOKEN} {MAIL}"}, {"a": HOME}, {"a": 1})
    put("in/b.jsonl", {"a": TOKEN})
    ended = command("redact", "in", "-o", "out", "--redact", ALL)
    assert (ended.code, ended.out) == (0, "")
    assert (
        ended.err
        == """\
4 records written to out (2 files)

secrets     3  in 2 records, all replaced
anonymized  1  e-mail address
replaced    4  3 github token, 1 user
"""
    )
    rows = [row.split(",") for row in Path("out/reports/redactions.csv").read_text().splitlines()]
    assert rows[0] == ["kind", "rule", "fingerprint", "count", "first"]
    assert [(row[0], *row[3:]) for row in rows[1:]] == [
        ("GITHUB_TOKEN", "3", "in/a.jsonl:1"),
        ("USER", "1", "in/a.jsonl:2"),
    ]
    assert rows[1][2] in Path("out/a.jsonl").read_text()


def test_quiet_says_what_is_wrong_only(command):
    assert command("redact", put("a.jsonl", {"a": TOKEN}), "-o", "out.jsonl", "--redact", "secrets", "-q") == (
        0,
        "",
        "",
    )


def test_where_nothing_is_found_that_is_said(command):
    _, ended = redacted(command, {"a": 1})
    assert ended.err == "1 record written to out.jsonl\n\nsecrets    none found\n"


def test_nothing_private_is_in_any_byte_that_is_written_or_said(command):
    named = f"in/{TOKEN}/x-{MAIL}.jsonl"
    put(
        named,
        {"messages": [user(f"{HOME} {MAIL} {TOKEN}"), assistant(TOKEN)], TOKEN: {"k": MAIL}},
        f"{{ {TOKEN}".encode(),
    )
    ended = command("redact", "in", "-o", "out", "--redact", ALL)
    assert ended.code == 3
    (name,) = (each for each in tree(Path("out")) if each.endswith(".jsonl"))
    assert re.fullmatch(r"[\w.-]+/[\w.-]+\.jsonl", name)
    told = [ended.out, ended.err, *tree(Path("out")), *(each.decode() for each in tree(Path("out")).values() if each)]
    for value in (TOKEN, MAIL, "anatolia"):
        assert not any(value in each for each in told)


def test_names_of_files_go_without_what_is_found_in_records(command):
    secret = "kettle9drum"
    put(f"in/{secret}/a.jsonl", {"a": f"export DB_PASSWORD={secret}"})
    assert command("redact", "in", "-o", "out", "--redact", "secrets").code == 0
    assert re.fullmatch(r"_SECRET_[0-9a-f]{10}_", next(iter(tree(Path("out")))))
    assert secret not in Path("out/reports/redactions.csv").read_text()


def test_twice_changes_nothing(command):
    put(
        "in/a.jsonl",
        {"messages": [user(f"{HOME} {MAIL} {TOKEN}"), assistant(TOKEN, weight=1)], "pin": f"{MAIL}"},
        {"b": [1.5]},
    )
    assert command("redact", "in", "-o", "one", "--redact", ALL).code == 0
    assert command("redact", "one", "-o", "two", "--redact", ALL).code == 0
    assert Path("one/a.jsonl").read_bytes() == Path("two/a.jsonl").read_bytes()
    assert TOKEN.encode() not in Path("one/a.jsonl").read_bytes()


def test_placeholders_are_those_of_the_key(command):
    Path("key").write_text("0123456789 another key")
    put("in.jsonl", {"a": TOKEN})
    texts = []
    for number, more in enumerate(([], [], ["--anonymize-key-file", "key"])):
        assert command("redact", "in.jsonl", "-o", f"{number}.jsonl", "--redact", "secrets", *more).code == 0
        texts.append(Path(f"{number}.jsonl").read_text())
    assert texts[0] == texts[1] != texts[2]


# Sessions and lists


def test_what_is_found_in_one_record_of_a_session_is_replaced_in_all_of_them(command):
    secret = "kettle9drum"
    bare, named = {"a": f"it was {secret}"}, {"a": f"export DB_PASSWORD={secret}"}
    put("in/a.jsonl", {**bare, "session_id": "s1"}, {**named, "session_id": "s1"}, {**bare, "session_id": "s2"}, bare)
    put("in/b.jsonl", {**bare, "session_id": "s1"})
    assert command("redact", "in", "-o", "out", "--redact", "secrets").code == 0
    found = [secret in json.dumps(line) for line in (*lines("out/a.jsonl"), *lines("out/b.jsonl"))]
    assert found == [False, False, True, True, False]
    places = {PLACE.search(json.dumps(line))[0] for line in lines("out/a.jsonl")[:2]}
    assert len(places) == 1


def test_what_one_run_found_the_next_replaces_everywhere(command):
    secret = "kettle9drum"
    put("in/a.jsonl", {"a": f"export DB_PASSWORD={secret}"}, {"a": f"it was {secret}"})
    assert command("redact", "in", "-o", "one", "--redact", "secrets", "--write-known", "known").code == 0
    assert secret not in Path("known").read_text()
    assert Path("known").stat().st_mode & 0o777 == 0o600
    assert command("redact", "in", "-o", "two", "--redact", "secrets", "--redact-known", "known").code == 0
    assert [secret in json.dumps(line) for line in lines("two/a.jsonl")] == [False, False]


@pytest.mark.parametrize("run", [("redact", "in", "-o", "one"), ("convert", "in")])
def test_the_list_that_a_run_reads_is_not_replaced_by_what_it_finds(command, run):
    put("in/a.jsonl", {"a": "export DB_PASSWORD=kettle9drum"})
    Path("known").write_text("kettle9drum\n")
    ended = command(*run, "--redact", "secrets", "--redact-known", "known", "--write-known", "./known")
    assert ended.code == 2
    assert "--write-known ./known would overwrite the file that --redact-known reads; choose another path" in ended.err
    assert Path("known").read_text() == "kettle9drum\n"


def test_lists_patterns_and_names_are_taken(command):
    Path("deny").write_text("blue harvest\n")
    Path("allow").write_text(f"{TOKEN}\n")
    Path("names").write_text("Anna Moser\n")
    put("in.jsonl", {"a": f"blue harvest, {TOKEN}, TICKET-123, anna moser"})
    more = ("--deny", "deny", "--allow", "allow", "--redact-pattern", r"ticket=TICKET-\d+")
    assert command("redact", "in.jsonl", "-o", "out.jsonl", "--redact", "secrets,names:names", *more).code == 0
    text = lines("out.jsonl")[0]["a"]
    assert TOKEN in text
    assert "<TICKET_" in text
    assert not re.search("blue|anna|123", text)


# Where it is written


def test_files_of_a_folder_keep_their_places_and_kinds(command):
    record = {"a": TOKEN}
    put("in/data/train.jsonl", record)
    line = json.dumps(record).encode() + b"\n"
    Path("in/data/test.jsonl.gz").write_bytes(gzip.compress(line))
    Path("in/data/more.jsonl.zst").write_bytes(zstandard.compress(line))
    put("in/README.md", b"a card")
    put("in/.hidden/x.jsonl", record)
    ended = command("redact", "in", "-o", "out", "--redact", "secrets")
    assert ended.code == 0
    assert ended.err.splitlines()[-1] == "not read  1  .md"
    files = [name for name, data in tree(Path("out")).items() if data is not None]
    assert files == ["data/more.jsonl.zst", "data/test.jsonl.gz", "data/train.jsonl", "reports/redactions.csv"]
    texts = [
        Path("out/data/train.jsonl").read_bytes(),
        gzip.decompress(Path("out/data/test.jsonl.gz").read_bytes()),
        zstandard.ZstdDecompressor().decompressobj().decompress(Path("out/data/more.jsonl.zst").read_bytes()),
    ]
    assert len(set(texts)) == 1
    assert PLACE.search(texts[0].decode())


def test_of_a_result_the_records_are_read_and_not_the_reports(command):
    put("in/a.jsonl", {"a": 1})
    put("in/reports/findings.jsonl", {"code": "x"})
    put("in/run.json", b"{}")
    assert command("redact", "in", "-o", "out", "--redact", "secrets").code == 0
    assert [name for name in tree(Path("out")) if name.endswith(".jsonl")] == ["a.jsonl"]


def test_a_glob_keeps_what_is_behind_its_fixed_part(command):
    for name in ("d/x/a.jsonl", "d/y/a.jsonl", "d/y/b.txt"):
        put(name, {"a": 1})
    assert command("redact", "d/*/a*", "-o", "out", "--redact", "secrets").code == 0
    assert [name for name in tree(Path("out")) if name.endswith("l")] == ["x/a.jsonl", "y/a.jsonl"]


def test_one_file_may_become_one_file_compressed_as_its_name_says(command):
    put("a.jsonl", {"a": 1})
    assert command("redact", "a.jsonl", "-o", "new/b.jsonl.gz", "--redact", "secrets").code == 0
    assert gzip.decompress(Path("new/b.jsonl.gz").read_bytes()) == b'{"a": 1}\n'
    assert [each.name for each in Path("new").iterdir()] == ["b.jsonl.gz"]


@cases("given, why",
    ("nothing is named", "in.jsonl -o out", "nothing to replace; add --redact, for example --redact secrets,emails"),
    ("none is named", "in.jsonl -o out --redact none", "nothing to replace"),
    ("an unknown kind", "in.jsonl -o out --redact keys", "--redact keys: unknown value; expected one of secrets"),
    ("a file that is there", "in.jsonl -o there --redact secrets", "there/in.jsonl: already exists; add --force to replace it"),
    ("the input itself", "in.jsonl -o . --redact secrets --force", "the input would be replaced"),
    ("a folder in what is read", "folder -o folder/out --redact secrets", "folder/out: is inside the input folder"),
    ("two files of one name", "in.jsonl folder/in.jsonl -o out --redact secrets", "in.jsonl: several inputs would have this output path"),
    ("several inputs for a file", "in.jsonl folder/in.jsonl -o out.jsonl --redact secrets", "a single output file for 2 inputs"),
    ("another kind of file", "in.jsonl -o out.parquet --redact secrets", "does not match the input"),
    ("a compression that is not written", "in.jsonl -o out.jsonl.xz --redact secrets", "files with the suffix .xz can be read but not written; use .gz or .zst"),
    ("nothing there", "nowhere -o out --redact secrets", "nowhere: not a file, folder or glob"),
    ("a folder without datasets", "there/empty -o out --redact secrets", "there/empty: no *.parquet, and no plain or compressed *.jsonl or *.ndjson, in this folder"),
    ("a glob that fits nothing", "x*.jsonl -o out --redact secrets", "x*.jsonl: no matching dataset"),
    ("rules without secrets", "in.jsonl -o out --redact phones --redact-rules x", "x: cannot be read"),
    ("a region without phones", "in.jsonl -o out --redact secrets --phone-region DE", "--phone-region has no effect without --redact phones"),
    ("a key without anything to replace", "in.jsonl -o out --anonymize-key-file x", "--anonymize-key-file has no effect"),
)  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_is_written(command, given, why):
    put("in.jsonl", {"a": 1})
    put("folder/in.jsonl", {"a": 2})
    put("there/in.jsonl", {"a": 3})
    Path("there/empty").mkdir()
    before = tree(Path())
    ended = command("redact", *given.split())
    assert ended.code == 2
    assert why in ended.err
    assert tree(Path()) == before


def test_force_replaces_what_is_there(command):
    put("out/in.jsonl", {"a": 3})
    assert command("redact", put("in.jsonl", {"a": 1}), "-o", "out", "--redact", "secrets", "--force").code == 0
    assert lines("out/in.jsonl") == [{"a": 1}]


def test_a_damaged_file_leaves_nothing_behind(command):
    put("in/a.jsonl", {"a": 1})
    Path("in/b.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 99)[:-9])
    ended = command("redact", "in", "-o", "out", "--redact", "secrets")
    assert ended.code == 2
    assert "in/b.jsonl.gz: cannot be read" in ended.err
    assert not Path("out").exists()


def test_the_help_is_plain(command):
    ended = command("redact", "--help")
    assert ended.code == 0
    assert "[default: none]" in ended.out
    assert all(flag in ended.out for flag in ("--redact-known", "--deny", "--write-known", "--anonymize-key-file"))


# The law

VALUES = st.sampled_from([TOKEN, MAIL, "blue harvest", "Łódź 47"])
TEXTS = st.lists(st.one_of(VALUES, st.text(max_size=8)), max_size=4).map(" ".join)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9999, 9999), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"]), "content": JSON},
    optional={"weight": st.sampled_from([0, 1]), "tool_calls": st.lists(JSON.map(json.dumps).map(call), max_size=2)},
)
RECORDS = st.one_of(
    JSON,
    st.fixed_dictionaries({"messages": st.lists(MESSAGES, max_size=3)}, optional={"meta": JSON, "session_id": VALUES}),
    st.fixed_dictionaries({"prompt": st.lists(MESSAGES, max_size=2), "chosen": st.lists(MESSAGES, max_size=2)}),
)


def shape(value):
    """The types in a value, those of arguments as well, and without flags, which replies may get."""
    if isinstance(value, dict):
        members = [(name, each) for name, each in value.items() if name != "weight"]
        return [shape(json.loads(each) if name == "arguments" else each) for name, each in members]
    return list(map(shape, value)) if isinstance(value, list) else type(value)


@examples(60)
@given(st.lists(RECORDS, min_size=1, max_size=3))
def test_no_value_survives_and_every_record_keeps_its_shape(records):
    with TemporaryDirectory() as folder, chdir(folder):
        put("in.jsonl", *records)
        wanted = Options(
            redact_pattern=("token=ghp_[A-Za-z0-9]{36}",),
            deny="blue harvest\nŁódź 47\n".encode(),
            anonymize_key=b"a key for a law of it",
        )
        for source, target in (("in.jsonl", "out.jsonl"), ("out.jsonl", "twice.jsonl")):
            done = redact([source], target, wanted, Watch(lambda _: None))
            assert done.complete
        written = Path("out.jsonl").read_bytes()
        assert written == Path("twice.jsonl").read_bytes()
        made = lines("out.jsonl")
        assert list(map(shape, made)) == list(map(shape, records))
        texts = [each for record in made for each in jsonio.leaves(record, keys=True) if isinstance(each, str)]
        assert not any(value in text for text in texts for value in (TOKEN, "blue harvest", "Łódź 47"))
