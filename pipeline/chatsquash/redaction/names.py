"""Names: those that a user lists, in any case and form, and those of users in the paths of home directories."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.redaction.addresses import FILE_ENDINGS
from chatsquash.redaction.encodings import UnescapedText
from chatsquash.redaction.forms import apart, everywhere, unescaped
from chatsquash.redaction.hits import Finder, Hit
from chatsquash.redaction.patterns import Bare, Filling, Needles, printable_text

_OPTION = "--redact names"
_BETWEEN_WORDS = re.compile(r"[ \t_.+'\u2019-]{1,3}")
"""What may stand between the words of a name, or nothing: ``Ana Maria``, ``ana_maria``, ``AnaMaria``."""
_FILLING = Filling(" \t\r\n\\\"'+>|#*_.-\u2019\u00a0\u00ad\u200b\ufeff")
_FILLED = re.compile(r"[ \t\r\n\\\"'+>|#*_.\u2019\u00a0\u00ad\u200b\ufeff-]++")
_PIECED = re.compile(
    "[^\\W\\d_][\u0300-\u036f\u3099\u309a]{1,4}+|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?+"
    "|[\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1ffc\ufb00-\ufb17]"
)
"""A letter of several characters, and one that is of several without its case."""
_PIECE = re.compile(
    "[\u0300-\u036f\u3099\u309a\u1100-\u1112\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1ffc\ufb00-\ufb17]"
)


class _ListedName(NamedTuple):
    """A name without what is between its words, and where these begin."""

    text: str
    words: frozenset[int]


@lru_cache(maxsize=2)
def names(data: bytes) -> Finder:
    """Finds the names that a file lists, a line each; ``#`` begins a comment.

    A name is found as whole words, whatever their case, and whatever of ``_BETWEEN_WORDS`` is between them; it has one
    value, and so one placeholder, however it is written.  Raises ``UsageError``.
    """
    return _Names([*_parse_names(data)]).find


def _parse_names(data: bytes) -> Iterator[_ListedName]:
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise UsageError(f"{_OPTION}: the file is not valid UTF-8") from None
    count = 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = [word for word in _FILLED.split(_fold(UnescapedText(line.strip())).text) if word]
        if not any(map(str.isalnum, "".join(words))):
            raise UsageError(f"{_OPTION}, line {number}: a name has a letter or a digit")
        count += 1
        yield _ListedName(printable_text("".join(words)), frozenset(accumulate(map(len, words))))
    if not count:
        raise UsageError(f"{_OPTION}: the file lists no name")


class _Names:
    """Finds names."""

    def __init__(self, listed: list[_ListedName]) -> None:
        self._names: dict[str, list[_ListedName]] = {}
        for name in listed:
            self._names.setdefault(name.text, []).append(name)
        self._needles = Needles(self._names)

    def find(self, text: str) -> list[Hit]:
        """The names in a text, in order, none within another."""
        return everywhere(text, self._search)

    def _search(self, reading: UnescapedText) -> Iterator[Hit]:
        folded = _fold(UnescapedText(reading.text))
        bare = Bare(printable_text(folded.text), _FILLING)
        for first, last in self._needles.all_places(bare.text):
            start, end = bare.span(first, last)
            name = bare.text[first:last]
            if any(_has_words_of(folded.text[start:end], each) for each in self._names[name]):
                start, end = folded.span(start, end)
                if _is_whole(reading.text, start, end):
                    yield Hit(*reading.span(start, end), "NAME", "name", name)


def _fold(reading: UnescapedText) -> UnescapedText:
    """A text without the case of its letters, each of which is one character where there is one."""
    pieced = reading.then(_PIECED, lambda match: _one(match[0])) if _PIECE.search(reading.text) else reading
    plain = pieced.text.casefold()
    if len(plain) != len(pieced.text):
        plain = "".join(each if len(folded := each.casefold()) != 1 else folded for each in pieced.text)
    return pieced.spelled(plain)


def _one(letters: str) -> str:
    """A letter of several characters as one, unless that is of several without its case, as some of Greek are."""
    plain = letters.casefold()
    one = unicodedata.normalize("NFC", plain)
    return one if one.casefold() == one else plain


def _has_words_of(text: str, name: _ListedName) -> bool:
    """Whether what fills a text that is a name but for filling stands between the words of it, or is a break."""
    place = done = 0
    for filling in _FILLED.finditer(text):
        place += filling.start() - done
        done = filling.end()
        is_break = "\n" in filling[0] or "\r" in filling[0]
        if not is_break and not (place in name.words and _BETWEEN_WORDS.fullmatch(filling[0])):
            return False
    return True


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word goes on from a name; an upper letter begins another word of an identifier."""
    before, first, second = text[start - 1 : start], text[start], text[start + 1 : start + 2]
    last, after = text[end - 1], text[end : end + 1]
    begins = not _goes_on(before, first) or (first.isupper() and (before.islower() or second.islower()))
    ends = not _goes_on(after, last) or (after.isupper() and last.islower())
    return begins and ends and not unicodedata.combining(after or " ")


def _goes_on(beside: str, edge: str) -> bool:
    """Whether a word goes on from a character to the one beside it; scripts without case may have no spaces."""
    if edge.isdigit():
        return beside.isdigit()
    return beside.isalpha() and edge.lower() != edge.upper()


KEPT = frozenset(
    (
        *("user", "users", "username", "yourname", "your-name", "your_name", "yourusername", "you", "me", "name", "x"),
        *("shared", "public", "default", "all", "guest", "nobody", "home", "project", "projects", "workspace", "work"),
        *("root", "admin", "administrator", "ubuntu", "debian", "centos", "fedora", "ec2-user", "opc", "pi", "vagrant"),
        *("runner", "runneradmin", "circleci", "jenkins", "travis", "gitlab-runner", "builder", "build", "azureuser"),
        *("vscode", "codespace", "coder", "gitpod", "node", "app", "jovyan", "sandbox", "agent", "linuxbrew", "git"),
        *("www-data", "nginx", "postgres", "mysql", "redis", "daemon", "service", "deploy", "deployer", "steam"),
        *("example", "foo", "bar", "baz", "test", "testuser", "someone", "somebody", "johndoe", "index", "page"),
        *("appuser", "devuser", "nonroot", "containeruser", "containeradministrator", "cloudshell-user", "library"),
        *("buildkite-agent", "defaultuser0", "defaultapppool", "allusers"),
    )
)
"""Names of accounts that are nobody's, in lower case."""
_SLASH = r"(?:/|\\{1,16}+/?+)"
_WORD = r"[\w.+-]{1,64}+"
_WORDS = r"[^\\/:*?\"'<>|${}%\s]{1,64}+(?: [^\\/:*?\"'<>|${}%\s]{1,64}+){1,4}+"
_HOME = re.compile(rf"(?:homes|home[0-9$]?|[Uu]sers|USERS|Documents and Settings)(?:{_SLASH}|(?P<dash>-))")
_USER = re.compile(_WORD)
_SPACED_USER = re.compile(rf"{_WORDS}(?={_SLASH})")
_WINDOW = 160
"""Characters before the folder of all homes that tell whether it is one."""
_ABOVE = (
    r"(?:(?:(?:private/)?var|export|usr|data|nfs|net|srv|host|rootfs|mnt|volume[0-9]|System/Volumes/Data"
    r"|Volumes/[\w.-]{1,40}(?: [\w.-]{1,20}){0,3}|[\w-]{1,40}+/\.\.)/)"
)
_UNIX = re.compile(
    rf"(?:(?:\A|[^\w.~/\\-]|(?:\A|[\s\"'=(,])-[A-Za-z])(?:/{{1,3}}|\\{{1,16}}/?){_ABOVE}?"
    r"|(?:sftp|ssh|scp|file|nfs|smb|rsync|ftps?|webdavs?|vscode(?:-remote|-insiders)?|cursor|idea|txmt|zed)://"
    r"[\w.@:%+-]{1,80}/"
    rf"|(?i:wsl(?:\$|\.localhost)){_SLASH}[\w.-]{{1,40}}{_SLASH})\Z"
)
_WINDOWS = re.compile(
    rf"(?:(?:\A|[^A-Za-z])[A-Za-z]:{_SLASH}|(?:\A|[^\w.])/(?:mnt/|cygdrive/|host/)?[a-z]/"
    r"|(?:\A|[\s\"'=(])//[\w.$-]{1,60}/"
    r"|(?:\A|[^\w\\])\\{2,32}[\w.$?-]{1,60}(?:\\{1,16}[\w.$-]{1,60}){0,3}\\{1,16})\Z"
)
_SHARED = re.compile(r"(?:volume[0-9]/|\\{2,32}[\w.-]{1,60}\\{1,16}|smb://[\w.@:-]{1,80}/)\Z")
"""The shares of a file server, whose folder of all homes is called ``homes``."""
_PROJECTS = re.compile(rf"(?:projects{_SLASH}(?:(?:-mnt-[a-z])?-|[A-Z]--)|(?:\A|[\n\"'`(=/\\])(?:-|[A-Z]--))\Z")
"""The name of a folder in which clients keep the logs of a project, after its path: ``projects/-home-ana-x``."""
_DOMAIN = re.compile(
    r"(?P<domain>(?:[\w-]{1,60}\.){1,4}(?:com|net|org|io|eu|uk|de|fr|jp|edu|gov|local|lan|corp|internal|intra))"
    rf"{_SLASH}(?=\w)"
)
"""A domain between the folder of all homes and the user, as ``sssd`` has it: ``/home/corp.com/ana``."""
_MOUNTED = re.compile(
    r"(?<![\w.~-])/(?:run/media/(?P<user>[a-z_][\w.-]{1,31}+)/(?=[^/\s])|media/(?P<owner>[a-z_][\w.-]{1,31}+)/"
    r"(?=[A-Z][A-Z0-9_-]{2,}(?![a-z])|[0-9A-F]{4}-[0-9A-F]{4}(?!\w)|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}))"
)
"""The folder in which udisks mounts the disks of a user, by their labels or ids."""
_TILDE = re.compile(r"~(?<![\w~.]~)(?P<user>[a-z_][\w.-]{1,31}+)(?=/)")
_DASHED = re.compile(r"-(?:home|Users)-(?P<user>[A-Za-z0-9-]{1,80}+)")
_PROMPT = re.compile(r"@[\w.-]{1,64}+:[~/]")
_BEFORE_PROMPT = re.compile(r"(?:\A|[^\w.-])(?P<user>[\w.-]{1,32})\Z")
_LISTED = re.compile(r"[rwx-]{3}[.+@]? {1,4}[0-9]{1,5} {1,4}(?P<user>[\w.-]{1,32}+)(?: {1,4}(?P<group>[\w.-]{1,32}+))?")

_QUOTED = re.compile(
    r"%(?:25){0,3}+5[Cc][Uu]sers%(?:25){0,3}+5[Cc](?P<user>[A-Za-z0-9._-]{1,64}+)(?=%(?:25){0,3}+5[Cc])"
)


def paths(text: str) -> list[Hit]:
    """The users of home directories in a text, in order; only the name is replaced.

    A user of such a path is also found in the name of a client's folder, in the prompt of a shell and in the columns of
    ``ls -l`` of the same text; elsewhere a name is a word like any other, which a list of names has to tell.
    """
    return apart([*unescaped(text, _search_paths), *_quoted(text)])


def _quoted(text: str) -> Iterator[Hit]:
    """Users of Windows in URLs, whose names may begin like an escape of JSON once they are read: ``%5Cnora``."""
    for match in _QUOTED.finditer(text) if "5C" in text or "5c" in text else ():
        if _is_somebody(match["user"]):
            yield Hit(*match.span("user"), "USER", "home-directory", match["user"])


def _search_paths(reading: UnescapedText) -> Iterator[Hit]:
    text = reading.text
    spans = [*_homes(text)]
    users = {text[start:end] for start, end in spans}
    if users:
        spans += _beside(text, users)
    for start, end in sorted(set(spans)):
        yield Hit(*reading.span(start, end), "USER", "home-directory", text[start:end])


def _homes(text: str) -> Iterator[tuple[int, int]]:
    """Where the names of users stand in paths."""
    for match in _HOME.finditer(text):
        before = text[max(0, match.start() - _WINDOW) : match.start()]
        is_windows = not match["dash"] and bool(_WINDOWS.search(before))
        if match["dash"]:
            is_home = bool(_PROJECTS.search(before)) or (match[0] == "Users-" and before.endswith((" -", "\t-")))
        else:
            is_home = is_windows or (match[0].startswith(("home", "Users")) and bool(_UNIX.search(before)))
            is_home = is_home and (not match[0].startswith("homes") or bool(_SHARED.search(before)))
        start = match.end()
        if is_home and (domain := _DOMAIN.match(text, start)):
            yield domain.span("domain")
            start = domain.end()
        if is_home and (user := _user(text, start, may_have_spaces=is_windows, is_dashed=bool(match["dash"]))):
            yield user
    for match in _MOUNTED.finditer(text):
        name = "user" if match["user"] else "owner"
        if _is_somebody(match[name]):
            yield match.span(name)
    for match in _TILDE.finditer(text):
        if _is_somebody(match["user"]):
            yield match.span("user")


def _user(text: str, start: int, *, may_have_spaces: bool, is_dashed: bool) -> tuple[int, int] | None:
    """Where the name of a user ends that begins at a place."""
    match = (_SPACED_USER.match(text, start) if may_have_spaces else None) or _USER.match(text, start)
    if not match:
        return None
    name = match[0].partition("-")[0] if is_dashed else match[0].rstrip(".")
    is_file = text[start + len(name) : start + len(name) + 1] not in ("/", "\\") and _is_file(name)
    return None if is_file or not _is_somebody(name) else (start, start + len(name))


def _is_file(name: str) -> bool:
    """Whether a name is one of a page, as in ``/home/index.html``."""
    return name.rpartition(".")[2].lower() in FILE_ENDINGS and "." in name


def _is_somebody(name: str) -> bool:
    return bool(name) and name.lower() not in KEPT and not name.isdigit() and any(map(str.isalnum, name))


def _beside(text: str, users: set[str]) -> Iterator[tuple[int, int]]:
    """Where users of homes stand in names of folders, in prompts and in listings."""
    dashed = {re.sub(r"[^A-Za-z0-9]", "-", user): user for user in users}
    for match in _DASHED.finditer(text):
        words = match["user"].split("-")
        names = ("-".join(words[:count]) for count in range(min(len(words), 4), 0, -1))
        if name := next((name for name in names if name in dashed), None):
            yield match.start("user"), match.start("user") + len(name)
    for match in _PROMPT.finditer(text):
        start = max(0, match.start() - 33)
        before = _BEFORE_PROMPT.search(text[start : match.start()])
        if before and before["user"] in users:
            yield start + before.start("user"), match.start()
    for match in _LISTED.finditer(text):
        yield from (match.span(name) for name in ("user", "group") if match[name] in users)
