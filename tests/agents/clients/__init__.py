"""Agents: how each is installed, started offline, resumed and forked, and where its files are.

Each module of this folder describes one agent with a subclass of :class:`Client`; adding an agent is adding a module.
"""

from __future__ import annotations

import json
import os
import pkgutil
import platform
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.agents.terminal import Keys, Terminal

Json = dict[str, Any]
NODE, PYTHON = "npm", "PyPI"
IMAGE = Path(__file__).with_name("pixel.png")
DRIVERS = Path(__file__).parents[1] / "drivers"
MCP_SERVER = Path(__file__).parents[1] / "mcp_server.py"
TASK = "Please look at the files and report, {of} for {mark}."


_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
PLATFORM = f"-{sys.platform}-{_MACHINES.get(platform.machine(), platform.machine())}"
"""How npm packages end that have a program for this platform; the launcher may be released before or after them."""


class NotInstalledError(Exception):
    """Why an agent cannot be run here."""


class Client:
    """One agent in a home directory of its own. Subclasses describe it; methods that are not overridden run it."""

    name: str = ""
    title: str = ""
    package: str = ""
    registry: str = NODE
    extras: tuple[str, ...] = ()
    """Packages that it needs in addition."""
    pythons: tuple[str, ...] = ()
    """Commands of Python versions that the package needs, the best one first."""
    binary: str = ""
    session_header: str = ""
    """The header, in lower case, in which requests have their session's id."""
    abilities: frozenset[str] = frozenset()
    litellm: str = ""
    """The provider as which LiteLLM's proxy can be between this agent and its model."""
    has_tools = True
    """Whether requests of the agent itself have tool definitions."""
    unwritten: frozenset[str] = frozenset()
    """Kinds of replies that its files have in quotations only."""
    opening: tuple[Keys, ...] = ()
    """At a terminal: what has to happen before a prompt can be typed."""
    taking_back: tuple[Keys, ...] = ()
    """At a terminal: what takes back the last prompt and all that followed, and leaves nothing typed."""
    compact_command = "/compact"
    compacts_at_terminal = False
    """Whether that command can be used at a terminal only."""
    ends_with_call = False
    """Whether the agent ends by a call of its own, not by a reply without one."""
    files: tuple[str, ...] = ()
    """Patterns of its sessions' files, below the home directory."""

    def __init__(self, install: Path, home: Path, url: str) -> None:
        self.install, self.home, self.url = install, home, url
        self.work = home / "work"

    # What a subclass describes.

    def configure(self) -> None:
        """Write settings into the home directory."""

    def env(self) -> dict[str, str]:
        """Variables in addition to those of every agent."""
        return {}

    def command(self, prompt: str, how: str, *, model: int, image: Path | None) -> list[str]:
        """The command line that answers a prompt; ``how`` is ``new``, ``resume`` or ``fork``."""
        raise NotImplementedError

    def interactive(self) -> list[str]:
        """The command line of a session at a terminal."""
        raise NotImplementedError

    def call(self, do: str, mark: str, of: str, tools: list[str]) -> tuple[Any, ...]:
        """A call of this agent's tools: name, arguments, and the namespace if there is one.

        ``of`` is the mark of a sub-agent's prompt, or, for ``wait``, the result that has its id. An agent without a tool
        for ``wait`` returns nothing.
        """
        raise NotImplementedError

    def is_side(self, last: str) -> bool:
        """Whether a request with this last message is for the client itself, such as one for a summary."""
        return False

    # What all agents share.

    @classmethod
    def ensure_installed(cls, folder: Path) -> Path:
        """Install the newest release into ``folder/NAME``, if it is not there; return that folder."""
        home = folder / cls.name
        if not (home / "installed").exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            try:
                cls.fetch(home)
            except (OSError, subprocess.SubprocessError) as error:
                raise NotInstalledError(_reason(error)) from error
            if not cls.path(home).exists():
                raise NotInstalledError(f"{cls.package} has no {cls.binary}")
            if cls.registry == NODE:
                _version_line(cls.path(home))
            (home / "installed").touch()
        return home

    @classmethod
    def fetch(cls, home: Path) -> None:
        """Install the package."""
        if cls.registry == NODE:
            _run(["npm", "install", "--loglevel=error", "--no-fund", "--no-audit", "--prefix", str(home), cls.package])
            return
        python = next(filter(_runs, cls.pythons), None) if cls.pythons else sys.executable
        if python is None:
            raise NotInstalledError(f"none of {', '.join(cls.pythons)} is installed")
        _run([python, "-m", "venv", str(home / "venv")])
        _run([str(home / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", cls.package, *cls.extras])

    @classmethod
    def path(cls, home: Path) -> Path:
        """The command of the agent."""
        if cls.package.endswith(PLATFORM):
            return home / "node_modules" / cls.package / "bin" / cls.binary
        return home / ("node_modules/.bin" if cls.registry == NODE else "venv/bin") / cls.binary

    @classmethod
    def version(cls, home: Path) -> str:
        """The release that is installed."""
        if cls.registry == NODE:
            return json.loads((home / "node_modules" / cls.package / "package.json").read_text(encoding="utf-8"))[
                "version"
            ]
        code = f"from importlib.metadata import version; print(version({cls.package.partition('[')[0]!r}))"
        return _run([str(home / "venv" / "bin" / "python"), "-c", code]).strip()

    @property
    def program(self) -> str:
        """The command of the agent, as text."""
        return str(self.path(self.install))

    def prepare(self) -> None:
        """Make a home directory with settings, and a project."""
        self.work.mkdir(parents=True)
        (self.work / "notes.txt").write_text("apples\npears\n", encoding="utf-8")
        shutil.copy(IMAGE, self.work / "pixel.png")
        commands = (["init", "-q"], ["add", "."], ["commit", "-qm", "Begin"])
        for command in commands:
            names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
            _run(["git", *names, *command], cwd=self.work, env={**os.environ, "HOME": str(self.home)})
        self.configure()

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """Start a process of the agent, in a process group of its own; its output goes to ``output.txt``."""
        env = {**self._env(), "CI": "1", "NO_COLOR": "1", "TERM": "dumb"}
        with (self.home / "output.txt").open("a", encoding="utf-8") as output:
            return subprocess.Popen(
                command, cwd=self.work, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                text=True, start_new_session=True,
            )  # fmt: skip

    def open_terminal(self) -> Terminal:
        """Start a session at a terminal, up to where a prompt can be typed."""
        env = {**self._env(), "TERM": "xterm-256color"}
        terminal = Terminal(self.interactive(), self.work, env, self.home / "output.txt")
        terminal.follow(*self.opening)
        return terminal

    def _env(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        keys = {f"{name}_API_KEY": "k" for name in ("OPENAI", "ANTHROPIC", "GEMINI")}
        return {**inherited, "HOME": str(self.home), "DO_NOT_TRACK": "1", **keys, **self.env()}

    def write_json(self, name: str, value: Json) -> None:
        """Write a settings file below the home directory."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def mcp_server() -> Json:
    """The command of an MCP server with one tool, ``echo_words``."""
    return {"command": sys.executable, "args": [str(MCP_SERVER)]}


def shell(mark: str, do: str) -> str:
    """A command that prints a mark, and fails or takes long if it is to."""
    return {"fail": f"echo {mark}; exit 1", "sleep": f"sleep 30; echo {mark}"}.get(do, f"echo {mark}")


def find_tool(tools: list[str], *parts: str) -> str:
    """The first tool that has one of these words in its name."""
    return next((tool for part in parts for tool in tools if part in tool), "")


def _version_line(program: Path) -> None:
    """Run an agent once: some npm packages are launchers whose binary was not fetched."""
    try:
        _run([str(program), "--version"])
    except subprocess.SubprocessError as error:
        raise NotInstalledError(_reason(error)) from error


def _runs(python: str) -> bool:
    """Whether this version of Python is installed; a launcher may be there without one."""
    try:
        _run([python, "-c", ""])
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _run(command: list[str], **options: Any) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, **options)
    if ran.returncode:
        raise subprocess.SubprocessError(ran.stderr.strip() or ran.stdout.strip() or f"{command[0]} failed")
    return ran.stdout


def _reason(error: Exception) -> str:
    lines = [line.strip().removeprefix("npm error").strip() for line in str(error).splitlines()]
    noise = ("Ignored the following", "complete log of this run", "Node.js v")
    wrong = [line for line in lines if "error" in line.lower() and not any(each in line for each in noise)]
    last = (wrong or list(filter(None, lines)) or [type(error).__name__])[-1]
    return last.partition(". ")[0][:120]


def _subclasses(kind: type[Client]) -> list[type[Client]]:
    return [each for child in kind.__subclasses__() for each in (child, *_subclasses(child))]


def clients() -> dict[str, type[Client]]:
    """All agents by name."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    described = [each for each in _subclasses(Client) if each.__module__.startswith(__name__)]
    return {each.name: each for each in sorted(described, key=lambda each: each.title.lower())}
