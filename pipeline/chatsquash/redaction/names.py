"""Names from a user's list, in any case and spelling, and users in the paths of home directories."""

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
from chatsquash.redaction.forms import merge_overlapping, search_everywhere, search_unescaped
from chatsquash.redaction.patterns import BareText, Filler, Needles, printable_text
from chatsquash.redaction.values import Finder, Hit

_OPTION = "--redact names"
_BETWEEN_WORDS = re.compile(r"[ \t_.+'\u2019-]{1,3}")
"""Possible separators between the words of a name, or nothing: ``Ana Maria``, ``ana_maria``, ``AnaMaria``."""
_FILLER = Filler(" \t\r\n\\\"'+>|#*_.-\u2019\u00a0\u00ad\u200b\ufeff")
_FILLER_RUN = re.compile(r"[ \t\r\n\\\"'+>|#*_.\u2019\u00a0\u00ad\u200b\ufeff-]++")
_PIECED = re.compile(
    "[^\\W\\d_][\u0300-\u036f\u3099\u309a]{1,4}+|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?+"
    "|[\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1ffc\ufb00-\ufb17]"
)
"""A letter that consists of several characters before or after case folding."""
_PIECE = re.compile(
    "[\u0300-\u036f\u3099\u309a\u1100-\u1112\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1ffc\ufb00-\ufb17]"
)


class _ListedName(NamedTuple):
    """A name without separators, and the offsets at which its words end."""

    text: str
    words: frozenset[int]


@lru_cache(maxsize=2)
def names(data: bytes) -> Finder:
    """Create a finder for the names in a file, one per line; ``#`` starts a comment.

    A name matches as full words in any case and with any separators of ``_BETWEEN_WORDS``. All spellings have one
    value, so they get the same placeholder.

    Raises:
        UsageError: The file is invalid.
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
        words = [word for word in _FILLER_RUN.split(_fold(UnescapedText(line.strip())).text) if word]
        if not any(map(str.isalnum, "".join(words))):
            raise UsageError(f"{_OPTION}, line {number}: a name must contain a letter or a digit")
        count += 1
        yield _ListedName(printable_text("".join(words)), frozenset(accumulate(map(len, words))))
    if not count:
        raise UsageError(f"{_OPTION}: the file contains no names")


class _Names:
    """Finds names in texts."""

    def __init__(self, names: list[_ListedName]) -> None:
        self._names: dict[str, list[_ListedName]] = {}
        for name in names:
            self._names.setdefault(name.text, []).append(name)
        self._needles = Needles(self._names)

    def find(self, text: str) -> list[Hit]:
        """Return the names in a text, sorted and without overlaps."""
        return search_everywhere(text, self._search)

    def _search(self, reading: UnescapedText) -> Iterator[Hit]:
        folded_text = _fold(UnescapedText(reading.text))
        bare = BareText(printable_text(folded_text.text), _FILLER)
        for first, last in self._needles.all_places(bare.text):
            start, end = bare.span(first, last)
            name = bare.text[first:last]
            if any(_has_words_of(folded_text.text[start:end], each) for each in self._names[name]):
                start, end = folded_text.span(start, end)
                if _is_full_word(reading.text, start, end):
                    yield Hit(*reading.span(start, end), "NAME", "name", name)


def _fold(reading: UnescapedText) -> UnescapedText:
    """Fold the case of a text, composing each letter into one character if possible."""
    composed = reading.then(_PIECED, lambda match: _compose(match[0])) if _PIECE.search(reading.text) else reading
    plain = composed.text.casefold()
    if len(plain) != len(composed.text):
        plain = "".join(each if len(lower := each.casefold()) != 1 else lower for each in composed.text)
    return composed.with_text(plain)


def _compose(letters: str) -> str:
    """Compose a letter into one character, unless its case folding has several, as for some Greek letters."""
    plain = letters.casefold()
    one = unicodedata.normalize("NFC", plain)
    return one if one.casefold() == one else plain


def _has_words_of(text: str, name: _ListedName) -> bool:
    """Return whether the filler in a match is only at word boundaries of the name, or consists of line breaks."""
    place = done = 0
    for filling in _FILLER_RUN.finditer(text):
        place += filling.start() - done
        done = filling.end()
        is_break = "\n" in filling[0] or "\r" in filling[0]
        if not is_break and not (place in name.words and _BETWEEN_WORDS.fullmatch(filling[0])):
            return False
    return True


def _is_full_word(text: str, start: int, end: int) -> bool:
    """Return whether a match is not part of a longer word; a capital letter starts a new word of an identifier."""
    before, first, second = text[start - 1 : start], text[start], text[start + 1 : start + 2]
    last, after = text[end - 1], text[end : end + 1]
    begins = not _continues(before, first) or (first.isupper() and (before.islower() or second.islower()))
    ends = not _continues(after, last) or (after.isupper() and last.islower())
    return begins and ends and not unicodedata.combining(after or " ")


# Scripts without case may not use spaces.
def _continues(neighbour: str, edge: str) -> bool:
    """Return whether a word continues across two adjacent characters."""
    if edge.isdigit():
        return neighbour.isdigit()
    return neighbour.isalpha() and edge.lower() != edge.upper()


GENERIC_ACCOUNTS = frozenset(
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
"""Account names that do not identify anybody, in lower case."""
_SLASH = r"(?:/|\\{1,16}+/?+)"
_WORD = r"[\w.+-]{1,64}+"
_WORDS = r"[^\\/:*?\"'<>|${}%\s]{1,64}+(?: [^\\/:*?\"'<>|${}%\s]{1,64}+){1,4}+"
_HOME = re.compile(rf"(?:homes|home[0-9$]?|[Uu]sers|USERS|Documents and Settings)(?:{_SLASH}|(?P<dash>-))")
_USER = re.compile(_WORD)
_SPACED_USER = re.compile(rf"{_WORDS}(?={_SLASH})")
_WINDOW = 160
"""The number of characters before a folder of home directories that are examined to confirm it."""
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
_FILE_SERVER = re.compile(r"(?:volume[0-9]/|\\{2,32}[\w.-]{1,60}\\{1,16}|smb://[\w.@:-]{1,80}/)\Z")
"""Shares of a file server, which name the folder of home directories ``homes``."""
_PROJECTS = re.compile(rf"(?:projects{_SLASH}(?:(?:-mnt-[a-z])?-|[A-Z]--)|(?:\A|[\n\"'`(=/\\])(?:-|[A-Z]--))\Z")
"""Folders in which clients keep logs per project, named after the path of the project: ``projects/-home-ana-x``."""
_DOMAIN = re.compile(
    r"(?P<domain>(?:[\w-]{1,60}\.){1,4}(?:com|net|org|io|eu|uk|de|fr|jp|edu|gov|local|lan|corp|internal|intra))"
    rf"{_SLASH}(?=\w)"
)
"""A domain between the folder of home directories and the user, as with ``sssd``: ``/home/corp.com/ana``."""
_MOUNTED = re.compile(
    r"(?<![\w.~-])/(?:run/media/(?P<user>[a-z_][\w.-]{1,31}+)/(?=[^/\s])|media/(?P<owner>[a-z_][\w.-]{1,31}+)/"
    r"(?=[A-Z][A-Z0-9_-]{2,}(?![a-z])|[0-9A-F]{4}-[0-9A-F]{4}(?!\w)|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}))"
)
"""The folders in which udisks mounts the disks of a user, by label or id."""
_TILDE = re.compile(r"~(?<![\w~.]~)(?P<user>[a-z_][\w.-]{1,31}+)(?=/)")
_DASHED = re.compile(r"-(?:home|Users)-(?P<user>[A-Za-z0-9-]{1,80}+)")
_PROMPT = re.compile(r"@[\w.-]{1,64}+:[~/]")
_BEFORE_PROMPT = re.compile(r"(?:\A|[^\w.-])(?P<user>[\w.-]{1,32})\Z")
_LS_LINE = re.compile(
    r"[rwx-]{3}[.+@]? {1,4}[0-9]{1,5} {1,4}(?P<user>[\w.-]{1,32}+)(?: {1,4}(?P<group>[\w.-]{1,32}+))?"
)

_QUOTED = re.compile(
    r"%(?:25){0,3}+5[Cc][Uu]sers%(?:25){0,3}+5[Cc](?P<user>[A-Za-z0-9._-]{1,64}+)(?=%(?:25){0,3}+5[Cc])"
)


def paths(text: str) -> list[Hit]:
    """Return the users in paths of home directories, sorted; only the name is covered.

    Such a user is also detected in names of client folders, shell prompts and ``ls -l`` columns of the same text.
    Elsewhere a name is an ordinary word that only a list of names can identify.
    """
    return merge_overlapping([*search_unescaped(text, _search_paths), *_percent_encoded(text)])


# User names may start like a JSON escape once they are decoded: ``%5Cnora``.
def _percent_encoded(text: str) -> Iterator[Hit]:
    """Yield the Windows users in URLs."""
    for match in _QUOTED.finditer(text) if "5C" in text or "5c" in text else ():
        if _is_somebody(match["user"]):
            yield Hit(*match.span("user"), "USER", "home-directory", match["user"])


def _search_paths(reading: UnescapedText) -> Iterator[Hit]:
    text = reading.text
    spans = [*_homes(text)]
    users = {text[start:end] for start, end in spans}
    if users:
        spans += _other_mentions(text, users)
    for start, end in sorted(set(spans)):
        yield Hit(*reading.span(start, end), "USER", "home-directory", text[start:end])


def _homes(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of user names in paths."""
    for match in _HOME.finditer(text):
        before = text[max(0, match.start() - _WINDOW) : match.start()]
        is_windows = not match["dash"] and bool(_WINDOWS.search(before))
        if match["dash"]:
            is_home = bool(_PROJECTS.search(before)) or (match[0] == "Users-" and before.endswith((" -", "\t-")))
        else:
            is_home = is_windows or (match[0].startswith(("home", "Users")) and bool(_UNIX.search(before)))
            is_home = is_home and (not match[0].startswith("homes") or bool(_FILE_SERVER.search(before)))
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
    """Return the span of a user name that starts at an offset, if there is one."""
    match = (_SPACED_USER.match(text, start) if may_have_spaces else None) or _USER.match(text, start)
    if not match:
        return None
    name = match[0].partition("-")[0] if is_dashed else match[0].rstrip(".")
    is_file = text[start + len(name) : start + len(name) + 1] not in ("/", "\\") and _is_file(name)
    return None if is_file or not _is_somebody(name) else (start, start + len(name))


def _is_file(name: str) -> bool:
    """Return whether a name is a file, as in ``/home/index.html``."""
    return name.rpartition(".")[2].lower() in FILE_ENDINGS and "." in name


def _is_somebody(name: str) -> bool:
    return bool(name) and name.lower() not in GENERIC_ACCOUNTS and not name.isdigit() and any(map(str.isalnum, name))


def _other_mentions(text: str, users: set[str]) -> Iterator[tuple[int, int]]:
    """Yield other mentions of known users: in folder names, prompts and listings."""
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
    for match in _LS_LINE.finditer(text):
        yield from (match.span(name) for name in ("user", "group") if match[name] in users)
