"""All texts that chatsquash prints, as one listing to read from top to bottom: ``python -m tests.messages``.

``make docs`` writes it to ``tests/messages.txt``, so that a change of a text shows in the diff next to its neighbours.
Placeholders have the name of their value, as in ``{path}``.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import click

from chatsquash.checks import explanations, rules
from chatsquash.cli.main import cli
from tests import prose

SECTIONS = ("Errors", "Findings", "Help", "Other texts")
_NO_TEXT = re.compile(r"\\[sdwbSDWBt]|\(\?|\bSELECT\b|\bCallable\[")
"""Strings that are regular expressions, queries or types."""


def listing() -> str:
    """Return the listing: errors by module, findings by code, help by command, then all other texts by module."""
    errors: dict[str, list[str]] = defaultdict(list)
    others: dict[str, list[str]] = defaultdict(list)
    for path in sorted(prose.package().rglob("*.py")):
        module = path.relative_to(prose.package()).as_posix()
        for text, is_error in _texts(ast.parse(path.read_text(encoding="utf-8"))):
            (errors if is_error else others)[module].append(text)
    parts = [_by_module(errors), _findings(), "\n\n".join(_help()), _by_module(others)]
    return "\n".join(f"{title}\n{'=' * len(title)}\n\n{part}\n" for title, part in zip(SECTIONS, parts, strict=True))


def _by_module(texts: dict[str, list[str]]) -> str:
    return "\n\n".join("\n".join([module, *(f"  {text}" for text in texts[module])]) for module in texts)


def _texts(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """The strings of a module that are sentences or phrases, in order, each with whether it is part of a ``raise``."""
    raised = {part for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)}
    for node in _in_order(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and (text := _text(node)):
            if prose.is_message(text) and not _NO_TEXT.search(text):
                yield " ".join(text.split()), node in raised


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Every node from top to bottom, without docstrings and the literal parts of f-strings."""
    yield node
    for child in ast.iter_child_nodes(node):
        is_part = isinstance(child, ast.Constant) and isinstance(node, ast.Expr | ast.JoinedStr)
        is_part = is_part or (isinstance(node, ast.AnnAssign) and child is node.annotation)
        yield from () if is_part else _in_order(child)


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    parts = (part.value if isinstance(part, ast.Constant) else f"{{{_name(part)}}}" for part in node.values)
    return "".join(map(str, parts))


def _name(node: ast.AST) -> str:
    """A short name for the value of a placeholder."""
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)]
    first = names[0] if names else None
    return first.attr if isinstance(first, ast.Attribute) else first.id if isinstance(first, ast.Name) else "..."


def _findings() -> str:
    """The first sentence of each finding's page, and the sentence with its remedy."""
    return "\n".join(
        f"{code} ({'/'.join(rule.severities)})\n  {explanations.meaning(code)}\n  {explanations.remedy(code)}"
        for code, rule in sorted(rules().items())
    )


def _help() -> Iterator[str]:
    """The help of each command and of all its options."""
    for name, command in cli.commands_with_subcommands.items():
        lines = [f"chatsquash {name}", *(f"  {line}" for line in (command.help or "").splitlines() if line.strip())]
        options = [param for param in command.params if isinstance(param, click.Option)]
        lines += [f"  {'/'.join(each.opts)}: {' '.join((each.help or '').split())}" for each in options]
        yield "\n".join(lines)


if __name__ == "__main__":
    print(listing(), end="")
