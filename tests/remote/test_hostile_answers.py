"""What a store answers is hostile: none of it reaches the terminal or a report unless it is escaped and short."""

import json
import os
from datetime import timedelta
from itertools import chain
from pathlib import Path

import pytest

from chatsquash.storage import stores
from chatsquash.storage.stores import files
from tests.conftest import cases
from tests.remote import hub
from tests.remote.logs import log
from tests.servers import Handler, Service, serving

TOKEN = "ghp_" + "Z9y8X7w6V5u4T3s2R1q0" + "P9o8N7m6L5k4J3h2"
OWN = "made-up-signature"
"""A secret that our own request contains."""
LINE = f"\x1b[31m \x1b]0;t\x07 \u202e \u2066 \x85 ?token={TOKEN} "
LONG = LINE + "\r\n" + "A" * 1_000_000


class Answering(Service):
    """Answers each request with the bytes that ``reply`` returns, and closes the connection."""

    def __init__(self, reply):
        super().__init__(_Raw)
        self.reply = reply

    def handle_error(self, request, client_address):
        """Connections that a client gives up are no news."""


class _Raw(Handler):
    server: Answering

    def _raw(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.wfile.write(self.server.reply(self.path))
        self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _raw


def answer(status, body="", **headers):
    data = body.encode("utf-8", "surrogatepass")
    lines = {"Content-Length": str(len(data)), "Connection": "close", **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + data


def error(code, text=LONG):
    return f"<Error><Code>{code}</Code><Message>{text}</Message><Resource>/x?token={TOKEN}</Resource></Error>"


def listing(key, size="5", modified="2026-01-01T00:00:00.000Z", tag="x"):
    said = f"<Key>{key}</Key><LastModified>{modified}</LastModified><ETag>{tag}</ETag><Size>{size}</Size>"
    return f"<ListBucketResult><IsTruncated>false</IsTruncated><Contents>{said}</Contents></ListBucketResult>"


PART = {"ETag": '"x"', "Last_Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
ANSWERS = (
    ("a body", answer("400 Bad", LONG)),
    ("a status line", answer(f"400 {LINE}", LINE)),
    ("a status that is unknown", answer("999 x", LONG)),
    ("an XML error", answer("403 x", error("AccessDenied"))),
    ("an XML error with a code of its own", answer("400 x", error(f"Abc{LINE}"))),
    ("a redirect with a secret", answer("302 x", LONG, Location=f"/again?X-Amz-Signature={TOKEN}")),
    ("a redirect that is no URL", answer("302 x", LONG, Location=LINE)),
    ("a redirect with credentials", answer("307 x", LONG, Location=f"ftp://user:{TOKEN}@host/x")),
    ("a redirect that is long", answer("302 x", LONG, Location="/" + "A" * 100_000)),
    ("headers", answer("200 OK", LONG, Content_Type=LINE, ETag=LINE, Last_Modified=LINE)),
    ("a size of many digits", answer("206 x", "{}\n", Content_Range="bytes 0-2/" + "9" * 5000, **PART)),
    ("an impossible file size", answer("206 x", "{}\n", Content_Range="bytes 0-2/" + "9" * 19, **PART)),
    ("a length that is no number", answer("200 x", "{}\n", **{"Content-Length": LINE})),
    ("an encoding that is unknown", answer("200 x", LONG, Content_Encoding=f"gzip{LINE}")),
    ("a challenge", answer("401 x", LONG, WWW_Authenticate=LINE)),
    ("no HTTP", LONG.encode()[:100_000]),
    ("a broken piece", b"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n" + LINE.encode()),
    ("nothing", b""),
)  # fmt: skip
LISTINGS = (
    ("an escape", listing("a&#27;[31m.jsonl")),
    ("bidi marks", listing("\u202ea\u2066.jsonl")),
    ("a line", listing(f"a&#10;&#13;{TOKEN}.jsonl")),
    ("a surrogate", listing("%ED%A0%80.jsonl")),
    ("a key of a megabyte", listing("A" * 1_000_000 + ".jsonl")),
    ("a key that leads elsewhere", listing("../../a.jsonl")),
    ("a key with a query", listing(f"a.jsonl?token={TOKEN}")),
    ("no key", listing("")),
    ("a size beyond 63 bits", listing("a.jsonl", size="18446744073709551615")),
    ("a size that is no number", listing("a.jsonl", size=LINE.replace("\x1b", ""))),
    ("a year that Python does not have", listing("a.jsonl", modified="+262000-01-01T00:00:00Z")),
    ("a date that is none", listing("a.jsonl", modified="&#10;" + TOKEN)),
    ("a tag", listing("a.jsonl", tag=TOKEN + "A" * 1_000_000)),
    ("an entity", "<!DOCTYPE x [<!ENTITY a '" + "A" * 1000 + "'>]>" + listing("&a;&a;.jsonl")),
)  # fmt: skip


@pytest.fixture
def server(here, monkeypatch):
    """A server that all stores are read from, and few tries."""
    with serving(Answering(lambda path: b"")) as server:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "AKIAMADEUPEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": OWN,
            "AWS_ENDPOINT_URL": server.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": server.url,
            "AZURE_ALLOW_HTTP": "true",
            "GOOGLE_SERVICE_ACCOUNT": str(here / "account.json"),
            "GOOGLE_ALLOW_HTTP": "true",
        }.items():
            monkeypatch.setenv(name, value)
        account = {"gcs_base_url": server.url, "disable_oauth": True}
        account |= dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        (here / "account.json").write_text(json.dumps(account))
        from chatsquash.storage.stores import objects

        pauses = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=2), "base": 2}
        monkeypatch.setitem(objects._RETRIES, "backoff", pauses)
        monkeypatch.setitem(objects._RETRIES, "max_retries", 1)
        monkeypatch.setattr(objects, "_TRIES", 2)
        monkeypatch.setattr(files, "_TRIES", 2)
        monkeypatch.setattr(files, "_FIRST_PAUSE", 0.001)
        monkeypatch.setattr(files, "_LONGEST_PAUSE", 0.001)
        stores._open_store.cache_clear()
        yield server
        stores._open_store.cache_clear()


def is_clean(text):
    """Whether a text of ours has nothing that a terminal obeys, nothing long of a server, and no secret."""
    lines = text.replace("\t", " ").split("\n")
    return all(map(str.isprintable, lines)) and "A" * 500 not in text and TOKEN not in text and OWN not in text


def texts(done):
    """Everything that a run wrote for people and programs."""
    return [done.out, done.err, *written()]


def written():
    paths = [path for path in Path("out").rglob("*") if path.is_file() and ".chatsquash" not in path.parts]
    return [path.read_text(encoding="utf-8") for path in paths]


def raised(call):
    """The text of the ``OSError`` of a call, which is the only exception that it may raise."""
    try:
        call()
    except OSError as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize("scheme", ["s3", "az", "gs"])
@cases("data", *ANSWERS)
def test_a_bucket_answers_an_error(server, scheme, data):
    server.reply = lambda path: data
    store = stores.store(stores.address(f"{scheme}://bucket/x"))
    Path("file").write_bytes(b"x")
    for call in (
        lambda: store.status("x/a.jsonl"),
        lambda: store.get("x/a.jsonl", 0, 100, '"x"'),
        lambda: [*chain.from_iterable(store.list("x/"))],
        lambda: [*store.inside("x/")],
        lambda: store.put("x/a", b"x"),
        lambda: store.create("x/a", b"x"),
        lambda: store.upload("x/a", Path("file")),
        lambda: store.delete(["x/a"]),
    ):
        text = raised(call)
        assert is_clean(text)
        assert len(text) < 300


@cases("document", *LISTINGS)
def test_a_listing_of_a_bucket(server, command, document):
    server.reply = lambda path: answer("200 OK", document) if "list-type" in path else answer("404 x", LONG)
    done = command("convert", "s3://bucket/logs", "--output", "out", "--no-anonymize")
    assert done.code in (2, 3)
    assert all(map(is_clean, texts(done)))


@cases("data", *ANSWERS)
def test_a_web_server_answers_an_error(server, command, data):
    server.reply = lambda path: data
    url = f"{server.url}/logs/a.jsonl?X-Amz-Signature={OWN}"
    assert len(raised(lambda: files.Web().get(url, 0, 100, None))) < 300
    for arguments in (("convert", url, "--output", "out", "--no-anonymize"), ("inspect", url)):
        done = command(*arguments)
        assert done.code in (0, 2, 3)
        assert all(map(is_clean, texts(done)))


@cases(
    "line",
    ("no URL", "A" * 1_000_000),
    ("a long one", "{url}/" + "A" * 50_000 + f"?sig={OWN}"),
    ("one as long as a key may be", "{url}/" + "A" * 4000 + f"?sig={OWN}"),
    ("marks", "{url}/\x1b[31m\u202e?sig=" + OWN),
    ("a user", f"http://user:{OWN}@localhost/x.jsonl"),
    ("a token", f"http://{OWN}@localhost/x.jsonl"),
    ("a long host", f"http://{'A' * 50_000}"),
    ("no host", f"http://{LINE}{'A' * 100_000}"),
)
def test_a_list_of_urls_of_a_web_server(server, command, line):
    listed = answer("200 x", line.format(url=server.url), ETag='"x"')
    server.reply = lambda path: listed if path.startswith("/list.txt") else answer("404 x", LONG)
    done = command("convert", f"{server.url}/list.txt?sig={OWN}", "--output", "out")
    assert done.code == 2
    assert all(map(is_clean, texts(done)))


@pytest.mark.parametrize("data", [each[1] for each in ANSWERS[:5]], ids=[each[0] for each in ANSWERS[:5]])
def test_a_bucket_that_refuses_what_is_written(server, command, data):
    Path("a.jsonl").write_bytes(log(2))
    server.reply = lambda path: data
    done = command("convert", "a.jsonl", "--output", "s3://bucket/out")
    assert done.code == 2
    assert is_clean(done.out + done.err)


class _Tree(_Raw):
    def _raw(self):
        if "/tree/" in self.path:
            self.wfile.write(answer("200 x", json.dumps(self.server.tree)))
        elif "/api/" in self.path:
            about = {"id": "me/logs", "sha": "b" * 40, "private": True, "tags": []}
            self.wfile.write(answer("200 x", json.dumps(about)))
        else:
            self.wfile.write(answer("400 x", LONG, X_Error_Message=LINE, X_Error_Code=LINE))
        self.close_connection = True

    do_GET = do_HEAD = do_POST = _raw


@cases(
    "members",
    ("an escape", {"path": "\x1b[31m\u202ea\r\n.jsonl"}),
    ("a path of a megabyte", {"path": "A" * 1_000_000 + ".jsonl"}),
    ("a path that leads elsewhere", {"path": "../../a.jsonl"}),
    ("half of a pair of surrogates", {"path": "\ud800.jsonl"}),
    ("a path that is a number", {"path": 5}),
    ("a size that is a text", {"size": "A" * 1_000_000}),
    ("a size beyond 63 bits", {"size": 1 << 70}),
    ("a negative size", {"size": -5}),
    ("an id that is a list", {"oid": [LINE]}),
    ("what LFS says", {"lfs": LINE}),
)
def test_a_listing_of_the_hub(server, monkeypatch, members):
    """In a process of its own, since the library reads HF_ENDPOINT when it is imported."""
    import subprocess
    import sys

    tree = [{"type": "file", "path": "a.jsonl", "size": 5, "oid": "a" * 40, **members}]
    service = Service(_Tree)
    service.tree = tree
    with serving(service):
        given = {**os.environ, "HF_ENDPOINT": service.url, "HF_TOKEN": "hf_" + OWN, "HF_HOME": str(Path("home"))}
        pauses = "from chatsquash.storage.stores import files; files._FIRST_PAUSE = files._LONGEST_PAUSE = 0.001"
        run = f"{pauses}\nfrom chatsquash.cli.main import main\nmain()"
        arguments = ["convert", f"hf://{hub.REPOSITORY}", "--output", "out", "--no-anonymize"]
        done = subprocess.run([sys.executable, "-c", run, *arguments], env=given, capture_output=True, check=False)
    assert done.returncode in (2, 3), done.stderr
    said = (done.stdout + done.stderr).decode()
    assert all(map(is_clean, [said, *written()]))
