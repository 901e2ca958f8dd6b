"""Encryption of objects with XChaCha20-Poly1305, by libsodium."""

from __future__ import annotations

import os
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.storage.archive.chunks import missing
from chatsquash.storage.archive.layout import Config, DamageError

_KEY, _NONCE, _SALT = 32, 24, 16
_KEY_LABEL = b"key"


class Cipher:
    """The encryption of an archive; without a key, bytes are stored as they are."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key
        self._sodium: Any = _sodium().bindings if key else None

    def seal(self, data: bytes, label: bytes) -> bytes:
        """Encrypt bytes; the label is required to decrypt them."""
        if not self._key:
            return data
        nonce = os.urandom(_NONCE)
        sealed: bytes = self._sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(data, label, nonce, self._key)
        return nonce + sealed

    def unseal(self, data: bytes, label: bytes, key: str) -> bytes:
        """Decrypt bytes of an object; raise ``DamageError`` if they were changed."""
        if not self._key:
            return data
        nonce, rest = data[:_NONCE], data[_NONCE:]
        try:
            plain: bytes = self._sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(rest, label, nonce, self._key)
        except (_sodium().exceptions.CryptoError, ValueError):
            raise DamageError(5, f"{key}: cannot be decrypted, so it is damaged") from None
        return plain


def new_config(secret: bytes | None) -> Config:
    """Return the configuration of a new archive, which is encrypted if there is a secret."""
    identity = os.urandom(16).hex()
    if secret is None:
        return Config(identity)
    salt = os.urandom(_SALT)
    sealed = Cipher(_stretch(secret, salt)).seal(os.urandom(_KEY), _KEY_LABEL)
    return Config(identity, salt=salt, sealed_key=sealed)


def cipher_of(config: Config, secret: bytes | None, place: str) -> Cipher:
    """Return the cipher of an archive; raise ``UsageError`` for a missing or wrong key."""
    if not config.salt:
        if secret is not None:
            raise UsageError(f"{place}: is not encrypted; omit --key-file, or choose a new archive with --to")
        return Cipher()
    if secret is None:
        raise UsageError(f"{place}: is encrypted; pass its key with --key-file, or in CHATSQUASH_KEY_FILE")
    try:
        return Cipher(Cipher(_stretch(secret, config.salt)).unseal(config.sealed_key, _KEY_LABEL, place))
    except DamageError:
        raise UsageError(f"{place}: this is not its key; pass the key with which the archive was created") from None


def _stretch(secret: bytes, salt: bytes) -> bytes:
    argon = _sodium().pwhash.argon2id
    limits = argon.OPSLIMIT_INTERACTIVE, argon.MEMLIMIT_INTERACTIVE
    key: bytes = argon.kdf(_KEY, secret, salt, *limits)
    return key


def _sodium() -> Any:
    try:
        import nacl.bindings
        import nacl.exceptions
        import nacl.pwhash
    except ImportError:
        raise missing("PyNaCl") from None
    return nacl
