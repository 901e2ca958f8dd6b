"""No value that was recognised, or that a list has, survives in any byte of an output folder, whatever else is asked."""

import base64
import json
import shutil
import tempfile
import urllib.parse
from pathlib import Path

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from tests.conftest import assistant, examples, log_line

KEY = b"a key for a law on what is private"
TOKEN = "ghp_" + "a9Bc8De7Fg6Hi5Jk4Lm3No2Pq1Rs0TuVwXyZ"
PASSWORD = "Tr0ub4dor&3/x"
DENIED = "project-bluebird-77"
NAMED = "Quuxandra"
VALUES = {TOKEN: "recognised by its shape", PASSWORD: "by what stands before it", DENIED: "listed", NAMED: "a name"}


def base64_at(offset):
    """Base64 of a text in which a value begins at an offset."""
    return lambda value: base64.b64encode(b"#" * offset + value.encode() + b" end of it").decode()


def escaped(times):
    def escape(value):
        for _ in range(times):
            value = json.dumps(value)[1:-1].replace("/", "\\/").replace("&", "\\u0026")
        return value

    return escape


def split(between):
    return lambda value: value[: len(value) // 2] + between + value[len(value) // 2 :]


FORMS = {
    "plain": str,
    **{f"base64, offset {offset}": base64_at(offset) for offset in range(3)},
    "url": lambda value: urllib.parse.quote(value, safe=""),
    "url, all of it": lambda value: "".join(f"%{code:02X}" for code in value.encode()),
    "url, lower": lambda value: "".join(f"%{code:02x}" for code in value.encode()),
    **{f"json, {times} deep": escaped(times) for times in range(1, 5)},
    "split": split("\n"),
    "split and indented": split("\n    "),
    "split in a diff": split("\r\n+"),
    "split, escaped": split("\\n"),
}
SEEN = [name for name in FORMS if not name.startswith("split")]
"""What stands in an output as it is; a line break within a value is looked for by the test of known values."""


def spelled(value, form):
    if value == NAMED and form.startswith("split"):
        return value
    return FORMS[form](value)


def introduced(value):
    """A value where it is recognised."""
    return f"password = '{value}'" if value == PASSWORD else f"so {value} is it"


PLACES = ["user", "reply", "reasoning", "argument", "key", "result", "tool", "system", "id", "model", "file", "broken"]


def texts_at(places):
    """What stands at each place: the texts, one behind the other."""
    held = {}
    for place, text in places:
        held.setdefault(place, []).append(text)
    return {place: " ; ".join(texts) for place, texts in held.items()}


def logs(folder, held):
    """A log of a session with texts at places."""

    def at(place, otherwise="x"):
        return held.get(place, otherwise)

    call = {"type": "function", "id": "c1"}
    call["function"] = {"name": "f", "arguments": json.dumps({"a": at("argument"), at("key", "k"): [1, 2.5]})}
    messages = [
        {"role": "system", "content": at("system")},
        {"role": "user", "content": at("user")},
        assistant(None, tool_calls=[call], reasoning_content=at("reasoning")),
        {"role": "tool", "tool_call_id": "c1", "content": at("result")},
    ]
    tools = [
        {"type": "function", "function": {"name": "f", "description": at("tool"), "parameters": {"type": "object"}}}
    ]
    line = log_line(*messages, reply=at("reply"), tools=tools, session_id=at("id"), model=at("model"), at=1)
    name = at("file").replace("/", "_").replace("\n", "_").replace("\r", "_")[:200]
    folder.mkdir()
    (folder / f"{name}.jsonl").write_text(json.dumps(line) + "\n{broken: " + at("broken") + "\n", encoding="utf-8")
    (folder / "other.jsonl").write_text(json.dumps(log_line("hi", at=1, session_id="o")) + "\n", encoding="utf-8")


MORE = [
    {},
    {"format": "jsonl", "metadata": True, "split": "train=0.5,test=0.5"},
    {"format": "parquet", "metadata": True, "preset": "hf"},
    {"preset": "openai", "loss": "weight", "trace_replies": True},
    {"conversations": "all", "loss": "loss", "trace_replies": True, "group_by": "scenario"},
    {"samples": "reply", "preset": "hf"},
    {"json_tool_calls": True, "group_by": "scenario"},
    {"preset": "sharegpt"},
    {"tools": "used", "reasoning": "inline", "system": "drop"},
    {"pairs": "logged", "preset": "chat", "format": "jsonl"},
]
RUNS = ["one", "two", "again", "shards"]


def run(how, logs, out, asked):
    if how == "shards":
        divide([logs], out, Options(**asked), 2)
        for number in (2, 1):
            convert_shard(out, Shard(number, 2), Options(**asked))
        merge(out, key=KEY)
        return
    convert(logs, out, Options(**asked, workers=2 if how == "two" else 1))
    if how == "again":
        (logs / "other.jsonl").write_text(json.dumps(log_line("ho", at=1, session_id="o")) + "\n", encoding="utf-8")
        convert(logs, out, Options(**asked))


def left(out, values):
    """Which values are left in which files, in whatever form."""
    found = []
    for path in sorted(out.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        if path.suffix == ".parquet":
            data = json.dumps(pl.read_parquet(path).to_dicts(), default=str, ensure_ascii=False).encode()
        told = (data.decode("utf-8", "replace") + path.name).casefold()
        for value in values:
            forms = {FORMS[form](value) for form in SEEN if not form.startswith("base64")}
            forms |= {
                encoded.rstrip("=")[4:-16] for encoded in (FORMS[form](value) for form in SEEN if "base64" in form)
            }
            found += [(str(path.relative_to(out)), value, form) for form in forms if form.casefold() in told]
    return found


# A value in a file's name or an id is recognised there only where its shape tells.
POINTS = st.tuples(st.sampled_from(PLACES), st.sampled_from(sorted(VALUES)), st.sampled_from(sorted(FORMS)))


@examples(200)
@given(st.lists(POINTS, min_size=1, max_size=6), st.sampled_from(MORE), st.sampled_from(RUNS))
def test_no_value_survives(points, more, how):
    values = {value for _, value, _ in points}
    places = [("user", introduced(value)) for value in sorted(values)]
    places += [(place, f"see {spelled(value, form)} here") for place, value, form in points]
    asked = {
        "anonymize_key": KEY,
        "redact": "secrets,names",
        "redact_names": f"{NAMED}\n".encode(),
        "deny": f"{DENIED}\n".encode(),
        "keep_rejected": True,
        **more,
    }
    folder = Path(tempfile.mkdtemp())
    try:
        logs(folder / "logs", texts_at(places))
        run(how, folder / "logs", folder / "out", asked)
        assert left(folder / "out", values) == []
    finally:
        shutil.rmtree(folder)
