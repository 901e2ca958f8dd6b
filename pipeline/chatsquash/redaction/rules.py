"""What secrets are known by: rules as TOML, and the names of members, variables, elements, headers and flags."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from msgspec import Struct

from chatsquash.core.errors import UsageError
from chatsquash.core.text import error_text, quote

FOLDER = Path(__file__).with_name("rules")
Check = Literal["shape", "password", "token", "basic", "blob", "words"]
"""What tells a value from what only looks like one; ``redact.lookalikes`` has a function for each."""
_REACH, _FARTHEST = 600, 20_000
_MEMBERS = frozenset(("name", "kind", "literals", "shape", "entropy", "value", "reach", "source"))
_OURS = frozenset(("anywhere", "named", "run", "before", "begins", "verbose", "commands", "flags"))
_KIND, _NAME = re.compile(r"[A-Z][A-Z0-9_]{0,47}"), re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtfv])|(?<=\\u00[0-9a-f][0-9a-f])|(?<=%[0-9A-F][0-9A-F])|(?<=[0-9;\[][mK]))"
"""What a shape begins behind: no letter or digit, unless that is the end of an escape of a text or a terminal."""
_NO_ESCAPE = r"(?!(?<=\\)[nrt])"
"""What begins with no literal does not begin with the letter of an escaped break."""
_END = r"(?![A-Za-z0-9_])"
_QUOTE = r"""(?:\\{0,16}+["'`]|&quot;)"""
_SPACE = r"(?:\s|\\{1,16}+[nrt])"
_VALUE = (
    r"""(?:\\{0,16}+"(?P<secret>(?:[^"\\\n\0]|\\(?!\\{0,16}["'])[^nrtu\n\0]){1,4096}+)(?=[\\"])|"""
    r"""\\{0,16}+'(?P<secret_b>(?:[^'\\\n\0]|\\(?!\\{0,16}["'])[^nrtu\n\0]){1,4096}+)(?=[\\'])|"""
    r"""(?:`|&quot;)(?P<secret_c>[^`&\n\0]{4,400}+)(?=[`&])|"""
    r"""\\{0,16}+"(?P<secret_d>[^"\\\s\0]{4,200}+\n[ \t]{0,40}+[+>-]?[ \t]{0,8}+[^"\\\s\0]{2,200}+)(?=")|"""
    r"""\\{0,16}+'(?P<secret_e>[^'\\\s\0]{4,200}+\n[ \t]{0,40}+[+>-]?[ \t]{0,8}+[^'\\\s\0]{2,200}+)(?=')|"""
    r"""(?P<bare>[^\s"'`\\\0<>]{4,400}+))"""
)


class Rule(Struct, frozen=True):
    """How one kind of secret is found."""

    name: str
    kind: str
    """The word of its placeholder, where its shape alone tells what a value is."""
    literals: tuple[str, ...]
    """One of them is near; a shape of the pack begins with one, unless it may be ``anywhere``."""
    shape: str
    """A pattern; its first group whose name begins with ``secret``, or ``bare``, is the value, else all of it."""
    entropy: float = 0.0
    """Bits a character that the value has at least."""
    value: Check = "shape"
    reach: int = _REACH
    """Characters from the literal on in which the shape is looked for."""
    before: int = 0
    """Characters before the literal in which the shape begins; else it begins with the literal."""
    begins: tuple[str, ...] = ()
    """What the shape begins with that stands ``before`` the literal."""
    anywhere: bool = False
    """Whether the literal stands within the shape, or before it."""
    named: bool = False
    """Whether the shape begins with the name that the literal is part of."""
    verbose: bool = False
    """Whether spaces and lines of the shape are none of it, so that it can be read."""
    run: bool = False
    """Whether the shape is looked for where a run that looks random follows the literal, and nowhere else."""
    commands: tuple[str, ...] = ()
    """Commands, before whose flags alone the shape is looked for."""
    source: str = ""
    """Where the shape is documented."""
    group: str = ""
    """The file of the pack that it stands in."""
    is_own: bool = False
    """Whether a user wrote it."""

    @property
    def spelled(self) -> str:
        """The shape with what has to stand around it; that of a context says so by itself."""
        if self.is_own:
            return self.shape
        if self.value == "shape":
            return f"{_START}{_NO_ESCAPE if self.anywhere else ''}(?:{self.shape}){_END}"
        spelled = self.shape.replace("{value}", _VALUE).replace("{quote}", _QUOTE).replace("{space}", _SPACE)
        return f"(?x:{spelled})" if self.verbose else spelled

    @property
    def pattern(self) -> re.Pattern[str]:
        """The same, compiled when first needed."""
        return _compiled.get(self.name) or _compiled.setdefault(self.name, re.compile(self.spelled))


_compiled: dict[str, re.Pattern[str]] = {}


class Documented(NamedTuple):
    """What is told of a rule in the documentation."""

    group: str
    name: str
    kind: str
    source: str


@cache
def builtin() -> tuple[Rule, ...]:
    """The rules of the pack, group by group."""
    files = sorted(FOLDER.glob("*.toml"))
    return tuple(rule for path in files for rule in _rules(path.read_bytes(), path.name, path.stem))


def documented() -> list[Documented]:
    """Every rule of the pack, with its group, the kind of its placeholder and where its shape is documented."""
    return [Documented(rule.group, rule.name, rule.kind, rule.source) for rule in builtin()]


@cache
def parse_rules(data: bytes, place: str) -> tuple[Rule, ...]:
    """A user's own rules; raises ``UsageError`` that says where what is wrong."""
    rules = tuple(_rules(data, place, ""))
    for rule in rules:
        from chatsquash.redaction.patterns import refuse_pattern

        refuse_pattern(rule.shape, f"{place} ({rule.name})")
    return rules


def _rules(data: bytes, place: str, group: str) -> Iterator[Rule]:
    try:
        pack = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        raise UsageError(f"{place}: is not valid TOML ({error_text(problem)})") from None
    if set(pack) != {"rule"} or not isinstance(pack["rule"], list):
        raise UsageError(f"{place}: holds tables [[rule]] and nothing else")
    for at, each in enumerate(pack["rule"], 1):
        yield _rule(each, f"{place}: rule {at}", group)


def _rule(members: Any, place: str, group: str) -> Rule:
    if not isinstance(members, dict):
        raise UsageError(f"{place}: is not a table")
    known = _MEMBERS | _OURS if group else _MEMBERS
    if unknown := sorted(set(members) - known):
        raise UsageError(f"{place}: {quote(unknown[0])} is not known; known are {', '.join(sorted(known))}")
    name = members.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"{place}: name is missing, or not of small letters, digits and hyphens")
    members = _with_flags(members) if "flags" in members else members
    _refuse(members, f"{place} ({name})")
    value = members.get("value", "shape")
    return Rule(
        name=name,
        kind=members.get("kind", name.upper().replace("-", "_") if value == "shape" else "SECRET"),
        literals=tuple(members["literals"]),
        shape=members["shape"],
        entropy=float(members.get("entropy", 0)),
        value=value,
        reach=members.get("reach", _REACH),
        before=members.get("before", 0),
        begins=tuple(members.get("begins", ())),
        anywhere=members.get("anywhere", False),
        named=members.get("named", False),
        run=members.get("run", False),
        verbose=members.get("verbose", False),
        commands=tuple(members.get("commands", ())),
        source=str(members.get("source", "")),
        group=group,
        is_own=not group,
    )


_FLAG = re.compile(r"(?P<flag>[^ =]+?)(?P<between>[ =]?)(?:USER(?P<mark>[,:%]))?VALUE")


def _with_flags(members: dict[str, Any]) -> dict[str, Any]:
    """A rule whose literals and shape are those of flags: ``-p VALUE``, ``-pVALUE``, ``-U USER%VALUE``."""
    flags = [match for each in members["flags"] if (match := _FLAG.fullmatch(each))]
    between = {" ": "(?:[ ]{1,2}+|{quote},[ ]?)", "=": "=", "": ""}
    user = "{quote}?[^\\s,:%\"'\\0]{0,100}+"
    shapes = [
        f"{re.escape(each['flag'])}{between[each['between']]}" + (f"{user}{each['mark']}" if each["mark"] else "")
        for each in flags
    ]
    value = r"(?P<secret>[^\s\"'\0]{6,200}+)" if any(each["mark"] for each in flags) else "{value}"
    literals = sorted({each["flag"].lower() for each in flags})
    return members | {"literals": literals, "shape": f"(?:{'|'.join(shapes)}){value}", "value": "password"}


def _refuse(members: dict[str, Any], place: str) -> None:
    """Raise ``UsageError`` for a rule whose members are not what they have to be."""
    literals, shape, reach, least = (members.get(each) for each in ("literals", "shape", "reach", "entropy"))
    kind = members.get("kind", "SECRET")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise UsageError(f"{place}: kind is not of capital letters, digits and underscores")
    if not isinstance(literals, list) or not literals or not all(isinstance(each, str) and each for each in literals):
        raise UsageError(f"{place}: literals is not a list of texts of which one has to be near")
    if not isinstance(shape, str) or not shape:
        raise UsageError(f"{place}: shape is missing")
    if members.get("value", "shape") not in get_args(Check):
        raise UsageError(f"{place}: value is not one of {', '.join(get_args(Check))}")
    if reach is not None and not (type(reach) is int and 1 <= reach <= _FARTHEST):
        raise UsageError(f"{place}: reach is not a number of characters up to {_FARTHEST:,}")
    if least is not None and not isinstance(least, (int, float)):
        raise UsageError(f"{place}: entropy is not a number of bits a character")


Level = Literal["", "token", "password"]
"""What a value is under a name: nothing of ours, a token that has to look random, or what somebody may have chosen."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CHOSEN = words("""
    password passwords passwd passwrd passphrase passcode pass pwd pw secret psk pswd userpass dbpass
    rootpw userpassword dbpassword requirepass passwort passe senha kennwort wachtwoord
""")
_RANDOM = words("""
    key keys secrets token tokens apikey accesskey secretkey authkey privatekey credential credentials creds appkey
    masterkey salt authtoken accesstoken refreshtoken idtoken clientsecret bearer authtok
""")
_OTHER_THINGS = words("""
    name names count counts id ids type types url uri urls uris path paths file files filename arn arns ref refs
    reference length len size sizes ttl expiry expires expiration expire expired exists exist hash hashes hashed digest
    hint label labels field fields input inputs prompt regex pattern patterns policy policies rotation version versions
    manager store stores provider providers scope scopes limit limits usage budget used left remaining index indices
    position strength min max minimum maximum required enabled disabled enable disable valid validity validator
    validation error errors class dir directory env var prefix suffix format algorithm alg algo endpoint bucket region
    status state reset confirm confirmation changed updated created at lifetime duration timeout message messages help
    text title placeholder autocomplete visible column table from source lock list set map location mode method mount
    volume selector kind rate cost costs price usd stats total sum entropy encoding encoder decoder
    ratio per second seconds minute ms ts time date age issuer audience fingerprint thumbprint checksum md5 sha sha1
    sha256 sha512 public pub cert spec config configmap resolver factory handler helper util utils
    callback fn func function generator parser reader writer loader cache counter model schema template
    wordlist dictionary page cursor num no number type typ event action command cmd through
""")
"""Words behind the one for a secret that make it something about a secret."""
_OTHER_TOKENS = words("""
    page next prev previous continuation sync cursor num max min total prompt completion input output stop eos bos pad
    unk special mask sep cls count n new generated cached public publishable anon site recv pageable idempotency sort
    partition primary foreign cache group row object dict lookup map route translation i18n react hot short shortcut
    keyboard arrow press host known ssh forget forgot reset no without missing invalid wrong bad old_new has is
    require requires show hide toggle lexer syntax parse
    s3 object file blob image asset bucket etag dedupe dedup commit hash shard etcd redis lock metric feature flag
    config setting label tag i18n message event topic queue job task trace entry item tree leaf parent child data
    registry hkey var env param query field column index unique composite sub enter tab esc ctrl alt shift function
    sorted ordering map dictionary json yaml attribute prop property state context form button menu which each same
    this that the a an any some first last other default natural primary cached memo memoize
""")
"""Words before it that do so."""
_KEYS, _ALIKE = ("key", "keys"), ("auth", "cert", "tls")
_ENDING = re.compile(
    r"([a-z]{1,20}?)(password|passwd|passphrase|pwd|secret|token|apikey)|"
    r"(bind|root|admin|user|db|ldap|smtp|mail|ftp|auth|require|store|key|srcstore|deststore|srckey|destkey|trust)(pw|pass)"
)
"""One word that some write for two: ``PGPASSWORD``."""
_SAID = words("""
    api access secret private auth authentication encryption signing master account app application license shared
    session service consumer webhook admin root deploy subscription client license
""")
"""What keys are said to be that are secrets, where somebody writes of them or has several."""
_SPLIT = (("pass", "word"), ("pass", "phrase"), ("pass", "code"), ("pass", "wd"), ("pass", "key"))


@lru_cache(maxsize=8192)
def level(name: str) -> Level:
    """What a value under a name may be."""
    parts = _parts(name)
    at = max((place for place, word in enumerate(parts) if word in _CHOSEN or word in _RANDOM), default=-1)
    if at < 0 or any(each in _OTHER_THINGS for each in parts[at + 1 :]):
        return ""
    word, before = parts[at], parts[:at]
    if word in _CHOSEN:
        return "password"
    if before and before[-1] in _OTHER_TOKENS:
        return ""
    is_said = word == "keys" or " " in name
    return _of_key(before, is_said=is_said) if word in _KEYS else "token"


def tells(value: str) -> bool:
    """Whether a value is the name of a secret itself: one of its words is the one for a secret."""
    return any(word in _CHOSEN or word in _RANDOM or word in _ALIKE for word in _parts(value))


def _of_key(before: list[str], *, is_said: bool) -> Level:
    """What the value of a key is: chosen by somebody where it is secret, random where something is said of it."""
    if not before or (is_said and before[-1] not in _SAID):
        return ""
    return "password" if "secret" in before else "token"


def _parts(name: str) -> list[str]:
    """The words of a name, those of one word made one that some write as two."""
    words: list[str] = []
    for word in (part.lower() for part in _PARTS.findall(name)):
        if words and (words[-1], word) in _SPLIT:
            words[-1] += word
        elif ending := _ENDING.fullmatch(word):
            words += filter(None, ending.groups())
        else:
            words.append(word)
    return words
