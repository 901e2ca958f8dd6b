"""Claude Code's session files: lines that form a tree, each with one block of an Anthropic message."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from glob import escape
from operator import itemgetter

from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.formats.agents.claude_code import stream
from chatsquash.formats.agents.claude_code.conversation import FileReplies, conversation, in_force
from chatsquash.formats.agents.claude_code.paths import is_side_request, originals, paths, places
from chatsquash.formats.agents.claude_code.retention import RETENTION as RETENTION
from chatsquash.formats.agents.claude_code.rows import FileLines, is_boundary, rows
from chatsquash.formats.agents.claude_code.tree import LineTree
from chatsquash.formats.agents.claude_code.truncation import incomplete, reasoning_only, truncated_replies, unsent
from chatsquash.formats.agents.qwen_code import lines_with_parts
from chatsquash.formats.evidence import Unread, member_path, origin_of, with_origin
from chatsquash.formats.values import Object, at, is_plain_name, string

NAME = "claude_code"
HAS_TOOLS = False
"""False, because only newer versions store definitions, and not in every file."""
MEMBERS = ("sessionId", "leafUuid", "messageId", stream.MEMBER)
LOCATIONS = (
    "${CLAUDE_CONFIG_DIR:-~/.claude}/projects/**/*.jsonl",
    "<config>/Claude/local-agent-mode-sessions/**/projects/**/*.jsonl",
)

_TREE = ("user", "assistant", "system", "attachment", "progress")
_UNLINKED = (
    *("queue-operation", "last-prompt", "custom-title", "ai-title", "agent-name", "agent-setting", "tag"),
    *("mode", "permission-mode", "pr-link", "worktree-state", "atis-latch", "cost-state", "file-history-delta"),
    *("api-request", "api-request-blob", "api-request-shape", "tools-used", "frame-link", "continued-in"),
)
"""The types of lines that have a session id but no line id."""


_OWN_FOLDER = re.compile(r"((?:.*/)?(?:\.claude|claude-cli-nodejs))/.*\.jsonl$", re.DOTALL)
"""The folders for Claude Code's settings and its MCP server logs."""


def fits(values: list[Json]) -> str | None:
    """Check for a message with an id and a session id, or for lines of known types.

    Without such a message, most lines must have known types, or all lines must have a type and a session id.
    """
    if lines_with_parts(values):
        return None  # Qwen Code writes similar lines, but with the parts of Gemini
    count = sum(map(_is_line, values))
    if not count:
        return stream.find_evidence(values)
    fitting = count * 2 > len(values) or any(map(_is_message, values)) or all(map(_is_of_session, values))
    return f"sessionId and uuid in {count} of {len(values)} lines" if fitting else None


def _is_message(line: Json) -> bool:
    has_ids = isinstance(line, dict) and line.keys() >= {"sessionId", "uuid", "parentUuid", "message"}
    return has_ids and _is_line(line) and isinstance(at(line, "message", "role"), str)


def _is_of_session(line: Json) -> bool:
    return isinstance(at(line, "type"), str) and isinstance(at(line, "sessionId"), str) and "projectHash" not in line


def _is_line(line: Json) -> bool:
    if type(line) is not dict or "projectHash" in line:
        return False
    kind = line.get("type")
    if type(line.get("sessionId")) is str:
        return "uuid" in line or "leafUuid" in line or kind in _TREE or kind in _UNLINKED
    return (kind == "summary" and "leafUuid" in line) or (kind == "file-history-snapshot" and "messageId" in line)


def companions(name: str) -> str | None:
    """Return a glob for the metadata file of a sub-agent, which contains the id of the call that started it."""
    is_agent = name.startswith("agent-") and name.endswith(".jsonl")
    return escape(f"{name.removesuffix('.jsonl')}.meta.json") if is_agent else None


def owner(path: str) -> str | None:
    """Return the path of the sessions that another file belongs to: a journal, a prompt history, or a client log."""
    folder, _, name = path.rpartition("/")
    if own := _OWN_FOLDER.match(path):
        return own[1]
    if name == "history.jsonl":
        return f"{folder}/projects"
    above, inside, below = folder.rpartition("/projects/")
    parts = below.split("/")
    if inside and len(parts) > 1:
        return f"{above}{inside}{parts[0]}"
    above, inside, _ = path.rpartition("/subagents/")
    return f"{above}/subagents" if inside and name.endswith(".jsonl") else None


def home(path: str, origin: Origin) -> str | None:
    """Return a glob for the file of the session that started a sub-agent."""
    folder, _, name = path.rpartition("/")
    above, inside, _ = f"{folder}/".rpartition("/subagents/")
    if inside:
        return f"{escape(above)}.jsonl*"
    # Older versions store sub-agents next to the session's file.
    is_sidecar = companions(name) and is_plain_name(origin.session_id)
    return f"{escape(folder)}/{origin.session_id}.jsonl*" if is_sidecar else None


def siblings(path: str) -> str:
    """Return a glob for the sub-agents of a session, which are in the same folder."""
    return f"{escape(path.rpartition('/')[0])}/agent-*.jsonl*"


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return the conversation of the last line, then the other conversations of the session and of its sub-agents.

    A new conversation starts after a compaction, and when a prompt that was already answered is edited.  Gaps in
    ``lines`` are lines that could not be read.  ``meta`` is the metadata file of a sub-agent.
    """
    if stream.is_stream(values):
        return stream.mark_context(_conversations(stream.as_lines(values), lines, meta), values)
    return _conversations(values, lines, meta)


def _conversations(values: list[Json], lines: list[int] | None, meta: Json) -> list[Conversation]:
    tree = LineTree(rows(values, lines))
    thoughts = reasoning_only(tree)
    early = thoughts | truncated_replies(tree)
    skipped = Unread()
    selected = paths(tree, skipped, early, unsent(tree, thoughts))
    known = FileReplies(tree.lines, originals(tree.lines, selected), early)
    # A side request whose reply belongs to another conversation adds nothing.
    selected = [path for path in selected if not is_side_request(path) or any(map(known.begins, path.rows))] or selected
    read = [
        conversation(path, place, in_force(tree, path.leaf), known)
        for path, place in zip(selected, places(tree, selected), strict=True)
    ]
    order = sorted(range(1, len(read)), key=lambda each: (selected[each].chain[0], selected[each].leaf))
    used_rows = {row for path in selected for row in path.rows}
    unread = {**count_unread(tree.lines, used_rows), **skipped.counts_for(0)}
    if read:  # findings and counts of the file belong to its first conversation
        findings = (*tree.findings, *incomplete(tree, early, thoughts), *origin_of(read[0]).findings)
        read[0] = with_origin(read[0], findings=findings, unread=unread)
    # The metadata file is more reliable than matching prompts, which may be equal.
    call_id = string(meta, "toolUseId")
    for place, each in enumerate(read if call_id else ()):
        if origin_of(each).kind == "subagent" and origin_of(each).call != call_id:
            read[place] = with_origin(each, call=call_id, parent=None)
    return [*read[:1], *(read[each] for each in order)]


_LINE = (
    *("type", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "timestamp", "isSidechain", "agentId"),
    *("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage"),
)
_READ = {
    "user": ("message",),
    "assistant": ("message",),
    "system": ("subtype", "content", "compactMetadata"),
    "attachment": ("attachment",),
    "queue-operation": ("operation", "content", "reason"),
}
"""The members that are read, by line type, in addition to the common members."""
_INSIDE = {
    "message": ("role", "content", "id", "type", "model", "usage", "stop_reason"),
    "attachment": ("type", "prompt", "systemPrompt", "tools"),
}
_FLAGS = ("isApiErrorMessage", "isVisibleInTranscriptOnly")


_Shapes = dict[tuple[str, tuple[str, ...]], list[Object]]
"""Objects by their type and the names of their members; nearly all lines have one of a few shapes."""


def count_unread(lines: FileLines, used_rows: set[int]) -> dict[str, int]:
    """Count the content that is not part of any conversation; ``used_rows`` are the lines that are."""
    counts: Counter[str] = Counter(map(_name, lines.others))
    shapes: _Shapes = defaultdict(list)
    for row, value in enumerate(lines.values):
        if row in used_rows or (lines.turns[row] is None and _is_metadata(value)):
            line_type = value.get("type")
            shapes[line_type if type(line_type) is str else "", tuple(value)].append(value)
        else:
            counts[_name(value)] += 1
    return dict(sorted((counts + _count_members(shapes)).items()))


def _is_metadata(value: Object) -> bool:
    """Return whether a line without a turn is read."""
    return is_boundary(value) or at(value, "attachment", "type") == "prompt_snapshot"


def _name(value: Object) -> str:
    """Return a label for a line from its type and flags."""
    label = string(value, "type") or "line without a type"
    more = string(value, "subtype") or string(value, "operation") or string(value.get("attachment"), "type")
    if more:
        label = f"{label} {more}"
    for flag in _FLAGS:
        if value.get(flag) is True:
            label = f"{label} {flag}"
    return label


def _count_members(shapes: _Shapes) -> Counter[str]:
    """Count the unread members that are not null, computed together for objects with the same members."""
    names: Counter[str] = Counter()
    for (line_type, members), same in shapes.items():
        _count_unread_members(names, line_type, members, same, (*_LINE, *_READ.get(line_type, ())))
        for inner, read in _INSIDE.items():
            if inner in members:
                inner_shapes: dict[tuple[str, ...], list[Object]] = defaultdict(list)
                for value in same:
                    if type(body := value[inner]) is dict:
                        inner_shapes[tuple(body)].append(body)
                for inner_members, group in inner_shapes.items():
                    _count_unread_members(names, member_path(line_type, inner), inner_members, group, read)
    return +names


def _count_unread_members(
    names: Counter[str], where: str, members: Iterable[str], same: list[Object], read: tuple[str, ...]
) -> None:
    """Count the unread members of values with the same members."""
    for name in members:
        if name not in read:
            get = itemgetter(name)
            nulls = 0 if all(map(get, same)) else list(map(get, same)).count(None)  # most values are not even empty
            names[member_path(where, name)] += len(same) - nulls
