"""The command: what it says, whom it serves, how it ends, and what it leaves."""

import asyncio
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
import uvicorn

from chatsquash import Options, convert
from chatsquash.view import guard, serve
from chatsquash.view.serve import clear, scratch
from tests.conftest import log_line, user, write_log

URL = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{43})")


@contextmanager
def running(here, *arguments, begins=("-m", "chatsquash"), **variables):
    """The command in a process of its own, once it serves."""
    temporary = here / "temporary"
    temporary.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "SSH_CONNECTION"}
    environment |= {"TMPDIR": str(temporary), **variables}
    process = subprocess.Popen(
        [sys.executable, *begins, "view", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=here,
    )
    try:
        lines = []
        while not lines or "Ctrl-C" not in lines[-1]:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            lines.append(line.rstrip("\n"))
        yield process, lines
    finally:
        process.kill()
        process.communicate()


def get(url, cookie=None):
    request = urllib.request.Request(url, headers={"Cookie": cookie} if cookie else {})
    for _ in range(200):
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as problem:
            return problem.code, problem.headers, problem.read().decode()
        except urllib.error.URLError:
            time.sleep(0.05)
    raise AssertionError("nobody answers")


def enter(lines):
    """The base of the URL, and the cookie that its token gives."""
    found = URL.search("\n".join(lines))
    status, headers, _ = get(found[0])
    assert status == 200
    ((name, held),) = SimpleCookie(headers["set-cookie"]).items()
    return f"http://127.0.0.1:{found[1]}", f"{name}={held.value}"


@pytest.fixture
def logs(here):
    write_log(here / "logs/a.jsonl", log_line(user("what the log says"), session_id="a"))
    return here / "logs"


def left(here):
    return sorted(path.name for path in (here / "temporary").iterdir())


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_logs_are_shown_from_a_private_folder_that_goes_however_it_ends(here, logs, how, code):
    before = sorted(path.name for path in logs.iterdir())
    with running(here, "logs") as (process, lines):
        (folder,) = (here / "temporary").iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        base, cookie = enter(lines)
        status, _, page = get(f"{base}/", cookie)
        assert status == 200
        assert ">a</code>" in page
        assert str(folder) not in page
        assert get(f"{base}/")[0] == 403
        process.send_signal(how)
        out, err = process.communicate(timeout=20)
        assert process.returncode == code
        assert out == ("stopped\n" if how == signal.SIGINT else "")
        assert err == ""
        assert left(here) == []
    assert sorted(path.name for path in logs.iterdir()) == before
    assert not (here / "out").exists()


def test_several_run_at_once_and_a_killed_one_leaves_what_the_next_one_removes(here, logs):
    with running(here, "logs") as (first, lines), running(here, "logs") as (_, others):
        one, other = enter(lines), enter(others)
        assert one[0] != other[0]
        assert get(f"{one[0]}/", other[1])[0] == 403
        assert len(left(here)) == 2
        first.kill()
        first.wait()
        with running(here, "logs"):
            assert len(left(here)) == 2  # that of the killed one is gone, the others are there


def test_a_viewer_of_a_result_removes_what_a_killed_one_left_too(here, logs, command):
    assert command("convert", "logs", "-q").code == 0
    with running(here, "logs") as (killed, _):
        killed.kill()
        killed.wait()
        assert len(left(here)) == 1
        with running(here, "out"):
            assert left(here) == []


def test_an_answer_that_goes_on_does_not_keep_it_from_ending(here, logs):
    with running(here, "logs") as (process, lines):
        base, _ = enter(lines)
        with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2]))):
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0


SLOW = """
import sys, time
from chatsquash.view import app
from chatsquash.cli.main import main
def slow(*asked):
    print("begun", file=sys.stderr, flush=True)
    time.sleep(300)
app.select_sessions = slow
main()
"""


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_page_that_is_still_made_does_not_keep_it_from_ending(here, logs, how, code):
    with running(here, "logs", begins=("-c", SLOW)) as (process, lines):
        base, cookie = enter(lines)
        with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2]))) as asking:
            asking.sendall(f"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode())
            assert process.stderr.readline() == "begun\n"
            process.send_signal(how)
            out, err = process.communicate(timeout=20)
        assert process.returncode == code
        assert out == ("stopped\n" if how == signal.SIGINT else "")
        assert err == ""
        assert left(here) == []


def test_a_result_is_shown_where_it_lies_and_nothing_is_written(here, logs, command):
    assert command("convert", "logs", "-q").code == 0
    before = {path: path.stat().st_mtime_ns for path in here.rglob("*")}
    with running(here, "out") as (_, lines):
        base, cookie = enter(lines)
        assert lines[0] == f"Showing {here / 'out'} at"
        assert "what the log says" in get(get_session(base, cookie), cookie)[2]
        assert left(here) == []
    after = {path: path.stat().st_mtime_ns for path in here.rglob("*") if "temporary" not in path.parts}
    assert after == before


def get_session(base, cookie):
    return base + re.search(r'href="(/r/[0-9a-f]+/s/0)"', get(f"{base}/", cookie)[2])[1]


def test_logs_are_read_as_the_options_of_inspect_say(here):
    """Two sessions in a file, whose answers two formats claim."""
    lines = [log_line(f"{name} asks", session_id=name) for name in "ab"]
    for line in lines:
        line["response"]["candidates"] = [{"content": {}}]
    write_log(here / "logs/a.jsonl", *lines)
    with running(here, "logs", "--from", "openai-chat", "--sessions-by", "id") as (_, said):
        base, cookie = enter(said)
        page = get(f"{base}/", cookie)[2]
        assert re.findall(r">([ab])</code>", page) == ["a", "b"]
        of_first = get_session(base, cookie)
        assert "hello" in get(of_first, cookie)[2]
        assert "hello" in get(f"{of_first}/log/1", cookie)[2]
    with running(here, "logs") as (_, said):
        base, cookie = enter(said)
        assert "unknown-format" in get(f"{base}/", cookie)[2]


def test_how_logs_are_read_has_no_effect_on_a_result(here, logs, command, monkeypatch):
    assert command("convert", "logs", "-q").code == 0
    done = command("view", "out", "--from", "openai_chat")
    assert done.code == 2
    assert (
        "--from openai_chat has no effect on an output folder because its logs were already read; remove it\n"
        in done.err
    )
    served = []
    monkeypatch.setattr(serve, "_serve", lambda viewer, *_, **__: served.append(viewer.path))
    monkeypatch.setenv("CHATSQUASH_FROM", "openai_chat")  # a variable may stand for other commands
    assert command("view", "out").code == 0
    assert served == [here / "out"]


def test_an_unknown_format_is_an_error(here, logs, command):
    done = command("view", "logs", "--from", "openai-chatt")
    assert done.code == 2
    assert "openai_chat" in done.err


def test_over_ssh_it_says_how_to_forward_the_port(here, logs):
    with running(here, "logs", SSH_CONNECTION="192.0.2.1 50000 192.0.2.9 2222") as (_, lines):
        port = URL.search("\n".join(lines))[1]
        assert any(
            re.fullmatch(rf"  ssh -N -L {port}:127\.0\.0\.1:{port} -p 2222 \S+@192\.0\.2\.9", line) for line in lines
        )


def test_it_listens_on_loopback_alone(here):
    with serve._listening(0) as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_an_error(here, logs, command):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = command("view", "logs", "--port", taken.getsockname()[1])
    assert done.code == 2
    assert "remove the option to use a free port" in done.err


def test_a_port_that_another_viewer_took_is_an_error_before_logs_are_converted(here, logs, command, monkeypatch):
    monkeypatch.setattr(serve, "_convert", lambda *_: pytest.fail("it converts"))
    with serve._listening(0) as first:
        port = first.getsockname()[1]
        done = command("view", "logs", "--port", port)
    assert done.code == 2
    assert f"--port {port}: Address already in use" in done.err


def test_an_output_folder_beside_something_else_is_an_error(here, logs, command):
    assert command("convert", logs, "-o", "out").code == 0
    done = command("view", "out", logs)
    assert (done.code, done.err) == (
        2,
        "error: out: output folder; view shows a single output folder, without other arguments\n",
    )


def test_what_logs_lack_is_said(here):
    write_log(here / "logs/a.jsonl", log_line("hi", session_id="a"), "{ no JSON")
    with running(here, "logs") as (_, told):
        assert "skipped: 1 line (bad-line): chatsquash explain bad-line" in told


def test_an_output_folder_without_its_session_table_is_an_error_and_no_log(here, logs, command):
    assert command("convert", "logs", "-q").code == 0
    (here / "out/reports/sessions.jsonl").unlink()
    done = command("view", "out")
    assert done.code == 2
    assert "out/reports/sessions.jsonl: cannot be read (No such file or directory)" in done.err
    (here / "logs/run.json").write_text("{}")  # of something else
    assert serve.result_of(("logs",)) is None


def test_a_connection_that_asks_for_nothing_ends_and_an_answer_may_take_longer(monkeypatch):
    """Also one that sends a request a byte at a time."""
    monkeypatch.setattr(guard, "IDLE", 0.2)

    async def answer(scope, receive, send):
        await asyncio.sleep(0.7)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
        await send({"type": "http.response.body", "body": b"x"})

    async def ends(*pieces):
        server = uvicorn.Server(uvicorn.Config(answer, http=guard.Connection, lifespan="off", log_config=None))
        made = await asyncio.get_running_loop().create_server(
            lambda: guard.Connection(server.config, server.server_state, {}), "127.0.0.1", 0
        )
        server.config.load()
        reader, writer = await asyncio.open_connection(*made.sockets[0].getsockname())
        said = b""
        with suppress(ConnectionError):
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0.05)
            said = await asyncio.wait_for(reader.read(), 20)
        with suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()
        made.close()
        return said

    asked = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    assert asyncio.run(ends()) == b""
    assert asyncio.run(ends(*(asked[at : at + 1] for at in range(len(asked) - 1)))) == b""
    assert asyncio.run(ends(asked)).endswith(b"\r\n\r\nx")


def test_without_the_packages_the_error_names_the_install(here, logs, command, monkeypatch):
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    done = command("view", "logs")
    assert (done.code, done.err) == (
        2, "error: view requires the starlette package: pip install 'chatsquash[view]'\n",
    )  # fmt: skip


@pytest.mark.parametrize("given", ["missing", "https://example.org/out", "s3://bucket/out"])
def test_what_cannot_be_shown_is_an_error_and_leaves_nothing(here, command, monkeypatch, given):
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    assert command("view", given).code == 2
    assert list(here.iterdir()) == []


def test_only_private_folders_that_no_viewer_has_go(here, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    (here / "chatsquash-view-link").symlink_to(here / "elsewhere")
    (here / "elsewhere").mkdir()
    (here / "elsewhere/lock").write_text("")
    (here / "chatsquash-view-file").write_text("")
    (here / "chatsquash-view-new").mkdir()  # of one that has no lock yet
    for name in ("empty", "half"):
        (here / f"chatsquash-view-{name}").mkdir()
    (here / "chatsquash-view-half/out").mkdir()  # of one that was killed while it removed the folder
    for path in here.iterdir():
        if path.name != "chatsquash-view-new":
            os.utime(path, (0, 0), follow_symlinks=False)
    with scratch() as folder:
        os.utime(folder, (0, 0))
        clear()
        assert folder.is_dir()
    kept = ["chatsquash-view-file", "chatsquash-view-link", "chatsquash-view-new", "elsewhere"]
    assert sorted(path.name for path in here.iterdir()) == kept


def test_errors_of_the_server_control_no_terminal():
    import logging

    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "a \x1b[2J\nb", None, None)
    assert serve._EscapingFormatter("%(message)s").format(record) == "a \\x1b[2J\nb"


def test_a_template_that_is_none_is_an_error(here, logs, command):
    (here / "x.jinja").write_text("{% if %}")
    done = command("view", "logs", "--template", "x.jinja")
    assert done.code == 2
    assert "not a template" in done.err


# The session that the first URL leads to

SESSIONS = {"9f3c-one": "one asks", "9f3d-two": "two asks"}


@pytest.fixture
def two(here):
    for name, text in SESSIONS.items():
        write_log(here / f"logs/{name}.jsonl", log_line(text, session_id=name))
    return here / "logs"


@pytest.mark.parametrize("which", ["9f3d", "9f3d-two"])
@pytest.mark.parametrize("is_result", [True, False])
def test_the_beginning_of_an_id_leads_to_its_session(here, two, which, is_result):
    if is_result:
        convert("logs", "out", Options(anonymize=False))
    with running(here, "out" if is_result else "logs", which) as (_, lines):
        found = URL.search("\n".join(lines))
        _, headers, page = get(found[0])
        start = re.search(r'content="0;url=([^"]*)"', page)[1]
        cookie = headers["set-cookie"].partition(";")[0]
        assert "two asks" in get(f"http://127.0.0.1:{found[1]}{start}", cookie)[2]


WRONG = {
    "that several sessions have": ("9f3", "several sessions begin with '9f3': '9f3c-one', '9f3d-two'"),
    "that no session has": ("nothing", "no session id begins with 'nothing', and no such file exists"),
}


@pytest.mark.parametrize(("which", "said"), WRONG.values(), ids=WRONG)
def test_a_beginning_is_refused(here, two, command, which, said):
    convert("logs", "out", Options(anonymize=False))
    done = command("view", "out", which)
    assert done.code == 2
    assert said in done.err


def test_of_logs_all_conversations_are_shown_and_sub_agents_are_folded(here):
    golden = Path(__file__).parents[1] / "golden/claude_code/a_sub_agent_in_a_folder_of_its_session/logs"
    shutil.copytree(golden, here / "logs")
    with running(here, "logs") as (_, lines):
        base, cookie = enter(lines)
        assert "<summary>1 sub-agent</summary>" in get(f"{base}/", cookie)[2]
