"""All options of a conversion, each declared once.

The command line with its help and environment variables, the validation of values, ``run.json``, the decision about
what a rerun reuses, and the docs are derived from these declarations. To add an option, add a field, with the options
that it requires or conflicts with. Other rules belong in ``option_rules``.
"""

# No ``from __future__ import annotations``: the declarations need the types of the fields at run time.
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from chatsquash.core.option_declarations import (
    Conflict,
    Need,
    OptionDeclaration,
    declarations,
    one_of,
    option,
    set_options,
)
from chatsquash.core.record_options import RecordOptions

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from chatsquash.core.option_declarations import dataclass_without_init as dataclass

GroupBy = Literal["date", "scenario", "none"]
Packing = Literal["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]
SplitBy = Literal["prompt", "session", "scenario", "day", "cluster"]
Duplicates = Literal["keep", "exact", "ids", "prefix", "near"]
_dataset = partial(option, group="dataset")
_filter = partial(option, group="filters")
_limit = partial(option, group="bounds", least=1)
_report = partial(option, group="reports", decides="output", on_card=False)
_path = partial(option, group="paths", decides="output", on_card=False, metavar="GLOB")
_day = partial(option, group="days", decides="output")
_run = partial(option, group="run", decides="nothing")
ERRORS = "errors"
"""The name that stands for all findings with severity error, among finding codes."""
FLAGGED = ("context limit was reached",)
"""The default phrases of ``--flag-phrase``."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Options(RecordOptions):
    """The options of a conversion, with the defaults of the command. ``run.json`` lists them in this order."""

    group_by: GroupBy = option(
        "date", "Write one file per day, one per scenario, or a single file (none).", group="grouping", decides="output"
    )
    tool_report: bool = _report(True, "Write reports on tool usage.")
    tool_report_path: str | None = _report(
        None,
        "Also write tool-usage.csv to this file.",
        metavar="FILE",
        conflicts=(Conflict("tool_report", one_of(False)),),
    )
    trace_replies: bool = option(
        False,
        "Write reports/replies.jsonl with the outcome of each logged reply.",
        group="reports",
        on_card=False,
    )
    provenance: bool = option(
        False,
        "Write OUT/provenance: the bytes of the log and the changes that each message was made from, and hashes of "
        "all files.",
        group="reports",
        on_card=False,
        conflicts=(Conflict("samples", one_of("tokens", "forest")),),
    )
    provenance_key: bytes | None = option(
        None,
        "Sign the statement of --provenance with this private Ed25519 key, in PEM.",
        group="reports",
        decides="nothing",
        metavar="FILE",
        content=True,
        secret=True,
        on_card=False,
        needs=(Need("provenance", one_of(False), "True"),),
    )
    keep_rejected: bool = _report(
        False,
        "Copy malformed lines to reports/rejected-lines.jsonl.",
        conflicts=(Conflict("strict", one_of(True)),),
    )
    workers: int = _run(1, "Number of processes that convert at the same time.", least=1, usually="one per core")
    full: bool = _run(
        False,
        "Convert all logs again, not only new and changed ones.",
        conflicts=(Conflict("resume", one_of(True)),),
    )
    resume: bool = _run(False, "Continue an interrupted run.")
    strict: bool = _run(
        False, "Stop at the first session or line that would be skipped.", decides="output", on_card=False
    )
    force: bool = _run(False, "Write to a folder that contains other files. They are not changed.")
    replace: bool = _run(
        False, "Replace the output in the folder, even if it is from other logs or this run writes no records."
    )
    follow_links: bool = option(False, "Follow symbolic links to folders.", group="links", decides="output")
    since: str | None = _day(None, "Only convert sessions from this day on (YYYY-MM-DD).", metavar="DATE")
    until: str | None = _day(None, "Only convert sessions up to this day (YYYY-MM-DD).", metavar="DATE")
    limit: int | None = _day(None, "Convert at most N sessions.", least=1)
    format: Packing | None = _dataset(
        None, "Write a dataset folder, with files of this type.", usually="jsonl if another option needs a folder"
    )
    """``None`` writes grouped files."""
    trainer: str | None = _dataset(
        None,
        "Write the format of this trainer, and its configuration to OUT/trainer: trl, axolotl, unsloth, ms-swift, "
        "oumi, llama-factory, torchtune, verl, nemo, together, fireworks, tinker or openai. Your own options take "
        "precedence.",
        metavar="TRAINER[=MODEL]",
        flag_name="--for",
        decides="output",
        on_card=False,
    )
    shard_size: int | None = _dataset(
        None,
        "Amount of text per file in a dataset folder.",
        least=1,
        metavar="SIZE",
        usually="256MB",
        needs=(Need("format", one_of(False), "parquet"),),
    )
    split: str | None = _dataset(
        None, "Divide the dataset into splits, for example train=0.98,validation=0.02.", metavar="SHARES"
    )
    """``None`` puts all records into ``train``."""
    split_by: SplitBy = _dataset(
        "prompt",
        "Records to keep in the same split: those with the same first prompt, session, scenario, day, or "
        "cluster of similar conversations.",
        needs=(Need("split", one_of(None, ""), "train=0.98,validation=0.02"),),
    )
    seed: int = _dataset(
        0,
        "Seed for --split. A different seed assigns different sessions to each split.",
        needs=(Need("split", one_of(None, ""), "train=0.98,validation=0.02"),),
    )
    metadata: bool = _dataset(
        False,
        "Add columns to a dataset folder: session, source, model, time, tokens and more.",
        needs=(Need("format", one_of(False), "parquet"),),
    )
    traces: bool = _dataset(
        False,
        "Also write each record of a dataset folder to traces/, for the Hub's trace viewer.",
        needs=(Need("format", one_of(False), "parquet"),),
    )
    min_turns: int | None = _filter(None, "Only write sessions with at least N assistant turns.", least=0)
    max_turns: int | None = _filter(None, "Only write sessions with at most N assistant turns.", least=0)
    max_chars: int | None = _filter(None, "Only write records with at most N characters.", least=1)
    drop: tuple[str, ...] = _filter(
        (),
        "Skip sessions with this finding; errors skips those with any error.",
        metavar="CODE",
        conflicts=(Conflict("integrity_analysis", one_of(False)),),
    )
    duplicates: Duplicates | None = option(
        None,
        "Skip duplicate records: identical bytes (exact), identical except for call ids and key order "
        "(ids), also prefixes of other records (prefix), or nearly the same words (near). keep skips none.",
        group="alike",
        usually="exact in a dataset folder, otherwise keep",
    )
    drop_duplicates: bool | None = option(
        None, "Same as --duplicates exact; --no-drop-duplicates is the same as --duplicates keep.", group="alike"
    )
    max_line: int = _limit(256 << 20, "Skip lines longer than SIZE.", metavar="SIZE")
    max_nesting: int = _limit(
        500,
        "Skip lines whose messages are nested more than N levels deep.",
        most=800,  # Python allows 1000 levels, some of which the calls that lead to the parser take
        why_most="the limit of Python's JSON parser",
    )
    max_messages: int = _limit(100_000, "Skip lines whose request has more than N messages.")
    max_rejected: int = _limit(10_000, "Stop reading a log after this many malformed lines.")
    max_expansion: int = _limit(200, "Reject compressed logs that expand to more than N times their size.")
    max_expanded: int = _limit(16 << 30, "Reject compressed logs that expand to more than SIZE.", metavar="SIZE")
    max_output_growth: int = _limit(
        1000, "Reject sessions whose records would be more than N times the size of their log."
    )
    max_memory: int = _limit(
        2_000_000_000, "Skip lines, files and databases that need more memory than SIZE.", metavar="SIZE"
    )
    max_database_time: int = _limit(
        60, "Give up on databases that take longer than SECONDS to read.", metavar="SECONDS"
    )
    include: tuple[str, ...] = _path((), "Only read logs whose path, or a part of it, matches.")
    exclude: tuple[str, ...] = _path((), "Skip logs whose path, or a part of it, matches.")
    where: str | None = _filter(
        None, "Only write records that meet this condition on the columns of the session table.", metavar="SQL"
    )
    only_model: tuple[str, ...] = _filter(
        (),
        "Only write sessions whose last reply is from a matching model. --loss-model selects the replies to train on.",
        metavar="GLOB",
    )
    flag_phrase: tuple[str, ...] = option(
        FLAGGED,
        "Report messages that contain this text, ignoring case. '' reports none.",
        group="checks",
        metavar="TEXT",
        conflicts=(Conflict("integrity_analysis", one_of(False)),),
    )

    # Not generated by dataclass: for so many fields, compiling the generated methods takes 4 % of the start-up time.

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            """Reject unknown choices immediately; everything else is checked when the options are used."""
            set_options(self, values)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        members = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__name__}({', '.join(members)})"

    @property
    def lists_replies(self) -> bool:
        """Whether the outcome of each logged reply is needed."""
        return self.trace_replies or self.provenance or self.loss_labels is not None

    @property
    def names_files(self) -> bool:
        """Whether options specify files to write outside the output folder."""
        return bool(self.write_known or self.tool_report_path)

    @property
    def needs_steps(self) -> bool:
        """Whether the step facts of replies are needed."""
        return bool(self.skipped_facts or self.trace_replies or self.counts_steps)

    @property
    def counts_steps(self) -> bool:
        """Whether the number of replies with each step fact is needed."""
        return self.metadata or (self.where is not None and "steps_" in self.where)

    @property
    def folder(self) -> bool:
        """Whether a dataset folder is written instead of grouped files."""
        return bool(self.format or self.split or self.preset != "chat" or self.samples == "forest")

    @property
    def duplicate_mode(self) -> Duplicates:
        """The effective value of ``--duplicates``."""
        is_exact = self.folder if self.drop_duplicates is None else self.drop_duplicates
        return self.duplicates or ("exact" if is_exact else "keep")

    @property
    def clusters(self) -> bool:
        """Whether similar records are kept in one split."""
        return self.split is not None and self.split_by == "cluster"

    @property
    def compares(self) -> bool:
        """Whether records are compared by more than their bytes."""
        return self.clusters or self.duplicate_mode in ("ids", "prefix", "near")

    @property
    def inspects_lines(self) -> bool:
        """Whether the lines of records are inspected when they are collected."""
        return self.folder or self.duplicate_mode != "keep" or self.max_chars is not None

    @property
    def needs_all_records(self) -> bool:
        """Whether all records must be compared before the first one is written."""
        return self.clusters or self.duplicate_mode == "prefix"


class Shorthand(Struct, frozen=True):
    """An option that sets others."""

    help: str
    options: Mapping[str, Any]
    """The values that it sets, by field of ``Options``."""


SUCCESS = "COALESCE(reward >= 1, exit = 0, last_user = 'thanks') AND COALESCE(NOT truncated, TRUE)"
"""The condition of ``--success``, in which the strongest available evidence decides."""
SHORTHANDS = {
    "complete": Shorthand(
        "Keep every reply in the context in which it was sampled: write all conversations, with restored reasoning "
        "and marks for what to train on.",
        {"sessions_by": "chain", "conversations": "all", "restore": "reasoning", "loss": "weight"},
    ),
    "success": Shorthand(
        "Only write conversations that are known to have ended well: a reward of at least 1, or else exit code 0 of "
        "the last tests or build, or else thanks from the user.",
        {"where": SUCCESS},
    ),
    "final_answers": Shorthand("Write one sample per conversation: its last reply.", {"samples": "last"}),
}
"""All shorthands by name."""


def list_options(options: Any = Options) -> tuple[OptionDeclaration, ...]:
    """Return the declarations of all options of a class, in the order of its fields."""
    return declarations(options)


def _as_parameters(text: str) -> str:
    """Return a help text with the options spelled as Python parameters."""
    text = re.sub(r"--no-([a-z][a-z-]*)", lambda match: f"{match[1].replace('-', '_')}=False", text)
    return re.sub(r"--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), text)


Options.__doc__ = _as_parameters(
    "\n\n".join([Options.__doc__ or "", *(f"{each.name}: {each.help}" for each in list_options())])
)
