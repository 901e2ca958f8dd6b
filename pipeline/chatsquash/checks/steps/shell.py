"""Parse shell text into simple commands, including those in substitutions, subshells and nested shells.

Quoted texts, comments and here-documents are not commands. The text is scanned once, and nested shells at most a few
times.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from chatsquash.core.lazy import lazy_compile

_RUN = lazy_compile(r"[^\s'\"\\$`;&|()<>#]+")
_QUOTED_RUN = lazy_compile(r"[^\"\\$`]+")
_DEEPEST = 20
"""The maximum nesting of substitutions; deeper ones are skipped."""
_SUBSTITUTED = "\0"
"""The output of a substitution in a word."""


class Command(Struct, gc=False):
    """A simple command."""

    words: list[str]
    stdin: str = ""
    """The text of a here-document."""
    output: str = ""
    """The file to which the output is redirected."""
    appends: bool = False


class _Scanner:
    """A position in a shell text, and the commands before it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.commands: list[Command] = []

    def scan(self, depth: int = 0, *, end: str = "") -> None:
        """Scan commands up to ``end`` (the parenthesis of a substitution) or the end of the text."""
        reader = _CommandReader(self, depth)
        parentheses = 0
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == end and not parentheses:
                self.at += 1
                break
            if sign in "()":
                parentheses += 1 if sign == "(" else -1 if parentheses else 0
            reader.read(sign)
        reader.finish_command()


class _CommandReader:
    """Reads words into commands."""

    def __init__(self, scanner: _Scanner, depth: int) -> None:
        self.scanner = scanner
        self.depth = depth
        self.command = Command([])
        self.word: str | list[str] | None = None
        self.pieces: list[str] = []
        self.has_word = False
        self.target = ""
        """The kind of redirection whose target is the next word."""
        self.documents: list[tuple[str, Command]] = []
        """The here-documents that begin on the next line."""

    def read(self, sign: str) -> None:
        """Read from the current position, at which ``sign`` is."""
        scanner = self.scanner
        if sign.isspace():
            self.finish_word()
            if sign == "\n":
                self.finish_command()
                scanner.at += 1
                self._skip_documents()
                return
            scanner.at += 1
        elif sign in ";|()":
            self.finish_command()
            scanner.at += 1
        elif sign == "&":
            self._read_ampersand()
        elif sign in "<>":
            self._redirect(sign)
        elif sign == "#":
            self._read_hash()
        elif sign in "'\"\\$`":
            self._read_special(sign)
        else:
            match = _RUN.match(scanner.text, scanner.at)
            end = match.end() if match else scanner.at + 1
            self._add(scanner.text[scanner.at : end])
            scanner.at = end

    def finish_word(self) -> None:
        """End the current word."""
        if not self.has_word:
            return
        word = "".join(self.pieces)
        self.pieces, self.has_word = [], False
        target, self.target = self.target, ""
        if target.startswith("<<"):
            self.documents.append((target[2:] + word, self.command))
        elif target.startswith(">"):
            self.command.output, self.command.appends = word, target == ">>"
        elif not target:
            self.command.words.append(word)

    def finish_command(self) -> None:
        """End the current command."""
        self.finish_word()
        self.target = ""
        if self.command.words or self.command.output:
            self.scanner.commands.append(self.command)
        self.command = Command([])

    def _add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.has_word = True

    def _read_ampersand(self) -> None:
        scanner = self.scanner
        if scanner.text.startswith("&>", scanner.at):
            self.finish_word()
            scanner.at += 2
            self.target = ">"
        else:
            self.finish_command()
            scanner.at += 1

    def _read_hash(self) -> None:
        scanner = self.scanner
        if self.has_word:
            self._add("#")
            scanner.at += 1
            return
        end = scanner.text.find("\n", scanner.at)
        scanner.at = len(scanner.text) if end < 0 else end

    def _redirect(self, sign: str) -> None:
        scanner = self.scanner
        text, at = scanner.text, scanner.at
        if text.startswith((f"{sign}(",), at):  # a process substitution
            self._add(_SUBSTITUTED)
            scanner.at = at + 2
            self._substitute(")")
            return
        if self.has_word and len(self.pieces) == 1 and self.pieces[0].isdecimal():
            self.pieces, self.has_word = [], False  # the number of a file descriptor
        self.finish_word()
        for operator in ("<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"):
            if text.startswith(operator, at):
                break
        scanner.at = at + len(operator)
        if operator in ("<<", "<<-"):
            self.target = "<<" + operator[2:]
        else:
            self.target = ">>" if operator == ">>" else ">" if operator in (">", ">|") else "&"

    def _read_special(self, sign: str) -> None:
        scanner = self.scanner
        text, at = scanner.text, scanner.at
        if sign == "'" or (sign == "$" and text.startswith("$'", at)):
            begin = at + 1 if sign == "'" else at + 2
            end = text.find("'", begin)
            end = len(text) if end < 0 else end
            self._add(text[begin:end])
            scanner.at = end + 1
        elif sign == '"':
            scanner.at = at + 1
            self._read_quoted()
        elif sign == "\\":
            if text[at + 1 : at + 2] != "\n":  # otherwise, the line continues
                self._add(text[at + 1 : at + 2])
            scanner.at = at + 2
        else:
            self._read_expansion(sign)

    def _read_expansion(self, sign: str) -> None:
        scanner = self.scanner
        if sign == "`":
            self._add(_SUBSTITUTED)
            scanner.at += 1
            self._substitute("`")
        elif scanner.text.startswith("$(", scanner.at):
            self._add(_SUBSTITUTED)
            scanner.at += 2
            self._substitute(")")
        else:
            self._add("$")
            scanner.at += 1

    def _read_quoted(self) -> None:
        """Read up to the closing quotation mark; substitutions within are commands."""
        scanner = self.scanner
        self._add("")
        while scanner.at < len(scanner.text):
            sign = scanner.text[scanner.at]
            if sign == '"':
                scanner.at += 1
                return
            if sign == "\\":
                self._add(scanner.text[scanner.at + 1 : scanner.at + 2])
                scanner.at += 2
            elif sign in "$`":
                self._read_expansion(sign)
            elif match := _QUOTED_RUN.match(scanner.text, scanner.at):
                self._add(match[0])
                scanner.at = match.end()

    def _substitute(self, end: str) -> None:
        scanner = self.scanner
        if self.depth >= _DEEPEST:
            scanner.at = len(scanner.text)  # nobody writes this by hand
        else:
            scanner.scan(self.depth + 1, end=end)

    def _skip_documents(self) -> None:
        """Skip the here-documents that begin at the current line."""
        documents, self.documents = self.documents, []
        scanner = self.scanner
        for mark, command in documents:
            delimiter = mark.removeprefix("-")
            begin = at = scanner.at
            while at < len(scanner.text):
                end = scanner.text.find("\n", at)
                end = len(scanner.text) if end < 0 else end
                line = scanner.text[at:end] if end - at <= len(delimiter) + 1000 else ""
                if (line.lstrip("\t") if mark != delimiter else line) == delimiter:
                    break
                at = end + 1
            command.stdin = scanner.text[begin : min(at, len(scanner.text))]
            scanner.at = (
                min(len(scanner.text), at + len(delimiter) + 1) if at < len(scanner.text) else len(scanner.text)
            )


_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "fi", "done"})
_WRAPPERS = {
    **dict.fromkeys(("command", "exec", "builtin", "nohup", "setsid", "stdbuf", "unbuffer", "watch"), 0),
    **dict.fromkeys(("sudo", "env", "doas", "nice", "ionice", "xargs"), 0),
    "timeout": 1,
}
"""Commands that run their arguments as a command, with the number of arguments before it."""
_VALUES = frozenset({"-u", "-g", "-n", "-I", "-P", "-L", "-d", "-a", "-E", "-s", "-k", "-i", "-o", "-e", "-c"})
"""Options of these commands with a value."""
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "pwsh", "powershell"})
_CONTAINERS = frozenset({"docker", "podman", "kubectl", "ssh", "su", "chroot", "apptainer", "singularity"})
_LONGEST = 1 << 20
"""The number of characters of a text that are parsed; longer ones write files."""
_NESTED = 4
"""The maximum nesting of shells."""


def commands(text: str, depth: int = 0) -> Iterator[Command]:
    """Yield the simple commands in a shell text, without assignments, keywords and commands such as ``sudo``."""
    scanner = _Scanner(text[:_LONGEST])
    scanner.scan()
    for command in scanner.commands:
        yield from _unwrapped(command, depth)


def from_words(words: list[str]) -> Iterator[Command]:
    """Yield the simple commands of a command given as a list of arguments."""
    yield from _unwrapped(Command(words), 0)


def _unwrapped(command: Command, depth: int) -> Iterator[Command]:
    words = _without_prefix(command.words)
    name = words[0].rpartition("/")[2].removesuffix(".exe") if words else ""
    if depth < _NESTED and (name in _SHELLS or name == "eval" or name in _CONTAINERS):
        yield from _nested(name, words, command.stdin, depth + 1)
    if words:
        yield Command([name, *words[1:]], command.stdin, command.output, command.appends)


def _nested(name: str, words: list[str], stdin: str, depth: int) -> Iterator[Command]:
    """Yield the commands that a shell, or a command such as ``docker exec``, runs."""
    if name == "eval":
        yield from commands(" ".join(words[1:]), depth)
    elif name in _CONTAINERS:
        for place, word in enumerate(words[1:], 1):
            if word.rpartition("/")[2] in _SHELLS or word == "git":
                yield from _unwrapped(Command(words[place:], stdin), depth)
                break
            if " " in word and place > 1:
                yield from commands(word, depth)
                break
    else:
        for place, word in enumerate(words[1:], 1):
            if not word.startswith("-"):
                return  # a script
            if word.lower() in ("-c", "-command") or (not word.startswith("--") and word.endswith("c")):
                yield from commands(
                    " ".join(words[place + 1 :]) if name.startswith("p") else "".join(words[place + 1 : place + 2]),
                    depth,
                )
                return
        yield from commands(stdin, depth)


def _without_prefix(words: list[str]) -> list[str]:
    """Remove assignments, keywords and commands that run another one."""
    at = 0
    while at < len(words):
        word = words[at]
        if word in _KEYWORDS or _is_assignment(word):
            at += 1
        elif (name := word.rpartition("/")[2]) in _WRAPPERS:
            at += 1
            while at < len(words) and words[at].startswith("-"):
                at += 2 if words[at] in _VALUES else 1
            at += _WRAPPERS[name]
        else:
            break
    return words[at:]


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()
