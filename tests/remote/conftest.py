"""Stores on this machine."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.remote.logs import Bucket
from tests.remote.proxy import Proxy
from tests.servers import serving

ROOT = Path(__file__).parents[2]
SECRET = "wJalrXUtnFEMI/K7MDENG/made+up+secret/EXAMPLE"
PAGE = 50
"""Keys in a page of a listing."""
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def moto():
    """The port of an S3 service."""
    command = [sys.executable, "-m", "tests.remote.serve"]
    few = {**os.environ, "MOTO_S3_DEFAULT_MAX_KEYS": str(PAGE)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=ROOT, env=few, **pipes) as service:
        yield int(service.stdout.readline())
        service.stdin.close()


@pytest.fixture
def _fork_server():
    """Workers start as they do elsewhere, with the variables of the test."""


@pytest.fixture
def s3(moto, monkeypatch, here):
    """A new bucket behind a proxy that breaks nothing yet; the environment has what it needs."""
    with serving(Proxy(moto)) as server:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "AKIAMADEUPEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        from chatsquash.storage import stores

        stores._open_store.cache_clear()
        yield Bucket(f"bucket-{next(_numbers)}", server, moto)
        stores._open_store.cache_clear()
