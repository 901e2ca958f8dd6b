"""Passwords in command-line flags: determine the command to which a flag belongs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction.rules import Rule, words

_REACH = 200
"""The number of characters before a flag in which its command is searched for."""
_NEARBY = 16
"""The number of characters before a flag that contain most of the commands without passwords."""
_BEFORE = frozenset(" \t\n\"'")
"""The characters before a flag, including those in argument lists."""
_PIECE = lazy_compile(r"[\w.@:=+-]+|[|;&\"']")
"""A word of a command, a separator or a quote."""
_VALUED = frozenset(("-u", "-U", "-h", "-H", "-D", "-d", "-n", "-a", "--user", "--username", "--host", "--name"))
"""Flags whose values may equal the name of a command: ``-u mysql``."""
_OTHERS = words("""
    ssh scp sftp rsync mkdir cp mv tar grep egrep zgrep curl wget make nc ncat netcat netstat lsof ps psql pg_dump
    pg_restore createdb git kubectl java python python3 node perl ruby run compose ssh-copy-id mosh install ping nmap
    tee read set export declare rmdir touch pgrep kill xargs systemctl chmod chown ip iptables
""")
"""The commands in which the same flags have another meaning."""


class Commands:
    """Looks up the rules for the command of a flag."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_word: dict[str, list[tuple[str, Rule]]] = {}
        self.literals: set[str] = set()
        for rule in rules:
            self.literals.update(rule.literals)
            for command in rule.commands:
                first, _, last = command.rpartition(" ")
                self._by_word.setdefault(last, []).append((first, rule))

    def rules(self, text: str, at: int) -> Sequence[Rule]:
        """Return the rules for the command before an offset, or nothing if no flag may start there."""
        if not at or text[at - 1] not in _BEFORE:
            return ()
        near = text[max(0, at - _NEARBY) : at].split()
        if not near or near[-1] in _OTHERS:
            return ()
        names = _names(text, at)
        for place, name in enumerate(names):
            if name in _OTHERS:
                return ()
            entries = self._by_word.get(name, ())
            matching = [rule for first, rule in entries if not first or first in names[place:]]
            if matching:
                return matching
        return ()


def _names(text: str, at: int) -> list[str]:
    """Return the words before an offset that may be the name of the command, the nearest first."""
    names: list[str] = []
    quotes = {'"': 0, "'": 0}
    pieces = _PIECE.findall(text, _line_start(text, at), at)
    for place in range(len(pieces) - 1, -1, -1):
        piece = pieces[place]
        if piece in quotes:
            quotes[piece] += 1
        elif piece in "|;&":
            if not any(count % 2 for count in quotes.values()):  # otherwise the flag is inside a quoted argument
                break
        elif not piece.startswith("-") and not (place and pieces[place - 1] in _VALUED):
            names.append(piece.partition(".")[0].lower())
    return names


def _line_start(text: str, at: int) -> int:
    """Return the start of the line within the search range; a trailing backslash continues a line."""
    start, end = max(0, at - _REACH), at
    while (cut := max(text.rfind("\n", start, end), text.rfind("\\n", start, end))) >= 0:
        if text[cut - 1 : cut] != "\\":
            return cut + (1 if text[cut] == "\n" else 2)
        end = cut - 1
    return start
