"""Kimi Code's wire files: records of changes to the context, settings and token usage."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from chatsquash.core.model import Conversation, ConversationKind, Json, Origin
from chatsquash.formats.calls import spell_call, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries, load_conversation, moment, session_folder
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.retention import never
from chatsquash.formats.threads import EntryBudget, text, with_unread
from chatsquash.formats.values import Object, as_list, at, compact, count, objects, string, total

NAME = "kimi_code"
HAS_TOOLS = False
MEMBERS = ("protocol_version", "event", "message")
LOCATIONS = ("${KIMI_CODE_HOME:-~/.kimi-code}/sessions/*/*/agents/*/wire.jsonl",)
RETENTION = never("Kimi Code", "@moonshot-ai/kimi-code 2.1.0 on npm")

_WIRE = "wire.jsonl"
_EVENT, _MESSAGE = "context.append_loop_event", "context.append_message"
TYPES = (_EVENT, _MESSAGE)
_COMPACTION, _CLEAR, _UNDO = "context.apply_compaction", "context.clear", "context.undo"
_FINISHED = {"end_turn": "stop", "tool_calls": "tool_calls", "max_tokens": "length"}


def fits(values: list[Json]) -> str | None:
    """Check for records that add to the context."""
    lines = objects(values)
    own = sum(each.get("type") in TYPES for each in lines)
    return f"{_EVENT} or {_MESSAGE} in {own} lines" if own and len(lines) == len(values) else None


def companions(name: str) -> str | None:
    """Return the path of the state file, which describes the agents of the session."""
    return "../../state.json" if name == _WIRE else None


def session(path: str, origin: Origin) -> str | None:
    """Return the name of the session's folder, which is its id; agents have folders in its folder ``agents``."""
    del origin
    return session_folder(path, "agents") if path.rpartition("/")[2] == _WIRE else None


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return the conversation at the end, then the conversations before the context was compacted or cleared.

    Tool definitions are not stored.
    """
    context = _Context(EntryBudget(len(values)))
    for place, line, record in entries(values, lines):
        context.add(f"entry {place}", line, record)
    context.end_step()
    context.leave(is_last=True)
    contexts = context.conversations
    agents = at(meta, "agents")
    only_agent = next(iter(agents.values())) if isinstance(agents, dict) and len(agents) == 1 else None
    inner = text(at(only_agent, "parentAgentId")) is not None
    result = list[Conversation]()
    for kind, number, turns in reversed(contexts):
        before = [other for of, other, _ in contexts if of != "branch" and other < number]
        parent = len(contexts) if kind == "branch" else before[-1] if kind == "compacted" and before else None
        known: Object = {"id": str(number), "parent": str(parent) if parent else None} if len(contexts) > 1 else {}
        of: ConversationKind = "subagent" if inner and kind == "main" else kind
        result.append(load_conversation(openai_chat, turns, kind=of, **known))
    return with_unread(result, context.unread)


@dataclass(slots=True)
class _Context:
    """The context of the model while records are read."""

    budget: EntryBudget
    unread: Unread = field(default_factory=Unread)
    turns: list[LoggedTurn] = field(default_factory=list)
    system: LoggedTurn | None = None
    model: str | None = None
    kind: ConversationKind = "main"
    conversations: list[tuple[ConversationKind, int, list[LoggedTurn]]] = field(default_factory=list)
    step: Object | None = None
    """The current reply: its place, line, time and content so far."""

    def add(self, place: str, line: int, record: Object) -> None:
        record_type = string(record, "type")
        time = moment(record.get("time"))
        if record_type == "config.update":
            self.model = text(record.get("model")) or self.model
            if prompt := text(record.get("systemPrompt")):
                self.system = LoggedTurn(place, {"role": "system", "content": prompt}, Evidence(line))
            self.unread.count_members(
                "config.update", record, "type", "time", "agentId", "model", "systemPrompt", "cwd"
            )
        elif record_type == "llm.request":
            self.unread.count_members("llm.request", record, "type", "time", "agentId", "model")
            self.model = text(record.get("model")) or self.model
        elif record_type == _MESSAGE:
            self.end_step()
            self._message(place, Evidence(line, time), record.get("message"))
        elif record_type == _EVENT:
            self._event(place, Evidence(line, time), record.get("event"))
        elif record_type == _COMPACTION:
            self._compaction(place, Evidence(line, time), record)
        elif record_type == _CLEAR:
            self.end_step()
            self.leave()
            self.turns, self.kind = [], "main"
        elif record_type == _UNDO:
            self.end_step()
            self._undo(count(record.get("count")) or 0)
        elif record_type == "usage.record":
            self._usage(record.get("usage"))
        else:
            self.unread.count(f"record {record_type}")

    def leave(self, *, is_last: bool = False) -> None:
        """Store the turns so far as a conversation."""
        if any(each.evidence.is_sampled for each in self.turns):
            self._store(self.kind, self.turns, is_last=is_last)

    def _store(self, kind: ConversationKind, turns: list[LoggedTurn], *, is_last: bool = False) -> None:
        """Store a conversation, unless the budget for repeated turns is exhausted; the last one is always stored."""
        if self.budget.take(len(turns)) or is_last:
            words = [self.system, *turns] if self.system else list(turns)
            self.conversations.append((kind, len(self.conversations) + 1, words))
        else:
            self.unread.count("history over the limit")

    def end_step(self) -> None:
        """Add the current reply to the turns."""
        step, self.step = self.step, None
        if step is None or not (step["content"] or step["tool_calls"] or step["thoughts"]):
            return
        turn: Object = {"role": "assistant", "content": step["content"] or None}
        turn |= {"tool_calls": step["tool_calls"]} if step["tool_calls"] else {}
        turn |= {"reasoning_content": "\n\n".join(step["thoughts"])} if step["thoughts"] else {}
        self.turns.append(LoggedTurn(step["place"], turn, step["evidence"]))
        self.turns += step["results"]

    def _message(self, place: str, evidence: Evidence, message: Json) -> None:
        role = string(message, "role")
        self.unread.count_members("message", message, "role", "content", "toolCalls", "toolCallId", "origin", "id")
        content, thoughts = split_thoughts(at(message, "content"))
        turn: Object = {"role": role, "content": content}
        if calls := objects(at(message, "toolCalls")):
            turn["tool_calls"] = [spell_call(*map(call.get, ("id", "name", "args"))) for call in calls]
            turn["content"] = content or None
        turn |= {"reasoning_content": "\n\n".join(thoughts)} if thoughts else {}
        turn |= {"tool_call_id": at(message, "toolCallId")} if role == "tool" else {}
        self.turns.append(LoggedTurn(place, turn, evidence))

    def _event(self, place: str, evidence: Evidence, event: Json) -> None:
        event_type = string(event, "type")
        if event_type == "step.begin" or (self.step is None and event_type in ("content.part", "tool.call")):
            self.end_step()
            known = replace(evidence, is_sampled=True, model=self.model)
            parts: Object = {"content": [], "tool_calls": [], "thoughts": [], "results": []}
            self.step = {"place": place, "evidence": known, **parts}
        step = self.step
        if event_type == "content.part" and step is not None:
            content, thoughts = split_thoughts([at(event, "part")])
            step["content"] += content if isinstance(content, list) else []
            step["thoughts"] += thoughts
        elif event_type == "tool.call" and step is not None:
            step["tool_calls"].append(spell_call(at(event, "toolCallId"), at(event, "name"), at(event, "args")))
        elif event_type == "tool.result":
            # Results are logged while the reply is still open, but follow it in the conversation.
            result = LoggedTurn(place, _result(event), evidence)
            (step["results"] if step is not None else self.turns).append(result)
        elif event_type == "step.end":
            if step is not None:
                reason = text(at(event, "finishReason"))
                step["evidence"] = replace(step["evidence"], finish_reason=_FINISHED.get(reason or "", reason))
            self._usage(at(event, "usage"))
        elif event_type != "step.begin":
            self.unread.count(f"event {event_type}")

    def _usage(self, usage: Json) -> None:
        prompt_tokens = total(usage, "inputOther", "inputCacheRead", "inputCacheCreation")
        if self.step is not None and prompt_tokens is not None:
            tokens: Object = {"prompt_tokens": prompt_tokens, "completion_tokens": count(at(usage, "output"))}
            self.step["evidence"] = replace(self.step["evidence"], **tokens)

    def _compaction(self, place: str, evidence: Evidence, record: Object) -> None:
        """Replace all turns, or only the first turns, with a summary."""
        self.end_step()
        self.unread.count_members("compaction", record, "type", "time", "agentId", "summary", "compactedCount")
        self.leave()
        replaced_count = count(record.get("compactedCount"))
        rest = self.turns[replaced_count:] if replaced_count else []
        summary = LoggedTurn(place, {"role": "user", "content": string(record, "summary")}, evidence)
        self.turns, self.kind = [summary, *rest], "compacted"

    def _undo(self, times: int) -> None:
        """Remove the user's last prompts and all turns after them."""
        before = list(self.turns)
        for _ in range(min(times, len(before))):
            while self.turns and self.turns.pop().turn["role"] != "user":
                pass
        removed = before[len(self.turns) :]
        if any(each.evidence.is_sampled for each in removed):
            self._store("branch", before)


def split_thoughts(content: Json) -> tuple[Json, list[str]]:
    """Split content into parts and thoughts."""
    parts = as_list(content) if not isinstance(content, str) else [{"type": "text", "text": content}]
    thoughts = [words for part in objects(parts) if part.get("type") == "think" and (words := string(part, "think"))]
    return [part for part in parts if at(part, "type") != "think"], thoughts


def _result(event: Json) -> Object:
    output = at(event, "result", "output")
    if output is not None and not isinstance(output, str | list):
        output = compact(output)
    outcome = "failed" if at(event, "result", "isError") is True else ""
    return tool_message(at(event, "toolCallId"), output or "", outcome)
