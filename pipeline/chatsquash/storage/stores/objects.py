"""Object stores through obstore: S3, Google Cloud Storage and Azure."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from errno import EACCES, EEXIST, EINVAL, EIO, ENOENT, ENOTSUP
from pathlib import Path
from typing import Any

import obstore
from obstore import exceptions
from obstore.store import AzureStore, GCSStore, S3Store

from chatsquash.core.errors import UsageError
from chatsquash.core.text import quote
from chatsquash.storage.stores.base import (
    StaleError,
    StoredBytes,
    StoredObject,
    interruptible,
    part_size,
    state,
    stored_object,
)

_AT_ONCE = 64 << 20
"""The number of bytes of a file to upload simultaneously, unless a single part is larger."""
_RETRIES: Any = {
    "max_retries": 10,
    "retry_timeout": timedelta(minutes=3),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=15), "base": 2},
}
"""The way in which obstore repeats failed requests, with jitter; an interrupted download continues where it ended."""
_TRIES = 4
_CLIENT: Any = {
    "connect_timeout": timedelta(seconds=10),
    "read_timeout": timedelta(seconds=60),
    "timeout": timedelta(hours=1),
    "user_agent": "chatsquash",
}
_PLAIN = {"s3": "AWS_ALLOW_HTTP", "gs": "GOOGLE_ALLOW_HTTP", "az": "AZURE_ALLOW_HTTP"}
"""Environment variables that allow unencrypted connections, for example to a local service."""
_CODE = re.compile(r"<Code>([A-Z][A-Za-z]{1,63})</Code>|status code: (\d{3})")
_WHY = (
    (
        "InvalidObjectState|BlobArchived|BlobBeingRehydrated",
        EACCES,
        "it is archived: restore it first, or skip it with --exclude",
    ),
    (
        (
            "PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint|TemporaryRedirect"
            "|redirect without LOCATION|status code: 301"
        ),
        EIO,
        "the bucket is in another region: set AWS_REGION to that region",
    ),
    ("NoSuchBucket|ContainerNotFound|bucket does not exist", ENOENT, "no such bucket or container"),
    (r"169\.254\.169\.254|metadata\.google\.internal|MissingCredential", EACCES, "no credentials were found"),
    (
        "<Code>(AccessDenied|AuthorizationFailure|AuthorizationPermissionMismatch|AllAccessDisabled)",
        EACCES,
        "the store denied access",
    ),
    ("InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|TokenRefreshRequired", EACCES, "the credentials are wrong"),
)
"""The meaning of words in an error response, in order of precedence."""


_KINDS: dict[type[Exception], tuple[int, str]] = {
    FileNotFoundError: (ENOENT, "no such object"),
    exceptions.PermissionDeniedError: (EACCES, "the store denied access"),
    exceptions.UnauthenticatedError: (EACCES, "the store denied access"),
    exceptions.NotSupportedError: (ENOTSUP, "the store does not support this operation"),
}


def open_store(scheme: str, bucket: str) -> Objects:
    """Return a bucket, opened with credentials from the environment and the configuration files of its service."""
    is_plain = os.environ.get(_PLAIN[scheme], "").lower() == "true"
    arguments: Any = {"client_options": {**_CLIENT, "allow_http": is_plain}, "retry_config": _RETRIES}
    try:
        if scheme == "s3":
            return Objects(S3Store(bucket, **arguments, **_shared_options()))
        return Objects((GCSStore if scheme == "gs" else AzureStore)(bucket, **arguments))
    except (exceptions.BaseError, ValueError) as problem:
        code = type(problem).__name__
        why = "the settings in the environment or configuration files are not valid"
        raise UsageError(f"{scheme}://{bucket}: {why} ({code}); see docs/remote.md for the settings") from None


def _shared_options() -> dict[str, Any]:
    """Return options from the AWS configuration files, unless the environment contains them."""
    # obstore ignores the configuration files.
    if os.environ.get("AWS_ACCESS_KEY_ID") or os.environ.get("AWS_SKIP_SIGNATURE"):
        return {}
    variables = {"AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials", "AWS_CONFIG_FILE": "~/.aws/config"}
    paths = (Path(os.environ.get(name, usual)).expanduser() for name, usual in variables.items())
    if not any(path.is_file() for path in paths):
        return {}
    from botocore.session import Session  # slow to import
    from obstore.auth.boto3 import Boto3CredentialProvider

    session = Session()
    if session.get_credentials() is None:
        return {}
    region = session.get_config_variable("region")
    options = {"credential_provider": Boto3CredentialProvider(session)}
    return {**options, "region": region} if region and not os.environ.get("AWS_REGION") else options


class Objects:
    """A bucket or container."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def status(self, key: str) -> StoredObject | None:
        """See ``Store``."""
        try:
            return _stored_object(_patiently(lambda: obstore.head(self._store, key))) if key else None
        except FileNotFoundError:
            return None

    def list(self, folder: str) -> Iterator[Iterable[StoredObject]]:
        """See ``Store``."""
        pages: Any = None
        last: str | None = None

        def following() -> Any:
            """Return the next page; an interrupted listing is restarted after the last key."""
            nonlocal pages
            pages = pages or iter(obstore.list(self._store, folder or None, offset=last, chunk_size=1000))
            try:
                return next(pages, None)
            except Exception:
                pages = None
                raise

        while page := _patiently(following):
            last = page[-1]["path"]
            yield [_stored_object(each) for each in page]

    def inside(self, folder: str) -> Iterable[str]:
        """See ``Store``."""
        listing: Any = _patiently(lambda: obstore.list_with_delimiter(self._store, folder or None))
        return [each["path"] for each in listing["objects"]]

    def get(self, key: str, start: int, size: int, tag: str | None) -> StoredBytes:
        """See ``Store``."""
        options: Any = {"range": (start, start + size), **({"if_match": tag} if tag else {})}

        def read() -> StoredBytes:
            got = obstore.get(self._store, key, options=options)
            return _piece(got.meta, memoryview(got.bytes()))

        try:
            piece: StoredBytes = _patiently(read)
        except OSError as problem:
            if problem.errno not in (EINVAL, EIO) or start:
                raise
            with suppress(OSError):
                head = _patiently(lambda: obstore.head(self._store, key))
                if not head["size"]:  # an empty object has no valid range, which some services report unclearly
                    return _piece(head, b"")
            raise
        return piece

    def put(self, key: str, data: bytes) -> None:
        """See ``WritableStore``."""
        _patiently(lambda: obstore.put(self._store, key, data, use_multipart=False))

    def create(self, key: str, data: bytes, instead: str | None = None) -> None:
        """See ``WritableStore``."""
        mode: Any = {"e_tag": instead} if instead else "create"
        try:
            _patiently(lambda: obstore.put(self._store, key, data, mode=mode))
        except StaleError:
            raise FileExistsError(EEXIST, "another object has this key") from None

    def upload(self, key: str, path: Path) -> None:
        """See ``WritableStore``."""
        size = path.stat().st_size
        part = part_size(size)
        at_once = max(1, _AT_ONCE // part)
        _patiently(lambda: obstore.put(self._store, key, path, chunk_size=part, max_concurrency=at_once))

    def delete(self, keys: Iterable[str]) -> None:
        """See ``WritableStore``."""
        for key in keys:
            with suppress(FileNotFoundError):  # already removed
                _patiently(lambda key=key: obstore.delete(self._store, key))  # type: ignore[misc]


def _stored_object(meta: Any) -> StoredObject:
    return stored_object(meta["path"], meta["size"], _state(meta), meta["last_modified"].timestamp())


def _piece(meta: Any, data: bytes | memoryview) -> StoredBytes:
    return StoredBytes(data, meta["size"], _state(meta), meta["e_tag"])


def _state(meta: Any) -> int | None:
    return state(meta["e_tag"], str(meta["last_modified"]))


class _PassingError(OSError):
    """A connection error that the library does not retry."""


def _patiently(call: Callable[[], Any]) -> Any:
    """Run a call, and repeat it if its response was lost."""
    for tried in range(1, _TRIES):
        try:
            with _without_secrets():
                return interruptible(call)
        except _PassingError:
            time.sleep(random.uniform(0, 0.05 * 4**tried))  # noqa: S311 - not for cryptography
    with _without_secrets():
        return interruptible(call)


@contextmanager
def _without_secrets() -> Iterator[None]:
    """Convert obstore errors to ``OSError`` with new messages."""
    # Messages of obstore may contain keys and signatures.
    try:
        yield
    except exceptions.PreconditionError:
        raise StaleError from None
    except exceptions.AlreadyExistsError:
        raise FileExistsError(EEXIST, "an object with this key already exists") from None
    except (MemoryError, StaleError):
        raise
    except Exception as problem:  # noqa: BLE001 - also errors of Python for invalid responses, such as dates
        raise _readable_error(problem) from None


def _readable_error(problem: Exception) -> OSError:
    message = str(problem)
    known = next(((number, why) for words, number, why in _WHY if re.search(words, message)), None)
    if known:
        return OSError(*known)
    if isinstance(problem, tuple(_KINDS)):
        return OSError(*next(arguments for kind, arguments in _KINDS.items() if isinstance(problem, kind)))
    is_path = isinstance(problem, exceptions.InvalidPathError)
    key = re.search(r'[Pp]ath "([^"\n]{1,200})"', message) if is_path or isinstance(problem, ValueError) else None
    if key or is_path:
        key_text = f" {quote(key[1])}" if key else ""
        why = "has empty parts, . or .., or control characters"
        return OSError(EINVAL, f"a key{key_text} {why}, which is not supported; rename it")
    codes = {code for groups in _CODE.findall(message) for code in groups if code and not code.isupper()}
    if codes:
        numbers = {"416": EINVAL, "NotImplemented": ENOTSUP, "501": ENOTSUP}
        number = next((numbers[code] for code in codes if code in numbers), EIO)
        return OSError(number, f"the store returned {max(codes)}")
    # obstore does not retry requests that could take effect twice; all calls of this module may be repeated.
    is_tried = re.search(r"after (\d+) retries, max_retries: \1\b| in \d{2,}[.\d]*s\b", message)
    return (OSError if is_tried else _PassingError)(EIO, "the store could not be reached")
