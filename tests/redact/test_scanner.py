"""The scanner of the extra finds secrets in this process; it writes nothing but where it is told to, and calls nobody."""

import base64
import os
import socket
import stat
import subprocess
import sys

import pytest

from chatsquash.core.errors import UsageError
from chatsquash.redaction.scanner import keep_in, scanner, start
from tests.conftest import cases

TOKEN = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"
SCAN = f"""
import socket
from chatsquash.redaction.scanner import keep_in, scanner
def refused(*_, **__):
    raise AssertionError("it opens a socket")
socket.socket = socket.create_connection = socket.getaddrinfo = refused
folder = {{folder!r}}
if folder:
    keep_in(folder)
assert [hit.value for hit in scanner()("token = {TOKEN}")] == ["{TOKEN}"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the compiled rules, which take seconds to make."""
    folder = tmp_path_factory.mktemp("rules") / "of the scanner"
    keep_in(str(folder))
    start()
    return folder


@cases(
    "text, written",
    ("a token", f"token = {TOKEN};", TOKEN),
    ("a token behind other letters", f"é😀 token = {TOKEN};", TOKEN),
    ("in base64: its run", "é " + base64.b64encode(f"x: {TOKEN}".encode()).decode(), None),
    ("behind a comment that turns others' scanners off", f"token = {TOKEN}  # gitleaks:allow kingfisher:ignore", TOKEN),
    ("behind a lone surrogate", f"\ud800 token = {TOKEN};", TOKEN),
)
def test_finds(text, written, folder):
    hits = scanner()(text)
    assert [hit.value for hit in hits] == [TOKEN]
    assert text[hits[0].start : hits[0].end] == (written or text[2:])
    assert hits[0].kind.startswith("GITHUB")
    assert hits[0].rule.startswith("kingfisher:")


KEPT = ["", "ordinary text\n" * 100, "ghp_" + "x" * 36, "token = ${GITHUB_TOKEN}", "\0\n" * 50]


@pytest.mark.parametrize("text", KEPT, ids=["nothing", "ordinary text", "a mask", "a reference", "NULs"])
def test_finds_nothing(text, folder):
    assert scanner()(text) == []


def test_it_starts_with_the_first_text_only():
    script = "from chatsquash.redaction.scanner import scanner; import sys; scanner(); assert 'kingfisher_sdk' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_its_rules_are_kept_for_their_owner_alone(folder):
    kept = [*folder.rglob("*")]
    assert [stat.S_IMODE(path.stat().st_mode) for path in kept] == [0o600]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("has_folder", [False, True], ids=["without a folder", "with a folder"])
def test_it_writes_nothing_elsewhere_and_calls_nobody(has_folder, folder, tmp_path):
    home, work = tmp_path / "home", tmp_path / "work"
    for each in (home, work):
        each.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
        env = {**os.environ, **dict.fromkeys(names, proxy), "HOME": str(home), "TMPDIR": str(work)}
        env |= {"XDG_CACHE_HOME": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        script = SCAN.format(folder=str(folder) if has_folder else None)
        subprocess.run([sys.executable, "-c", script], cwd=work, env=env, check=True)
        with pytest.raises(TimeoutError):
            listening.accept()
    assert [*home.rglob("*"), *work.rglob("*")] == []


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", None)
    with pytest.raises(UsageError, match=r"pip install 'chatsquash\[redact\]'"):
        scanner()
