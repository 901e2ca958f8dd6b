"""Privacy options of check, redact and translate, which detect or replace private data only if requested."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from chatsquash.cli.click_options import option, options
from chatsquash.cli.command import is_typed, refuse_replacing

if TYPE_CHECKING:
    from chatsquash.core.options import Options

_Run = TypeVar("_Run", bound="Callable[..., Any]")
_OPTIONS = ("redact_names", "redact_rules", "redact_pattern", "redact_known", "allow", "deny", "phone_region")
_KINDS = (
    "secrets (or secrets+kingfisher, with a second scanner), phones, ips, paths, names:FILE, emails; or none.  "
    "[default: none]"
)
_FINDING_CODES = frozenset(("secret-found", "personal-data-found"))
_FILES = ("redact_names", "redact_rules", "redact_known", "allow", "deny")
_NEEDS = {"redact_rules": "secrets", "phone_region": "phones"}
"""Options that have no effect without a kind of ``--redact``."""


def reporting_options(run: _Run) -> _Run:
    """Add the options of a command that reports private data."""
    kinds = option("--redact", metavar="KINDS", help=f"Also report: {_KINDS}")
    return kinds(options(*_OPTIONS)(run))


def replacing_options(run: _Run) -> _Run:
    """Add the options of a command that replaces private data."""
    kinds = option("--redact", metavar="KINDS", help=f"Replace with placeholders: {_KINDS}")
    key = option("--anonymize-key-file", metavar="PATH", help="File with the key of pseudonyms and placeholders.")
    return kinds(options(*_OPTIONS)(key(run)))


def gates(values: dict[str, Any]) -> frozenset[str]:
    """Return the codes of findings that ``--redact`` requests, each of which then fails the command."""
    from chatsquash.redaction.requests import parts

    kinds, _ = parts(values["redact"] or None)
    return _FINDING_CODES | ({"address-not-redacted"} if "emails" in (kinds or "").split(",") else set())


def privacy_options(values: dict[str, Any], *, needs_key: bool = True) -> Options:
    """Build the options for detecting or replacing private data, and remove them from ``values``.

    Args:
        values: Parameters of the command by name. ``anonymize`` means e-mail addresses, like the kind ``emails``.
        needs_key: Whether to load the key of pseudonyms if the options need one.

    Raises:
        UsageError: Options contradict each other or have no effect, or a file cannot be read.
    """
    from dataclasses import replace

    from chatsquash.core.options import Options
    from chatsquash.redaction.pseudonyms import load_key
    from chatsquash.redaction.requests import content, parts, with_kinds

    refuse_replacing(values)
    settings: dict[str, Any] = {name: values.pop(name) or None for name in ("redact", *_OPTIONS)}
    key_file = values.pop("anonymize_key_file", None) or None
    kinds, _ = parts(settings["redact"])
    anonymizes = _anonymizes((kinds or "").split(","), is_asked=values.pop("anonymize", False))
    if anonymizes and kinds == "none":
        settings["redact"] = None  # set by a variable, over which the command line takes precedence
    settings |= {name: content(settings[name]) for name in _FILES if settings[name]}
    settings["redact_pattern"] = settings["redact_pattern"] or ()
    options = with_kinds(Options(**settings, anonymize=anonymizes, write_known=values.pop("write_known", None) or None))
    options = _without_idle(options)
    if needs_key and options.has_key:
        return replace(options, anonymize_key=load_key(key_file))
    if is_typed("anonymize_key_file"):
        raise click.UsageError("--anonymize-key-file has no effect because nothing is replaced; add --redact")
    return options


def _anonymizes(kinds: list[str], *, is_asked: bool) -> bool:
    """Return whether e-mail addresses are included; raise ``UsageError`` if two typed options contradict."""
    is_named = "emails" in kinds
    if is_typed("anonymize") and is_typed("redact"):
        if is_asked and "none" in kinds:
            raise click.UsageError("--redact none has no effect with --anonymize; use only one of them")
        if is_named and not is_asked:
            raise click.UsageError("--redact emails has no effect with --no-anonymize; use only one of them")
    if is_typed("redact") or is_typed("anonymize"):
        return is_named if not is_typed("anonymize") else is_asked
    return is_asked or is_named


def _without_idle(options: Options) -> Options:
    """Return the options without those that have no effect; raise ``UsageError`` if one is on the command line."""
    from dataclasses import replace

    idle = {
        name: kind
        for name, kind in _NEEDS.items()
        if getattr(options, name) is not None and kind not in options.redacts
    }
    if options.allow is not None and not options.replaces:
        idle["allow"] = "KINDS"
    for name, kind in idle.items():
        if is_typed(name):
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} has no effect without --redact {kind}; add it")
    without: dict[str, Any] = dict.fromkeys(idle)
    return replace(options, **without)
