"""One run over each service that something plays here, beside S3."""

import gzip
import json
from pathlib import Path

import obstore
import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.results.verify import verify
from chatsquash.sources import remote
from chatsquash.sources.find import discover
from chatsquash.storage import stores
from chatsquash.storage.stores import files
from tests.conftest import cases, tree
from tests.outputs import findings, manifest
from tests.remote import azure, google
from tests.remote.logs import SAMPLES, comparable, folder, log
from tests.remote.web import Web
from tests.servers import serving

ONE = Options(workers=1, anonymize=False)


@pytest.fixture
def small(monkeypatch):
    for name, size in {"FIRST": 64 << 10, "_STEP": 128 << 10}.items():
        monkeypatch.setattr(remote, name, size)
    stores._open_store.cache_clear()
    yield
    stores._open_store.cache_clear()


def is_as_local(url):
    """A run over a store equals the local one; what changes is told, and two runs at once are told apart."""
    store = stores.store(stores.address(url))._store
    convert(folder(samples=SAMPLES / "ollama"), "local", ONE)
    for path in sorted(path for path in Path("logs").rglob("*") if path.is_file()):
        obstore.put(store, path.as_posix(), path.read_bytes())
    convert(f"{url}/logs", f"{url}/out", ONE)
    files = {
        each["path"]: bytes(obstore.get(store, each["path"]).bytes())
        for page in obstore.list(store, "out/")
        for each in page
    }
    files = {key.removeprefix("out/"): data for key, data in files.items()}
    assert ".chatsquash/lock" not in files
    assert comparable(files, f"{url}/logs") == comparable(tree(Path("local")))
    assert verify(f"{url}/out", logs=True).problems == []

    def meddle(*_):
        obstore.put(store, "logs/z.jsonl", log(5, session="z"))
        with pytest.raises(UsageError, match="another run is writing to this folder"):
            convert(f"{url}/logs", f"{url}/out", ONE)

    obstore.put(store, "logs/z.jsonl", log(2, session="z"))
    convert(f"{url}/logs", f"{url}/out", ONE, meddle)
    convert(f"{url}/logs", "again", ONE, lambda *_: obstore.put(store, "logs/z.jsonl", log(7, session="z")))
    assert "the log grew" in findings("changed-log", out="again")[0]["text"]


@pytest.mark.skipif(azure.COMMAND is None, reason="Azurite is not installed: make remote installs it")
def test_azure(small, here, monkeypatch):
    with azure.azurite("container") as port:
        monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
        monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("AZURE_ALLOW_HTTP", "true")
        is_as_local("az://container")


@pytest.mark.skipif(not google.IS_INSTALLED, reason="gcp-storage-emulator is not installed")
def test_google(small, here, monkeypatch):
    with google.google("bucket") as port:
        said = {"gcs_base_url": f"http://127.0.0.1:{port}", "disable_oauth": True}
        Path("account.json").write_text(
            json.dumps({**said, "client_email": "", "private_key": "", "private_key_id": ""})
        )
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(here / "account.json"))
        monkeypatch.setenv("GOOGLE_ALLOW_HTTP", "true")
        is_as_local("gs://bucket")


# Files of web servers: one, or those that a text file of URLs names


SIGNED = "?X-Amz-Credential=hidden/20260101/s3&X-Amz-Signature=hidden"


@pytest.fixture
def web(here, monkeypatch):
    monkeypatch.setattr(files, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(files, "_LONGEST_PAUSE", 0.002)
    for name, size in {"FIRST": 16 << 10, "_STEP": 16 << 10}.items():
        monkeypatch.setattr(remote, name, size)
    stores._open_store.cache_clear()
    with serving(Web()) as server:
        yield server
    stores._open_store.cache_clear()


@pytest.mark.parametrize("pack", [bytes, lambda data: gzip.compress(data, mtime=0)])
@pytest.mark.parametrize("has_tags", [True, False])
def test_a_file_is_read_in_ranges_as_a_local_one(web, pack, has_tags):
    data = pack(log(20, 200))
    web.files["/a.jsonl"], web.has_tags = data, has_tags
    Path("a.jsonl").write_bytes(data)
    assert convert("a.jsonl", "local", ONE).written == 1
    web.broken = [503, "cut", 429]
    assert convert(f"{web.url}/a.jsonl", "out", ONE).written == 1
    assert Path("out/2026-01-02.jsonl").read_bytes() == Path("local/2026-01-02.jsonl").read_bytes()
    assert manifest("out")["inputs"][0]["xxh3_128"] == manifest("local")["inputs"][0]["xxh3_128"]


def test_a_list_names_files_whose_signatures_are_not_shown(web, capsys):
    for name in ("a", "b"):
        web.files[f"/logs/{name}.jsonl{SIGNED}"] = log(2, session=name)
    urls = [f"{web.url}/logs/{name}.jsonl{SIGNED}" for name in ("b", "a")]
    web.files[f"/list.txt{SIGNED}"] = "\n".join(["# two", "", *urls]).encode()
    summary = convert(f"{web.url}/list.txt{SIGNED}", "out", Options(workers=1, keep_rejected=True))
    assert summary.written == 2
    host = web.url.removeprefix("http://")
    assert [each["path"] for each in manifest()["inputs"]] == [f"http://{host}/logs/{name}.jsonl" for name in "ba"]
    everything = b"".join(path.read_bytes() for path in Path("out").rglob("*") if path.is_file())
    assert b"hidden" not in everything + "".join(capsys.readouterr()).encode()
    assert convert(f"{web.url}/list.txt{SIGNED}", "out", Options(workers=1, keep_rejected=True)).unchanged


def test_a_signature_is_sent_as_it_was_given(web):
    path = "/a%2Fb.jsonl?sig=a%2Bb%2F%3D"
    web.files[path] = log(1)
    assert convert(f"{web.url}{path}", "out", ONE).written == 1
    assert {asked for asked, _ in web.asked} == {path}


def test_one_file_with_a_signature_is_named_without_it(web):
    web.files[f"/logs/a.jsonl{SIGNED}"] = log(1)
    [found] = discover([f"{web.url}/logs/a.jsonl{SIGNED}"], ONE, lambda *_: False).logs
    assert (found.name, found.display_path) == ("a.jsonl", f"{web.url}/logs/a.jsonl")
    assert convert(f"{web.url}/logs/a.jsonl{SIGNED}", "out", ONE).written == 1


def test_a_file_that_changed_since_it_was_found_is_told(web):
    for name in ("a", "b"):
        web.files[f"/{name}.jsonl"] = log(2, session=name)
    later = log(4, session="b")
    urls = [f"{web.url}/{name}.jsonl" for name in ("a", "b")]
    convert(urls, "out", ONE, lambda *_: web.files.update({"/b.jsonl": later}))
    assert "the log grew" in findings("changed-log")[0]["text"]


def test_a_server_without_ranges_gives_small_files_only(web):
    web.has_ranges = False
    web.files["/small.jsonl"], web.files["/large.jsonl"] = log(2), log(20, 200)
    assert convert(f"{web.url}/small.jsonl", "small", ONE).written == 1
    assert convert(f"{web.url}/large.jsonl", "out", ONE).written == 0
    assert "does not support range requests" in findings("unreadable-log")[0]["text"]


@cases(
    "path, listed, said",
    ("/none.jsonl", b"", "not the URL of a file; folders cannot be listed there"),
    ("/folder/", b"", "not the URL of a file; folders cannot be listed there"),
    ("/list.txt", b"/etc/passwd", r"list\.txt:1: expected a URL that begins with http://"),
    ("/list.txt", b"# x\nfile:///etc/passwd", r"list\.txt:2: expected a URL"),
    ("/list.txt", b"http://user:hidden@localhost/x.jsonl", "contains credentials"),
    ("/list.txt", b"http://169.254.169.254/x.jsonl", "http:// is only supported for this machine"),
    ("/list.txt", b"http://localhost:1/x.jsonl", r"cannot be listed \(it could not be reached"),
)
def test_what_leads_nowhere_is_said(web, path, listed, said):
    web.files["/list.txt"] = listed
    with pytest.raises(UsageError, match=said) as problem:
        convert(f"{web.url}{path}", "out", ONE)
    assert "hidden" not in str(problem.value)


def test_a_log_is_known_by_the_suffix_before_its_query(web):
    web.files["/a.log?x=1"] = log(1)
    web.files["/b?x=.jsonl"] = log(1)
    found = discover([f"{web.url}/a.log?x=1", f"{web.url}/b?x=.jsonl"], ONE, lambda *_: False)
    assert [(each.name, each.display_path.rpartition("/")[2]) for each in found.logs] == [("a.log", "a.log")]
    assert json.loads(json.dumps(found.others)) == {"no suffix": 1}
