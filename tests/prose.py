"""Where prose is hard to read: long sentences, and words that CONTRIBUTING.md replaces.

``python -m tests.prose docs/checks.md`` prints what the check finds in a page.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

LONGEST = 30
"""The words that a sentence may have."""

_NO_PROSE = re.compile(r"<!--.*?-->|^\s*```.*?^\s*```$|^\s*<[^\n]*>$|^(?:---\n.*?\n---)\n", re.MULTILINE | re.DOTALL)
_PARTS = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=\s*\|)")
_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=:)\s+(?=[A-Z*(\"])")


class Violation(NamedTuple):
    line: int
    says: str


class Sentence(NamedTuple):
    line: int
    text: str

    def words(self) -> int:
        return len(self.text.split())


def sentences(page: str) -> Iterator[Sentence]:
    """The sentences of a page's paragraphs and lists, with code as ``X``; not those of tables, headings and blocks."""
    text = _NO_PROSE.sub(lambda found: "\n" * found[0].count("\n"), page)
    at = 0
    for part in _PARTS.split(text):
        at = text.index(part, at)
        line = text.count("\n", 0, at + len(part) - len(part.lstrip())) + 1
        plain = _plain(part)
        if plain and plain[0] not in "|#":
            yield from (Sentence(line, sentence) for sentence in _ENDS.split(plain))


def _plain(part: str) -> str:
    text = re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", part.strip())
    text = re.sub(r"``[^`]+``|`[^`]*`", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(text.split())


def replaced_words() -> dict[str, str]:
    """The words that CONTRIBUTING.md replaces, with what to write instead."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", text.split("| not | but |", 1)[1].split("\n\n", 1)[0], re.MULTILINE)
    return {word: instead for row, instead in rows for word in row.split(", ")}


def findings(page: str) -> Iterator[Violation]:
    """What has to be mended in a page."""
    listed = list(sentences(page))
    yield from (Violation(s.line, f"{s.words()} words: {s.text}") for s in listed if s.words() > LONGEST)
    for word, instead in replaced_words().items():
        looked_for = re.compile(rf"(?<!\w){word}(?!\w)", re.IGNORECASE)
        yield from (
            Violation(s.line, f"{word!r}, write {instead}: {s.text}") for s in listed if looked_for.search(s.text)
        )


def main() -> None:
    for name in sys.argv[1:]:
        page = Path(name).read_text(encoding="utf-8")
        listed = list(sentences(page))
        print(f"{name}: {len(listed)} sentences")
        for found in findings(page):
            print(f"{name}:{found.line}: {found.says}")


if __name__ == "__main__":
    main()
