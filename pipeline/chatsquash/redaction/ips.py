"""Public IP addresses; those of private networks, of documentation and of machines themselves are nobody's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from chatsquash.redaction.encodings import UnescapedText
from chatsquash.redaction.forms import unescaped
from chatsquash.redaction.hits import Hit

RESOLVERS = frozenset(
    (
        *("1.0.0.1", "1.1.1.1", "4.2.2.1", "4.2.2.2", "8.8.4.4", "8.8.8.8", "9.9.9.9", "149.112.112.112"),
        *("208.67.220.220", "208.67.222.222", "2001:4860:4860::8844", "2001:4860:4860::8888"),
        *("2606:4700:4700::1001", "2606:4700:4700::1111", "2620:fe::9", "2620:fe::fe"),
    )
)
"""Addresses of public resolvers, which everybody uses."""
_FOUR = re.compile(r"[0-9]{1,3}+(?:(?:\.[0-9]{1,3}+){3}+(?![\w-]|\.[0-9])|(?P<dashed>(?:-[0-9]{1,3}+){3}+)(?=\.[a-z]))")
_GROUP = "[0-9A-Fa-f]{0,4}+"
_COLON = re.compile(rf":(?={_GROUP}:)")
_HEX = "0123456789abcdefABCDEF"
_SIX = re.compile(rf"(?:{_GROUP}:){{2,7}}(?:[0-9]{{1,3}}+(?:\.[0-9]{{1,3}}+){{3}}+|{_GROUP})(?![\w:]|\.[0-9])")
_LEFT, _WINDOW = frozenset(".:-_"), 32
_HOST = re.compile(r"(?:\A|[^A-Za-z0-9])(?:ip|ec2|host|static|dynamic|dhcp|[a-z]{1,10}[0-9]?)-\Z")
_VERSION = re.compile(
    r"(?:version|\bver\.?|release|\brev|build|assembly|==|>=|<=|~=|\^)[\s:=\"'>(]{0,4}\Z|[A-Za-z0-9]/\Z", re.IGNORECASE
)
_DEVICE = re.compile(r"/(?:tcp|udp)/\Z")
_LOWEST = 20
"""Of the four numbers of an address one is at least this; smaller ones are of a version or a section."""
_GLOBAL = IPv6Network("2000::/3")


def ips(text: str) -> list[Hit]:
    """The public IP addresses in a text, in order; versions of four numbers are none, and public resolvers stay."""
    return unescaped(text, _search)


def _search(reading: UnescapedText) -> Iterator[Hit]:
    text = reading.text
    for start, end, is_dashed in (*_fours(text), *_sixes(text)):
        before = text[max(0, start - _WINDOW) : start]
        spelled = text[start:end].replace("-", ".")
        if _may_stand_behind(before, is_dashed=is_dashed) and (address := _public(spelled)):
            yield Hit(*reading.span(start, end), "IP_ADDRESS", "ip-address", address)


def _fours(text: str) -> Iterator[tuple[int, int, bool]]:
    for match in _FOUR.finditer(text):
        yield *match.span(), bool(match["dashed"])


def _sixes(text: str) -> Iterator[tuple[int, int, bool]]:
    """What may be an address of IPv6: looked for from its first colon, of which there are far fewer than of digits."""
    done = 0
    while colon := _COLON.search(text, done):
        before = text[max(done, colon.start() - 4) : colon.start()]
        start = colon.start() - (len(before) - len(before.rstrip(_HEX)))
        match = _SIX.match(text, start)
        done = match.end() if match else colon.end()
        if match:
            yield *match.span(), False


def _may_stand_behind(before: str, *, is_dashed: bool) -> bool:
    """Whether what is left of an address is no part of a longer word or number, and names no version."""
    if is_dashed:
        return bool(_HOST.search(before))
    last = before[-1:]
    if last.isalnum() or last in _LEFT:
        return False
    return not _VERSION.search(before) or bool(_DEVICE.search(before))


def _public(spelled: str) -> str | None:
    """An address as it is written most often, if it is a public one."""
    try:
        address: IPv4Address | IPv6Address = ip_address(spelled)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        if mapped is None and address not in _GLOBAL:
            return None  # names of code such as a::b are none
        address = mapped or address
    if isinstance(address, IPv4Address) and max(address.packed) < _LOWEST:
        return None
    is_somebodys = address.is_global and not address.is_multicast and str(address) not in RESOLVERS
    return str(address) if is_somebodys else None
