"""Claude Code's session files: lines that form a tree, each with one block of an Anthropic message."""

from __future__ import annotations

from glob import escape

from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.formats.agents.claude_code import unread
from chatsquash.formats.agents.claude_code.conversation import Known, conversation, in_force
from chatsquash.formats.agents.claude_code.origins import is_aside, originals, places
from chatsquash.formats.agents.claude_code.paths import paths
from chatsquash.formats.agents.claude_code.rows import rows
from chatsquash.formats.agents.claude_code.tree import Tree
from chatsquash.formats.agents.qwen_code import has_parts
from chatsquash.formats.evidence import of, with_origin
from chatsquash.formats.values import is_plain_name, string

NAME = "claude_code"
HOLDS_TOOLS = False
"""Only newer versions keep definitions, and not in every file."""
MEMBERS = ("sessionId", "leafUuid", "messageId")
KEPT = (
    "${CLAUDE_CONFIG_DIR:-~/.claude}/projects/**/*.jsonl",
    "<config>/Claude/local-agent-mode-sessions/**/projects/**/*.jsonl",
)

_TREE = ("user", "assistant", "system", "attachment", "progress")
_BESIDE = (
    *("queue-operation", "last-prompt", "custom-title", "ai-title", "agent-name", "agent-setting", "tag"),
    *("mode", "permission-mode", "pr-link", "worktree-state", "atis-latch", "cost-state", "file-history-delta"),
)
"""Types of lines that name their session and have no id."""


def fits(found: list[Json]) -> str | None:
    """Most lines have a session's id beside their own, or are known to have none."""
    if any(map(has_parts, found)):
        return None
    count = sum(map(_is_line, found))
    return f"sessionId and uuid in {count} of {len(found)} lines" if count * 2 > len(found) else None


def _is_line(line: Json) -> bool:
    if not isinstance(line, dict) or "projectHash" in line:
        return False
    kind = line.get("type")
    if isinstance(line.get("sessionId"), str):
        return "uuid" in line or "leafUuid" in line or kind in _TREE or kind in _BESIDE
    return (kind == "summary" and "leafUuid" in line) or (kind == "file-history-snapshot" and "messageId" in line)


def beside(name: str) -> str | None:
    """A glob for the file that lies beside one of a sub-agent, and tells which call began it."""
    is_agent = name.startswith("agent-") and name.endswith(".jsonl")
    return escape(f"{name.removesuffix('.jsonl')}.meta.json") if is_agent else None


def home(path: str, origin: Origin) -> str | None:
    """The session of a sub-agent lies beside the folder that is named after it, in older versions beside the agent."""
    folder, _, name = path.rpartition("/")
    above, inside, _ = f"{folder}/".rpartition("/subagents/")
    if inside:
        return f"{escape(above)}.jsonl*"
    is_beside = beside(name) and is_plain_name(origin.session_id)
    return f"{escape(folder)}/{origin.session_id}.jsonl*" if is_beside else None


def siblings(path: str) -> str:
    """Sub-agents of a session lie in one folder."""
    return f"{escape(path.rpartition('/')[0])}/agent-*.jsonl*"


def conversations(found: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """The conversation of the last line first, then the others of the session, then those of its sub-agents.

    A compaction begins another conversation, and so does a prompt that was edited after it was answered.  ``lines`` are
    the 1-based numbers of the file's lines that these are; what is left out of them could not be read.  ``meta`` is
    what the file ``beside`` holds.
    """
    held = rows(found, lines)
    tree = Tree(held)
    taken = paths(tree)
    known = Known(originals(taken))
    taken = [path for path in taken if not is_aside(path) or any(map(known.begins, path.rows))] or taken
    read = [
        conversation(path, place, in_force(tree, path.leaf), known)
        for path, place in zip(taken, places(tree, taken), strict=True)
    ]
    order = sorted(range(1, len(read)), key=lambda each: (taken[each].leaf.chain[0], taken[each].leaf.place))
    left = unread.count(held, {row.place for path in taken for row in path.rows})
    if read:  # the first one has what is said of the whole file
        read[0] = with_origin(read[0], findings=(*tree.found, *of(read[0]).findings), unread=left)
    # A file beside names the call that began a sub-agent; prompts may be alike.
    call_id = string(meta, "toolUseId")
    for place, each in enumerate(read if call_id else ()):
        if of(each).kind == "subagent" and of(each).call != call_id:
            read[place] = with_origin(each, call=call_id, parent=None)
    return [*read[:1], *(read[each] for each in order)]
