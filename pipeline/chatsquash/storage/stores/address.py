"""What a URL names: a store, and a key there.  No credential is taken from one, and none of it is ever shown."""

from __future__ import annotations

import re
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.urls import REMOTE, refuse_unknown

_HOSTS = {
    "s3": r"[A-Za-z0-9][A-Za-z0-9._-]*",
    "gs": r"[A-Za-z0-9][A-Za-z0-9._-]*",
    "az": r"[a-z0-9$][a-z0-9-]*",
    "hf": r"[A-Za-z0-9._-]+",
    "https": r"[^@/\s]+",
    "http": r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?",
    "sftp": r"(?:[^@:/\s]+@)?[^@:/\s]+(?::\d+)?",
}
"""Buckets and hosts that a URL may name."""
_WEB = ("https", "http")
_SECRET = re.compile("key|secret|token|sig|credential|passw", re.IGNORECASE)
"""What the names of members of a query have that hold credentials."""
_CREDENTIALS = "holds credentials, which are taken from the environment and the store's own files only"


class Address(NamedTuple):
    """A URL in its parts."""

    scheme: str
    host: str
    """The bucket, the container or the host."""
    key: str
    """What stands behind it, as it is written; of ``https`` the whole URL."""

    @property
    def shown(self) -> str:
        """The URL as messages and reports show it."""
        return shown(self.key) if self.scheme in _WEB else f"{self.scheme}://{self.host}/{self.key}"

    def url(self, key: str) -> str:
        """The URL of another key of the same store."""
        return f"{self.scheme}://{self.host}/{key}"


def address(given: str) -> Address:
    """The parts of a URL; raises ``UsageError`` for one that names no store, or holds credentials."""
    scheme, _, rest = given.partition("://")
    if scheme not in REMOTE:
        refuse_unknown(given)
    host, _, key = rest.partition("/")
    user = host.rpartition("@")[0]
    if ":" in user or (user and scheme != "sftp") or (scheme in ("s3", "gs", "az") and ":" in host):
        raise UsageError(f"{scheme}://...: {_CREDENTIALS}: leave them out of the URL")
    if scheme not in _WEB and _holds_secret(key):
        raise UsageError(f"{scheme}://{host}/...: {_CREDENTIALS}: leave out what stands behind the question mark")
    if not re.fullmatch(_HOSTS[scheme], host):
        what = "only https:// leads to other machines" if scheme == "http" else "names no bucket, container or host"
        raise UsageError(f"{shown(given)}: {what}; write {scheme}://NAME/PATH")
    return Address(scheme, host, given if scheme in _WEB else key)


def _holds_secret(key: str) -> bool:
    """Whether a key ends in a query with a member that is a credential by its name."""
    members = (each.partition("=") for each in re.split("[?&]", key)[1:])
    return any(equals and _SECRET.search(name) for name, equals, _ in members)


def shown(path: str) -> str:
    """A URL without what may be a signature; any other path as it is."""
    return re.split(r"[?#]", path, maxsplit=1)[0] if path.startswith(("https://", "http://")) else path
