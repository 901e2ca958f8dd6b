"""Public IP addresses are found however they stand in a text; what is nobody's, and what only looks like one, stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.redaction.ips import RESOLVERS, ips
from tests.conftest import cases

FOUR, SIX = "54.12.33.44", "2a00:1450:4001:82b::200e"


@cases(
    "text, written, value",
    ("with a user", f"ssh ana@{FOUR} -p 22", FOUR, FOUR),
    ("with a port", f"http://{FOUR}:8080/x", FOUR, FOUR),
    ("of a network", f"{FOUR}/24", FOUR, FOUR),
    ("at the end of a sentence", f"It is {FOUR}.", FOUR, FOUR),
    ("in quotes", f'"{FOUR}"', FOUR, FOUR),
    ("behind an equals sign", f"addr={FOUR},", FOUR, FOUR),
    ("as a device", f"/dev/tcp/{FOUR}/80", FOUR, FOUR),
    ("in an access log", f'{FOUR} - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1"', FOUR, FOUR),
    ("of IPv6", f"to {SIX}, now", SIX, SIX),
    ("of IPv6 in brackets", f"[{SIX}]:443", SIX, SIX),
    ("of IPv6, in full", "2A00:1450:4001:082B:0000:0000:0000:200E", "2A00:1450:4001:082B:0000:0000:0000:200E", SIX),
    ("of IPv6 with a zone", f"{SIX}%eth0", SIX, SIX),
    ("mapped into IPv6", f"::ffff:{FOUR}", f"::ffff:{FOUR}", FOUR),
    ("of IPv6, URL-encoded", SIX.replace(":", "%3A"), SIX.replace(":", "%3A"), SIX),
    ("in the name of a host", "ec2-54-12-33-44.compute-1.amazonaws.com", "54-12-33-44", FOUR),
    ("behind other letters", f"é😀 {FOUR}", FOUR, FOUR),
    ("behind the escape of a break", f"a\\n{FOUR}", FOUR, FOUR),
)
def test_an_address_is_found(text, written, value):
    found = [(text[hit.start : hit.end], hit.kind, hit.rule, hit.value) for hit in ips(text)]
    assert found == [(written, "IP_ADDRESS", "ip-address", value)]


KEPT = [
    "10.0.0.1 172.16.3.4 192.168.1.1 127.0.0.1 0.0.0.0 255.255.255.0 169.254.169.254 100.64.1.1 224.0.0.251",
    "192.0.2.1 198.51.100.7 203.0.113.5 2001:db8::1",
    "::1 fe80::1%eth0 fd00::1 ff02::1",
    "Chrome/120.0.6099.109 Firefox/54.12.33.44",
    "pkg==54.2.3.4 pkg>=54.2.3.4 pkg~=54.2.3.4 ^54.2.3.4",
    'version 54.2.3.4, Version="54.0.0.0", version: 54.0.0.1, v54.12.33.44',
    "54.12.33.44.5 libx.so.54.12.33.44 1.3.6.1.4.1.311",
    "1.2.3.4 see 3.1.12.2",
    "12:30:45 00:1a:2b:3c:4d:5e 2026:01:02",
    "std::string a::b dead::beef crate::ffi::c cafe::1",
    "054.12.33.44 554.12.33.44",
    "2026-01-02-03.txt 54-12-33-44",
    " ".join(sorted(RESOLVERS)),
]


@pytest.mark.parametrize("text", KEPT)
def test_what_is_nobodys_stays(text):
    assert ips(text) == []


@given(st.ip_addresses(v=4).filter(lambda each: each.is_global and max(each.packed) > 19 and not each.is_multicast))
def test_every_public_address_is_found(address):
    assert [hit.value for hit in ips(f"from {address}:443")] == [str(address)][: str(address) not in RESOLVERS]


@given(st.text("0123456789abcdef:./-% é\\n", max_size=60))
def test_any_text_is_searched(text):
    for hit in ips(f"{text} {FOUR}"):
        assert 0 <= hit.start < hit.end <= len(text) + 1 + len(FOUR)
