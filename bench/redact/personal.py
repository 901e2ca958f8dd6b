"""Phones, home directories, public IP addresses and e-mail addresses, and what looks like them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from random import Random
from typing import NamedTuple
from urllib.parse import quote

from bench.redact.shapes import WORDS, Value, text

_PLACE = re.compile("<<(value|url)>>")


class Personal(NamedTuple):
    """A kind of personal data."""

    make: Callable[[Random], Value]
    contexts: tuple[tuple[str, str], ...]
    lookalikes: tuple[tuple[str, str], ...]


def around(rng: Random, context: str, value: Value) -> Value:
    """A text with a value in a context."""
    before, quoted, after = _PLACE.split(context, 1)
    if quoted == "url":
        value = value.mapped(lambda character: quote(character, safe=""))
    return value.within(text(rng, before), text(rng, after))


def _whole(made: str) -> Value:
    return Value(made, ((0, len(made)),))


def _phone(rng: Random) -> Value:
    """Numbers of ranges that are in use, spelled as people do."""
    return _whole(text(rng, rng.choice(_PHONES)))


_PHONES = (
    *("+49 30 2{d3} {d4}", "+49 (0)89 5{d3}-{d3}", "+49151{n1}{d7}", "+49 171 {n1}{d6}", "0049 40 3{d3}{d4}"),
    *("+1 212-5{d2}-{d4}", "+1 (415) 6{d2}-{d4}", "+1.646.7{d2}.{d4}", "+120634{d5}", "+1 312 4{d2} {d4}"),
    *(
        "+44 20 7{d3} {d4}",
        "+44 7911 1{d5}",
        "+44 (0)161 496 {d4}",
        "+33 1 42 {d2} {d2} {d2}",
        "+33 6 12 {d2} {d2} {d2}",
    ),
    *("+39 06 6{d3}{d4}", "+34 91 5{d2} {d2} {d2}", "+41 44 2{d2} {d2} {d2}", "+43 1 5{d6}", "+31 20 6{d6}"),
    *("+46 8 50{d2} {d2} {d2}", "+48 22 6{d2} {d2} {d2}", "+91 98{d3} {d5}", "+81 3-5{d3}-{d4}", "+55 11 9{d4}-{d4}"),
    *("+61 2 9{d3} {d4}", "+86 138 {d4} {d4}", "+82 10-4{d3}-{d4}", "+52 55 5{d3} {d4}", "+90 532 {n1}{d2} {d2} {d2}"),
)


def _user(rng: Random) -> Value:
    first, last = rng.choice(_FIRST), rng.choice(_LAST)
    name = rng.choice(
        (f"{first}{last}", f"{first}.{last}", f"{first[0]}{last}{rng.randint(10, 99)}", f"{first}-{last}")
    )
    return _whole(name)


def _ipv4(rng: Random) -> Value:
    while not _is_public(made := ipaddress.IPv4Address(rng.getrandbits(32))):
        pass
    return _whole(str(made))


def _ip(rng: Random) -> Value:
    if rng.random() < 0.6:
        return _ipv4(rng)
    parts = [rng.choice(("2a01:4f8", "2a00:1450", "2600:1f18", "2001:470", "2606:4700", "2804:14c"))]
    parts += [f"{rng.getrandbits(16) | 0x1000:x}" for _ in range(6)]
    return _whole(":".join(parts) if rng.random() < 0.6 else ":".join(parts[:3]) + "::" + parts[3])


def _is_public(address: ipaddress.IPv4Address) -> bool:
    # 4 in front and 0 or 1 in it: so do versions begin.
    return address.is_global and not address.is_multicast and address.packed[0] > 10 and address.packed[3] > 0


def _address(rng: Random) -> Value:
    first, last = rng.choice(_FIRST), rng.choice(_LAST)
    name = rng.choice(
        (f"{first}.{last}", f"{first[0]}{last}", f"{first}_{last}{rng.randint(1, 99)}", f"{first}+{last}")
    )
    host = rng.choice(
        (f"{rng.choice(WORDS)}-{rng.choice(WORDS)}.com", f"{rng.choice(WORDS)}.co.uk", f"mail.{rng.choice(WORDS)}.de")
    )
    return Value(f"{name}@{host}", ((0, len(name)), (len(name) + 1, len(name) + 1 + len(host))))


_FIRST = "ana bjorn carlos deniz elena fatima gustavo hiroshi ingrid jamal katya lucia marek noemi olga priya".split()
_LAST = "kovacs lindqvist moreau nakamura okafor petrov quintero rossi schneider tanaka vasquez weber yilmaz".split()
PERSONAL: dict[str, Personal] = {
    "phones": Personal(
        _phone,
        (
            ("chat", "You can call me at <<value>> tomorrow.\n"),
            ("chat", "Best regards,\n{Word}\nTel.: <<value>>\nFax: none\n"),
            ("output", '{"name": "{Word}", "phone": "<<value>>", "id": {d4}}\n'),
            ("output", "{d4},{Word},<<value>>,active\n{d4},{Word},,closed\n"),
            ("file contacts.yaml", "owner:\n  name: {Word}\n  mobile: <<value>>\n"),
            ("output", "INSERT INTO customers VALUES ({d3}, '{Word}', '<<value>>');\n"),
            ("file card.vcf", "BEGIN:VCARD\nFN:{Word}\nTEL;TYPE=CELL:<<value>>\nEND:VCARD\n"),
            ("output", '<a href="tel:<<value>>">call</a>\n'),
        ),
        (
            ("output", "order 4{d11} shipped as 1Z{d8}\n"),
            ("output", "version +1.{n1}.{n1}.{d4} built\n"),
            ("output", "17{d11} 17{d8} {d10} {d12}\n"),
            ("output", "@@ -{d3},{d2} +{d3},{d2} @@ def {word}():\n"),
            ("output", "x = +{d3}.{d2} + {d9} - {d4}\n"),
            ("output", "ISBN 978-3-{d2}-{d6}-{d1}\n"),
            ("output", "2024-0{n1}-1{n1} 10:1{n1}:1{n1} +0200 {d4}\n"),
            ("output", "+{d4} -{d4} lines, +{d3} %\n"),
            ("output", "pid {d5} rss {d8} vsz {d9}\n"),
            ("output", "{d4}-{d4}-{d4}-{d4} is the serial number\n"),
        ),
    ),
    "paths": Personal(
        _user,
        (
            ("output", "/home/<<value>>/projects/{word}/src/main.py\n"),
            ("shell", "cd /home/<<value>> && ls -la\n"),
            ("output", "/Users/<<value>>/Library/Caches/{word}\n"),
            ("output", "C:\\Users\\<<value>>\\AppData\\Local\\{word}\n"),
            ("output", '{"cwd": "C:\\\\Users\\\\<<value>>\\\\code\\\\{word}"}\n'),
            ("output", "D:/Users/<<value>>/Documents/{word}.docx\n"),
            ("output", "/mnt/c/Users/<<value>>/source/repos\n"),
            ("output", "/c/Users/<<value>>/git/{word}\n"),
            ("output", "file:///home/<<value>>/{word}/index.html\n"),
            ("output", 'Traceback:\n  File "/Users/<<value>>/dev/{word}/app.py", line {d2}\n'),
            ("output", "PATH=/usr/bin:/home/<<value>>/.local/bin:/bin\n"),
            ("output", "-v /home/<<value>>:/work:ro\n"),
        ),
        (
            ("output", "/home/user/app/{word}.py\n"),
            ("output", "/home/runner/work/{word}/{word}\n"),
            ("output", "/Users/Shared/{word}\n"),
            ("output", "C:\\Users\\Public\\Documents\n"),
            ("output", "/usr/home-page/{word}/index.html\n"),
            ("output", "GET /home/about HTTP/1.1\n".replace("home/about", "api/home")),
            ("output", "import home from '@/pages/home/{Word}'\n"),
            ("output", "$HOME/{word} ~/{word} %USERPROFILE%\\{word}\n"),
            ("output", "/home/$USER/{word} /home/${USER}/x /home/<user>/x\n"),
            ("output", "/root/{word}/run.sh /var/lib/{word}/data\n"),
            ("output", "/home/ubuntu/{word} /home/vscode/.config\n"),
        ),
    ),
    "ips": Personal(
        _ip,
        (
            ("output", "Connected to <<value>> port 443\n"),
            ("output", '{"client": "<<value>>", "status": 200}\n'),
            ("output", "sshd[{d4}]: Accepted publickey for deploy from <<value>> port {d5} ssh2\n"),
            ("shell", "ping -c 3 <<value>>\n"),
            ("output", "A record of {word}.com is <<value>>.\n"),
            ("file hosts.ini", "[web]\n<<value>> ansible_user=deploy\n"),
            ("output", '<<value>> - - [1{n1}/Apr/2024:10:00:0{n1} +0000] "GET / HTTP/1.1" 200 {d4}\n'),
            ("chat", "The server (<<value>>) does not answer.\n"),
            ("output", "X-Forwarded-For: <<value>>, 10.0.0.{n1}\n"),
        ),
        (
            ("output", "10.{d2}.{d2}.{n1} 192.168.{n1}.{d2} 172.16.{n1}.{d2} 127.0.0.1 0.0.0.0\n"),
            ("output", "192.0.2.{d2} 198.51.100.{d2} 203.0.113.{n1} 2001:db8::{h4}\n"),
            ("output", "::1 fe80::{h4}:{h4} fd00::{n1} ff02::1\n"),
            ("output", "installed chromium 12{n1}.0.{d4}.{d2}\n"),
            ("output", "wrote {word}-1.{n1}.{n1}.{n1}.tar.gz and {word}_v2.{n1}.{n1}.{n1}.zip\n"),
            ("output", "version 4.{n1}.{n1}.{n1}, build {d4}\n"),
            ("output", "sections 3.2.1.{n1} and 5.1.2.{n1} of the standard\n"),
            ("output", "netmask 255.255.255.0 broadcast 10.0.0.255 0.0.0.0/0\n"),
            ("output", "mac 3{n1}:{h2}:{h2}:{h2}:{h2}:{h2} at 12:{d2}:{d2}\n"),
            ("output", "std::vector a::b::c Foo::Bar::{Word}\n"),
            ("output", "OID 1.3.6.1.4.1.{d5}.{n1} and 1.2.840.113549.1.1.{n1}\n"),
        ),
    ),
    "addresses": Personal(
        _address,
        (
            ("chat", "Write to <<value>> if it fails.\n"),
            ("output", "Author: {Word} <<<value>>>\n"),
            ("output", '{"email": "<<value>>", "verified": true}\n'),
            ("output", "{d4},{Word},<<value>>,{d2}\n"),
            ("shell", "git config user.email <<value>>\n"),
            ("file humans.txt", "Contact: mailto:<<value>>\n"),
            ("output", "to=<<value>>, relay={word}, status=sent\n"),
            ("output", "GET /unsubscribe?email=<<url>>&list={word} HTTP/1.1\n"),
            ("output", "{d3}: Signed-off-by: {Word} {Word} <<<value>>>\n"),
        ),
        (
            ("output", "git@github.com:{word}/{word}.git\n"),
            ("output", "user@example.com admin@example.org\n"),
            ("output", "noreply@github.com\n"),
            ("output", "{word}@{n1}.{n1}.{n1} @{word}/{word}@^{n1}.0.0\n"),
            ("output", "@app.route @pytest.mark.parametrize @{word}.setter\n"),
            ("output", "{word}.png@2x icon@3x.png\n"),
            ("output", "actions/checkout@v{n1} setup-node@v{n1}.{n1}\n"),
            ("output", "image@sha256:{h64}\n"),
            ("output", "ssh deploy@10.0.0.{n1} root@localhost\n"),
        ),
    ),
}
