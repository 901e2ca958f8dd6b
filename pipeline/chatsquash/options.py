"""Every option of a conversion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

OnInvalid = Literal["skip", "keep", "abort"]
Reasoning = Literal["keep", "inline", "drop"]
SessionsBy = Literal["file", "id"]
GroupBy = Literal["date", "scenario", "none"]
Packing = Literal["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]
SplitBy = Literal["prompt", "session", "scenario", "day"]
ToolIds = Literal["keep", "short9"]
System = Literal["keep", "drop"]
Unpaired = Literal["refuse", "cut", "close"]
Media = Literal["refuse", "drop", "keep"]
ERRORS = "errors"
"""What stands among codes of findings for every finding that is an error."""
FLAGGED = ("context limit was reached",)
"""Phrases that are reported unless others are named."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked of a conversion; the defaults are the command's."""

    cleanup_goose: bool = True
    on_invalid: OnInvalid = "skip"
    json_tool_calls: bool = False
    reasoning: Reasoning = "keep"
    preset: str = "chat"
    """The shape of the records, a name from ``write.presets``."""
    system: System = "keep"
    merge_consecutive: bool = False
    split_parallel: bool = False
    split_text_and_calls: bool = False
    tool_ids: ToolIds = "keep"
    media: Media = "refuse"
    """What presets do with images, sounds and files: leave the record out, leave them out, or keep the images."""
    unpaired: Unpaired = "refuse"
    """What presets do with a call that has no result: leave the record out, end it before, or give it a result."""
    unpaired_text: str | None = None
    """The text of such a result; ``None``: ``NO_RESULT`` of ``write.presets``."""
    from_format: str | None = None
    """The format of all logs; ``None``: each log's own, as its first lines tell."""
    sessions_by: SessionsBy | None = None
    """Whether a file is a session, or its lines are grouped by session id; ``None``: as its envelope says."""
    anonymize: bool = True
    anonymize_key: bytes | None = field(default=None, repr=False)
    """The key itself; ``None`` means: the key file, see ``run.keys``."""
    integrity_analysis: bool = True
    group_by: GroupBy = "date"
    tool_report: bool = True
    keep_rejected: bool = False
    strict: bool = False
    workers: int = 1
    force: bool = False
    follow_links: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    since: str | None = None
    """``YYYY-MM-DD``, the first day wanted."""
    until: str | None = None
    """``YYYY-MM-DD``, the last day wanted."""
    limit: int | None = None
    """At most so many sessions."""
    format: Packing | None = None
    """The files of a dataset folder, ``jsonl`` if other options ask for one; ``None``: grouped files."""
    shard_size: int | None = None
    """Bytes of text in one file of a dataset folder, 256 MB by default."""
    split: str | None = None
    """Names and shares, as in ``train=0.98,validation=0.02``; ``None``: all is ``train``."""
    split_by: SplitBy = "prompt"
    """What is never divided between two splits."""
    seed: int = 0
    """Another one divides otherwise."""
    metadata: bool = False
    """Whether a dataset folder has columns on where a record comes from."""
    min_turns: int | None = None
    """Turns of the assistant, as in the reports; so has ``max_turns``."""
    max_turns: int | None = None
    max_chars: int | None = None
    """Characters of a record's line."""
    drop: tuple[str, ...] = ()
    """Codes of findings, or ``errors`` for all that are errors; sessions that have one are filtered."""
    flag_phrase: tuple[str, ...] = FLAGGED
    """Phrases that are reported where messages hold them, in any case; blank ones are none."""
    only_model: tuple[str, ...] = ()
    """Globs, of which the model that answered has to fit one."""
    drop_duplicates: bool | None = None
    """Whether a record is written only once; ``None``: in a dataset folder."""
    full: bool = False
    """Convert all again, whatever the last run gave."""
    resume: bool = False
    """Take what an interrupted run finished."""
    replace: bool = False
    """Put the result in the place of one of other logs, and nothing in the place of any."""

    @property
    def folder(self) -> bool:
        """Whether a dataset folder is written, in place of grouped files."""
        return bool(self.format or self.split or self.preset != "chat")

    @property
    def merges(self) -> bool:
        """Whether a file is one session also where it has several session ids, since the user said both."""
        return self.on_invalid == "keep" and self.sessions_by == "file"

    @property
    def unique(self) -> bool:
        """Whether a record is written only once."""
        return self.folder if self.drop_duplicates is None else self.drop_duplicates

    max_line: int = 256 << 20
    """Bytes of the longest line that is read; a longer one is left out."""
    max_nesting: int = 500
    """Levels of lists and objects in a message, a reply or the tools of a line; a line with more is left out."""
    max_messages: int = 100_000
    """Messages of a request; a line with more is left out."""
    max_rejected: int = 10_000
    """Lines of a session that cannot be read; what lies behind one more is not read."""
    max_expansion: int = 200
    """How many times its own size a compressed log may expand to; the rest is not read."""
    max_expanded: int = 16 << 30
    """Bytes that a compressed log may expand to; the rest is not read."""
    max_memory: int = 2_000_000_000
    """Bytes of memory that the parsed form of a line or of a file may take, and the process that reads a database."""
    max_database_time: int = 60
    """Seconds that reading a database may take."""
