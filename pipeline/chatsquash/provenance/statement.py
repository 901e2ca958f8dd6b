"""The in-toto statement about a dataset: the hashes of ``run.json`` and all outputs, and those of the inputs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.text import printable_json
from chatsquash.core.version import __version__
from chatsquash.dataset.claim import PROVENANCE
from chatsquash.dataset.store import Output

STATEMENT, ENVELOPE = f"{PROVENANCE}/statement.json", f"{PROVENANCE}/statement.dsse.json"
TYPE, PREDICATE = "https://in-toto.io/Statement/v1", "urn:chatsquash:provenance:v1"
PAYLOAD = "application/vnd.in-toto+json"
"""The payload type of the statement in an envelope of DSSE."""


def statement(files: Iterable[tuple[str, str]], inputs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the statement about files, as names and SHA-256, that were made from inputs."""
    return {
        "_type": TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in files],
        "predicateType": PREDICATE,
        "predicate": {
            "generator": {"name": "chatsquash", "version": __version__},
            "inputs": [_input(each) for each in inputs],
        },
    }


def subjects(data: bytes) -> dict[str, str] | None:
    """Return the hashes of files in a statement by name, or ``None`` if it is damaged."""
    try:
        statement = jsonio.loads(data)
        return {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def write(out: Output, inputs: Iterable[dict[str, Any]], key: bytes | None = None) -> None:
    """Write the statement about all staged files, and an envelope with its signature if there is a key."""
    files = [(file.name, file.digest.hexdigest()) for file in out.staged_files()]
    data = printable_json(statement(files, inputs), indent=True) + b"\n"
    out.write(STATEMENT, data)
    if key:
        out.write(ENVELOPE, printable_json(envelope(data, key), indent=True) + b"\n")


def envelope(payload: bytes, key: bytes) -> dict[str, Any]:
    """Return the DSSE envelope of a payload, signed with a private Ed25519 key in PEM."""
    private = _private_key(key)
    public = private.public_key().public_bytes_raw()
    signature = private.sign(pre_authentication(PAYLOAD, payload))
    return {
        "payload": b64encode(payload).decode(),
        "payloadType": PAYLOAD,
        "signatures": [{"keyid": sha256(public).hexdigest(), "sig": b64encode(signature).decode()}],
    }


def pre_authentication(kind: str, payload: bytes) -> bytes:
    """Return the bytes that DSSE signs."""
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)


def refuse_key(key: bytes) -> None:
    """Raise ``UsageError`` for a key that cannot sign, before anything is converted."""
    _private_key(key)


def _private_key(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        hint = "pip install 'chatsquash[sign]'"
        raise UsageError(f"--provenance-key requires the cryptography package: {hint}") from None
    try:
        private = load_pem_private_key(key, password=None)
    except (ValueError, TypeError):  # damaged, or protected by a password
        private = None
    if not isinstance(private, Ed25519PrivateKey):
        hint = "create one with openssl genpkey -algorithm ed25519 -out KEY"
        raise UsageError(f"--provenance-key: not an unencrypted private Ed25519 key in PEM; {hint}")
    return private


def _input(row: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {"name": row["path"], "annotations": {"size": row["size"]}}
    return {**result, "digest": {"sha256": row["sha256"]}} if row["sha256"] else result
