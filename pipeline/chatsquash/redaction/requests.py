"""Finders and redactors according to the options of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.core.text import pluralize
from chatsquash.redaction import userinfo
from chatsquash.redaction.addresses import addresses, may_have_address
from chatsquash.redaction.values import Finder, Placeholders

if TYPE_CHECKING:
    from chatsquash.redaction.gate import Gate
    from chatsquash.redaction.redactor import Redactor
    from chatsquash.redaction.secrets import Secrets

_NAMES = "names:"
_CHOICES = ("secrets", "secrets+kingfisher", "phones", "ips", "paths", "names:FILE", "emails", "none")
_LARGEST = 64 << 20
"""The maximum size of a list of values in bytes."""


def parts(redact: str | None) -> tuple[str | None, str | None]:
    """Split ``--redact`` into the kinds and the file of names.

    Raises:
        UsageError: A kind is unknown.
    """
    if redact is None:
        return None, None
    names, kinds = None, []
    for kind in filter(None, (part.strip() for part in redact.split(","))):
        if kind.startswith(_NAMES) and names is not None:
            raise UsageError("--redact: two files with names; combine them into one")
        if kind.startswith(_NAMES):
            names = kind.removeprefix(_NAMES)
            kinds.append("names")
        elif kind in (*_CHOICES, "names"):
            kinds.append(kind)
        else:
            raise UsageError(f"--redact {kind}: unknown value; expected one of {', '.join(_CHOICES)}")
    if not kinds or ("none" in kinds and len(kinds) > 1):
        what = "none cannot be combined with other kinds" if kinds else "the list is empty"
        raise UsageError(f"--redact: {what}; use a list such as secrets,phones, or none")
    return ",".join(kinds), names


def content(path: str) -> bytes:
    """Read a list of values.

    Raises:
        UsageError: The file cannot be read or is too large.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
    if len(data) > _LARGEST:
        raise UsageError(f"{path}: has more than {pluralize(_LARGEST >> 20, 'MiB', 'MiB')}; split it")
    return data


def with_kinds(options: Options) -> Options:
    """Return options with the content of the file of names, and with addresses according to the kinds."""
    kinds, names = parts(options.redact)
    if names is not None and options.redact_names is not None:
        raise UsageError("--redact names:FILE has no effect with --redact-names; use only one of them")
    if names is not None:
        options = replace(options, redact=kinds, redact_names=content(names))
    if kinds == "none" and options.anonymize:
        options = replace(options, anonymize=False)
    if kinds and "names" in kinds.split(",") and options.redact_names is None:
        raise UsageError("--redact names: the file with names is missing; use --redact names:FILE")
    return options


def check_options(options: Options) -> None:
    """Raise ``UsageError`` for invalid options on private values before a run starts."""
    parts(options.redact)
    if options.replaces:
        redactor(options)
    if options.redact_rules is not None or options.allow is not None:
        secret_finder(options)


def redactor(options: Options, key: bytes | None = None) -> Redactor | None:
    """Create the redactor for the options, if any is needed; without a key it only detects."""
    if not options.replaces:
        return None
    from chatsquash.redaction import lists
    from chatsquash.redaction.redactor import Redactor

    value_lists = lists.Lists(allow=options.allow, deny=options.deny, known=options.redact_known)
    placeholders = None if key is None else Placeholders(key)
    finders = [*_finders(options), value_lists.find]
    if not options.anonymize:
        return Redactor(finders, placeholders, value_lists.allows, lists.values)
    return Redactor(finders, placeholders, value_lists.allows, lists.values, _addresses)


def _addresses(text: str) -> list[tuple[int, int]]:
    """Return the spans of e-mail addresses, which become pseudonyms."""
    return [(each.start, each.end) for each in addresses(text)] if may_have_address(text) else []


def secret_finder(options: Options) -> Redactor:
    """Create a redactor that only reports secrets."""
    from chatsquash.redaction.redactor import Redactor

    secrets = _secrets(options)
    if options.allow is None:
        return Redactor([secrets.find], known=_values)
    from chatsquash.redaction import lists

    return Redactor([secrets.find], None, lists.Lists(allow=options.allow).allows, lists.values)


def secret_gate(options: Options) -> Gate | None:
    """Return the gate that excludes records without secrets, if the rules permit one."""
    return _gate(options.redact_rules, excludes_userinfo=False)


def replacement_gate(options: Options) -> Gate | None:
    """Return the gate that excludes records in which nothing is replaced, if only secrets are."""
    others = (options.redact_rules, options.deny, options.redact_known, options.redact_pattern)
    if options.redacts != ("secrets",) or any(others):
        return None
    return _gate(None, excludes_userinfo=True)


@lru_cache(maxsize=4)
def _gate(own: bytes | None, *, excludes_userinfo: bool) -> Gate | None:
    from chatsquash.redaction.gate import gate

    return gate(_of_rules(own), excludes_userinfo=excludes_userinfo)


def _values(values: Mapping[str, tuple[str, str]]) -> Finder:
    from chatsquash.redaction import lists  # not needed without secrets

    return lists.values(values)


def _finders(options: Options) -> Iterator[Finder]:
    for kind in options.redacts:
        if kind == "secrets":
            yield _secrets(options).find
            yield userinfo.passwords
        elif kind == "kingfisher":
            from chatsquash.redaction.scanner import scanner

            yield scanner()
        elif kind == "phones":
            from chatsquash.redaction.phones import phones

            yield phones(options.phone_region)
        elif kind == "ips":
            from chatsquash.redaction.ips import ips

            yield ips
        elif kind == "paths":
            from chatsquash.redaction.names import paths

            yield paths
        else:
            from chatsquash.redaction.names import names

            yield names(options.redact_names or b"")
    for option in options.redact_pattern:
        from chatsquash.redaction.patterns import pattern

        name, _, regex = option.partition("=")
        yield pattern(name, regex)


def _secrets(options: Options) -> Secrets:
    return _of_rules(options.redact_rules)


# Preparing the rules is slow.
@lru_cache(maxsize=4)
def _of_rules(own: bytes | None) -> Secrets:
    """Create the finder for built-in and user-defined rules."""
    from chatsquash.redaction.rules import builtin, parse_rules
    from chatsquash.redaction.secrets import Secrets

    return Secrets() if own is None else Secrets([*builtin(), *parse_rules(own, "--redact-rules")])
