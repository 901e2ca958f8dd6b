"""The overview of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from chatsquash.checks import harm
from chatsquash.checks.coverage import describe_losses
from chatsquash.core.model import Severity
from chatsquash.core.overview import Headline, Overview, Row, comma_separated, count_parts
from chatsquash.core.text import format_size, frequent_kinds, inference_match, pluralize, throughput
from chatsquash.dataset.attention import attention, lost_replies, next_step
from chatsquash.dataset.omissions import ReplyTotals, reasons
from chatsquash.session import cleaning

_LABELS: tuple[tuple[Severity, str], ...] = (("error", "errors"), ("warning", "warnings"), ("info", "notes"))
_LABELS_OF_COUNTS = {"left_out": "skipped", "not_chosen": "not requested"}
"""Labels of counts that differ from their names in ``run.json``."""
_VERBOSE_HINT = "--verbose lists them"


class Run(Protocol):
    """The fields of ``Summary`` that the overview uses."""

    logs: int
    sessions: int
    size: int
    replies: ReplyTotals
    files: list[str]
    output: str
    seconds: float
    reused: int
    unchanged: bool
    other_options: list[str]
    has_samples: bool
    makes_pairs: bool
    moves: bool
    more: str

    @property
    def grouped_files(self) -> int:
        """Number of files whose lines were grouped by session id without an option."""

    def counts(self) -> dict[str, object]:
        """Return the counts as JSON values."""


def run_overview(run: Run) -> Overview:
    """Return the overview of a run, the most important lines first."""
    counts: Mapping[str, Any] = run.counts()
    headlines = (_records(run), _replies(counts), attention(counts))
    rows = (
        *_read(run),
        *_sessions(counts, has_samples=run.has_samples),
        *_grouping(run),
        *_splits(counts, moves=run.moves),
        *_lines_and_replies(counts),
        *_training(counts, has_pairs=run.makes_pairs),
        *_provenance(counts),
        *_replacements(counts),
        *_not_read(counts),
        *findings(counts["findings"]),
        *_filtered_findings(counts),
        *_run(run),
    )
    return Overview(headlines, rows, next_step(counts, run.more))


def findings(counts: Mapping[str, Mapping[str, int]], brief: str | None = _VERBOSE_HINT) -> Iterator[Row]:
    """Return a row for each severity, the worst first, with the number of findings of each code.

    Args:
        counts: The number of findings by severity and code.
        brief: The replacement for the list of notes, unless all details are requested.
    """
    for severity, label in _LABELS:
        if codes := counts.get(severity, {}):
            parts = count_parts(_by_harm(severity, codes))
            yield Row(label, sum(codes.values()), parts, severity, brief if severity == "info" else None)


def _by_harm(severity: Severity, codes: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return codes with their numbers, the worst first, the most frequent first in case of a tie."""
    return sorted(codes.items(), key=lambda each: (harm.rank(severity, each[0]), -each[1], each[0]))


def _filtered_findings(counts: Mapping[str, Any]) -> Iterator[Row]:
    if by_severity := counts["filtered_findings"]:
        parts = [each for severity, codes in by_severity.items() for each in _by_harm(severity, codes)]
        total = sum(count for _, count in parts)
        yield Row(
            "filtered",
            total,
            ("findings of filtered sessions:", *count_parts(parts)),
            "info",
            f"findings of filtered sessions ({_VERBOSE_HINT})",
        )


def _records(run: Run) -> Headline:
    count, output = run.replies.written, run.output
    if not count:
        return Headline((f"no record was written to {output}",), "error")
    records, files = pluralize(count, "record"), pluralize(len(run.files), "file")
    if run.unchanged:
        return Headline((f"{records} in {output} ({files}):", "nothing changed since the last run"))
    return Headline((f"{records} written to {output} ({files})",))


def _replies(counts: Mapping[str, Any]) -> Headline:
    replies = counts["replies"]
    if not replies["logged"]:
        return Headline(("no reply was logged",), "warning")
    total = pluralize(replies["logged"], "logged reply", "logged replies")
    text = f"{replies['carried']:,} of {total} in the records"
    return Headline((text,), "warning" if lost_replies(counts) else None)


def _read(run: Run) -> Iterator[Row]:
    yield Row("files", run.logs, (format_size(run.size) if run.unchanged else throughput(run.size, run.seconds),))


def _sessions(counts: Mapping[str, Any], *, has_samples: bool) -> Iterator[Row]:
    for label in ("sessions", "conversations"):
        each = counts[label]
        parts = [("written", each["written"])]
        for name in ("left_out", "filtered", "not_chosen"):
            why = each.get(name, 0)
            count, codes = (sum(why.values()), reasons(why)) if isinstance(why, dict) else (why, "")
            parts.append((f"{_label(name)}{codes}", count))
        duplicates = "duplicate" if each["duplicates"] == 1 else "duplicates"
        parts += [(duplicates, each["duplicates"]), ("joined", each.get("joined", 0))]
        yield Row("samples" if has_samples and label == "conversations" else label, each["seen"], count_parts(parts))


def _label(name: str) -> str:
    return _LABELS_OF_COUNTS.get(name, name.replace("_", " "))


def _grouping(run: Run) -> Iterator[Row]:
    if run.grouped_files:
        files = "file" if run.grouped_files == 1 else "files"
        yield Row("grouped", run.grouped_files, (f"{files} with several sessions, by session id",))


def _splits(counts: Mapping[str, Any], *, moves: bool) -> Iterator[Row]:
    parts = [
        f"{each['records']:,} {name} ({each['share']:.1%}, requested {each['asked']:.1%})"
        for name, each in counts["splits"].items()
    ]
    if moves:
        parts.append("by cluster: records may change splits when logs are added")
    if parts:
        yield Row("splits", len(counts["splits"]), comma_separated(parts))


def _lines_and_replies(counts: Mapping[str, Any]) -> Iterator[Row]:
    lines, replies, reasoning = counts["lines"], counts["replies"], counts["reasoning"]
    classes = ((_label(name), count) for name, count in lines.items() if name != "seen")
    yield Row("lines", lines["seen"], count_parts(classes))
    parts = [(name, replies[name]) for name in ("carried", "rewritten")]
    copies = replies.get("copied", 0)
    aside = (f"(and {pluralize(copies, 'copy', 'copies')} in other logs)",) if copies else ()
    if replies["logged"]:
        yield Row("replies", replies["logged"], (*count_parts([*parts, *describe_losses(replies["lost"])]), *aside))
    if reasoning["carried"] < reasoning["logged"] or reasoning["withheld"]:
        in_records = f"{reasoning['carried']:,} in the records" if reasoning["carried"] else "none in the records"
        rest = [f"{reasoning['withheld']:,} more withheld by the provider"] if reasoning["withheld"] else []
        yield Row("reasoning", reasoning["logged"] or None, comma_separated([in_records, *rest]))


def _training(counts: Mapping[str, Any], *, has_pairs: bool) -> Iterator[Row]:
    if loss := counts["loss"]:
        messages = {"trained on": loss["trained"], **loss["not_trained"]}
        if any(messages.values()):
            none = () if loss["trained"] else ("none trained on,",)
            yield Row("messages", sum(messages.values()), ("of the assistant:", *none, *count_parts(messages.items())))
    if labels := counts.get("loss_labels"):
        outcomes = {"applied": labels["applied"], **labels["not_applied"]}
        in_several = labels.get("in_several_sessions", 0)
        aside = (f"({in_several:,} in several sessions)",) if in_several else ()
        yield Row("labels", labels["rows"], (*count_parts(outcomes.items()), *aside))
    if scores := counts.get("scores"):
        outcomes = {"joined": scores["joined"], **scores["not_joined"]}
        yield Row("scores", scores["rows"], ("logged apart:", *count_parts(outcomes.items())))
    samples = counts["samples"]
    if "desirable" in samples:
        yield Row("completions", sum(samples.values()), count_parts(samples.items()) or ("none found",))
    elif samples:
        yield Row("certified", samples["trained"], (inference_match(samples["true"], samples["trained"]),))
    if tokens := counts.get("token_samples"):
        breaks = tokens["breaks"]
        comparisons, different = tokens["rerendered"].values()
        yield Row("breaks", sum(breaks.values()), count_parts(breaks.items()) or ("all token ids continue",))
        if comparisons:
            samples = pluralize(comparisons, "sample")
            yield Row("rerendered", different, (f"of {samples} would have other token ids",))
    if has_pairs:
        kinds = count_parts(counts["pairs"].items())
        yield Row("pairs", sum(counts["pairs"].values()) or None, kinds or ("none found",))


def _provenance(counts: Mapping[str, Any]) -> Iterator[Row]:
    if proofs := counts.get("provenance"):
        reasons = Counter(proofs["partial"]) + Counter(proofs["none"])
        yield Row("provenance", proofs["messages"], count_parts([("proven", proofs["complete"]), *reasons.items()]))


def _replacements(counts: Mapping[str, Any]) -> Iterator[Row]:
    if cleaning_counts := counts["cleaned"]:
        names = ((rule, rule.replace("_", " ")) for rule in cleaning.rule_names() if rule in cleaning_counts)
        parts = (
            (name.removesuffix("s") if cleaning_counts[rule] == 1 else name, cleaning_counts[rule])
            for rule, name in names
        )
        yield Row("cleaned", sum(cleaning_counts.values()), count_parts(parts))
    if addresses := counts["addresses"]:
        yield Row("anonymized", addresses, ("e-mail address" if addresses == 1 else "e-mail addresses",))
    secrets = counts["secrets"]
    if secrets["found"]:
        has_unreplaced = secrets["replaced"] < secrets["found"]
        text = f"{secrets['replaced'] or 'none'} replaced" if has_unreplaced else "all replaced"
        yield Row(
            "secrets",
            secrets["found"],
            (f"in {pluralize(secrets['records'], 'record')},", text),
            "error" if has_unreplaced else None,
        )
    if private := counts["private"]:
        yield Row("replaced", sum(private.values()), count_parts((kind, count) for kind, count in private.items()))


def _not_read(counts: Mapping[str, Any]) -> Iterator[Row]:
    if others := counts["other_files"]:
        yield Row("not read", sum(others.values()), count_parts(frequent_kinds(others)))
    if passed_over := counts["passed_over"]:
        yield Row("passed over", passed_over, (f"{'log' if passed_over == 1 else 'logs'}, by options",))


def _run(run: Run) -> Iterator[Row]:
    if run.other_options:
        names = comma_separated(name.replace("_", "-") for name in run.other_options)
        yield Row("replaced", None, ("an earlier output with other options:", *names))
    if reused := run.sessions if run.unchanged else run.reused:
        sessions = "session" if reused == 1 else "sessions"
        yield Row("reused", reused, (f"{sessions} from an earlier run", "(--full converts them again)"))
