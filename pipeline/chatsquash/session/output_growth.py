"""Limit the size of a session's records: branches, and samples with their histories, may repeat a log many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatsquash.checks import sampling
from chatsquash.core import jsonio
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.session.session import Session

if TYPE_CHECKING:
    from chatsquash.reading.documents import LogDocument
    from chatsquash.trees.documents import FilePath
    from chatsquash.trees.replies import Reply


def check_growth(session: Session, document: LogDocument | None, options: Options) -> Violation | None:
    """Return why a session has no records if they would be too large in proportion to its log."""
    if document and document.conversations:
        # Computed once for all conversations of the document.
        if document.growth is None or document.growth[0] is not options:
            sizes = _sizes_of_file(document, options)
            document.growth = options, _beyond(sizes, document.size, options.max_output_growth)
        why: Violation | None = document.growth[1]
        return why
    trees = session.growth.trees
    if trees is None or not (options.conversations == "all" or _repeats_histories(options)):
        return None
    return _beyond(_sizes_of_log(trees.replies, options), session.sizes.all, options.max_output_growth)


def _repeats_histories(options: Options) -> bool:
    """Return whether each reply is written in a separate record with its history."""
    # Samples of token ids contain each context once, unless it changes.
    return options.samples not in ("session", "tokens") or options.pairs != "none"


def _beyond(sizes: list[int], log: int, most: int) -> Violation | None:
    total = sum(sizes)
    return sampling.output_growth(len(sizes), total, log, most) if total > most * log else None


def _sizes_of_log(replies: list[Reply], options: Options) -> list[int]:
    """Estimate the sizes of the records of a gateway's log."""
    ends = _with_record(replies, options)
    # No record is longer than the log, so this number of records cannot exceed the limit.
    if len(ends) <= options.max_output_growth:
        return []
    sizes: dict[int, int] = {}
    for reply in replies:
        path = []
        each: Reply | None = reply
        while each and each.number not in sizes:  # a reply may be logged before the one it continues
            path.append(each)
            each = each.parent
        size = sizes[each.number] if each else 0
        for each in reversed(path):
            size += sum(map(_size, each.new_messages), _size(each.message))
            sizes[each.number] = size
    return [sizes[reply.number] for reply in ends]


def _with_record(replies: list[Reply], options: Options) -> list[Reply]:
    """Return the replies that end a record."""
    if _repeats_histories(options):
        return replies
    reworded = {reply.parent.number for reply in replies if reply.wording and reply.parent}
    return [reply for reply in replies if not reply.children or reply.number in reworded]


def _sizes_of_file(document: LogDocument, options: Options) -> list[int]:
    """Estimate the sizes of the records of an agent's file."""
    from chatsquash.trees.documents import is_written, paths_of  # imported here because most logs do not need it

    paths = [path for path in paths_of(document) if is_written(path, options)]
    if not _repeats_histories(options):
        return _sizes_of_paths(paths) if len(paths) > options.max_output_growth else []
    if sum(path.length for path in paths) <= options.max_output_growth:
        return []
    # The histories grow from one message to the full conversation, so their average length is about half of it.
    return [size // 2 for path, size in zip(paths, _sizes_of_paths(paths), strict=True) for _ in path.replies]


def _sizes_of_paths(paths: list[FilePath]) -> list[int]:
    messages = {id(each): each for path in paths for each in path.conversation.messages}
    sizes = {at: _size(each) for at, each in messages.items()}
    return [sum([sizes[id(each)] for each in path.conversation.messages]) for path in paths]


def _size(message: Any) -> int:
    """Return the size of a message in a record, in bytes."""
    return len(jsonio.dumps({key: message[key] for key in message if key != PRIVATE}))
