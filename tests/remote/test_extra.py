"""What stores need is loaded for stores only, and its absence is said."""

import subprocess
import sys

import pytest

from chatsquash.core import urls
from chatsquash.core.errors import UsageError
from chatsquash.storage import stores
from chatsquash.storage.stores import _HOSTS
from tests.conftest import cases
from tests.remote.logs import log


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
    with pytest.raises(UsageError, match=rf"{scheme}:// needs {module}.*: pip install 'chatsquash\[remote\]'"):
        stores.locate(url)


def test_the_schemes_are_the_same_everywhere():
    assert urls.REMOTE == stores.ROWS.keys() == _HOSTS.keys()


@pytest.mark.parametrize("path", ["s3:/x", "a://b", "C:\\logs", "x", "", "S3://b", "logs/s3://b", "://"])
def test_what_begins_otherwise_is_a_path(path):
    assert not urls.is_remote(path)
