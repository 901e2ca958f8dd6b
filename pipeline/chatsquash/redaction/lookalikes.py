"""Lookalikes of secrets: examples, masks, references, code, names, words, numbers and checksums."""

from __future__ import annotations

import binascii
import re
from collections import Counter
from functools import lru_cache
from math import log2

from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction import rules

EXAMPLES = rules.words("""
    AKIAIOSFODNN7EXAMPLE AKIAI44QH8DHBEXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
    je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY QWxhZGRpbjpvcGVuIHNlc2FtZQ== QWxhZGRpbjpPcGVuU2VzYW1l dXNlcjpwYXNz
    dXNlcjpwYXNzd29yZA== dXNlcm5hbWU6cGFzc3dvcmQ= czZCaGRSa3F0MzpnWDFmQmF0M2JW
    czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3
    s6BhdRkqt3 gX1fBat3bV 7Fjfp0ZBr1KtDRbnfVdmIw 2YotnFZFEjr1zCsicMWpAA mF_9.B5f-4.1JqM tGzv3JOkF0XG5Qx2TlKWIA
    SplxlOBeZQQYbYS6WxSbIA sk_test_4eC39HqLyjWDarjtT1zdp7dc sk_test_BQokikJOvBiI2HlWgH4olfQ2
    sk_test_tR3PYbcVNZZ796tH88S4VQ2u ghp_16C7e42F292c6912E7710c838347Ae178B4a 07401b.f395accd246ae52d
    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
    MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw
    123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11 4839574812:AAFD39kkdpWt3ywyRZergyOLMaJhac60qc
    Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==
    C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==
    eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c
    eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiYWRtaW4iOnRydWUsImlhdCI6MTUxNjIzOTAyMn0.KMUFsIDTnFmyG3nMiGM6H9FNFUROf3wh7SmqJp-QV30
    eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiYWRtaW4iOnRydWV9.TJVA95OrM7E2cBab30RMHrHDcEfxjoYZgeFONFh7HgQ
    eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk
""")
"""Complete example values from documentation."""
_MARKED_AS_EXAMPLE = lazy_compile(
    r"(?i:example|sample|placeholder|dummy|foobar|change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|with|this)|redacted|"
    r"removed|(?<![a-z])your[-_ ]?(?![a-z]{0,3}\d)|insert[-_ ]|enter[-_ ]|goes[-_ ]?here|(?<![a-z])here(?![a-z0-9])|"
    r"x{4}|lorem|not[-_ ]?a?[-_ ]?(?:real|secret|valid)|(?<![a-z])fake|(?<![a-z])mock|todo|fixme|undefined|deadbeef|"
    r"masked|hidden|filtered|abcdefgh|qwerty|12345678|01234567|87654321|abc123(?![a-z0-9]))|"
    r"\*{3}|\.{3}|…|•{3}|#{4}|0{8}"
)
_FORM = lazy_compile(r"[$%#@]\{|\$\(|\{\{|%\(|\$?\{[A-Za-z_][\w.]{0,60}+\}|%[A-Z_]{2,40}+%|<[A-Za-z][\w .:|-]{0,60}+>")
"""A placeholder of a template or program, anywhere in a value."""
_REFERENCE = lazy_compile(
    r"\$[A-Za-z_]\w*+(?![!@#%^&*])|(?:arn|vault|op|secrets?|ssm|env|file|keyring|awssm|aws|gcp|azurekv|sm|bws|doppler|"
    r"akeyless|keyvault|ref|secretsmanager|secretref|sops|lpass|pass|bw|infisical|conjur|chamber)(?:\+\w{1,20}+)?:|"
    r"projects/|!\w|@Microsoft\.|ENC\[|"
    r"(?:sha(?:1|224|256|384|512)|md5|blake[23]\w{0,2}|SHA256|MD5)[-:]|[a-z][a-z0-9+.-]{1,20}+://|mailto:|data:|~/|[A-Za-z]:[\\/]|"
    r"pk[._-]|pub[a-z]{0,9}[._-]|sb_publishable_|phc_|Ag[A-D][A-Za-z0-9+/]{200}|AQICAH[A-Za-z0-9]|\$ANSIBLE_VAULT"
)
"""Prefixes of values that refer to a secret elsewhere, or that are checksums, addresses, public or encrypted."""
_PATH = lazy_compile(r"\.{0,2}/(?=[\w.-]{2})")
_COLOR = lazy_compile(r"#[0-9a-fA-F]{3,8}")
_DOTTED = lazy_compile(r"[A-Za-z_$][\w$]*+\??(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*+\??)++(?:[(\[!;].*)?", re.DOTALL)
_CALL = lazy_compile(r"(?:new |await |yield |not |& ?|\*)?[A-Za-z_$][\w$.:]*+[!?]?(?P<bracket>[(\[])")
_ARGUMENTS, _MORE = lazy_compile(r"[\w.$, ]*+"), lazy_compile(r"[;,.\w()]*+")
_REGEX = lazy_compile(r"\[(?:A-Z|a-z|0-9|\^|\\)|\\[wdsb]|\{\d+,\d*\}|\(\?|\.[*+]")
_NUMBER = lazy_compile(
    r"[-+]?[0-9][0-9._,:/TZ+ -]*+(?:[smhdkKMGTB%]{1,2}|ms|min|days?|hours?|minutes?|seconds?|tokens?|chars?|bytes?)?"
)
_FORMAT = lazy_compile(r"[\w .,:/{}-]*%[sdvqr][\w .,:/{}%-]*")
_BASE64 = lazy_compile(r"(?=.{8})(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?+")
_STANDARD = str.maketrans("-_", "+/")
_VERSION = lazy_compile(r"[v^~<>=]{0,3}\d{1,4}(?:\.\d{1,6}){1,3}(?:[-+.][A-Za-z0-9.]{1,20})?")
_ALGORITHM = lazy_compile(
    r"(?i:(?:sha|md|hs|rs|es|ps|aes|base|utf|oauth|argon|ipv|http|ed|x|ecdsa|rsa|scram-sha|pbkdf|p|v|tls|ssl|k|s|ec|"
    r"hmac-sha|bearer|blake|chacha|curve|secp|utf-|sha-|aes-|rsa-|latin|iso-?)[-_]?\d{1,5}(?:[-_]?[a-z0-9]{1,8}){0,3})"
)
_WORDS = lazy_compile(r"[^\W\d_]++(?:(?:[_.,'/:()-]|[!?;:,.&]? +[&+(]?)++[^\W\d_]++)*+[ _.,'!?:;/()*-]*+")
_APP_PASSWORD = lazy_compile(
    r"(?![a-z ]*\b(?:this|that|with|your|from|must|have|here|will|been|when)\b)[a-z]{4}(?: [a-z]{4}){3}"
)
"""App passwords of Google: four groups of four letters."""
_SNAKE = lazy_compile(r"[_-]?[A-Za-z]++(?:[_:./-][A-Za-z]++)*+(?:[_:./-]?v?\d{1,3})?")
_LOGIN = lazy_compile(r"[A-Za-z0-9_.@+-]{1,64}")
_NAME = lazy_compile(r"[A-Za-z$]*+[0-9]{0,2}+(?:_[A-Za-z$]*+[0-9]{0,3}+)*+")
_FILE = lazy_compile(r"[\w./~ -]{1,200}\.(?:[a-z]{2,5}|[ch]|7z|mp[34])")
_PIECE = lazy_compile(r"[A-Za-z0-9]{4,}+")
_CHANGES = lazy_compile(r"(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]|[A-Z](?=[a-z][A-Z])|(?<=[a-z])[A-Z](?=[A-Z]{1,2}[a-z])")
_UUID = lazy_compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGITS = lazy_compile(r"(?<=[A-Za-z])[0-9](?=[A-Za-z])")
_CAMEL, _VOWEL = (
    lazy_compile(r"[A-Z]{2,5}+(?![a-z0-9])|[A-Z]?[a-z]++(?![0-9])|[A-Z](?![0-9])"),
    lazy_compile(r"[aeiouyAEIOUY]"),
)
_HARD = lazy_compile(r"[bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ]{4}")
_KEY_CHANGES, _STRANGE_PARTS = 5, 4
"""The minimum numbers of character-class changes, and of unpronounceable words, in a random value."""
_ENOUGH = 100
"""The number of characters that are examined to decide whether a value is random."""
_LONG = 200
"""The length above which a value contains some word by chance."""
_OPEN_CALL = lazy_compile(r"(?P<name>[A-Za-z_][\w.]{2,60}+)[\[(]")
_ARGUMENT = lazy_compile(r"-{0,2}+(?P<name>[a-z_][a-z_-]{1,30}+)=(?P<value>.*+)", re.DOTALL)
_CLASS = lazy_compile(
    r"(?=[A-Za-z0-9]{0,60}?[a-z][A-Z])[A-Za-z0-9]{1,60}(?:Key|Token|Secret|Password)s?(?:Types?|Error|Manager|Provider)?"
)
_PORT = lazy_compile(r"[0-9]{1,5}/(?:tcp|udp|sctp)")
_PROSE_WORDS = rules.words("the and for are with from not was were has but his her its our each word words")
"""Common English words that are not in the list of BIP 39."""
_SPACED = 2
"""The maximum number of spaces in a password; longer text is prose."""


def entropy(text: str) -> float:
    """Return the Shannon entropy of a text in bits per character."""
    counts, length = Counter(text), len(text)
    return -sum(count / length * log2(count / length) for count in counts.values()) if length else 0.0


def decode_base64(value: str) -> str:
    """Decode base64 of a single ASCII word, as in Kubernetes secrets; return other values unchanged."""
    if not _BASE64.fullmatch(value):
        return value
    data = binascii.a2b_base64(value)
    text = data.decode("ascii", "replace").removesuffix("\n")
    return text if text.isascii() and text.isprintable() and " " not in text and len(text) > 3 else value


def password_of_login(text: str) -> str:
    """Return the random password of a login as encoded by basic authorization and SMTP, or an empty string."""
    name, colon, password = text.strip("\0\n").replace("\0", ":").partition(":")
    is_login = colon and password.isascii() and password.isprintable() and (not name or _LOGIN.fullmatch(name))
    return password if is_login and is_token(password) else ""


@lru_cache(maxsize=4096)
def is_lookalike(value: str) -> bool:
    """Return whether a value is marked as an example, a template or a mask."""
    if value in EXAMPLES or len(set(value)) <= min(4, len(value) // 2) or _FORM.search(value):
        return True
    return len(value) <= _LONG and bool(_MARKED_AS_EXAMPLE.search(value))


def is_shape(value: str, least: float) -> bool:
    """Return whether a value with the shape of a key may be a key."""
    return not is_lookalike(value) and entropy(value) >= least


def is_token(value: str, least: float = 0.0) -> bool:
    """Return whether a value may be a token if one is expected: random, and not a name, reference or number."""
    if len(value) < 10 or " " in value.strip() or _cannot_be_secret(value):
        return False
    return looks_random(value) and entropy(value) >= max(least, 2.5)


def is_password(value: str, least: float = 0.0) -> bool:
    """Return whether a value may be a password if one is expected: not a word, code, reference or number."""
    value = value.strip()
    if len(value) < 6 or value.count(" ") > _SPACED + bool(_APP_PASSWORD.fullmatch(value)) or _cannot_be_secret(value):
        return False
    if looks_random(value):
        return True
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    has_mark = any(not each.isalnum() and each not in "_-. :/" for each in value)
    if strange(value) >= 3 or _APP_PASSWORD.fullmatch(value):
        return True
    if not has_letter or not (has_digit or has_mark) or (" " in value and not has_digit):
        return False
    if _SNAKE.fullmatch(value) and rules.names_secret(value):
        return False
    return not _WORDS.fullmatch(value) and not _ALGORITHM.fullmatch(value) and entropy(value) >= max(least, 2.0)


def is_strong(value: str) -> bool:
    """Return whether a value combines letters, digits and marks as only passwords do."""
    marks = sum(each in "!@#$%^&*+=?~" for each in value[1:])
    return len(value) >= 8 and bool(marks) and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def is_code_word(value: str) -> bool:
    """Return whether an unquoted value may be the name of a variable."""
    return bool(_NAME.fullmatch(value)) and not looks_random(value)


def _cannot_be_secret(value: str) -> bool:
    if is_lookalike(value) or _REFERENCE.match(value) or _NUMBER.fullmatch(value) or _VERSION.fullmatch(value):
        return True
    if _DOTTED.fullmatch(value) and _is_dotted_code(value):
        return True
    if (
        _is_code(value)
        or _is_call(value)
        or _REGEX.search(value)
        or _COLOR.fullmatch(value)
        or _FORMAT.fullmatch(value)
    ):
        return True
    if _PATH.match(value) and not (_changes(value) >= _KEY_CHANGES and "." not in value):
        return True
    return bool(_FILE.fullmatch(value)) and not looks_random(value)


def _is_code(value: str) -> bool:
    """Return whether a value is code: an open call or list, a named argument, a class or a port."""
    if "`" in value or "[^" in value or _PORT.fullmatch(value):
        return True
    match = _OPEN_CALL.match(value)
    if match and value.count("(") + value.count("[") > value.count(")") + value.count("]"):
        return not looks_random(match["name"])
    argument = _ARGUMENT.fullmatch(value)
    if argument and not looks_random(argument["name"]):
        return not looks_random(argument["value"])
    return bool(_CLASS.fullmatch(value))


def _is_call(value: str) -> bool:
    """Return whether a value is a call or a subscript: ``get_password(user)``, ``os.environ["TOKEN"]``."""
    match = _CALL.match(value)
    if not match:
        return False
    if match["bracket"] == "[":
        return "]" in value
    last = value.rfind(")")
    return bool(_ARGUMENTS.fullmatch(value, match.end()) or (last > 0 and _MORE.fullmatch(value, last)))


def _is_dotted_code(value: str) -> bool:
    """Return whether a dotted value is an identifier with few or no digits."""
    if rules.names_secret(value):
        return True
    return not looks_random(value) and (not any(map(str.isdigit, value)) or value.count(".") > 1)


def looks_random(value: str) -> bool:
    """Return whether the kinds of characters in a value change more often than in names."""
    value = value[:_ENOUGH]
    pieces = [(piece, len(_CHANGES.findall(piece))) for piece in _PIECE.findall(value)]
    if sum(changes for _, changes in pieces) >= _KEY_CHANGES or strange(value) >= _STRANGE_PARTS:
        return True
    return any(
        (changes >= 3 and len(piece) >= 8) or (changes and len(piece) >= 12 and (changes > 1 or _HARD.search(piece)))
        for piece, changes in pieces
    )


def _changes(value: str) -> int:
    """Count the changes between letters and digits, or between cases, that do not occur in names."""
    return sum(len(_CHANGES.findall(piece)) for piece in _PIECE.findall(value))


def strange(value: str) -> int:
    """Count the unpronounceable words in a mixed-case value: single letters, no vowel, or many consonants in a row."""
    if len(value) < 8 or not value.isascii() or value.islower() or value.isupper():
        return 0
    words = [word for word in _CAMEL.findall(value) if not word.isupper() or len(word) == 1]
    count = sum(len(word) == 1 or not _VOWEL.search(word) or bool(_HARD.search(word)) for word in words)
    return count + (2 if value.isalpha() and len(value) >= 10 else len(_DIGITS.findall(value)))


def is_basic(value: str, least: float = 0.0) -> bool:
    """Return whether a value is the base64 of a login."""
    del least
    if value in EXAMPLES or len(value.rstrip("=")) % 4 == 1:
        return False
    digits = value.rstrip("=").translate(_STANDARD)
    try:
        login = binascii.a2b_base64(digits + "=" * (-len(digits) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return False
    name, colon, password = login.strip("\0").replace("\0", ":").partition(":")
    return bool(colon and name) and name.isprintable() and len(password) >= 4 and not is_lookalike(password)


def is_blob(value: str, least: float = 0.0) -> bool:
    """Return whether a value is long and random enough to be a key."""
    return len(value) >= 40 and not is_lookalike(value) and entropy(value) >= max(least, 3.5)


def is_phrase(value: str, least: float = 0.0) -> bool:
    """Return whether words may be a wallet recovery phrase of 12, 15, 18, 21 or 24 words (BIP 39)."""
    del least
    words = value.split()
    return len(words) % 3 == 0 and len(set(words)) * 2 >= len(words) and not _PROSE_WORDS & set(words)


CHECKS = {
    "shape": is_shape,
    "password": is_password,
    "token": is_token,
    "basic": is_basic,
    "blob": is_blob,
    "words": is_phrase,
}
"""The checks by their names in rules."""
