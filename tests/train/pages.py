"""The blocks of docs/training.md that ``make train`` runs: those that have a name behind their language."""

import re
import shlex
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "training.md"
_BLOCK = re.compile(r"^```(console|sh|text|yaml|python) ([a-z0-9-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> dict[str, str]:
    """The named blocks of a language, by name."""
    page = PAGE.read_text(encoding="utf-8")
    return {name: text for found, name, text in _BLOCK.findall(page) if found == language}


def conversions(name: str) -> list[str]:
    """The commands of a console block."""
    lines = blocks("console")[name].splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def truth(command: str) -> str:
    """The same conversion to records that say plainly what a reply is: preset ``hf``, as JSONL, into ``truth``."""
    plain = command.replace(" --reasoning inline", "")
    plain = re.sub(r"--preset \w+", "--preset hf", plain)
    plain = re.sub(r"--format \w+", "--format jsonl", plain)
    return re.sub(r"-o \w+", "-o truth", plain)


def trainer_command(name: str, model: str) -> list[str]:
    """The words of a shell block, with the model's folder."""
    return shlex.split(blocks("sh")[name].replace("\\\n", " ").replace("MODEL", model))


def configuration(name: str, model: str) -> tuple[str, str]:
    """The name of a file, which its first line says, and what stands in it."""
    text = {**blocks("text"), **blocks("yaml")}[name].replace("MODEL", model)
    return text.partition("\n")[0].removeprefix("# "), text
