"""Public IP addresses; private, documentation and loopback addresses do not identify anybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from chatsquash.redaction.encodings import UnescapedText
from chatsquash.redaction.forms import search_unescaped
from chatsquash.redaction.values import Hit

RESOLVERS = frozenset(
    (
        *("1.0.0.1", "1.1.1.1", "4.2.2.1", "4.2.2.2", "8.8.4.4", "8.8.8.8", "9.9.9.9", "149.112.112.112"),
        *("208.67.220.220", "208.67.222.222", "2001:4860:4860::8844", "2001:4860:4860::8888"),
        *("2606:4700:4700::1001", "2606:4700:4700::1111", "2620:fe::9", "2620:fe::fe"),
    )
)
"""Public DNS resolvers, which do not identify anybody."""
_IPV4 = re.compile(r"[0-9]{1,3}+(?:(?:\.[0-9]{1,3}+){3}+(?![\w-]|\.[0-9])|(?P<dashed>(?:-[0-9]{1,3}+){3}+)(?=\.[a-z]))")
_GROUP = "[0-9A-Fa-f]{0,4}+"
_COLON = re.compile(rf":(?={_GROUP}:)")
_HEX = "0123456789abcdefABCDEF"
_IPV6 = re.compile(rf"(?:{_GROUP}:){{2,7}}(?:[0-9]{{1,3}}+(?:\.[0-9]{{1,3}}+){{3}}+|{_GROUP})(?![\w:]|\.[0-9])")
_JOINED_BEFORE, _WINDOW = frozenset(".:-_"), 32
_HOST = re.compile(r"(?:\A|[^A-Za-z0-9])(?:ip|ec2|host|static|dynamic|dhcp|[a-z]{1,10}[0-9]?)-\Z")
_VERSION = re.compile(
    r"(?:version|\bver\.?|release|\brev|build|assembly|==|>=|<=|~=|\^)[\s:=\"'>(]{0,4}\Z|[A-Za-z0-9]/\Z", re.IGNORECASE
)
_DEVICE = re.compile(r"/(?:tcp|udp)/\Z")
_LOWEST = 20
"""The value that at least one of the four numbers reaches; smaller ones are versions or section numbers."""
_GLOBAL = IPv6Network("2000::/3")


def ips(text: str) -> list[Hit]:
    """Return the public IP addresses in a text in order, without version numbers and public resolvers."""
    return search_unescaped(text, _search)


def _search(reading: UnescapedText) -> Iterator[Hit]:
    text = reading.text
    for start, end, is_dashed in (*_ipv4_spans(text), *_ipv6_spans(text)):
        before = text[max(0, start - _WINDOW) : start]
        address_text = text[start:end].replace("-", ".")
        if _may_follow(before, is_dashed=is_dashed) and (address := _public(address_text)):
            yield Hit(*reading.span(start, end), "IP_ADDRESS", "ip-address", address)


def _ipv4_spans(text: str) -> Iterator[tuple[int, int, bool]]:
    for match in _IPV4.finditer(text):
        yield *match.span(), bool(match["dashed"])


# The search starts at colons, which are much rarer than digits.
def _ipv6_spans(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield candidates for IPv6 addresses."""
    done = 0
    while colon := _COLON.search(text, done):
        before = text[max(done, colon.start() - 4) : colon.start()]
        start = colon.start() - (len(before) - len(before.rstrip(_HEX)))
        match = _IPV6.match(text, start)
        done = match.end() if match else colon.end()
        if match:
            yield *match.span(), False


def _may_follow(before: str, *, is_dashed: bool) -> bool:
    """Return whether the text before an address neither continues in it nor names a version."""
    if is_dashed:
        return bool(_HOST.search(before))
    last = before[-1:]
    if last.isalnum() or last in _JOINED_BEFORE:
        return False
    return not _VERSION.search(before) or bool(_DEVICE.search(before))


def _public(address_text: str) -> str | None:
    """Return the usual form of a public address, or ``None`` for any other."""
    try:
        address: IPv4Address | IPv6Address = ip_address(address_text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        if mapped is None and address not in _GLOBAL:
            return None  # identifiers such as a::b
        address = mapped or address
    if isinstance(address, IPv4Address) and max(address.packed) < _LOWEST:
        return None
    is_somebodys = address.is_global and not address.is_multicast and str(address) not in RESOLVERS
    return str(address) if is_somebodys else None
