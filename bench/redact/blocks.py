"""Secrets of several lines: private keys as their tools write them."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from bench.redact.shapes import Value, text


class Block(NamedTuple):
    """How a tool writes a private key."""

    label: str
    starts: str
    """What its bytes begin with in base64, which is no secret."""
    length: int
    """Characters of base64 after that."""
    columns: int = 64
    headers: str = ""
    """Lines before the bytes."""
    checksum: bool = False


BLOCKS = {
    "rsa": Block("RSA PRIVATE KEY", "MIIEpAIBAAKCAQEA", 1572),
    "rsa-encrypted": Block(
        "RSA PRIVATE KEY", "", 1584, headers="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{H32}\n\n"
    ),
    "ec": Block("EC PRIVATE KEY", "MHcCAQEEI", 150),
    "dsa": Block("DSA PRIVATE KEY", "MIIBuwIBAAKBgQ", 590),
    "pkcs8": Block("PRIVATE KEY", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 1590),
    "pkcs8-ed25519": Block("PRIVATE KEY", "MC4CAQAwBQYDK2VwBCIEI", 42),
    "pkcs8-encrypted": Block("ENCRYPTED PRIVATE KEY", "MIIFHDBOBgkqhkiG9w0BBQ0wQTApBgkqhkiG9w0BBQwwHAQI", 1690),
    "openssh-ed25519": Block(
        "OPENSSH PRIVATE KEY", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB", 468 - 116, 70
    ),
    "openssh-rsa": Block("OPENSSH PRIVATE KEY", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB", 2500, 70),
    "pgp": Block("PGP PRIVATE KEY BLOCK", "lQdGBG", 2200, headers="\n", checksum=True),
    "ssh2-encrypted": Block("SSH2 ENCRYPTED PRIVATE KEY", "P2/56wAA", 800, 70, 'Comment: "{word}@build"\n'),
}


def draw(rng: Random, name: str) -> Value:
    """A key of this form, and the lines of it that are secret."""
    block = BLOCKS[name]
    body = block.starts + text(rng, f"{{b{block.length}}}")
    body += "=" * (-len(body) % 4)
    lines = [body[at : at + block.columns] for at in range(0, len(body), block.columns)]
    dashes = "----" if name.startswith("ssh2") else "-----"
    space = " " if name.startswith("ssh2") else ""
    written = f"{dashes}{space}BEGIN {block.label}{space}{dashes}\n{text(rng, block.headers)}"
    spans = []
    for number, line in enumerate(lines):
        skipped = len(block.starts) if number == 0 else 0
        spans.append((len(written) + skipped, len(written) + len(line.rstrip("="))))
        written += line + "\n"
    written += text(rng, "={b4}\n") if block.checksum else ""
    return Value(f"{written}{dashes}{space}END {block.label}{space}{dashes}", tuple(spans))
