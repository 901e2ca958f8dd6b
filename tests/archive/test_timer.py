"""The timer of ``archive --install``: systemd units, a line for cron, and what ``--remove`` removes.

Units were checked with systemd-analyze of systemd 252 (Debian 12), which also checks them here if it is installed.
"""

import json
import shutil
import subprocess
import sys

import pytest

from chatsquash.archive import timer
from chatsquash.core.errors import UsageError
from tests.conftest import cases

PRINT = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('CODEX_HOME')]))"
HOSTILE = ["a \"b\" $HOME ${HOME} $(id) `id` %h %% \\ \\x41 'q' ; x", "é~", "*", "-x", "#c"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder and a ``systemctl`` that records its arguments."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    systemctl = tmp_path / "bin/systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n[ ! -e {tmp_path}/failing ]\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return tmp_path


def new(store="/a", schedule="hourly", arguments=("archive", "--agent", "all", "--to", "/a")):
    return timer.new_timer(arguments, store, schedule)


def calls(home):
    return (home / "calls").read_text().splitlines() if (home / "calls").exists() else []


def test_the_units_are_written_and_started(home):
    timer.install(new())
    service, schedule = (path.read_text() for path in timer.installed("/a"))
    assert f'ExecStart="{sys.executable}" "-P" "-m" "chatsquash" "archive" "--agent" "all" "--to" "/a"\n' in service
    assert "OnCalendar=hourly\nPersistent=true\n" in schedule
    name = timer.installed("/a")[1].name
    assert calls(home) == ["--user daemon-reload", f"--user enable --now {name}"]


def test_what_selects_the_folders_of_agents_is_in_the_units(home, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", "/x %h")
    monkeypatch.setenv("HF_TOKEN", "secret")
    service = next(iter(timer.units(new()).values()))
    assert 'Environment="CODEX_HOME=/x %%h"\n' in service
    assert "secret" not in service
    assert timer.cron_line(new()).startswith("0 * * * * CODEX_HOME='/x \\%h' ")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@cases("schedule", *timer.SCHEDULES)
def test_systemd_accepts_the_units(home, tmp_path, schedule):
    units = timer.units(new(schedule=schedule, arguments=HOSTILE))
    for path, content in units.items():
        (tmp_path / path.name).write_text(content)
    command = ["systemd-analyze", "--user", "verify", *(str(tmp_path / path.name) for path in units)]
    (tmp_path / "run").mkdir(mode=0o700)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    lines = done.stderr.splitlines()  # also about other units of this machine
    assert (done.returncode, [line for line in lines if any(path.name in line for path in units)]) == (0, [])


def test_cron_passes_every_argument_unchanged(home, monkeypatch):
    """A crontab's command ends at a percent sign without a backslash, and the shell runs the rest."""
    monkeypatch.setenv("CODEX_HOME", "/x 'y' %h $z")
    line = timer.cron_line(new()._replace(command=[sys.executable, "-c", PRINT, *HOSTILE]))
    schedule, command = line[: len("0 * * * * ")], line[len("0 * * * * ") :]
    assert schedule == "0 * * * * "
    assert "%" not in command.replace("\\%", "")
    done = subprocess.run(["/bin/sh", "-c", command.replace("\\%", "%")], capture_output=True, text=True)
    assert json.loads(done.stdout) == [HOSTILE, "/x 'y' %h $z"]


@cases("argument", "a\nExecStart=/bin/evil", "a\rb", "a\0b", "a\x1bb", "\udcff")
def test_arguments_that_would_end_a_line_are_refused(home, argument):
    with pytest.raises(UsageError, match="characters that a timer cannot contain"):
        new(arguments=["archive", argument])


def test_a_hostile_variable_is_refused(home, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", "/x\nExecStartPre=/bin/evil")
    with pytest.raises(UsageError, match="characters that a timer cannot contain"):
        new()


def test_only_the_units_of_the_archive_are_removed(home):
    timer.install(new("/a"))
    timer.install(new("/b"))
    kept = timer.installed("/b")
    timer.remove(timer.installed("/a"))
    assert timer.installed(None) == kept
    assert "disable --now" in " ".join(calls(home))


def test_units_of_others_are_neither_replaced_nor_removed(home):
    own, schedule = timer.units(new())
    own.parent.mkdir(parents=True)
    own.write_text("[Service]\n")
    assert timer.installed(None) == []
    with pytest.raises(UsageError, match="not written by chatsquash"):
        timer.install(new())
    assert own.read_text() == "[Service]\n"
    assert not schedule.exists()


def test_a_failure_of_systemctl_is_an_error(home):
    (home / "failing").touch()
    with pytest.raises(UsageError, match="systemctl --user daemon-reload"):
        timer.install(new())
    assert not timer.has_systemd()
    timer.remove(timer.installed(None))
    assert timer.installed(None) == []


def test_without_systemctl_there_is_no_systemd(home, monkeypatch):
    assert timer.has_systemd()
    monkeypatch.setenv("PATH", str(home))
    assert not timer.has_systemd()


def install(command, home, *options):
    (home / "logs").mkdir(exist_ok=True)
    return command("archive", home / "logs", "--to", home / "store", "--install", *options)


def test_install_shows_the_units_and_writes_them(command, home):
    ended = install(command, home, "--yes", "--every", "daily", "--agent", "all")
    assert ended.code == 0
    service, schedule = timer.installed(str(home / "store"))
    assert service.read_text() in ended.out
    assert schedule.read_text() in ended.out
    assert "OnCalendar=daily" in ended.out
    expected = f'"archive" "{home}/logs" "--agent" "all" "--to" "{home}/store"'
    assert expected in service.read_text()
    assert "enable-linger" in ended.err


def test_install_runs_what_was_asked_for_from_any_folder(command, home, monkeypatch):
    (home / "key").write_text("k" * 40)
    monkeypatch.chdir(home)
    (home / "logs").mkdir()
    command("archive", "logs", "--to", "store", "--key-file", "key", "--machine", "m 1", "--install", "--yes")
    service, _ = timer.installed(str(home / "store"))
    expected = f'"{home}/logs" "--to" "{home}/store" "--machine" "m 1" "--key-file" "{home}/key"\n'
    assert expected in service.read_text()


def test_without_a_terminal_nothing_is_written(command, home):
    ended = install(command, home)
    assert (ended.code, timer.installed(None)) == (2, [])
    assert "add --yes" in ended.err
    assert not (home / "store").exists()


def test_without_systemd_a_line_for_cron_is_printed(command, home):
    (home / "failing").touch()
    ended = install(command, home)
    assert ended.code == 0
    assert ended.out.startswith("0 * * * * ")
    assert "crontab -e" in ended.err
    assert timer.installed(None) == []


def test_remove_takes_the_timer_away(command, home):
    install(command, home, "--yes")
    assert command("archive", "--remove", "--to", home / "other", "--yes").code == 2
    ended = command("archive", "--remove", "--to", home / "store", "--yes")
    assert (ended.code, timer.installed(None)) == (0, [])
    assert "no timer found" in command("archive", "--remove", "--yes").err


@cases(
    "arguments, problem",
    (["logs", "--to", "s", "--every", "daily"], "--every: requires --install"),
    (["logs", "--to", "s", "--yes"], "--yes: requires --install"),
    (["logs", "--to", "s", "--remove"], "--remove: only --to and --yes"),
    (["--install", "--remove"], "--remove: only --to and --yes"),
    (["logs", "--install"], "missing option '--to'"),
    (["--to", "s", "--install"], "nothing to copy"),
    (["--agent", "nobody", "--to", "s", "--install", "--yes"], "--agent nobody: unknown agent"),
    (["logs", "--to", "logs", "--install", "--yes"], "is not empty and not an archive"),
)
def test_contradicting_options_are_refused(command, home, monkeypatch, arguments, problem):
    monkeypatch.chdir(home)
    (home / "logs").mkdir()
    (home / "logs/a.jsonl").write_text("{}\n")
    ended = command("archive", *arguments)
    assert ended.code == 2
    assert problem in ended.err
    assert timer.installed(None) == []
