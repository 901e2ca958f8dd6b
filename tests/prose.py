"""Words and names that read as translated, counted, and a ratchet: ``python -m tests.prose``.

Without arguments, prints how often each pattern occurs in the documentation, in messages, in docstrings with comments, and
in identifiers. The exit code is 1 if a count is larger than the one in ``tests/prose.json``; ``--record`` writes the
counts if none is larger, and with ``--force`` in any case. With files or folders as arguments, prints every place in them.
"""

import argparse
import ast
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests import house

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")
GOALS = {"docs": 1, "messages": 1, "docstrings": 3}
"""How often each pattern may occur in 10,000 words."""
MOST_WORDS = 70_000
"""The limit for the words below ``docs/``, as ``wc -w`` counts them."""


class Pattern(NamedTuple):
    """A word or construction, with what to write instead."""

    regex: re.Pattern[str]
    instead: str


def _pattern(regex: str, instead: str) -> Pattern:
    return Pattern(re.compile(regex, re.IGNORECASE), instead)


_START = r"(?:^|(?<=[.:;!?] )|(?<=[(]))"
_THING = (
    r"(?:it|they|which|that|lines?|files?|pages?|summary|options?|reports?|docs|docstrings?|names?|texts?|findings?|"
    r"logs?|chatsquash|tables?|commands?|requests?|responses?|reply|replies|errors?|headers?|servers?|rows?|schemas?)"
)
_PARTY = r"(?:gateways?|proxy|proxies|firewall|flag|scenes|NAT|load|servers?|login|tunnel|pipe|extra|symlink)"

PATTERNS = {
    "stand": _pattern(r"\b(?:stands?|stood|standing)\b(?! (?:for|out)\b)(?!-)", "is, is in, follows, precedes"),
    "hold": _pattern(
        r"\b(?:holds?|holding|held)\b(?!-?out)(?! (?:true|for|the lock|a lock|back|Ctrl)\b)",
        "contain, have; keep; check",
    ),
    "tell": _pattern(
        r"(?<!to )(?<!can )(?<!cannot )\b(?:tells?|telling|told)\b(?! (?:you|us)\b)", "report, detect, distinguish"
    ),
    "go on": _pattern(r"\b(?:go|goes|going|went|gone) on\b", "continue"),
    "mend": _pattern(r"\bmend(?:s|ed|ing)?\b", "fix, repair"),
    "lack": _pattern(r"\black(?:s|ed|ing)?\b", "missing, has no, without"),
    "beside": _pattern(r"\bbesides?\b", "next to, in addition to"),
    "behind": _pattern(
        rf"\bbehind\b(?! (?:(?:a|an|the|any|your|its|one|such|HTTPS?) )?{_PARTY}\b)", "after, following"
    ),
    "lie": _pattern(r"\b(?:lies?|lying|lay)\b", "is, is located"),
    "leave out": _pattern(r"\b(?:leaves?|left|leaving)(?: \w+)? out\b", "skip, exclude, omit"),
    "is none": _pattern(
        r"(?<!there )(?<!if it )\b(?:is|are|was|were|has|have|had|with|gives?|for|but|by) none\b(?! of)|\bnone to\b"
        r"|(?<!there )\b(?:is|are|was|were) no (?!longer|more\b|less|need|different|better|worse|way|match|such)\w+",
        "is not a, is not, has no",
    ),
    "whole": _pattern(r"(?<!the )(?<!a )(?<!an )(?<!one )\bwhole\b", "complete, entire, intact"),
    "way": _pattern(r"\b(?:plain|general|fast|slow|usual|common) ways?\b", "path, implementation"),
    "break off": _pattern(r"\b(?:breaks?|broke|broken|breaking) off\b", "be truncated, be interrupted"),
    "anew": _pattern(r"\banew\b", "again, regenerate"),
    "become of": _pattern(r"\bbec[oa]mes? of\b", "the outcome of"),
    "ask for": _pattern(r"\b(?:asks|asked) (?:for|of)\b|\b(?:is|are|was|were) asked\b", "request, require, need"),
    "of its own": _pattern(r"\bof (?:its|their|his) own\b", "its own X, a separate X"),
    "place of": _pattern(r"\bin the place of\b", "instead of"),
    "where for if": _pattern(
        rf"{_START}Where (?:it|they|there|nothing|no|none|one|two|both|an?|the|this|that|these|each|any|some|neither)\b"
        r"|, where (?:there|it|they|nothing|no|none)\b",
        "if, when",
    ),
    "cost": _pattern(
        r"\bcosts? (?:that|its|the|a|this|only|it) (?:line|reply|record|session|part|file|entry|call)s?\b",
        "only X is lost",
    ),
    "who": _pattern(
        rf"(?:{_START}|\b(?:by|for|and|to|or|but) )who(?:ever)? (?:\w+s|\w+ed|has|is|had|was)\b(?![^.]*\?)", "the user"
    ),
    "what clause": _pattern(
        r"(?:^|(?<=[.:;!?,(] )|\b(?:of|with|by|for|from|to|in|and|or|but|as|than|all|is|are|keeps?|leaves?|writes?|reads?|"
        r"takes?|gives?|replaces?|removes?|uses?|adds?|has|have|that) )"
        r"what (?:is|was|are|were|has|have|had|it|they|can|could|cannot|does|do|did|comes|came|a|an|the|no|nothing|each|one|"
        r"all|\w+s)\b(?![^.]*\?)",
        "a noun",
    ),
    "such": _pattern(r"\b(?:is|are) such\b|\bsuch, too\b", "repeat the noun"),
    "alone": _pattern(r"(?<!let )(?<!stand-)\balone\b", "only, by itself"),
    "let in": _pattern(r"\blets? (?:in|go|through)\b", "allow, release"),
    "say": _pattern(rf"\b{_THING} says?\b|\bsays? (?:of|nothing|otherwise)\b", "contain, state, report, name"),
    "know of": _pattern(r"\bkn(?:ows?|own|ew) of\b", "has, recognizes"),
    "but for": _pattern(r"\bbut for\b|\b(?:all|nothing|none) but\b", "except, only"),
    "come along": _pattern(r"\b(?:come|comes|came) (?:along|out of|apart)\b", "result, be included"),
}

_IDIOMS = frozenset(
    "changed closed compiled converted decoded done dropped encoded enabled escaped expanded expected failed filtered "
    "finished hidden known masked merged parsed redacted removed rendered seen selected skipped sorted started "
    "truncated".split()
)
"""Participles that Python code uses as names in general."""
_COUNTS = frozenset(
    "carried cleaned copied found joined logged lost refused replaced rewritten withheld written".split()
)
"""Participles that the output has as members, so that attributes and arguments have their names."""
_FOREIGN = frozenset("bound checked named packed".split())
"""Participles that libraries have as arguments and attributes."""
PARTICIPLES = (house.PARTICIPLES | {"kept"}) - _IDIOMS

_NO_PROSE = re.compile(r"<!--.*?-->|^\s*```.*?^\s*```$|^\s*<[^\n]*>$|\A---\n.*?\n---\n", re.MULTILINE | re.DOTALL)
_PARAGRAPHS = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=\s*\|)")


class Text(NamedTuple):
    """A paragraph, message, docstring or comment and its place."""

    kind: str
    path: Path
    line: int
    text: str


class Hit(NamedTuple):
    """A place where a pattern occurs."""

    kind: str
    path: Path
    line: int
    pattern: str
    text: str

    def __str__(self) -> str:
        where = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{where}:{self.line}: {self.kind}: {self.pattern}: {self.text}"


def page_texts(path: Path, text: str | None = None) -> Iterator[Text]:
    """The paragraphs of a Markdown page, without fenced blocks; code spans become ``X``."""
    page = path.read_text(encoding="utf-8") if text is None else text
    page = _NO_PROSE.sub(lambda match: "\n" * match[0].count("\n"), page)
    line = 1
    for part in re.split(f"({_PARAGRAPHS.pattern})", page):
        if part.strip():
            lead = len(part) - len(part.lstrip())
            yield Text("docs", path, line + part.count("\n", 0, lead), plain(part))
        line += part.count("\n")


def plain(text: str) -> str:
    """Text on one line, with ``X`` for each code span and links replaced by their labels."""
    text = re.sub(r"``[^`]+``|`[^`]*`", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", text).split())


def module_texts(path: Path) -> Iterator[Text]:
    """The docstrings, messages and comments of a module; messages are all other strings with a space."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and _is_string(node.value)}
    within = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if node in docstrings:
            yield Text("docstrings", path, node.lineno, plain(node.value))
        elif isinstance(node, ast.JoinedStr):
            parts = (part.value if _is_string(part) else "X" for part in node.values)
            yield from _message(path, node.lineno, "".join(parts))
        elif _is_string(node) and node not in within:
            yield from _message(path, node.lineno, node.value)
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield Text("docstrings", path, token.start[0], token.string.lstrip("# "))


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _message(path: Path, line: int, text: str) -> Iterator[Text]:
    if is_message(text):
        yield Text("messages", path, line, plain(text))


def is_message(text: str) -> bool:
    """Whether a string of a module is a phrase, and not a name or a pattern."""
    return len(re.findall(r"[A-Za-z]{2,}", text)) > 1 and " " in text.strip()


def texts(paths: Iterable[Path]) -> Iterator[Text]:
    """The texts of pages and modules."""
    for path in paths:
        yield from module_texts(path) if path.suffix == ".py" else page_texts(path)


def hits(found: Iterable[Text]) -> Iterator[Hit]:
    """Every place where a pattern occurs in texts."""
    for each in found:
        for name, pattern in PATTERNS.items():
            for match in pattern.regex.finditer(each.text):
                start = max(0, match.start() - 50)
                yield Hit(each.kind, each.path, each.line, name, each.text[start : match.end() + 50])


def identifier_hits(path: Path) -> Iterator[Hit]:
    """Every use of a name that is a bare participle."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    fields = {
        each.target
        for node in nodes
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.AnnAssign)
    }
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                banned = PARTICIPLES - _COUNTS if node in fields else PARTICIPLES
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                banned = PARTICIPLES - _COUNTS
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                banned = PARTICIPLES - _COUNTS - _FOREIGN
            case _:
                continue
        if name.strip("_").lower() in banned:
            yield Hit("identifiers", path, node.lineno, "participle", name)


def pages() -> list[Path]:
    """The pages that people read, without the changelog of unreleased work."""
    folders = (ROOT.glob("*.md"), (ROOT / "docs").rglob("*.md"), package().glob("checks/pages/*.md"))
    return sorted({*(path for folder in folders for path in folder), ROOT / "sample_logs/README.md"})


def package() -> Path:
    """The folder of the package."""
    return ROOT / "pipeline" / house.PACKAGE


def counts() -> dict[str, dict[str, int]]:
    """How often each pattern occurs, and the number of words, by kind of text."""
    modules = sorted(package().rglob("*.py"))
    every = list(texts([*pages(), *modules]))
    words: Counter[str] = Counter()
    for each in every:
        words[each.kind] += len(each.text.split())
    tally = Counter((hit.kind, hit.pattern) for hit in hits(every))
    made = {kind: {name: tally[kind, name] for name in PATTERNS} | {"words": words[kind]} for kind in GOALS}
    made["docs"]["words below docs/"] = sum(
        len(path.read_text(encoding="utf-8").split()) for path in (ROOT / "docs").rglob("*.md")
    )
    made["identifiers"] = {"participle": sum(1 for path in modules for _ in identifier_hits(path))}
    return made


def worse(now: dict[str, dict[str, int]], recorded: dict[str, dict[str, int]]) -> list[str]:
    """The counts that are larger than recorded."""
    return [
        f"{kind}: {name}: {count}, recorded {recorded[kind][name]}"
        for kind, by_name in now.items()
        for name, count in by_name.items()
        if not name.startswith("words") and count > recorded[kind][name]
    ]


def _table(now: dict[str, dict[str, int]]) -> str:
    rows = [f"{'pattern':<14}" + "".join(f"{kind:>22}" for kind in GOALS)]
    for name in PATTERNS:
        cells = ((now[kind][name], now[kind][name] / now[kind]["words"] * 10_000) for kind in GOALS)
        rows.append(f"{name:<14}" + "".join(f"{count:>12} {rate:>9.1f}" for count, rate in cells))
    rows.append(f"participles as identifiers: {now['identifiers']['participle']}")
    rows.append(f"words below docs/: {now['docs']['words below docs/']}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--force", action="store_true")
    options = parser.parse_args()
    if options.paths:
        folders = [path.resolve() for path in options.paths]
        files = [
            file
            for path in folders
            for file in (sorted((*path.rglob("*.py"), *path.rglob("*.md"))) if path.is_dir() else [path])
        ]
        for hit in hits(texts(files)):
            print(hit)
        for file in files:
            for hit in identifier_hits(file) if file.suffix == ".py" else ():
                print(hit)
        return 0
    now = counts()
    print(_table(now))
    larger = worse(now, json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else []
    if options.record and (options.force or not larger):
        RECORD.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
    print("\n".join(larger), file=sys.stderr)
    return bool(larger)


if __name__ == "__main__":
    sys.exit(main())
