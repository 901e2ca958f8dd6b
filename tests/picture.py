"""The picture of a terminal in README.md: a short session with its real output, drawn as SVG.

``make docs`` draws it anew where more than times changed.  Text is text, its colours are its own on a ground of its own,
and nothing in it refers to another file, so that it shows the same everywhere.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "terminal.svg"
COMMANDS = (
    "chatsquash convert sample_logs/2026-01-12 --redact secrets --output dataset",
    "chatsquash inspect sample_logs/2026-01-12/google-maps-es-01.jsonl",
)
COLUMNS = 100
"""The widest line; longer ones go on in the next, as on a terminal."""

_ACROSS, _DOWN, _MARGIN, _BAR = 8.4, 19, 18, 34  # of a character of 14 pixels; around the text; above it
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"
_STYLES = (
    (re.compile(r"\$ "), "#7ee787"),
    (re.compile(r"errors +\d|needs attention: .*error|skipped: "), "#ff7b72"),
    (re.compile(r"warnings +\d|needs attention: "), "#d29922"),
    (re.compile(r"notes +\d"), "#8b949e"),
    (re.compile(r"\d[\d,]* (?:records?|of) "), "#79c0ff"),
)
_PLAIN = "#e6edf3"


class Shown(NamedTuple):
    """A command and what it printed."""

    command: str
    lines: list[str]


def session() -> list[Shown]:
    """The commands, run one after the other in a new folder that holds the sample logs."""
    with TemporaryDirectory() as name:
        work = Path(name) / "work"
        shutil.copytree(ROOT / "sample_logs", work / "sample_logs")
        return [Shown(command, _printed(command, work)) for command in COMMANDS]


def _printed(command: str, work: Path) -> list[str]:
    program, *arguments = command.split()
    assert program == "chatsquash"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CHATSQUASH_")}
    environment = {**clean, "HOME": str(work.parent), "XDG_CONFIG_HOME": str(work.parent), "PYTHONUTF8": "1"}
    asked = [sys.executable, "-m", "chatsquash", *arguments]
    run = subprocess.run(
        asked, cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, timeout=120
    )
    return run.stdout.decode().splitlines()


def drawn(shown: list[Shown]) -> str:
    """A session as SVG."""
    lines = []
    for each in shown:
        lines += ["", *_wrapped(f"$ {each.command}"), *(part for line in each.lines for part in _wrapped(line))]
    width, height = round(COLUMNS * _ACROSS + 2 * _MARGIN), _BAR + (len(lines) - 1) * _DOWN + _MARGIN
    dots = "".join(
        f'<circle cx="{20 + 20 * at}" cy="18" r="6" fill="{fill}"/>'
        for at, fill in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))
    )
    texts = "\n".join(_text(line, _BAR + at * _DOWN) for at, line in enumerate(lines) if line)
    title = escape("; ".join(each.command for each in shown))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>A terminal: {title}</title>
<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="#0d1117" stroke="#6e7681"/>
{dots}
<g font-family="{_FONT}" font-size="14" fill="{_PLAIN}">
{texts}
</g>
</svg>
"""


def _wrapped(line: str) -> list[str]:
    """A line as a terminal shows it, with more lines where it is too long."""
    line = line.expandtabs()
    return [line[at : at + COLUMNS] for at in range(0, max(1, len(line)), COLUMNS)]


def _text(line: str, down: int) -> str:
    """A line; its length is given, so that columns stand in line in any font."""
    fill = next((f' fill="{colour}"' for begins, colour in _STYLES if begins.match(line)), "")
    length = f'textLength="{len(line) * _ACROSS:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{_MARGIN}" y="{down}" {length} xml:space="preserve"{fill}>{escape(line)}</text>'


def timeless(picture: str) -> str:
    """A picture without what differs from run to run: seconds, and megabytes a second."""
    untimed = re.sub(r"[\d,.]+ s (for [\d,.]+ \w+)( \([\d,]+ MB/s\))?", r"0.00 s \1", picture)
    return re.sub(r'textLength="[\d.]+"(?=[^>]*>[^<]*0\.00 s for)', "", untimed)


def write() -> None:
    """Draw it anew, unless only times would change."""
    made = drawn(session())
    if not PICTURE.exists() or timeless(made) != timeless(PICTURE.read_text(encoding="utf-8")):
        PICTURE.write_text(made, encoding="utf-8")
