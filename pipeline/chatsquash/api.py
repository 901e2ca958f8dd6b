"""The Python API: one function per command, which returns values.

Functions print nothing and never prompt. Their errors name parameters (``fail_on``) where those of the commands name
options (``--fail-on``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from chatsquash.conversion import convert as conversion
from chatsquash.conversion import in_memory
from chatsquash.conversion.complete_options import with_key
from chatsquash.core.errors import ChatsquashError
from chatsquash.core.options import Options, list_options
from chatsquash.core.shorthands import expand

if TYPE_CHECKING:
    from chatsquash.core.model import Finding
    from chatsquash.hub.push import PushOutcome
    from chatsquash.results.redact.record import RedactionSummary
    from chatsquash.results.stats_table import Stats
    from chatsquash.results.template import Trials
    from chatsquash.results.verify import Verification

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
"""One path or several."""
_P = ParamSpec("_P")
_R = TypeVar("_R")
_OPTION = re.compile(r"--(?P<no>no-)?(?P<name>[a-z][a-z-]*[a-z])(?: (?P<value>[\w./+-]+))?(?P<colon>:?)")
"""An option in a message, with the word after it."""


@contextmanager
def _naming_parameters() -> Iterator[None]:
    """Replace options by parameters in the errors of a block."""
    try:
        yield
    except ChatsquashError as problem:
        raise type(problem)(in_python(str(problem))) from problem.__cause__


def _public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Wrap a function so that its errors name parameters."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with _naming_parameters():
            return function(*args, **kwargs)

    call.__module__ = __name__
    return call


def _public_iterator(function: Callable[_P, Iterator[_R]]) -> Callable[_P, Iterator[_R]]:
    """Wrap a generator function so that its errors name parameters."""

    @wraps(function)
    def iterate(*args: _P.args, **kwargs: _P.kwargs) -> Iterator[_R]:
        with _naming_parameters():
            yield from function(*args, **kwargs)

    iterate.__module__ = __name__
    return iterate


convert = _public(conversion.convert)
convert_session = _public(in_memory.convert_session)
read = _public_iterator(in_memory.read)
Session = in_memory.Session


@_public
def with_shorthands(options: Options, *names: str) -> Options:
    """Expand shorthands of the command, such as ``--complete``, into the options that they set.

    Args:
        options: The other options; values that differ from the defaults are not changed.
        names: ``complete``, ``success`` or ``final_answers``.

    Returns:
        The options. If both a shorthand and ``options`` have a ``where`` condition, the two are combined.

    Raises:
        UsageError: A shorthand is unknown.

    Example::

        options = chatsquash.with_shorthands(chatsquash.Options(preset="hf"), "complete")
    """
    defaults = Options()
    explicit = {each.name for each in list_options() if getattr(options, each.name) != getattr(defaults, each.name)}
    return expand(options, names, explicit).options


@_public
def list_sessions(
    source: Paths, options: Options | None = None, *, where: str | None = None, sort: str | None = None
) -> list[dict[str, Any]]:
    """List the sessions of an output folder or of logs, as ``chatsquash list`` does.

    Args:
        source: An output folder, or logs as in ``convert``.
        options: How logs are read; ignored for an output folder.
        where: An SQL condition over the columns of the session table.
        sort: A column of the session table or a key of the result; ``-COLUMN`` sorts descending.

    Returns:
        One dictionary per session: ``id`` (the shortest unique prefix of its id, at least 7 characters), ``day``,
        ``agent``, ``model``, ``replies``, ``tokens``, ``outcome``, ``prompt``, ``session`` and ``log``. Unknown values
        are ``None``.

    Raises:
        UsageError: The source, the condition or the column cannot be used.

    Example::

        for session in chatsquash.list("out", where="exit = 0", sort="-tokens"):
            print(session["id"], session["prompt"])
    """
    from chatsquash.conversion import session_list

    return session_list.list_sessions(_paths(source), options or Options(), where=where, sort=sort)


@_public
def check(
    datasets: Paths,
    options: Options | None = None,
    *,
    template: str | None = None,
    trainer: str | None = None,
    against: Iterable[str] = (),
) -> list[Finding]:
    """Check the records of datasets, as ``chatsquash check`` does.

    Args:
        datasets: JSONL or Parquet files, or folders of them.
        options: Additional checks: ``redact`` and ``anonymize`` report private data, which is not searched for by
            default; ``check_arguments`` and ``flag_phrase`` work as in ``convert``.
        template: A chat template to render records with: a file, a model's folder, or its name in the local cache.
        trainer: Render as this trainer does, which must be installed; ``trl=MODEL`` also selects a template.
        against: Evaluation sets; records that share 13 consecutive words with them, or name their tasks, are reported.

    Returns:
        The findings, in the order of the records.

    Raises:
        UsageError: A dataset, a template or an option cannot be used.

    Example::

        errors = [finding for finding in chatsquash.check("out") if finding.severity == "error"]
    """
    from chatsquash.checks.phrases import Phrases
    from chatsquash.redaction.requests import redactor
    from chatsquash.results import check as checking
    from chatsquash.results.contamination import Evaluation

    settings, sets = with_key(options or Options(anonymize=False)), tuple(against)
    trials = _trials(template, trainer)
    looks = checking.Checks(
        phrases=Phrases(settings.flag_phrase),
        addresses=settings.anonymize,
        private=redactor(settings),
        further=trials.look if trials else None,
        overlap=Evaluation(sets).look if sets else None,
        arguments=settings.check_arguments,
    )
    findings = [finding for dataset in _paths(datasets) for finding in checking.check(dataset, looks)]
    return [*findings, *(trials.finish() if trials else ())]


def _trials(template: str | None, trainer: str | None) -> Trials | None:
    """Return a renderer for the template, which ``trainer`` may contain as ``TRAINER=MODEL``."""
    from chatsquash.results import template as templates
    from chatsquash.templates.trainers import split_model

    if trainer:
        trainer, template = split_model(trainer, template)
        if not template:
            templates.require_model(trainer)
    return templates.Trials(template, trainer) if template else None


@_public
def stats(datasets: Paths, *, tokenizer: str | None = None, template: str | None = None) -> Stats:
    """Count messages, lengths, tools and duplicates of datasets, as ``chatsquash stats`` does.

    Args:
        datasets: JSONL or Parquet files, or folders of them.
        tokenizer: Also count tokens: the path of a ``tokenizer.json``, the folder of a model, or the name of a model in
            the local Hugging Face cache.
        template: Count the tokens of records as this chat template renders them.

    Returns:
        The counts; ``print`` formats them as the command does.

    Raises:
        UsageError: A dataset, a tokenizer or a template cannot be used.

    Example::

        print(chatsquash.stats("out", tokenizer="tokenizer.json"))
    """
    from chatsquash.results import stats as counting

    return counting.stats(_paths(datasets), counting.token_counter(tokenizer, template))


@_public
def redact(
    inputs: Paths,
    output: str | PathLike[str],
    options: Options,
    *,
    force: bool = False,
    on_finding: Callable[[Finding], None] | None = None,
) -> RedactionSummary:
    """Copy datasets, replacing secrets and personal data with placeholders, as ``chatsquash redact`` does.

    Args:
        inputs: JSONL or Parquet files, folders or globs.
        output: A folder; or a file, if the input is one file with the same suffix.
        options: The data to replace: ``redact``, ``anonymize`` (e-mail addresses, on by default) and related lists.
        force: Replace existing files.
        on_finding: Called for each problem with a record; records that cannot be searched are skipped.

    Returns:
        The number of replacements by kind, and of records.

    Raises:
        UsageError: An input cannot be read, or the output cannot be written.

    Example::

        chatsquash.redact("data.jsonl", "clean", chatsquash.Options(redact="secrets"))
    """
    from chatsquash.results.redact import redact as redaction

    watch = redaction.Watch(on_finding or (lambda _: None))
    return redaction.redact(_paths(inputs), fspath(output), with_key(options), watch, force=force)


@_public
def verify(
    output: str | PathLike[str], *, logs: Paths | None = None, compare_logs: bool = False, key: bytes | None = None
) -> Verification:
    """Compare an output folder with its ``run.json``, as ``chatsquash verify`` does.

    Args:
        output: The folder, or its URL.
        logs: The logs as passed to ``convert``; needed if the run replaced their paths.
        compare_logs: Also compare the logs with their hashes; implied by ``logs``.
        key: The key of the run that replaced the paths; by default that of the default key file.

    Returns:
        The numbers of files and logs compared, and ``problems``, which is empty if there are no differences.

    Raises:
        UsageError: The folder is not an output folder.

    Example::

        assert not chatsquash.verify("out").problems
    """
    from chatsquash.dataset.store import place_of
    from chatsquash.redaction.pseudonyms import load_key
    from chatsquash.results import verify as comparison

    known = comparison.KnownLogs(tuple(_paths(logs)), key or load_key(None)) if logs is not None else None
    return comparison.verify(place_of(fspath(output)), logs=compare_logs or known is not None, known=known)


@_public
def push(output: str | PathLike[str], dataset: str, *, public: bool = False, dry_run: bool = False) -> PushOutcome:
    """Upload a dataset folder to the Hugging Face Hub without confirmation, as ``chatsquash push --yes`` does.

    Args:
        output: The dataset folder.
        dataset: ``hf://datasets/OWNER/NAME[@BRANCH]``.
        public: Make a new dataset public; by default it is private.
        dry_run: Upload nothing; ``plan`` of the result lists what would be uploaded.

    Returns:
        The outcome, and the plan with one line per file.

    Raises:
        UsageError: The folder or the dataset cannot be used, or the library for the Hub is missing.
        ChatsquashError: The Hub rejected the upload.

    Example::

        outcome = chatsquash.push("out", "hf://datasets/me/agents", dry_run=True)
        for line in outcome.plan:
            print(line)
    """
    from chatsquash.hub import push as pushing

    plan: list[str] = []
    request = pushing.PushRequest(public, dry_run, plan.extend, lambda: True, lambda *_: None)
    return pushing.push(fspath(output), dataset, request)._replace(plan=tuple(plan))


def _paths(paths: Paths) -> list[str]:
    """Return the paths as a list of texts."""
    return [fspath(paths)] if isinstance(paths, str | PathLike) else [fspath(each) for each in paths]


def in_python(message: str) -> str:
    """Replace the options in a message by parameters of ``Options`` or of functions."""
    from chatsquash.core.extras import with_add_command  # which only errors need

    return with_add_command(_OPTION.sub(_parameter, message))


def _parameter(match: re.Match[str]) -> str:
    """Return an option and the value after it as Python code."""
    negated, name, value = match["no"], match["name"], match["value"] or ""
    known = {each.flag: each for each in list_options()}
    option = known.get(f"--{name}")
    if option is None:  # a parameter of a function, such as output
        return match[0].replace(f"--{match['no'] or ''}{name}", f"{match['no'] or ''}{name}".replace("-", "_"), 1)
    if option.kind is bool:
        return f"{option.name}={not negated} {value}".rstrip() + match["colon"]
    if option.content and value == option.metavar:
        value = ""
    is_own_value = value in option.choices or (option.kind is int and value.isdigit()) or (value and match["colon"])
    if not is_own_value or option.content or option.secret:
        return f"{option.name} {value}".rstrip() + match["colon"]
    if option.kind is int:
        return f"{option.name}={value}{match['colon']}"
    choices = (value,) if option.kind == tuple[str, ...] else value
    return f"{option.name}={choices!r}{match['colon']}"
