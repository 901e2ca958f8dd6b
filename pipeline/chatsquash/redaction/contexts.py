"""Secrets that are identified by the text before them: the rules for their values and ends.

A password in a command-line flag is identified by the command before the flag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction import lookalikes, rules
from chatsquash.redaction.rules import Check, Rule, words
from chatsquash.redaction.shapes import BEFORE_RUN, Bytes, kind_of, value_of
from chatsquash.redaction.values import Hit

_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_LONGEST_NAME = 64
_FULL_NAME = lazy_compile(r"[\w.-]{1,80}+")
_VERBS = rb"(?:is|to|was|lautet|ist|est|es)"
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


def _separators(letters: bytes, size: int) -> bytes:
    """Return the separators of text and its JSON, given the bytes of non-ASCII characters, up to ``size`` each.

    In text, a question mark replaces these characters.
    """
    word, quote = rb"[\w?%b]{1,%d}" % (letters, 20 * size), rb"[\\\"'`&]"
    digit = rb"0-9?%b" % letters
    return b"|".join(
        (
            rb"[=:>|?'`v]|or[ ]|&quot|-[->]|</|\.[ ]|\((?=[ ]?%b)|\[%b\]" % (quote, word),
            rb"(?(close)[,({\[<.&-]|,(?=[ ]?(?:%b|%b(?:%b|[ ]?[:=]))))" % (quote, word, quote),
            # The start of a value or an attribute.
            rb"(?<=[ ])[,({\[&.-](?=\S)",
            # As in Config::token["main"] => "...".
            rb"[\[(][^\])\n]{0,%d}+[\])][ ]?=>" % (80 * size),
            rb"for[ ](?:[\w.@?%b-]{1,%d}[ ]%b|[^=\n]{1,%d}+=)" % (letters, 40 * size, _VERBS, 80 * size),
            # After a verb, only a value with a digit is a secret.
            rb"(?:changed |set )?%b(?: now)?:?[ ](?=[ ]?[^\s%b\"'`$&]{0,%d}+[%b\"'`$&])"
            % (_VERBS, digit, 400 * size, digit),
        )
    )


# Text about a key precedes the word ``key``.
_VALUE_FOLLOWS = lazy_compile(
    rb"(?!pass(?:e[dnrs]|i[nv]|ab)|author(?!i[sz])|tokeni[sz]|(?<![a-z0-9_. \\/-])key)"
    rb"[a-z0-9_.-]{1,80}+(?P<close>(?:\\{0,16}+[\"'`\])]){1,2}+|:?\\{0,16}+[\"'])?+(?:\s|\\{1,16}+[nrt]){0,30}+"
    rb"(?:(?<=\t)|(?<=\\t)|[\"\\]|"
    + _separators(b"", 1)
    + rb"|[a-z]{2,20}=[^<>\n]{0,60}>|(?<= )(?=[^\s0-9]{0,64}+[0-9])\S{6})"
)
"""The possible separators between a word and its value, for a quick check."""
VALUE_FOLLOWS_IN_JSON = lazy_compile(
    rb"(?!pass(?:e[dnrs]|i[nv]|ab)|author(?!i[sz])|tokeni[sz]|(?:(?<![a-z0-9_. \\/-])|(?<=[^\\]\\[nrtf]))key)"
    rb"[a-z0-9_.-]{1,80}+(?P<close>(?:\\\\){0,16}+(?:\\\"|['`\])]){1,2}+|:?(?:\\\\){0,16}+(?:\\\"|'))?+"
    rb"(?P<space>(?: |\\[nrtf]|\\u000b|(?:\\\\){1,16}+[nrt]){1,30}+)?+"
    rb"(?:(?<=\\t)|[\x80-\xff]|\\\\|\\ud|\\\"|\":[\"0-9-]|(?(close)\"|(?!))|(?(space)\"|(?!))|"
    + _separators(rb"\x80-\xff", 6)
    + rb"|[a-z]{2,20}=(?:[^<>\\]|\\[^n]){0,360}>|"
    rb"(?<= )(?=(?:[^\s0-9\"\\]|\\[\"\\bu]|\"(?=:)){0,256}+[0-9])(?:[^\s\"\\]|\\[\"\\bu]|\"(?=:)){5})"
)
"""Matches wherever ``_VALUE_FOLLOWS`` matches the decoded text; unescaped quotes end it, or its name."""
_LONGEST_FLAG = 24
_REST_OF_ESCAPE = lazy_compile(r"(?<=\\)(?:[nrtfv]|u00[0-9a-f]{2})|(?<=%)[0-9A-Fa-f]{2}")
_WORDS_BEFORE = lazy_compile(r"(?:[A-Za-z]{2,12} ){1,2}\Z")
_LINE_START = lazy_compile(r"(?:\A|\n|\\n|\0)[ \t]*\Z")
_INDENT, _TWO_WORDS = 16, 32
_CLOSING = {")": "(", "]": "[", "}": "{"}
_ENDS = lazy_compile(r"[,;|]|&(?=[\w.-]{1,40}=|amp;|quot;|lt;)|[)\]}](?![A-Za-z0-9])")
_AFTER = lazy_compile(r"[ \t]{0,40}+(?:\\{0,16}[rn]|[\r\n#\0]|\Z|//|\\{0,16}[\"'`])")
_BREAK = lazy_compile(r"\n[ \t]*[+>-]?[ \t]*")
_ASSIGNMENT = lazy_compile(r"[\w.-]{1,40}(?=[=:])")
_BREAKS = lazy_compile(r"\\{1,16}+[nr]|[\r\n]")
_ESCAPED = lazy_compile(r"\\(.)")
_DOUBLED = lazy_compile(r"(\\)\\")
"""Doubled backslashes in single quotes, which is the only escape there."""


NATIVE = (
    "\u30d1\u30b9\u30ef\u30fc\u30c9",  # Japanese
    "\u5bc6\u7801",  # Chinese
    "\ube44\ubc00\ubc88\ud638",  # Korean
    "\u043f\u0430\u0440\u043e\u043b\u044c",  # Russian
)
"""The words for "password" in other scripts."""
_NATIVE_VALUE = lazy_compile(
    r"\w{0,3}?[\"']?[ ]{0,2}(?:[:=\uff1a]|\u306f|\u662f|\u4e3a|\u70ba|\uc740|\ub294|\uff1d)[ ]{0,2}"
    r"[\"'\u300c]?(?P<secret>[!-~]{6,100})"
)


def native_hits(text: str, data: Bytes) -> Iterator[Hit]:
    """Yield the passwords that follow a word for "password" in a script other than Latin."""
    for word in NATIVE if b"??" in data.plain else ():  # two non-ASCII characters
        at = text.find(word) if word[0] in text else -1  # a single character is found faster
        while at >= 0:
            end = at + len(word)
            if match := _NATIVE_VALUE.match(text, end):
                value = match["secret"][: _unquoted_length(match["secret"])].strip("\"'")
                if lookalikes.is_password(value):
                    start = match.start("secret") + match["secret"].index(value)
                    yield Hit(start, start + len(value), kind_of(value), "password-in-native-word", value)
            at = text.find(word, end)


def hits(rule: Rule, text: str, at: int) -> list[Hit]:
    """Return the hits of a rule whose literal is at an offset."""
    starts = [at]
    if rule.before:
        low = max(0, at - rule.before)
        starts = [text.rfind(each, low, at + len(each)) for each in rule.begins]
    end = min(len(text), at + rule.reach)
    matches = [rule.pattern.match(text, start, end) for start in starts if start >= 0]
    return [hit for match in matches if match for hit in _hit(rule, text, match)]


def may_be_named(lower: bytes, at: int) -> bool:
    """Check quickly whether a value may follow the name that contains the word at an offset."""
    if _VALUE_FOLLOWS.match(lower, at):
        return True
    low = max(0, at - _LONGEST_FLAG)
    # The first search excludes most places; a single byte is found faster.
    return lower.rfind(b"-", low, at) >= 0 and (lower.rfind(b" -", low, at) >= 0 or lower.rfind(b'"-', low, at) >= 0)


def hits_by_name(rule: Rule, text: str, at: int, done: set[int]) -> Iterable[Hit]:
    """Return the value of the name that contains the word at an offset, unless ``done`` contains the name."""
    start = _name_start(text, at)
    if start in done or not (name := _FULL_NAME.match(text, start)):
        return ()
    done.add(start)
    if not rules.level(_full_name(text, start, name[0])):
        return ()
    match = rule.pattern.match(text, start, min(len(text), start + rule.reach))
    return _hit(rule, text, match) if match else ()


def _full_name(text: str, start: int, name: str) -> str:
    """Return a name with the preceding words that belong to it: ``API key``."""
    if text[start - 1 : start] != " " or name.lower() not in ("key", "token"):
        return name
    before = _WORDS_BEFORE.search(text, max(0, start - _TWO_WORDS), start)
    return f"{before[0]}{name}" if before else name


def _is_stated(match: re.Match[str], text: str, end: int, value: str) -> bool:
    """Return whether the value is a secret although only spaces separate it from its name."""
    if not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    # A text may state the secret explicitly.
    if not match["said"].isspace() or lookalikes.looks_random(value):
        return True
    # Lists and settings separate names from values only by spaces.
    begins_line = _LINE_START.search(text, max(0, match.start() - _INDENT), match.start())
    return bool(begins_line and _AFTER.match(text, end)) or lookalikes.is_strong(value)


def _with_real_breaks(block: str) -> str:
    """Return a key block with real line breaks, however it was escaped or indented."""
    lines = (line.strip(" \t\"'+|>#,") for line in _BREAKS.split(block))
    return "\n".join(line for line in lines if line)


# Basic authorization encodes logins in this way.
def login_hits(text: str) -> list[Hit]:
    """Return the hit of a decoded login with a random password, without other context."""
    value = lookalikes.password_of_login(text)
    return [Hit(0, 0, kind_of(value), "basic-authorization", value)] if value else []


def before_run(rule: Rule, text: str, start: int, end: int) -> Iterator[Hit]:
    """Yield the hits of a rule whose value contains or starts with a run."""
    for match in rule.pattern.finditer(text, max(0, start - BEFORE_RUN), min(len(text), end + rule.reach)):
        if match.start() > end:
            return
        yield from _hit(rule, text, match)


def _name_start(text: str, at: int) -> int:
    window = text[max(0, at - _LONGEST_NAME) : at]
    start = at - len(window) + len(window.rstrip(_NAME))
    rest = _REST_OF_ESCAPE.match(text, start, at)
    return rest.end() if rest else start


def _hit(rule: Rule, text: str, match: re.Match[str]) -> Iterator[Hit]:
    groups = match.groupdict()
    check = _check(rule, text, match)
    start, end, value = value_of(match)
    if check and groups.get("bare") is not None:
        end = start + (0 if _is_assigned(value) else _unquoted_length(value))
        value = text[start:end]
        if rule.begins_with_name and not _is_bare(match, text, end, value):
            return
    if not check or not value or (groups.get("said") and not groups["env"] and not _is_stated(match, text, end, value)):
        return
    value = _normalize(value, check, is_single=bool(groups.get("secret_b")))
    if lookalikes.CHECKS[check](value, rule.entropy):
        yield Hit(start, end, kind_of(value), rule.name, value)


def _check(rule: Rule, text: str, match: re.Match[str]) -> Check | None:
    """Return the check for the value of a match, or ``None`` if the name excludes a secret."""
    name = match.groupdict().get("name")
    if not name:
        return rule.value
    start = match.start("name")
    if not rule.begins_with_name:
        return rule.value if rules.level(name) else None
    is_urn = text[start - 1 : start] == ":" == text[match.end("name") : match.end("name") + 1]
    if name.startswith(".") or (is_urn and text[match.end("name") + 1 : match.end("name") + 2] not in " :"):
        return None  # as in arn:aws:secretsmanager:...:secret:name
    return rules.level(_full_name(text, start, name)) or None


# The value of such an assignment is checked separately.
def _is_assigned(value: str) -> bool:
    """Return whether a value starts with the name of another secret."""
    inner = _ASSIGNMENT.match(value)
    return bool(inner and rules.level(inner[0]))


def _normalize(value: str, check: Check, *, is_single: bool) -> str:
    """Decode a value by removing the line breaks, escapes and base64 that its context added."""
    if "PRIVATE KEY" in value or "Private-Lines" in value:
        return _with_real_breaks(value)
    if "\n" in value and check == "password":
        value = _BREAK.sub("", value)
    elif "\\" in value:
        value = _DOUBLED.sub(r"\1", value) if is_single else _ESCAPED.sub(r"\1", value)
    return lookalikes.decode_base64(value) if check in ("token", "password") else value


def _unquoted_length(value: str) -> int:
    """Return the length of an unquoted value, which ends at characters that it cannot contain."""
    for match in _ENDS.finditer(value):
        opening = _CLOSING.get(match[0])
        if not opening or value.count(opening, 0, match.start()) < value.count(match[0], 0, match.end()):
            value = value[: match.start()]
            break
    return len(value.rstrip(".,:;"))


def _is_opening(value: str) -> bool:
    """Return whether a value starts like a list, a call, a reference or a type."""
    return value.startswith(("(", "[", "{")) or (
        value.startswith(("*", "&", "|", "!")) and not lookalikes.looks_random(value)
    )


def _is_bare(match: re.Match[str], text: str, end: int, value: str) -> bool:
    """Return whether an unquoted value may be a secret rather than the name of a variable or a type."""
    if (match["wrapped"] or "").startswith("$"):
        return True
    if match["wrapped"] or _is_opening(value):
        return False
    if _AFTER.match(text, end) or (match["flag"] and text[end] == " "):
        return not (text[match.start("bare") - 1] in " \t" and lookalikes.is_code_word(value))
    return not lookalikes.is_code_word(value) and (text[end] != "(")


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
