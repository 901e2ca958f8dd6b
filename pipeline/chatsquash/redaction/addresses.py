"""Where e-mail addresses stand in a text: found from each at sign outwards, in time linear in the text.

What is left of the sign is only ever looked at through a window of ``_WINDOW`` characters; what is right of it ends at
the next sign, and the pattern for it gives back whole labels only, so no character is read more than a few times.

Finding must give the same again after addresses became pseudonyms (see ``_OURS``), which is why what follows a domain
is never glued to the next address, and a domain never ends between two letters or digits.

Where a sign is spelled as in URLs (``%40``), what stands around it is read so, too, and the text between two signs only
once.  What stands before the host of a URL is no address (``userinfo``), though the user may be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from chatsquash.redaction import encodings, userinfo
from chatsquash.redaction.hits import Hit

_LOCAL_MAX, _DOMAIN_MAX = 64, 255  # RFC 5321, 4.5.3.1
_ESCAPE_MAX = 5  # u003c
_WINDOW = _LOCAL_MAX + 1 + _ESCAPE_MAX
"""A local part, one character that shows it is too long, and an escape before it."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Only what is no top-level domain, as py, md, rs, sh, pl, so, cc, ps, ml, tf, pub, zip, mov and app are.  (map and java
# are on paper.)  Endings with a digit need no mention, since no top-level domain has one.
FILE_ENDINGS = _words("""
    apng avif bmp eps gif heic heif ico jpeg jpg jxl pdf png psd svg tga tif tiff webp
    aac avi flac flv mkv mpeg mpg ogg srt vtt wav webm wmv eot otf ttf woff
    asp aspx astro cgi cjs css cts ejs hbs htm html js jsp jsx less mjs mts php pug sass scss svelte ts tsx vue wasm
    asm bat class clj cmake cmd cpp cs cxx dart erl ex exs fs gradle graphql groovy hpp hrl hs hxx ipynb java jl kt kts
    lua mod nim php proto pyc pyd pyi pyx rb sbt scala sql swift vb xaml zig
    adoc bib cfg conf config csv dat db diff doc docx dump eml env epub git hcl ics ini json jsonc jsonl lock log lst
    map mdx ndjson odp ods odt orc orig parquet patch plist ppt pptx rej rst rtf sqlite tex tfstate tfvars tmpl toml
    tsv txt vcf xhtml xls xlsx xml xsd xsl xslt yaml yml
    apk bak bin ckpt crt csr deb der dll dmg dylib egg exe gguf gpg gz img ipa iso jar key lib lz lzma msi npy npz obj
    onnx pem pkg pkl rar rpm safetensors sig swp tar tbz tgz tmp txz war whl xz zst
""")
SYSTEMD_UNITS = _words("automount device mount path scope service slice socket swap target timer")
_RESERVED = _words("example invalid test localhost")  # RFC 2606
_NO_DOMAIN_ENDS_IN = FILE_ENDINGS | SYSTEMD_UNITS | _RESERVED
_RESERVED_NAMES = _words("example.com example.org example.net")

_LETTER = (  # as in a character class: Latin, Greek, Cyrillic, Armenian; spelled out, to be the same in every Python
    r"a-zA-Z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u0374\u0376\u0377\u037a-\u037d\u037f\u0386\u0388-\u038a"
    r"\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u0559\u0560-\u0588"
)
_WORD = rf"{_LETTER}0-9"
_LOCAL = rf"{_WORD}._%+-"
# What str.rstrip takes off; it looks for each character in turn, so frequent ones come first.
_ASCII_RUN = "eaionrtslcdumhpgybfvkwjxzq.0123456789_-EAIONRTSLCDUMHPGYBFVKWJXZQ+%"

# JSON, and source code, may spell the at sign as an escape, with two, four or eight backslashes inside more JSON.
_SIGN = f"@(?<=[{_LOCAL}]@)"
_ESCAPED_SIGN = rf"\\(?<=[{_LOCAL}]\\)\\{{0,7}}+u0040"
_ENCODED_SIGN = rf"%{encodings.AGAIN}40"
_OUR_DOMAIN = rf"(?:@|\\{{1,8}}+u0040|{_ENCODED_SIGN})[a-z0-9]{{8}}\.example(?![{_WORD}])"
_DOMAIN = (
    rf"(?:[{_WORD}][{_WORD}-]{{0,62}}+(?<!-)\.){{1,127}}"
    rf"(?:[xX][nN]--[{_WORD}-]{{0,58}}[{_WORD}]|[{_LETTER}]{{2,63}}+)(?![{_WORD}])"
    # A pseudonym of letters only, after some other domain and a full stop, is not that domain's last label.
    rf"(?!(?<=\.[a-z]{{16}}){_OUR_DOMAIN})"
)

_ADDRESS = f"(?P<sign>{_SIGN})(?P<domain>{_DOMAIN})"
_ADDRESS_IN_SOURCE = f"(?P<sign>{_SIGN}|{_ESCAPED_SIGN})(?P<domain>{_DOMAIN})"
_ADDRESS_IN_URL = f"{_ADDRESS_IN_SOURCE}|(?P<encoded>{_ENCODED_SIGN})"
_DOMAIN_IN_URL = rf"(?:[{_WORD}.-]++|%(?!{encodings.AGAIN}40){encodings.AGAIN}[0-9A-Fa-f]{{2}})*+"
_OURS_MAX = 40
"""Characters of a sign and the domain of a pseudonym, at most."""
_LABEL = rb"[0-9A-Za-z\x80-\xff-]++"
_LETTERS = rb"[A-Za-z\x80-\xff]{2}"
_LIKE_AN_ADDRESS = re.compile(rb"@(?<! git@)%b(?:\.(?!%b)%b)*+\.%b" % (_LABEL, _LETTERS, _LABEL, _LETTERS))
"""In JSON: a sign and labels behind it, the last of which begins with letters, as in every address.

A login for git, the most frequent thing that looks like one, names nobody.
"""
_FEW = 100
"""Characters that are looked at one by one."""
_compiled = cache(re.compile)  # when first needed: their large classes take longer than converting a small log
_ESCAPE = re.compile(r"u[0-9a-fA-F]{4}|[bfnrt]")
_OURS = rf"[a-z0-9]{{16}}{_OUR_DOMAIN}"
"""A pseudonym, whatever stands around it; known by its form, so that a second run finds what the first one left."""


@cache
def _run() -> str:
    """All characters of local parts."""
    return _ASCII_RUN + "".join(re.findall(f"[{_LETTER}]", "".join(map(chr, range(0x80, 0x590)))))


class Address(NamedTuple):
    """Where an address stands: its local part, its at sign as it is written, its domain."""

    start: int
    sign: int
    domain: int
    end: int
    name: str
    """The local part, decoded, in lower case; so is the host."""
    host: str


def may_have_address(text: str) -> bool:
    """Whether a text has an at sign, or the escape for one, at all."""
    return "@" in text or _has_escape(text) or _has_encoded(text)


def may_hold_address(written: bytes) -> bool:
    """Whether JSON whose letters are not escaped may hold an address; most that has a sign holds none."""
    if b"u0040" in written or may_be_encoded(written):
        return True
    if b"@" not in written:
        return False
    return bool(_LIKE_AN_ADDRESS.search(written)) or userinfo.may_hold_userinfo(written)


def may_be_encoded(written: bytes) -> bool:
    """Whether JSON may hold an address with its sign spelled as in URLs."""
    at = written.find(b"%")
    for _ in range(_FEW):  # which is ten times as fast as the search for more than one byte
        if at < 0:
            return False
        if written.startswith((b"40", b"25"), at + 1):
            break
        at = written.find(b"%", at + 1)
    return b"%40" in written or b"2540" in written


def _has_escape(text: str) -> bool:
    return "\\" in text and r"\u0040" in text  # one character is found 50 times as fast as six


def _has_encoded(text: str) -> bool:
    return "%" in text and ("%40" in text or "2540" in text)


def addresses(text: str) -> Iterator[Address]:
    """All e-mail addresses in a text, from left to right, those aside that name nobody (``_is_person``)."""
    return (address for address in private(text) if isinstance(address, Address))


def private(text: str) -> Iterator[Address | Hit]:
    """All e-mail addresses in a text, and the secrets before the hosts of URLs, from left to right.

    No escape as in JSON is part of a local part or a domain, since any text may hold JSON; an escaped at sign counts.
    """
    pattern = _compiled(_pattern(text))
    if not userinfo.may_have_userinfo(text):
        return _between(text, pattern, 0, len(text))
    return _around_userinfo(text, pattern)


def _around_userinfo(text: str, pattern: re.Pattern[str]) -> Iterator[Address | Hit]:
    floor = 0
    for info in userinfo.userinfos(text):
        yield from _between(text, pattern, floor, info.start)
        yield from _between(text, pattern, info.start, info.user)
        yield from info.secrets
        floor = info.end
    yield from _between(text, pattern, floor, len(text))


def _between(text: str, pattern: re.Pattern[str], floor: int, limit: int) -> Iterator[Address]:
    """The addresses in a part of a text; ``floor`` moves behind each domain, before which no other address starts."""
    at = floor
    while match := pattern.search(text, at, limit):
        sign = match.start()
        if sign >= 16 and (ours := _compiled(_OURS).match(text, sign - 16)):
            at = floor = ours.end()
            continue
        place = _url_address(text, floor, match) if match.lastgroup == "encoded" else _plain(text, floor, match)
        if not place:
            at = match.end()
            continue
        if place.start < sign and place.domain < place.end and _is_person(place.name, place.host):
            yield place
        at = floor = place.end


def _pattern(text: str) -> str:
    if _has_encoded(text):
        return _ADDRESS_IN_URL
    return _ADDRESS_IN_SOURCE if _has_escape(text) else _ADDRESS


def _plain(text: str, floor: int, match: re.Match[str]) -> Address:
    """An address as it is written, before whose sign or behind it nothing may be left."""
    sign, end = match.span()
    domain = match.end("sign")
    if end - domain > _DOMAIN_MAX:
        end = _shorter_end(text, domain)
    start = _local_start(text, floor, sign)
    return Address(start, sign, domain, end, text[start:sign].lower(), text[domain:end].lower())


def _url_address(text: str, floor: int, match: re.Match[str]) -> Address | None:
    """An address as in a URL; ``None`` if no domain is behind its sign."""
    sign, domain = match.span()
    run = _compiled(_DOMAIN_IN_URL).match(text, domain, domain + (_DOMAIN_MAX + 1) * encodings.LONGEST_ENCODED)
    behind = run.end() if run else domain
    plain, places = encodings.percent_decoded(text, domain, behind)
    host = _compiled(_DOMAIN).match(plain + text[behind : behind + _OURS_MAX])
    if not host:
        return None
    end = host.end() if host.end() <= _DOMAIN_MAX else _shorter_end(plain, 0)
    before, starts = encodings.percent_decoded(text, max(floor, sign - _WINDOW * encodings.LONGEST_ENCODED), sign)
    start = _local_start(before, 0, len(before))
    if start == 0 and starts[0] == floor > 0:
        start = len(before) - len(before.lstrip("._+-"))  # but a % would make an escape of what follows it
    return Address(starts[start], sign, domain, places[end], before[start:].lower(), plain[:end].lower())


def _shorter_end(text: str, start: int) -> int:
    """The end of the longest domain that is not too long, where there is one that is; ``start`` if there is none."""
    after = start + _DOMAIN_MAX + 1
    cut = max(text.rfind(".", start, after), text.rfind("-", start, after))
    shorter = _compiled(_DOMAIN).match(text, start, cut)
    return shorter.end() if shorter else start


def _local_start(text: str, floor: int, sign: int) -> int:
    """Where the local part before ``sign`` starts; ``sign`` itself if there is none or it is too long."""
    window = text[max(floor, sign - _WINDOW) : sign]
    run = sign - len(window) + len(window.rstrip(_ASCII_RUN if window.isascii() else _run()))
    # A window of only local characters is longer than an escape and a local part, so it cuts no escape in two.
    start = max(run, sign - _LOCAL_MAX - 1)
    if run > floor and text[run - 1] == "\\" and (escape := _ESCAPE.match(text, run, sign)):
        start = max(start, escape.end())
    # Next to another domain nothing may join the two: a@b.com%20c@d.com.
    leading = "._%+-" if start == floor > 0 else ".-"
    start = sign - len(text[start:sign].lstrip(leading))
    return start if sign - start <= _LOCAL_MAX else sign


def _is_person(local: str, domain: str) -> bool:
    """Whether an address may be somebody's: no login for git, no file or systemd unit, no reserved domain, no bot."""
    last_labels = domain.rsplit(".", 2)[-2:]
    if local == "git" or last_labels[1] in _NO_DOMAIN_ENDS_IN or ".".join(last_labels) in _RESERVED_NAMES:
        return False
    return not is_nobody(local, domain)


_UNREAD = frozenset(("noreply", "donotreply"))
"""Local parts of addresses that nobody reads, without what may stand between their words."""
_JOINTS = str.maketrans("", "", "-_.")
BOTS = frozenset(
    (
        *("support@github.com", "support@dependabot.com", "copilot@github.com"),
        *("action@github.com", "actions@github.com", "github-actions@github.com"),
        *("bot@renovateapp.com", "renovate@whitesourcesoftware.com", "snyk-bot@snyk.io"),
        *("semantic-release-bot@martynus.net", "badger@gitter.im", "badger@codacy.com"),
        *("aider@aider.chat", "amp@ampcode.com", "codex@openai.com", "crush@charm.land", "cursoragent@cursor.com"),
        *("openhands@all-hands.dev", "qwen-coder@alibabacloud.com"),
    )
)
"""Those in trailers of commits, such as ``Co-authored-by``, and in what programs that commit are set to."""
_GITHUB = "users.noreply.github.com"
ACCOUNTS = frozenset(
    ("actions-user", "copilot", "dependabot", "github-actions", "github-actions-bot", "renovate", "renovate-bot")
)
"""Accounts of programs at GitHub; all others with such an address are people, unless their name ends in ``[bot]``."""
_MARKS = ("[bot]", "%5bbot%5d")


def is_nobody(local: str, domain: str) -> bool:
    """Whether an address in lower case is no person's by its local part, as that of a program or of an example."""
    if local.translate(_JOINTS) in _UNREAD or f"{local}@{domain}" in BOTS:
        return True
    if local == "user" and domain.startswith("example."):
        return True
    if domain == _GITHUB:
        return local.endswith(_MARKS) or local.rpartition("+")[2] in ACCOUNTS
    # Of GitLab, wherever it runs: project_7_bot_0f3a@noreply.gitlab.com.
    return domain.startswith("noreply.") and local.startswith(("project_", "group_")) and "_bot_" in local
