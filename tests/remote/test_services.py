"""One run over each service that something plays here, beside S3."""

import json
from pathlib import Path

import obstore
import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.results.verify import verify
from chatsquash.sources import remote
from chatsquash.storage import stores
from tests.conftest import tree
from tests.outputs import findings
from tests.remote import azure, google
from tests.remote.logs import SAMPLES, comparable, folder, log

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
        with pytest.raises(UsageError, match="another run is writing there"):
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
