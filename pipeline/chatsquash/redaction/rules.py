"""Rules for secrets in TOML, and the names of members, variables, elements, headers and flags that identify them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.text import error_text, quote

FOLDER = Path(__file__).with_name("rules")
TABLE = FOLDER / "builtin.json"
"""All rules of the TOML files in ``FOLDER``; generated, because parsing TOML takes longer than a small run."""
Check = Literal["shape", "password", "token", "basic", "blob", "words"]
"""The check that rejects lookalikes; ``lookalikes`` has a function for each."""
_REACH, _FARTHEST = 600, 20_000
_MEMBERS = frozenset(("name", "kind", "literals", "shape", "entropy", "value", "reach", "source"))
_PACK_MEMBERS = frozenset(("anywhere", "named", "run", "before", "begins", "verbose", "commands", "flags"))
_KIND, _NAME = lazy_compile(r"[A-Z][A-Z0-9_]{0,47}"), lazy_compile(r"[a-z0-9][a-z0-9-]{0,63}")
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtfv])|(?<=\\u00[0-9a-f][0-9a-f])|(?<=%[0-9A-F][0-9A-F])|(?<=[0-9;\[][mK]))"
"""The condition that a shape must not follow a letter or digit, unless that ends an escape sequence."""
_NO_ESCAPE = r"(?!(?<=\\)[nrt])"
"""The condition that a shape without initial literal does not start with the letter of an escaped line break."""
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


class Rule(Struct, frozen=True, omit_defaults=True):
    """The rule for one kind of secret."""

    name: str
    kind: str
    """The kind in the placeholder, if the shape identifies the value."""
    literals: tuple[str, ...]
    """The words, one of which must be near; built-in shapes start with one, unless ``anywhere`` is set."""
    shape: str
    """A pattern; its first group named ``secret...`` or ``bare`` is the value, otherwise the entire match."""
    entropy: float = 0.0
    """The minimum entropy of the value in bits per character."""
    value: Check = "shape"
    reach: int = _REACH
    """The number of characters from the literal on in which the shape is searched for."""
    before: int = 0
    """The number of characters before the literal in which the shape starts; if 0, it starts with the literal."""
    begins: tuple[str, ...] = ()
    """The possible beginnings of a shape that starts ``before`` the literal."""
    anywhere: bool = False
    """Whether the literal may be within the shape or before it."""
    begins_with_name: bool = False
    """Whether the shape starts with the name that contains the literal."""
    verbose: bool = False
    """Whether white space in the shape is ignored."""
    run: bool = False
    """Whether the shape is only searched for if a random-looking run follows the literal."""
    commands: tuple[str, ...] = ()
    """The commands to whose flags the rule is limited."""
    source: str = ""
    """The URL of the documentation of the shape."""
    group: str = ""
    """The file of the built-in rules that contains the rule."""
    is_own: bool = False
    """Whether the rule is user-defined."""

    @property
    def full_shape(self) -> str:
        """The shape with its boundaries; a context rule contains its own."""
        if self.is_own:
            return self.shape
        if self.value == "shape":
            return f"{_START}{_NO_ESCAPE if self.anywhere else ''}(?:{self.shape}){_END}"
        shape = self.shape.replace("{value}", _VALUE).replace("{quote}", _QUOTE).replace("{space}", _SPACE)
        return f"(?x:{shape})" if self.verbose else shape

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled shape, created on first use."""
        return _compiled.get(self.name) or _compiled.setdefault(self.name, re.compile(self.full_shape))


_compiled: dict[str, re.Pattern[str]] = {}


class Documented(Struct, frozen=True):
    """The entry for a rule in the documentation."""

    group: str
    name: str
    kind: str
    source: str


@cache
def builtin() -> tuple[Rule, ...]:
    """Return the built-in rules, group by group."""
    return jsonio.decoder(tuple[Rule, ...]).decode(TABLE.read_bytes())


def parse_builtin() -> tuple[Rule, ...]:
    """Parse the TOML files of the built-in rules, from which ``TABLE`` is generated."""
    files = sorted(FOLDER.glob("*.toml"))
    return tuple(rule for path in files for rule in _rules(path.read_bytes(), path.name, path.stem))


def documented() -> list[Documented]:
    """Return every built-in rule with its group, kind and source."""
    return [Documented(rule.group, rule.name, rule.kind, rule.source) for rule in parse_builtin()]


@cache
def parse_rules(data: bytes, place: str) -> tuple[Rule, ...]:
    """Parse user-defined rules.

    Raises:
        UsageError: A rule is invalid; the message names the place.
    """
    rules = tuple(_rules(data, place, ""))
    for rule in rules:
        from chatsquash.redaction.patterns import refuse_pattern

        refuse_pattern(rule.shape, f"{place} ({rule.name})")
    return rules


def _rules(data: bytes, place: str, group: str) -> Iterator[Rule]:
    import tomllib  # only user-defined rules are parsed in a run

    try:
        pack = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        raise UsageError(f"{place}: not valid TOML ({error_text(problem)})") from None
    if set(pack) != {"rule"} or not isinstance(pack["rule"], list):
        raise UsageError(f"{place}: expected only [[rule]] tables")
    for at, each in enumerate(pack["rule"], 1):
        yield _rule(each, f"{place}: rule {at}", group)


def _rule(members: Any, place: str, group: str) -> Rule:
    if not isinstance(members, dict):
        raise UsageError(f"{place}: not a table")
    known = _MEMBERS | _PACK_MEMBERS if group else _MEMBERS
    if unknown := sorted(set(members) - known):
        raise UsageError(f"{place}: unknown key {quote(unknown[0])}; expected one of {', '.join(sorted(known))}")
    name = members.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"{place}: name is missing or does not consist of lower-case letters, digits and hyphens")
    members = _with_flags(members) if "flags" in members else members
    _validate(members, f"{place} ({name})")
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
        begins_with_name=members.get("named", False),
        run=members.get("run", False),
        verbose=members.get("verbose", False),
        commands=tuple(members.get("commands", ())),
        source=str(members.get("source", "")),
        group=group,
        is_own=not group,
    )


_FLAG = lazy_compile(r"(?P<flag>[^ =]+?)(?P<between>[ =]?)(?:USER(?P<mark>[,:%]))?VALUE")


def _with_flags(members: dict[str, Any]) -> dict[str, Any]:
    """Expand a rule for flags: ``-p VALUE``, ``-pVALUE``, ``-U USER%VALUE``."""
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


def _validate(members: dict[str, Any], place: str) -> None:
    """Raise ``UsageError`` for a rule with invalid members."""
    literals, shape, reach, least = (members.get(each) for each in ("literals", "shape", "reach", "entropy"))
    kind = members.get("kind", "SECRET")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise UsageError(f"{place}: kind must consist of capital letters, digits and underscores")
    if not isinstance(literals, list) or not literals or not all(isinstance(each, str) and each for each in literals):
        raise UsageError(f"{place}: literals must be a list of strings")
    if not isinstance(shape, str) or not shape:
        raise UsageError(f"{place}: shape is missing")
    if members.get("value", "shape") not in get_args(Check):
        raise UsageError(f"{place}: value must be one of {', '.join(get_args(Check))}")
    if reach is not None and not (type(reach) is int and 1 <= reach <= _FARTHEST):
        raise UsageError(f"{place}: reach must be a number of characters up to {_FARTHEST:,}")
    if least is not None and not isinstance(least, (int, float)):
        raise UsageError(f"{place}: entropy must be a number of bits per character")


Level = Literal["", "token", "password"]
"""The kind of value expected under a name: none, a random token, or a password that may be chosen by a person."""


def words(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())


_PARTS = lazy_compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PASSWORD_WORDS = words("""
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
"""Words that, after a word for a secret, turn it into a description of a secret."""
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
"""Words that have the same effect before a word for a secret."""
_KEYS, _ALIKE = ("key", "keys"), ("auth", "cert", "tls")
_ENDING = lazy_compile(
    r"([a-z]{1,20}?)(password|passwd|passphrase|pwd|secret|token|apikey)|"
    r"(bind|root|admin|user|db|ldap|smtp|mail|ftp|auth|require|store|key|srcstore|deststore|srckey|destkey|trust)(pw|pass)"
)
"""Words that are sometimes joined to the previous word: ``PGPASSWORD``."""
_SECRET_KEYS = words("""
    api access secret private auth authentication encryption signing master account app application license shared
    session service consumer webhook admin root deploy subscription client license
""")
"""Words that, before ``key`` in prose and plurals, make it a secret."""
_SPLIT = (("pass", "word"), ("pass", "phrase"), ("pass", "code"), ("pass", "wd"), ("pass", "key"))


@lru_cache(maxsize=8192)
def level(name: str) -> Level:
    """Return the kind of value expected under a name."""
    parts = _parts(name)
    at = max((place for place, word in enumerate(parts) if word in _PASSWORD_WORDS or word in _RANDOM), default=-1)
    if at < 0 or any(each in _OTHER_THINGS for each in parts[at + 1 :]):
        return ""
    word, before = parts[at], parts[:at]
    if word in _PASSWORD_WORDS:
        return "password"
    if before and before[-1] in _OTHER_TOKENS:
        return ""
    is_in_prose = word == "keys" or " " in name
    return _of_key(before, is_in_prose=is_in_prose) if word in _KEYS else "token"


def names_secret(value: str) -> bool:
    """Return whether a value is itself the name of a secret, because it contains a word for one."""
    return any(word in _PASSWORD_WORDS or word in _RANDOM or word in _ALIKE for word in _parts(value))


def _of_key(before: list[str], *, is_in_prose: bool) -> Level:
    """Return the kind of value expected for a key: a password if it is secret, otherwise a token if qualified."""
    if not before or (is_in_prose and before[-1] not in _SECRET_KEYS):
        return ""
    return "password" if "secret" in before else "token"


def _parts(name: str) -> list[str]:
    """Split a name into lower-case words, joining words that are often written separately."""
    words: list[str] = []
    for word in (part.lower() for part in _PARTS.findall(name)):
        if words and (words[-1], word) in _SPLIT:
            words[-1] += word
        elif ending := _ENDING.fullmatch(word):
            words += filter(None, ending.groups())
        else:
            words.append(word)
    return words
