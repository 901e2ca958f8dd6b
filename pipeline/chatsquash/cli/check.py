"""``chatsquash check``: findings about the records of datasets and about how a chat template renders them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from chatsquash.cli import exits, privacy
from chatsquash.cli.click_options import argument, option, options, rendering
from chatsquash.cli.command import Command, is_typed, refuse_without_template
from chatsquash.cli.exits import fail_on, tolerate_closed_pipe
from chatsquash.cli.printing import print_overview

if TYPE_CHECKING:
    from chatsquash.core.model import Finding, Severity
    from chatsquash.core.overview import Overview
    from chatsquash.results.contamination import Evaluation
    from chatsquash.results.template import Trials
    from chatsquash.results.trainer import Requirements


@click.command(cls=Command, epilog="Example: chatsquash check out --template chat.jinja")
@argument("datasets", nargs=-1, required=True)
@option("--template", metavar="MODEL", help="Also render each record with this chat template.")
@option(
    "--for",
    "trainer",
    metavar="TRAINER[=MODEL]",
    help="Render records as axolotl, oumi or trl does (must be installed); for other trainers, check the record shape.",
)
@option("--show", type=click.IntRange(min=1), metavar="N", help="Only print the rendering of the Nth record.")
@rendering
@option(
    "--against",
    multiple=True,
    metavar="EVALSET",
    help="Report records that share 13 consecutive words or tasks with this set.",
)
@options("flag_phrase", "check_arguments")
@option("--anonymize/--no-anonymize", default=False, help="Also report e-mail addresses that convert would replace.")
@privacy.reporting_options
@fail_on("and for no others")
@option("--json", "as_json", is_flag=True, help="Print the findings as JSON lines.")
def check(datasets: tuple[str, ...], *, template: str | None, show: int | None, as_json: bool, **values: Any) -> int:
    """Check the records of datasets: JSONL or Parquet files, or folders of them, with native or inlined calls.

    Prints the findings, and their counts by code on standard error. Exits with 3 if a finding is an error or of a kind
    selected by --redact; --fail-on selects other findings instead. MODEL is a .jinja file, a tokenizer_config.json, a
    chat_template.json, a model's folder, or the name of a model in the local Hugging Face cache.
    """
    from chatsquash.checks.phrases import Phrases
    from chatsquash.redaction.requests import redactor
    from chatsquash.results.check import Checks
    from chatsquash.results.check import check as run

    exits.refuse_unknown(values["fail_on"])
    render = {name: values[name] for name in ("render_time", "render_memory")}
    trainer, requirements, template = _trainer(values["trainer"], template)
    refuse_without_template(template, render)
    if trainer and not template:
        from chatsquash.results.template import require_model

        require_model(trainer)
    if show:
        from chatsquash.results.template import show as rendered

        click.echo(rendered(datasets, _shown_template(template, as_json=as_json), show, trainer, **render))
        return 0
    trials = _trials(template, trainer, render)
    evaluation = _evaluation(values["against"])
    gates = privacy.gates(values)
    private = privacy.privacy_options(values, needs_key=False)
    flags = {"--template": template, "--against": evaluation, "--check-arguments": values["check_arguments"]}
    flags |= {"--redact": private.replaces, "--anonymize": private.anonymize}
    exits.refuse_without_option(values["fail_on"], {flag for flag, value in flags.items() if value})
    looks = Checks(
        phrases=Phrases(values["flag_phrase"]),
        addresses=private.anonymize,
        private=redactor(private),
        further=trials.look if trials else None,
        overlap=evaluation.look if evaluation else None,
        shape=requirements.look if requirements else None,
        arguments=values["check_arguments"],
    )
    findings = (finding for dataset in datasets for finding in run(dataset, looks))
    counts = _print_findings(findings, (trials, requirements, evaluation), as_json=as_json)
    return exits.code_of_check(counts, values["fail_on"], gates)


def _trials(template: str | None, trainer: str | None, render: dict[str, Any]) -> Trials | None:
    if not template:
        return None
    from chatsquash.results.template import Trials  # slow to import, and only needed for templates

    return Trials(template, trainer, **render)


def _shown_template(template: str | None, *, as_json: bool) -> str:
    """Return the template for ``--show``; raise ``UsageError`` if it is missing or other options have no effect."""
    if as_json:
        raise click.UsageError("--json has no effect with --show; use only one of them")
    if is_typed("fail_on"):
        raise click.UsageError("--fail-on has no effect with --show; use only one of them")
    if not template:
        raise click.UsageError("--show has no effect without --template; add it")
    return template


def _trainer(name: str | None, template: str | None) -> tuple[str | None, Requirements | None, str | None]:
    """Return the trainer whose rendering is used, or else the requirements of that trainer; and the template."""
    if name is None:
        return None, None, template
    from chatsquash.dataset import trainers
    from chatsquash.results.trainer import Requirements
    from chatsquash.templates.trainers import TRAINERS, split_model

    name, template = split_model(name, template)
    known = trainers.resolve(name) or name
    renders = known in TRAINERS and (TRAINERS[known].folder or template)
    return (known, None, template) if renders else (None, Requirements(known), template)


def _print_findings(
    findings: Iterator[Finding],
    looks: tuple[Trials | None, Requirements | None, Evaluation | None],
    *,
    as_json: bool,
) -> Counter[tuple[Severity, str]]:
    """Print findings as they arrive, and a summary on standard error; return their counts."""
    from chatsquash.core.text import printable
    from chatsquash.dataset import findings_text as report

    counts: Counter[tuple[Severity, str]] = Counter()
    trials = looks[0]
    for finding in chain(findings, trials.finish() if trials else ()):
        counts[finding.severity, finding.code] += 1
        record = f"{printable(finding.file)}:{finding.line}" if finding.line is not None else None
        click.echo(report.as_json(finding, record) if as_json else report.as_text(finding))
    repair = next(trials.repair(), None) if trials else None
    overview = _overview(counts, trials, [each.summary() for each in looks if each])
    print_overview(overview._replace(next_step=None) if repair else overview)
    if repair:
        with tolerate_closed_pipe():
            click.echo(f"\n{repair}", err=True)  # not wrapped, so that the command can be copied
    return counts


def _overview(counts: Counter[tuple[Severity, str]], trials: Trials | None, looked: Sequence[str]) -> Overview:
    """Return the summary of a check: the checks that ran, their findings and the next step."""
    from chatsquash.core.overview import Headline, Overview
    from chatsquash.dataset.attention import findings_headline, worst_finding
    from chatsquash.dataset.overview import findings
    from chatsquash.dataset.summary import by_severity

    severities = by_severity(counts)
    headlines = (*(Headline((line,)) for line in looked), findings_headline(severities))
    rows = (*(trials.rows() if trials else ()), *findings(severities, brief=None))
    return Overview(headlines, rows, worst_finding(severities))


def _evaluation(paths: tuple[str, ...]) -> Evaluation | None:
    """Load the evaluation sets that records are compared with."""
    if not paths:
        return None
    from chatsquash.results.contamination import Evaluation

    return Evaluation(paths)
