"""Detect e-mail addresses, working outwards from each at sign, in time linear in the text.

To the left of the sign, only a window of ``_WINDOW`` characters is examined; the match to the right ends at the next
sign, and its pattern only backtracks by complete labels. So no character is read more than a few times.

Detection must give the same result after addresses were replaced by pseudonyms (see ``_PSEUDONYM``). Therefore what
follows a domain is never joined to the next address, and a domain never ends between two letters or digits.

If the sign is percent-encoded (``%40``), the text around it is decoded as well, and the text between two signs only
once. The userinfo of a URL is not an address (``userinfo``), although its user may be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction import userinfo
from chatsquash.redaction.values import Hit

_LOCAL_MAX, _DOMAIN_MAX = 64, 255  # RFC 5321, 4.5.3.1
_ESCAPE_MAX = 5  # u003c
_WINDOW = _LOCAL_MAX + 1 + _ESCAPE_MAX
"""The length of a local part, of one character that makes it too long, and of an escape before it."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Excludes top-level domains such as py, md, rs, sh, pl, so, cc, ps, ml, tf, pub, zip, mov and app. (map and java are
# delegated but unused.) No top-level domain has a digit, so such extensions are not listed.
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

# For a character class: Latin, Greek, Cyrillic, Armenian. They are listed because Python's own classes depend on its
# version.
_LETTER = (
    r"a-zA-Z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u0374\u0376\u0377\u037a-\u037d\u037f\u0386\u0388-\u038a"
    r"\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u0559\u0560-\u0588"
)
_WORD = rf"{_LETTER}0-9"
_LOCAL = rf"{_WORD}._%+-"
# The argument of str.rstrip, which tries each character in turn, so frequent ones come first.
_ASCII_RUN = "eaionrtslcdumhpgybfvkwjxzq.0123456789_-EAIONRTSLCDUMHPGYBFVKWJXZQ+%"

# JSON and source code may escape the at sign; nested JSON doubles the backslashes to two, four or eight.
_SIGN = f"@(?<=[{_LOCAL}]@)"
_ESCAPED_SIGN = rf"\\(?<=[{_LOCAL}]\\)\\{{0,7}}+u0040"
_ENCODED_SIGN = rf"%{userinfo.AGAIN}40"
_PSEUDONYM_DOMAIN = rf"(?:@|\\{{1,8}}+u0040|{_ENCODED_SIGN})[a-z0-9]{{8}}\.example(?![{_WORD}])"
_DOMAIN = (
    rf"(?:[{_WORD}][{_WORD}-]{{0,62}}+(?<!-)\.){{1,127}}"
    rf"(?:[xX][nN]--[{_WORD}-]{{0,58}}[{_WORD}]|[{_LETTER}]{{2,63}}+)(?![{_WORD}])"
    # A pseudonym of only letters after another domain and a full stop is not the last label of that domain.
    rf"(?!(?<=\.[a-z]{{16}}){_PSEUDONYM_DOMAIN})"
)

_ADDRESS = f"(?P<sign>{_SIGN})(?P<domain>{_DOMAIN})"
_ADDRESS_IN_SOURCE = f"(?P<sign>{_SIGN}|{_ESCAPED_SIGN})(?P<domain>{_DOMAIN})"
_ADDRESS_IN_URL = f"{_ADDRESS_IN_SOURCE}|(?P<encoded>{_ENCODED_SIGN})"
_DOMAIN_IN_URL = rf"(?:[{_WORD}.-]++|%(?!{userinfo.AGAIN}40){userinfo.AGAIN}[0-9A-Fa-f]{{2}})*+"
_PSEUDONYM_MAX = 40
"""The maximum length of the sign and domain of a pseudonym."""
_LABEL = rb"[0-9A-Za-z\x80-\xff-]++"
_LETTERS = rb"[A-Za-z\x80-\xff]{2}"
# Git logins are excluded: they are the most frequent lookalike and do not identify anybody.
_LIKE_AN_ADDRESS = lazy_compile(rb"@(?<! git@)%b(?:\.(?!%b)%b)*+\.%b" % (_LABEL, _LETTERS, _LABEL, _LETTERS))
"""A sign in JSON, followed by labels of which the last one begins with letters, as in every address."""
_ENCODED_IN_JSON = lazy_compile(_ENCODED_SIGN.encode())
# Patterns are compiled on first use, because compiling the large classes takes longer than converting a small log.
_compiled = cache(re.compile)
_ESCAPE = lazy_compile(r"u[0-9a-fA-F]{4}|[bfnrt]")
_PSEUDONYM = rf"[a-z0-9]{{16}}{_PSEUDONYM_DOMAIN}"
"""A pseudonym in any context."""


@cache
def _run() -> str:
    """Return all characters of local parts."""
    return _ASCII_RUN + "".join(re.findall(f"[{_LETTER}]", "".join(map(chr, range(0x80, 0x590)))))


class Address(Struct, frozen=True):
    """The position of an address: its local part, its at sign as written, and its domain."""

    start: int
    sign: int
    domain: int
    end: int
    name: str
    """The decoded local part in lower case, like ``host``."""
    host: str


def may_have_address(text: str) -> bool:
    """Return whether a text contains an at sign or its escape."""
    return "@" in text or _has_escape(text) or _has_encoded(text)


def may_contain_address(data: bytes) -> bool:
    """Return whether JSON with unescaped letters may contain an address; most JSON with an at sign contains none."""
    if b"u0040" in data or may_be_encoded(data):
        return True
    if b"@" not in data:
        return False
    return bool(_LIKE_AN_ADDRESS.search(data)) or userinfo.may_contain_userinfo(data)


def may_be_encoded(data: bytes) -> bool:
    """Return whether JSON may contain an address with a percent-encoded sign."""
    return bool(_ENCODED_IN_JSON.search(data))


def _has_escape(text: str) -> bool:
    return "\\" in text and r"\u0040" in text  # finding one character is 50 times as fast as finding six


def _has_encoded(text: str) -> bool:
    return "%" in text and ("%40" in text or "2540" in text)


def addresses(text: str) -> Iterator[Address]:
    """Yield the e-mail addresses of persons in a text from left to right (see ``_is_person``)."""
    return (address for address in addresses_and_secrets(text) if isinstance(address, Address))


def addresses_and_secrets(text: str) -> Iterator[Address | Hit]:
    """Yield the e-mail addresses in a text and the secrets in the userinfo of URLs, from left to right.

    Any text may contain JSON, so JSON escapes are not part of a local part or domain, but an escaped at sign counts.
    """
    pattern = _compiled(_pattern(text))
    if not userinfo.may_have_userinfo(text):
        return _addresses_between(text, pattern, 0, len(text))
    return _around_userinfo(text, pattern)


def _around_userinfo(text: str, pattern: re.Pattern[str]) -> Iterator[Address | Hit]:
    floor = 0
    for info in userinfo.userinfos(text):
        yield from _addresses_between(text, pattern, floor, info.start)
        yield from _addresses_between(text, pattern, info.start, info.user)
        yield from info.secrets
        floor = info.end
    yield from _addresses_between(text, pattern, floor, len(text))


def _addresses_between(text: str, pattern: re.Pattern[str], floor: int, limit: int) -> Iterator[Address]:
    """Yield the addresses in a part of a text; none starts before ``floor``, where the last domain ends."""
    at = floor
    while match := pattern.search(text, at, limit):
        sign = match.start()
        if sign >= 16 and (pseudonym := _compiled(_PSEUDONYM).match(text, sign - 16)):
            at = floor = pseudonym.end()
            continue
        address = (
            _url_address(text, floor, match) if match.lastgroup == "encoded" else _plain_address(text, floor, match)
        )
        if not address:
            at = match.end()
            continue
        if address.start < sign and address.domain < address.end and _is_person(address.name, address.host):
            yield address
        at = floor = address.end


def _pattern(text: str) -> str:
    if _has_encoded(text):
        return _ADDRESS_IN_URL
    return _ADDRESS_IN_SOURCE if _has_escape(text) else _ADDRESS


def _plain_address(text: str, floor: int, match: re.Match[str]) -> Address:
    """Return the address around an ``@`` sign, as written; its local part or domain may be empty."""
    sign, end = match.span()
    domain = match.end("sign")
    if end - domain > _DOMAIN_MAX:
        end = _shorter_end(text, domain)
    start = _local_start(text, floor, sign)
    return Address(start, sign, domain, end, text[start:sign].lower(), text[domain:end].lower())


def _url_address(text: str, floor: int, match: re.Match[str]) -> Address | None:
    """Return a percent-encoded address, or ``None`` if no domain follows the sign."""
    sign, domain = match.span()
    run = _compiled(_DOMAIN_IN_URL).match(text, domain, domain + (_DOMAIN_MAX + 1) * userinfo.LONGEST_ENCODED)
    domain_end = run.end() if run else domain
    plain, places = userinfo.percent_decoded(text, domain, domain_end)
    host = _compiled(_DOMAIN).match(plain + text[domain_end : domain_end + _PSEUDONYM_MAX])
    if not host:
        return None
    end = host.end() if host.end() <= _DOMAIN_MAX else _shorter_end(plain, 0)
    before, starts = userinfo.percent_decoded(text, max(floor, sign - _WINDOW * userinfo.LONGEST_ENCODED), sign)
    start = _local_start(before, 0, len(before))
    if start == 0 and starts[0] == floor > 0:
        # A remaining % would turn the following characters into an escape.
        start = len(before) - len(before.lstrip("._+-"))
    return Address(starts[start], sign, domain, places[end], before[start:].lower(), plain[:end].lower())


def _shorter_end(text: str, start: int) -> int:
    """Return the end of the longest domain within the limit, or ``start``."""
    after = start + _DOMAIN_MAX + 1
    cut = max(text.rfind(".", start, after), text.rfind("-", start, after))
    shorter = _compiled(_DOMAIN).match(text, start, cut)
    return shorter.end() if shorter else start


def _local_start(text: str, floor: int, sign: int) -> int:
    """Return the start of the local part before ``sign``, or ``sign`` if the local part is empty or too long."""
    window = text[max(floor, sign - _WINDOW) : sign]
    run = sign - len(window) + len(window.rstrip(_ASCII_RUN if window.isascii() else _run()))
    # The window is longer than an escape plus a local part, so it never splits an escape.
    start = max(run, sign - _LOCAL_MAX - 1)
    if run > floor and text[run - 1] == "\\" and (escape := _ESCAPE.match(text, run, sign)):
        start = max(start, escape.end())
    # After another domain, separators must not join the two addresses: a@b.com%20c@d.com.
    leading = "._%+-" if start == floor > 0 else ".-"
    start = sign - len(text[start:sign].lstrip(leading))
    return start if sign - start <= _LOCAL_MAX else sign


def _is_person(local: str, domain: str) -> bool:
    """Return whether an address may belong to a person, rather than to Git, a file, a reserved domain or a bot."""
    last_labels = domain.rsplit(".", 2)[-2:]
    if local == "git" or last_labels[1] in _NO_DOMAIN_ENDS_IN or ".".join(last_labels) in _RESERVED_NAMES:
        return False
    return not is_nobody(local, domain)


_NO_REPLY = frozenset(("noreply", "donotreply"))
"""Local parts of addresses that nobody reads, without separators."""
_SEPARATORS = str.maketrans("", "", "-_.")
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
"""Bots that appear in commit trailers such as ``Co-authored-by``, or as the configured committer of a program."""
_GITHUB = "users.noreply.github.com"
ACCOUNTS = frozenset(
    ("actions-user", "copilot", "dependabot", "github-actions", "github-actions-bot", "renovate", "renovate-bot")
)
"""GitHub accounts of programs; all others belong to people, unless the name ends in ``[bot]``."""
_MARKS = ("[bot]", "%5bbot%5d")


def is_nobody(local: str, domain: str) -> bool:
    """Return whether an address belongs to a program or an example, according to its local part in lower case."""
    if local.translate(_SEPARATORS) in _NO_REPLY or f"{local}@{domain}" in BOTS:
        return True
    if local == "user" and domain.startswith("example."):
        return True
    if domain == _GITHUB:
        return local.endswith(_MARKS) or local.rpartition("+")[2] in ACCOUNTS
    # GitLab on any host: project_7_bot_0f3a@noreply.gitlab.com.
    return domain.startswith("noreply.") and local.startswith(("project_", "group_")) and "_bot_" in local
