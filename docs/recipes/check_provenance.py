"""Check the provenance of a dataset without chatsquash: hashes, the statement, and each text, replayed from the logs.

python check_provenance.py OUT [--logs FOLDER]... [--key PUBLIC_KEY]

It requires polars, and cryptography for --key. The exit code is 1 if anything differs, 2 without files.
"""

import argparse
import base64
import bz2
import gzip
import hashlib
import io
import json
import lzma
import re
import sys
import tarfile
import zipfile
import zlib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

PLACEHOLDER = (
    r"<[A-Z][A-Z0-9_]{0,63}_[0-9a-f]{10}>|(?:user-|name_)[0-9a-f]{10}|[0-9a-z]{16}(?:@|%40)[0-9a-z]{8}\.example"
)
INSERTED = {"join": r"\s*", "anonymize": PLACEHOLDER, "redact": r"[\W\d_]*|" + PLACEHOLDER}
IDS = ("/id", "/tool_call_id", "/call_id")
RULES = {"join", "spelling", "strip", "anonymize", "redact", "cleanup", "format", "preset", "option", "not-in-log"}
LISTS = ("messages", "conversations", "prompt", "completion")
ARCHIVE = re.compile(r"(.+?\.(?:zip|tgz|tar(?:\.(?:gz|xz|bz2))?))!/(.+)", re.IGNORECASE | re.DOTALL)
DATA = re.compile(r"(data/)?[^/]*\.(jsonl(\.gz|\.zst)?|parquet)")


class Problems(list):
    replayed = inserted = 0  # bytes of text

    def unless(self, condition, text):
        self.extend([] if condition else [text])


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def table(out, name):
    files = sorted((out / "provenance").glob(f"{name}-*.parquet"))
    return [row for file in files for row in pl.read_parquet(file).to_dicts()]


def unpack(data):
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        from zstandard import ZstdDecompressor

        data = ZstdDecompressor().decompressobj().decompress(data)
    kinds = {b"\x1f\x8b\x08": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ\0": lzma.decompress}
    return next((expand(data) for magic, expand in kinds.items() if data.startswith(magic)), data)


def content_of(path):
    if not (match := ARCHIVE.fullmatch(path)):
        return Path(path).read_bytes()
    is_zip = match[1].lower().endswith(".zip")
    with zipfile.ZipFile(match[1]) if is_zip else tarfile.open(match[1]) as archive:
        return (archive.open if is_zip else archive.extractfile)(match[2]).read()


def check_statement(out, run, logs, problems, key):
    path, expected = out / "provenance" / "statement.json", {each["path"]: each["sha256"] for each in run["outputs"]}
    expected["run.json"] = sha256((out / "run.json").read_bytes())
    inputs = [{"name": x["path"], "digest": {"sha256": x["sha256"]}, "annotations": {"size": x["size"]}} for x in logs]
    about = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(expected.items())],
        "predicateType": "urn:chatsquash:provenance:v1",
        "predicate": {"generator": {"name": "chatsquash", "version": run["chatsquash_version"]}, "inputs": inputs},
    }
    problems.unless(json.loads(path.read_bytes()) == about, f"{path}: differs from the files or the logs")
    if key:
        check_signature(out / "provenance" / "statement.dsse.json", path.read_bytes(), key, problems)


def check_signature(path, data, key, problems):
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    kind = "application/vnd.in-toto+json"
    try:
        envelope = json.loads(path.read_bytes())
        content = envelope["payloadType"], base64.b64decode(envelope["payload"])
        problems.unless(content == (kind, data), f"{path}: not an envelope of the statement")
        content_bytes = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(data), data)
        load_pem_public_key(key).verify(base64.b64decode(envelope["signatures"][0]["sig"]), content_bytes)
    except (OSError, ValueError, LookupError, TypeError, InvalidSignature):
        problems.append(f"{path}: not signed with this key")


def open_logs(logs, folders):
    contents = {}  # by path; logs that moved are found by their hashes
    files = (file for folder in folders for file in Path(folder).resolve(strict=True).rglob("*") if file.is_file())
    by_hash = {sha256(file.read_bytes()): str(file) for file in files}
    for log in logs:
        try:
            data = content_of(by_hash.get(log["sha256"], log["path"]))
        except (OSError, LookupError, ValueError, tarfile.TarError, zipfile.BadZipFile):
            data = b""  # elsewhere: pass the folder with --logs
        same = (len(data), sha256(data)) == (log["size"], log["sha256"])
        contents |= {log["path"]: unpack(data)} if same else {}
    return contents


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def parse(data):
    return json.loads(data.decode("utf-8", "surrogatepass"), strict=False)


def replay(data, steps):
    """Return the bytes to which steps lead; raise ValueError if they lead nowhere."""
    for step in steps:
        if step == "string":
            data = parse(data).encode("utf-8", "surrogatepass")
        elif step == "quote":
            data = compact(data.decode("utf-8", "surrogatepass"))
        elif step == "json":
            data = compact(parse(data))
        elif step == "gunzip":
            data = zlib.decompress(data, 31)
        elif step[0] == "member":
            data = (archive := zipfile.ZipFile(io.BytesIO(data))).read(archive.infolist()[step[1]])
        else:
            start, stop = step
            data = data[start:stop] if 0 <= start < stop <= len(data) else parse(b"")
    return data


def texts_of(value, path=""):
    if isinstance(value, str) and value:
        yield path, value.encode("utf-8", "surrogatepass")
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from texts_of(each, f"{path}/{at}")
    elif isinstance(value, dict):
        for name, each in value.items():
            inner = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name == "arguments" and not isinstance(each, str):
                yield inner, compact(each)
            elif name not in ("role", "type", "from"):
                yield from texts_of(each, inner)


def messages_of(record, flag):
    for name in LISTS:
        value = record.get(name) or []
        for at, message in enumerate(value if isinstance(value, list) else [value]):
            message = json.loads(message) if isinstance(value, list) and isinstance(message, str) else message
            members = message if isinstance(message, dict) else {}
            role = members.get("role", members.get("from", ""))
            trained = role in ("assistant", "gpt", "function_call") if flag == "none" else bool(members.get(flag))
            trained = name == "completion" if name in ("prompt", "completion") else trained
            yield f"/{name}/{at}" if isinstance(value, list) else f"/{name}", role, trained, [*texts_of(message)]


def check_message(row, expected, contents, problems):
    texts, logs = json.loads(row["texts"]), json.loads(row["logs"])
    rules, reasons, places = set(), Counter(), []
    if [path for path, _ in texts] != [path for path, _ in expected]:
        raise ValueError("its texts are not those of the record")
    for (path, pieces), (_, text) in zip(texts, expected):
        parts = []
        for piece in pieces:
            if isinstance(piece, list):
                parts.append(replay(contents[logs[piece[0]]], piece[1:]))
                rules |= {"spelling"} if piece[-1] == "json" else set()
                places += [(piece[0], *piece[1])] if isinstance(piece[1][0], int) else []
            else:
                parts.append(piece["text"].encode("utf-8", "surrogatepass"))
                rules.add(piece["rule"] or "not-in-log")
                reasons[unproven(piece, path)] += len(parts[-1])
                problems.inserted += len(parts[-1])
        if b"".join(parts) != text:
            raise ValueError(f"{path} is not what the log leads to")
        problems.replayed += len(text)
    del reasons[""]
    size, total = reasons.total(), sum(len(text) for _, text in expected)
    reason = "not-in-log" if reasons["not-in-log"] else next(iter(+reasons), None)
    proof = "complete" if not size else "none" if size == total else "partial"
    if (proof, reason) != (row["proof"], row["reason"]) or not rules <= {*json.loads(row["changes"])}:
        raise ValueError("its proof or its changes differ from its texts")
    place = (None,) * 5
    if places:
        ranges = [each for each in places if each[0] == places[0][0]]
        log, start, stop = logs[places[0][0]], min(each[1] for each in ranges), max(each[2] for each in ranges)
        data = contents[log]
        place = log, data.count(b"\n", 0, start) + 1, data.rfind(b"\n", 0, start) + 1, start, stop
    if place != tuple(row[name] for name in ("log", "line", "offset", "start", "stop")):
        raise ValueError("its place is not that of its texts")


def unproven(piece, path):
    """Return why an inserted text is not proven; raise ValueError for one that its rule does not insert."""
    kind = piece["rule"].partition(":")[0]
    if not re.fullmatch(INSERTED.get(kind, r"(?s:.*)"), piece["text"]):
        raise ValueError(f"{kind} does not insert {piece['text']!r}")
    if not kind:
        return "not-in-log"
    return "" if kind in ("join", "anonymize", "redact") or path.endswith(IDS) else f"text-of-{kind}"


def check_reply(row, contents):
    if row["reply_log"] is None:
        return [row[name] for name in ("reply_line", "model", "model_at", "time", "time_at")] == [None] * 5
    line, model, time = row["reply_line"], row["model_at"], row["time_at"]
    data = contents[row["reply_log"]]
    is_right = not model or replay(data, [json.loads(model)]).decode() == row["model"]
    is_right &= not time or instant(replay(data, [json.loads(time)]).decode()) == instant(row["time"])
    return is_right and 0 < line <= data.count(b"\n") + 1


def instant(text):
    if re.fullmatch(r"\d+(\.\d+)?", text):  # seconds, or thousandths, millionths or billionths of a second
        return int(float(text) // 1000 ** sum(float(text) >= least for least in (1e11, 1e14, 1e17)))
    time = datetime.fromisoformat(text)
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() // 1)


def records_of(out, run):
    for name in (each["path"] for each in run["outputs"] if DATA.fullmatch(each["path"])):
        path, is_table = out / name, name.endswith("parquet")
        lines = pl.read_parquet(path).to_dicts() if is_table else unpack(path.read_bytes()).split(b"\n")[:-1]
        yield from (((name, row), each if is_table else json.loads(each)) for row, each in enumerate(lines, start=1))


def check(out, folders=(), key=b""):
    out, problems = Path(out), Problems()
    run = json.loads((out / "run.json").read_bytes())
    for each in run["outputs"]:
        data = (out / each["path"]).read_bytes() if (out / each["path"]).is_file() else b""
        same = (sha256(data), len(data)) == (each["sha256"], each["size"])
        problems.unless(same, f"{out / each['path']}: differs from run.json")
    if problems:
        return problems  # changed tables are not read
    logs = table(out, "logs")
    check_statement(out, run, logs, problems, key)
    contents, hashes = open_logs(logs, folders), {log["path"]: log["sha256"] for log in logs}
    unread = Counter({path: 0 for path in hashes if path not in contents})  # the number of messages from each
    tables = {"records": {}, "messages": {}}
    for name, rows in tables.items():
        for row in table(out, name):
            rows.setdefault((row["file"], row["row"]), []).append(row)
    for place, record in records_of(out, run):
        about, rows = tables["records"].pop(place, []), tables["messages"].pop(place, [])
        messages = [*messages_of(record, run["options"]["loss"])]
        problems.unless(len(about) == 1 and len(rows) == len(messages), f"{place}: not one row for each message")
        for row, (path, role, trained, texts) in zip(rows, messages):
            about_it = f"{place[0]}:{place[1]}{path}"
            expected = (path, role, trained, hashes.get(row["log"]))
            actual = tuple(row[name] for name in ("place", "role", "trained", "sha256"))
            problems.unless(actual == expected, f"{about_it}: its row is about another message or log")
            try:
                check_message(row, texts, contents, problems)
                problems.unless(check_reply(row, contents), f"{about_it}: its reply is not in the log")
            except (ValueError, LookupError, TypeError, AttributeError, zlib.error) as problem:
                missing = unread.keys() & problem.args[:1]
                unread.update(missing)
                problems.unless(missing, f"{about_it}: {problem}")
        changes = [*dict.fromkeys(each for row in rows for each in json.loads(row["changes"]))]
        proof = min((row["proof"] for row in rows), key=("none", "partial", "complete").index, default="none")
        for row in about:
            start = min((each["start"] for each in rows if each["log"] == row["log"]), default=None)
            stop = max((each["stop"] for each in rows if each["log"] == row["log"]), default=None)
            expected = (len(rows), sum(each["trained"] for each in rows), proof, hashes.get(row["log"]), start, stop)
            actual = tuple(row[name] for name in ("messages", "trained", "proof", "sha256", "start", "stop"))
            same = actual == expected and json.loads(row["changes"]) == changes
            problems.unless(same, f"{place}: its row differs from those of its messages")
        problems.unless({each.partition(":")[0] for each in changes} <= RULES, f"{place}: unknown rule")
    problems += [f"{place}: no such record" for rows in tables.values() for place in rows]
    why = "not the log that was converted ({:,} messages not checked); --logs names the folder of others"
    problems += [f"{path}: {why.format(count)}" for path, count in unread.items()]
    return problems


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--logs", action="append", default=[], help="a folder with the logs")
    parser.add_argument("--key", type=Path, help="the public key of the signature, in PEM")
    arguments = parser.parse_args()
    try:
        result = check(arguments.out, arguments.logs, arguments.key.read_bytes() if arguments.key else b"")
    except OSError as problem:
        parser.error(f"{problem.filename}: {problem.strerror}")
    summary = f"{result.replayed:,} bytes of text replayed, of which rules inserted {result.inserted:,}"
    print(*result, summary, f"{len(result)} problems", sep="\n")
    sys.exit(1 if result else 0)
