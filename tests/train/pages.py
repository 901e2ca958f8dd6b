"""The blocks of docs/training.md that ``make train`` runs, and the files that their conversions write for a trainer."""

import re
from pathlib import Path

from chatsquash.core.options import Options, list_options
from chatsquash.dataset import trainers

PAGE = Path(__file__).parents[2] / "docs" / "training.md"
_BLOCK = re.compile(r"^```console ([a-z0-9-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> dict[str, str]:
    """The named blocks, by name."""
    return dict(_BLOCK.findall(PAGE.read_text(encoding="utf-8")))


def conversion(name: str) -> str:
    """The command of a block that converts."""
    lines = [line.removeprefix("$ ") for line in blocks()[name].splitlines()]
    return next(line for line in lines if line.startswith("chatsquash convert"))


def truth(command: str) -> str:
    """The same conversion to records that say plainly what a reply is: preset ``hf``, as JSONL, into ``truth``."""
    plain = re.sub(r"--for (\S+)", lambda found: _spelled(found[1], command), command)
    plain = re.sub(r"--preset \w+", "--preset hf", plain).replace(" --reasoning inline", "")
    plain = re.sub(r"--format \w+", "--format jsonl", plain)
    return re.sub(r"-o \w+", "-o truth", plain)


def _spelled(trainer: str, command: str) -> str:
    """The options that ``--for`` sets in a command, as they are typed."""
    flags = {each.name: each.flag for each in list_options()}
    given = {name for name, flag in flags.items() if flag in command.split()}
    values = {name: getattr(Options(), name) for name in flags}
    values["samples"] = "reply" if "--samples reply" in command else "session"
    chosen = trainers.settings(trainer, values, given)
    return " ".join(flags[name] if value is True else f"{flags[name]} {value}" for name, value in chosen.items())
