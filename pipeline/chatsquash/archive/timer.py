"""A timer that runs ``archive`` regularly: systemd user units, or a line for cron if systemd is missing."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from xxhash import xxh3_64_hexdigest

from chatsquash.core.errors import UsageError
from chatsquash.core.text import quote
from chatsquash.formats import documents

SCHEDULES = {"hourly": "0 * * * *", "daily": "0 4 * * *", "weekly": "0 4 * * 0"}
"""The schedules, as systemd and cron write them."""
_PREFIX = "chatsquash-archive-"
_MARK = "# Written by chatsquash archive --install; removed by chatsquash archive --remove."
_VARIABLE = re.compile(r"\$\{(\w+):-")
_GENERAL_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME")
_TIMEOUT = 30


class Timer(NamedTuple):
    """A command that runs regularly."""

    name: str
    """The name of the units, which depends on the archive."""
    command: Sequence[str]
    schedule: str
    variables: Sequence[tuple[str, str]]
    """The environment variables that select the agents' folders."""


def new_timer(arguments: Sequence[str], store: str, schedule: str) -> Timer:
    """Return the timer for an archive.

    Args:
        arguments: the arguments of ``chatsquash``; paths must be absolute
        store: the folder or URL of the archive
        schedule: a key of ``SCHEDULES``

    Raises:
        UsageError: if an argument contains a control character, which units and crontabs cannot
    """
    command = [sys.executable, "-P", "-m", "chatsquash", *arguments]
    variables = [(name, value) for name in _variables() if (value := os.environ.get(name))]
    for text in (*command, *(value for _, value in variables)):
        if not text.isprintable() or "\ufffd" in text:
            raise UsageError(f"--install: {quote(text)} contains characters that a timer cannot contain")
    return Timer(_name(store), command, schedule, variables)


def _name(store: str) -> str:
    return f"{_PREFIX}{xxh3_64_hexdigest(os.fsencode(store))[:8]}"


def _variables() -> list[str]:
    """Return the names of the environment variables that the locations of agents' files depend on."""
    formats = map(documents.get_format, documents.names())
    names = {name for each in formats for pattern in each.LOCATIONS for name in _VARIABLE.findall(pattern)}
    return sorted({*names, *_GENERAL_VARIABLES})


def units(timer: Timer) -> dict[Path, str]:
    """Return the systemd units of a timer, by their paths."""
    command = " ".join(map(_systemd_quote, timer.command))
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in timer.variables)
    service = (
        f"{_MARK}\n[Unit]\nDescription=Archive LLM session logs\n\n"
        f"[Service]\nType=oneshot\n{environment}EnvironmentFile=-%E/chatsquash/archive.env\n"
        f"ExecStart={command}\nNice=10\nIOSchedulingClass=idle\n"
    )
    schedule = (
        f"{_MARK}\n[Unit]\nDescription=Archive LLM session logs ({timer.schedule})\n\n"
        f"[Timer]\nOnCalendar={timer.schedule}\nPersistent=true\nRandomizedDelaySec=5min\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    folder = _unit_folder()
    return {folder / f"{timer.name}.service": service, folder / f"{timer.name}.timer": schedule}


def _systemd_quote(argument: str) -> str:
    """Quote an argument of ``ExecStart``, in which ``$`` starts a variable."""
    return _quoted(argument.replace("$", "$$"))


def _quoted(text: str) -> str:
    """Quote a word of a unit, in which ``%`` starts a specifier."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _unit_folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".config") / "systemd" / "user"


def cron_line(timer: Timer) -> str:
    """Return the line for a crontab; a percent sign in it would start the input of the command."""
    words = [f"{name}={shlex.quote(value)}" for name, value in timer.variables]
    line = " ".join([*words, *map(shlex.quote, timer.command)])
    return f"{SCHEDULES[timer.schedule]} {line}".replace("%", "\\%")


def has_systemd() -> bool:
    """Return whether a systemd manager of this user answers."""
    if sys.platform != "linux" or shutil.which("systemctl") is None:
        return False
    return _systemctl("show-environment").returncode == 0


def install(timer: Timer) -> None:
    """Write the units and start the timer; an older timer of the same archive is replaced."""
    files = units(timer)
    for path in files:
        if path.exists() and not _is_ours(path):
            raise UsageError(f"{path}: not written by chatsquash; remove it before --install")
    for path, content in files.items():
        _write(path, content)
    _check(_systemctl("daemon-reload"))
    _check(_systemctl("enable", "--now", f"{timer.name}.timer"))


def _write(path: Path, content: str) -> None:
    """Write a unit; it appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f"{path.suffix}.partial")
    partial.write_text(content, encoding="utf-8")
    partial.replace(path)


def installed(store: str | None) -> list[Path]:
    """Return the units of the timer of an archive, or of all archives."""
    name = f"{_PREFIX}*" if store is None else _name(store)
    candidates = [*_unit_folder().glob(f"{name}.timer"), *_unit_folder().glob(f"{name}.service")]
    return sorted(each for each in candidates if each.is_file() and _is_ours(each))


def _is_ours(path: Path) -> bool:
    return path.read_text(encoding="utf-8", errors="replace").startswith(_MARK)


def remove(paths: Iterable[Path]) -> None:
    """Stop timers and delete their units."""
    paths = [*paths]
    for path in paths:
        if path.suffix == ".timer" and has_systemd():
            _check(_systemctl("disable", "--now", path.name))
    for path in paths:
        path.unlink()
    if has_systemd():
        _check(_systemctl("daemon-reload"))


def _systemctl(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["systemctl", "--user", *arguments]
    return subprocess.run(  # noqa: S603 - names of units only
        command, capture_output=True, text=True, timeout=_TIMEOUT, check=False, errors="replace"
    )


def _check(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        raise UsageError(f"{shlex.join(done.args)}: {done.stderr.strip() or done.returncode}")
