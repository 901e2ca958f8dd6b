"""The options of merged results, which may differ only in options that select logs or name other files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.core.option_declarations import OptionDeclaration
from chatsquash.core.options import Options, list_options
from chatsquash.dataset.manifest import describe, parse_options
from chatsquash.results.finished import FinishedResult

_KEY = "anonymize_key_fingerprint"
_DUPLICATE_OPTIONS = ("duplicates", "drop_duplicates")
_MAY_DIFFER = (
    *("since", "until", "limit", "include", "exclude", "follow_links", "strict"),
    *("write_known", "tool_report_path"),
)
"""Options that select logs or name files elsewhere; results that differ in them can be merged."""


def merged_options(results: Sequence[FinishedResult], options: Options) -> tuple[Options, dict[str, Any]]:
    """Combine the options of results; return them as options and as JSON for ``run.json``.

    ``options.duplicates`` replaces that of the results.

    Raises:
        UsageError: If the results differ in an option; the first one is named.
    """
    duplicates = {"duplicates": options.duplicates, "drop_duplicates": None} if options.duplicates else {}
    first, *others = results
    for other in others:
        _refuse_different(first, other, {*_MAY_DIFFER, *duplicates})
    options_json = {**first.options, **duplicates, _KEY: _key(results)}
    for name in _MAY_DIFFER:
        if any(other.options.get(name) != options_json.get(name) for other in others):
            options_json[name] = describe(Options())[name]
    return as_options(options_json), options_json


def as_options(options_json: dict[str, Any]) -> Options:
    """Parse the options in ``run.json``; the contents of files are replaced by their hashes."""
    groups = {each.group for each in list_options()}
    values = parse_options(options_json, groups)
    values |= {each.name: str(options_json[each.name]).encode() for each in _contents() if options_json.get(each.name)}
    return Options(**{**values, **dict.fromkeys(("since", "until", "limit", "write_known", "tool_report_path"))})


def _contents() -> list[OptionDeclaration]:
    return [each for each in list_options() if each.content]


def _refuse_different(first: FinishedResult, other: FinishedResult, may_differ: set[str]) -> None:
    """Raise ``UsageError`` for the first option in which two results differ."""
    for name in dict.fromkeys([*first.options, *other.options]):
        if name == _KEY or name in may_differ or first.options.get(name) == other.options.get(name):
            continue
        difference = f"{other.path} was written {_setting(other, name)}, but {first.path} {_setting(first, name)}"
        is_mode = name in _DUPLICATE_OPTIONS
        hint = "choose a mode with merge --duplicates" if is_mode else "convert the logs of one result again"
        raise UsageError(f"{difference}: only results with the same options can be merged; {hint}")


def _setting(result: FinishedResult, name: str) -> str:
    """Describe the value of an option with which a result was written."""
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
    """Return the fingerprint of the key; raise ``UsageError`` if values were replaced with different keys."""
    paths_by_key = {each.options.get(_KEY): each.path for each in results if each.is_keyed}
    if len(paths_by_key) > 1:
        paths = " and ".join(list(paths_by_key.values())[:2])
        why = "equal values would have different placeholders; convert the logs of one again with the key of the other"
        raise UsageError(f"{paths} were written with different keys: {why} (--anonymize-key-file)")
    return next(iter(paths_by_key), results[0].options.get(_KEY))
