"""Azurite, which plays Azure Blob Storage on this machine."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import shutil
import socket
import subprocess
import time
from contextlib import closing, contextmanager
from email.utils import formatdate
from pathlib import Path

_INSTALLED = Path(__file__).parents[2] / ".venv/azurite/node_modules/.bin/azurite-blob"
COMMAND = shutil.which("azurite-blob") or (str(_INSTALLED) if _INSTALLED.exists() else None)
ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # everybody's


@contextmanager
def azurite(container):
    """The port of a service with an empty container."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [COMMAND, "--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--blobPort", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as service:
        try:
            _create(port, container)
            yield port
        finally:
            service.terminate()


def _create(port, container):
    date, version = formatdate(usegmt=True), "2021-08-06"
    headers = f"x-ms-date:{date}\nx-ms-version:{version}"
    signed = "\n".join(["PUT", *[""] * 11, headers, f"/{ACCOUNT}/{ACCOUNT}/{container}\nrestype:container"])
    signature = base64.b64encode(hmac.new(base64.b64decode(_KEY), signed.encode(), hashlib.sha256).digest()).decode()
    given = {"x-ms-date": date, "x-ms-version": version, "Authorization": f"SharedKey {ACCOUNT}:{signature}"}
    for _ in range(200):
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
                connection.request("PUT", f"/{ACCOUNT}/{container}?restype=container", b"", given)
                assert connection.getresponse().status == 201
        except OSError:
            time.sleep(0.1)  # until it listens
        else:
            return
    raise AssertionError("Azurite does not answer")
