"""gcp-storage-emulator, which plays Google's JSON interface, behind a translation from the XML one that obstore uses."""

from __future__ import annotations

import http.client
import importlib.util
import json
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.servers import Handler, Service, serving

IS_INSTALLED = importlib.util.find_spec("gcp_storage_emulator") is not None
_SERVE = """
import socket, sys
from gcp_storage_emulator.server import create_server
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
create_server("127.0.0.1", port, in_memory=True, default_bucket=sys.argv[1]).start()
print(port, flush=True)
sys.stdin.read()
"""


@contextmanager
def google(bucket):
    """The port of a service with an empty bucket."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", _SERVE, bucket], **pipes) as emulator:
        try:
            server = Service(_Translating)
            server.behind, server.lock = int(emulator.stdout.readline()), threading.Lock()
            with serving(server):
                yield server.server_port
        finally:  # also if the test fails, since the emulator does not end by itself
            emulator.stdin.close()
            emulator.terminate()


class _Translating(Handler):
    def _handle(self):
        parts = urlsplit(self.path)
        _, bucket, *key = unquote(parts.path).split("/", 2)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:  # so that what is looked at first is what is changed
            if key and key[0]:
                answer = getattr(self, f"_{self.command.lower()}")(bucket, key[0], body)
            else:
                answer = self._list(bucket, parse_qs(parts.query))
        self.answer(*answer)

    do_GET = do_PUT = do_DELETE = do_HEAD = _handle

    def _ask(self, method, path, body=None, headers=None):
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=10)) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def _told(self, bucket, key):
        status, data = self._ask("GET", f"/storage/v1/b/{bucket}/o/{quote(key, safe='')}")
        return json.loads(data) if status == 200 else None

    @staticmethod
    def _headers(told):
        generation = str(told.get("generation") or told["metageneration"])
        when = "Thu, 01 Jan 2026 00:00:00 GMT"
        return {"ETag": f'"{told["md5Hash"]}"', "x-goog-generation": generation, "Last-Modified": when}

    def _put(self, bucket, key, body):
        if self.headers.get("x-goog-if-generation-match") == "0" and self._told(bucket, key):
            return 412, b"<Error><Code>PreconditionFailed</Code></Error>", {}
        path = f"/upload/storage/v1/b/{bucket}/o?uploadType="
        if body:
            self._ask("POST", f"{path}media&name={quote(key, safe='')}", body)
        else:  # which it takes in this way only
            meta = f"--x\r\nContent-Type: application/json\r\n\r\n{json.dumps({'name': key})}\r\n"
            nothing = f"{meta}--x\r\nContent-Type: text/plain\r\n\r\n\r\n--x--".encode()
            self._ask("POST", f"{path}multipart", nothing, {"Content-Type": "multipart/related; boundary=x"})
        return 200, b"", self._headers(self._told(bucket, key))

    def _get(self, bucket, key, _):
        told = self._told(bucket, key)
        if told is None:
            return 404, b"<Error><Code>NoSuchKey</Code></Error>", {}
        headers = self._headers(told)
        if self.headers.get("If-Match", headers["ETag"]) != headers["ETag"]:
            return 412, b"<Error><Code>PreconditionFailed</Code></Error>", {}
        data = self._ask("GET", f"/storage/v1/b/{bucket}/o/{quote(key, safe='')}?alt=media")[1]
        if not (span := self.headers.get("Range")):
            return 200, data, headers
        start, stop = (int(each) for each in span.removeprefix("bytes=").split("-"))
        if start >= len(data):
            return 416, b"<Error><Code>InvalidRange</Code></Error>", {}
        stop = min(stop + 1, len(data))
        return 206, data[start:stop], {**headers, "Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"}

    def _head(self, bucket, key, _):
        told = self._told(bucket, key)
        return (200, b"", {**self._headers(told), "Content-Length": str(told["size"])}) if told else (404, b"", {})

    def _delete(self, bucket, key, _):
        status, _ = self._ask("DELETE", f"/storage/v1/b/{bucket}/o/{quote(key, safe='')}")
        return (204, b"", {}) if status < 300 else (404, b"<Error><Code>NoSuchKey</Code></Error>", {})

    def _list(self, bucket, query):
        prefix = query.get("prefix", [""])[0]
        found = json.loads(self._ask("GET", f"/storage/v1/b/{bucket}/o?prefix={quote(prefix, safe='')}")[1])
        items = "".join(
            f"<Contents><Key>{escape(each['name'])}</Key><Size>{each['size']}</Size><ETag>&quot;{each['md5Hash']}&quot;"
            "</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for each in found.get("items", [])
            if each["name"].startswith(prefix)
        )
        return 200, f"<ListBucketResult>{items}</ListBucketResult>".encode(), {}
