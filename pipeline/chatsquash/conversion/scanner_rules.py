"""The compiled rules of the scanner, stored in the output folder because loading them takes a tenth of the time.

Others may have written to the folder, so the files are verified by a digest that requires the key of the run.
"""

from __future__ import annotations

import hmac
from contextlib import closing, suppress
from pathlib import Path

from chatsquash.core.model import OURS
from chatsquash.core.options import Options
from chatsquash.redaction import scanner
from chatsquash.storage.folder import Folder

_RULES, _DIGEST = "kingfisher", "kingfisher.digest"


def make(options: Options, out: Path) -> None:
    """Compile the rules into an output folder, unless they exist; does nothing without ``--redact kingfisher``."""
    if "kingfisher" not in options.redacts:
        return
    with closing(Folder(out)) as folder:
        ours = folder.folder(OURS)
        rules = ours.folder(_RULES)
        rules.make(mode=0o700)
        if not _is_ours(ours, rules, options):
            for name in rules.names():
                rules.remove(name)
        scanner.keep_in(str(rules.path))
        scanner.start()
        ours.replace(_DIGEST, _digest(rules, options))


def take(options: Options, out: Path) -> None:
    """Load the rules that another process compiled."""
    if "kingfisher" in options.redacts:
        with closing(Folder(out)) as folder, suppress(OSError):
            ours = folder.folder(OURS)
            rules = ours.folder(_RULES)
            if _is_ours(ours, rules, options):
                scanner.keep_in(str(rules.path))


def _is_ours(ours: Folder, rules: Folder, options: Options) -> bool:
    try:
        return hmac.compare_digest(ours.read(_DIGEST), _digest(rules, options))
    except OSError:
        return False


def _digest(rules: Folder, options: Options) -> bytes:
    """Return a digest of all files; raise ``OSError`` if one of them is a link."""
    digest = hmac.new(options.anonymize_key or b"", b"rules of a scanner", "sha256")
    for name in sorted(rules.names()):
        data = rules.read(name)
        digest.update(f"\0{name}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    return digest.hexdigest().encode()
