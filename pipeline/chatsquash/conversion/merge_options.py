"""The options of results that are merged: the same, but for those that only chose logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.core.option_declarations import OptionDeclaration
from chatsquash.core.options import Options, list_options
from chatsquash.dataset.manifest import describe, parse_options
from chatsquash.results.finished import FinishedResult

_KEY = "anonymize_key_fingerprint"
_ALIKE = ("duplicates", "drop_duplicates")
_FREE = (
    *("since", "until", "limit", "include", "exclude", "follow_links", "strict"),
    *("write_known", "tool_report_path"),
)
"""Options that choose logs or name files elsewhere: the results may differ in them."""


def merged_options(results: Sequence[FinishedResult], options: Options) -> tuple[Options, dict[str, Any]]:
    """The options of the results as one run, and as its ``run.json`` has them.

    ``options.duplicates`` replaces theirs. Raises ``UsageError`` for the first option in which they differ.
    """
    duplicates = {"duplicates": options.duplicates, "drop_duplicates": None} if options.duplicates else {}
    first, *others = results
    for other in others:
        _refuse_different(first, other, {*_FREE, *duplicates})
    recorded = {**first.options, **duplicates, _KEY: _key(results)}
    for name in _FREE:
        if any(other.options.get(name) != recorded.get(name) for other in others):
            recorded[name] = describe(Options())[name]
    return _as_options(recorded), recorded


def _as_options(recorded: dict[str, Any]) -> Options:
    """Options as ``run.json`` has them; a hash takes the place of what a file contains."""
    groups = {each.group for each in list_options()}
    values = parse_options(recorded, groups)
    values |= {each.name: str(recorded[each.name]).encode() for each in _contents() if recorded.get(each.name)}
    return Options(**{**values, **dict.fromkeys(("since", "until", "limit", "write_known", "tool_report_path"))})


def _contents() -> list[OptionDeclaration]:
    return [each for each in list_options() if each.content]


def _refuse_different(first: FinishedResult, other: FinishedResult, free: set[str]) -> None:
    """Raise ``UsageError`` for the first option in which two results differ."""
    for name in dict.fromkeys([*first.options, *other.options]):
        if name == _KEY or name in free or first.options.get(name) == other.options.get(name):
            continue
        made = f"{other.path} was made {_spelled(other, name)}, {first.path} {_spelled(first, name)}"
        again = "choose one with merge --duplicates" if name in _ALIKE else "convert the logs of one of them again"
        raise UsageError(f"{made}: only results with the same options can be merged; {again}")


def _spelled(result: FinishedResult, name: str) -> str:
    """How a result was made, as far as one option says."""
    value = result.options.get(name)
    option = next((each for each in list_options() if each.name == name), None)
    flag = option.flag if option else name
    if value is None or value is False or value == []:
        return f"without {flag}"
    if value is True:
        return f"with {flag}"
    if option in _contents():
        return f"with another file as {flag}"
    return f"with {flag} {','.join(value) if isinstance(value, list) else value}"


def _key(results: Sequence[FinishedResult]) -> str | None:
    """The fingerprint of the key; raises ``UsageError`` if several keys replaced something."""
    made = {each.options.get(_KEY): each.path for each in results if each.is_keyed}
    if len(made) > 1:
        paths = " and ".join(list(made.values())[:2])
        why = "one value would have two placeholders; convert the logs of one again with the key of the other"
        raise UsageError(f"{paths} were made with different keys: {why} (--anonymize-key-file)")
    return next(iter(made), results[0].options.get(_KEY))
