"""What names are of secrets: of members, variables, elements, headers and flags."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

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
    wordlist dictionary page cursor num no number type typ event action command cmd
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
    r"(bind|root|admin|user|db|ldap|smtp|mail|ftp|auth|require)(pw|pass)"
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
