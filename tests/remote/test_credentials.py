"""No credential is taken from a URL, and none is ever shown."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chatsquash import storage
from chatsquash.core.errors import UsageError
from chatsquash.storage import stores
from chatsquash.storage.stores import _HOSTS
from tests.conftest import cases, tree
from tests.remote.conftest import SECRET
from tests.remote.logs import log

ID = "AKIAMADEUPEXAMPLE"


@cases(
    "url",
    "s3://user:hidden@bucket/logs",
    "s3://user@bucket/logs",
    "s3://user:hid/den@bucket/logs",
    "gs://user:hidden@bucket/logs",
    "az://user:hidden@container/logs",
    "https://user:hidden@example.com/x.jsonl",
    "https://hidden@example.com/x.jsonl",
    "sftp://user:hidden@host/x.jsonl",
    "hf://hidden@datasets/me/x",
    "s3://bucket/logs?aws_secret_access_key=hidden",
    "az://container/logs?sv=1&sig=hidden",
)
def test_a_url_with_credentials_is_refused_and_not_repeated(url):
    with pytest.raises(UsageError, match="contains credentials, which are only read from the environment") as problem:
        stores.address(url)
    assert "hid" not in str(problem.value)


def run(*arguments, **environment):
    command = [sys.executable, "-m", "chatsquash", *arguments]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **environment}, check=False)
    return done.returncode, done.stdout + done.stderr


def test_no_credential_appears_anywhere(s3, here):
    s3.put("logs/a.jsonl", log(3))
    s3.put("logs/b.jsonl", b"{broken\n")
    s3.put("logs/c.jsonl", log(3), StorageClass="GLACIER")
    url, shown = s3.url, []
    wrong = [
        lambda method, path, _: (403, f"<Error><Code>SignatureDoesNotMatch</Code>{SECRET}{ID}</Error>".encode()),
        lambda method, path, _: (400, f"<Error><Code>{ID}</Code><Message>{SECRET}</Message></Error>".encode()),
        lambda method, path, _: (409, f"{SECRET} {ID}".encode()),
    ]
    for arguments in (
        ("convert", f"{url}/logs", "-o", "out", "-v", "--keep-rejected"),
        ("convert", f"{url}/logs", "-o", f"{url}/out", "--json"),
        ("verify", f"{url}/out", "--logs"),
        ("inspect", f"{url}/logs/a.jsonl", "-v"),
        ("convert", f"{url}/none", "-o", "none"),
    ):
        shown.append(run(*arguments))
    for each in wrong:
        s3.server.before = [each]
        shown.append(run("convert", f"{url}/logs", "-o", "out"))
    s3.server.before = []
    shown.append(run("convert", f"{url}/logs", "-o", "out", AWS_ENDPOINT_URL="http://127.0.0.1:1"))
    assert [code for code, _ in shown] == [3, 3, 0, 0, 2, 2, 2, 2, 2]
    written = [data or b"" for data in tree(Path(here)).values()] + list(s3.files("out").values())
    for text in (*(said for _, said in shown), *written):
        for secret in (SECRET, ID, SECRET.replace("/", "%2F"), "Signature=", "Traceback"):
            assert secret.encode() not in text


# What stores need is loaded for stores only, and its absence is said


def test_a_local_run_loads_nothing_of_stores(here):
    (here / "a.jsonl").write_bytes(log(2))
    said = "import sys, chatsquash; chatsquash.convert('a.jsonl', 'out'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.split()
    assert not {"chatsquash.storage.stores", "chatsquash.sources.remote", "concurrent.futures"}.intersection(loaded)
    assert not {name.partition(".")[0] for name in loaded} & {"obstore", "fsspec", "aiohttp", "asyncio", "botocore"}


@cases(
    "url, module, home",
    ("s3://bucket/x", "obstore", "objects"),
    ("gs://bucket/x", "obstore", "objects"),
    ("az://container/x", "obstore", "objects"),
    ("https://example.com/x", "fsspec.asyn", "files"),
    ("sftp://host/x", "sshfs", "files"),
    ("hf://datasets/me/x", "huggingface_hub", "files"),
)
def test_a_library_that_is_not_installed_is_named_with_what_installs_it(monkeypatch, url, module, home):
    stores._open_store.cache_clear()
    monkeypatch.delitem(sys.modules, f"chatsquash.storage.stores.{home}", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    scheme = url.partition(":")[0]
    with pytest.raises(UsageError, match=rf"{scheme}:// requires {module}.*: pip install 'chatsquash\[remote\]'"):
        stores.locate(url)


def test_the_schemes_are_the_same_everywhere():
    assert storage.REMOTE == stores.ROWS.keys() == _HOSTS.keys()


@pytest.mark.parametrize("path", ["s3:/x", "a://b", "C:\\logs", "x", "", "S3://b", "logs/s3://b", "://"])
def test_what_begins_otherwise_is_a_path(path):
    assert not storage.is_remote(path)
