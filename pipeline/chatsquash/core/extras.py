"""The command that adds an extra to the running installation, for the installer that created it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from typing import Any, NamedTuple

_NAME = "chatsquash"
_AS_PIP = re.compile(rf"pip install '{_NAME}\[(\w++)\]'")
"""The form in which error messages suggest an extra, whatever the installer."""
_EXTRAS = re.compile(rf"{_NAME}\[([\w,-]++)\]")
_MARKER = re.compile(r"extra == ['\"]([\w-]++)['\"]")


class Installation(NamedTuple):
    """The way in which chatsquash was installed."""

    prefix: Path
    """The folder of the environment."""
    installer: str = "pip"
    """The program that installed it, according to its metadata."""
    url: str = ""
    """Its source; empty for a package index."""
    folder: str = ""
    """The source if it is a local folder."""
    is_editable: bool = False
    pip: str = "pip"
    """The command that runs its pip."""


def add_command(installation: Installation, extra: str) -> str:
    """Return the command that adds an extra to an installation and preserves its other extras."""
    prefix, installer = installation.prefix, installation.installer
    if (prefix / "pipx_metadata.json").is_file():
        command = f"pipx inject {shlex.quote(prefix.name)} {_requirement(installation, extra)}"
    elif installer == "uv":
        command = _uv_command(installation, extra)
    elif installer in ("poetry", "pdm"):
        command = f"{installer} add {_quoted(extra)}"
    elif installer == "conda":  # does not support extras
        command = " ".join([installation.pip, "install", *map(shlex.quote, _packages(extra))])
    else:
        command = f"{installation.pip} install {_requirement(installation, extra)}"
    return command


def _uv_command(installation: Installation, extra: str) -> str:
    """Return the uv command for a tool, a project or an environment."""
    receipt, project = installation.prefix / "uv-receipt.toml", installation.prefix.parent
    if receipt.is_file():
        extras = sorted({*_extras_of_tool(receipt), extra})
        return f"uv tool install {_requirement(installation, ','.join(extras))}"
    if not (project / "uv.lock").is_file():
        return f"uv pip install --python {shlex.quote(str(installation.prefix))} {_requirement(installation, extra)}"
    at = f"--project {shlex.quote(str(project))}"
    if installation.folder and Path(installation.folder).resolve() == project.resolve():
        return f"uv sync --inexact --extra {extra} {at}"
    return f"uv add {at} {_quoted(extra)}"


def with_add_command(text: str) -> str:
    """Replace pip commands in a text with commands for the running installation."""
    return _AS_PIP.sub(lambda match: add_command(running(), match[1]), text)


def running() -> Installation:
    """Return the running installation; without metadata, an installation with pip from an index is assumed."""
    plain = Installation(Path(sys.prefix), pip=_pip())
    try:
        installed = distribution(_NAME)
    except PackageNotFoundError:
        return plain
    installer = (installed.read_text("INSTALLER") or "pip").split()[0].lower()
    origin: dict[str, Any] = json.loads(installed.read_text("direct_url.json") or "{}")
    url = str(origin.get("url", ""))
    if version := origin.get("vcs_info"):
        url = f"{version['vcs']}+{url}@{version['commit_id']}"
    if "dir_info" not in origin:
        return plain._replace(installer=installer, url=url)
    from urllib.parse import urlsplit  # few runs need it
    from urllib.request import url2pathname

    folder = url2pathname(urlsplit(url).path)
    is_editable = bool(origin["dir_info"].get("editable"))
    return plain._replace(installer=installer, url=url, folder=folder, is_editable=is_editable)


def _requirement(installation: Installation, extras: str) -> str:
    """Return the requirement for the package and extras from its source, quoted for the shell."""
    if installation.folder:
        editable = "--editable " if installation.is_editable else ""
        return editable + shlex.quote(f"{installation.folder}[{extras}]")
    return _quoted(extras, f" @ {installation.url}" if installation.url else "")


def _quoted(extras: str, origin: str = "") -> str:
    return shlex.quote(f"{_NAME}[{extras}]{origin}")


def _pip() -> str:
    """Return the pip command of the running environment: just ``pip`` if the shell would select the same one."""
    first = shutil.which("pip")
    is_first = first is not None and Path(first).parent == Path(sys.executable).parent
    return "pip" if is_first else f"{shlex.quote(sys.executable)} -m pip"


def _extras_of_tool(receipt: Path) -> list[str]:
    """Return the extras with which uv installed the tool."""
    try:
        requirements = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [extra for each in requirements if each.get("name") == _NAME for extra in each.get("extras", ())]


def _packages(extra: str) -> list[str]:
    """Return the packages of an extra as requirements."""
    own: list[str] = []
    for each in requires(_NAME) or ():
        requirement, _, marker = each.partition(";")
        match = _MARKER.search(marker)
        if match and match[1] == extra:
            inner = _EXTRAS.match(requirement)
            own += (
                [name for part in inner[1].split(",") for name in _packages(part)] if inner else [requirement.strip()]
            )
    return own
