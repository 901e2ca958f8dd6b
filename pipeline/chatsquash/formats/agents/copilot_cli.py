"""Copilot CLI's sessions: chronological events with the system prompt and the results of tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from chatsquash.core.model import Conversation, ConversationKind, Json, Origin, RepeatedViolation
from chatsquash.formats.calls import assistant_message, spell_arguments, spell_call, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries, load_conversation, moment, session_folder
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.retention import never
from chatsquash.formats.threads import text, with_unread
from chatsquash.formats.values import Object, at, count, members, objects, string

NAME = "copilot_cli"
HAS_TOOLS = False
MEMBERS = ("data",)
LOCATIONS = (
    "${COPILOT_HOME:-~/.copilot}/session-state/*/events.jsonl",
    "${COPILOT_HOME:-~/.copilot}/session-state/*.jsonl",
    "${COPILOT_HOME:-~/.copilot}/history-session-state/*.jsonl",
)
RETENTION = never("Copilot CLI", "@github/copilot 1.0.60 on npm", "later versions have no readable source")

_RESULT = ("toolCallId", "success", "result", "error", "toolName", "model")
TYPES = ("session.start", "user.message", "assistant.message", "tool.execution_complete")
_LINE = ("type", "id", "parentId", "timestamp", "data", "agentId", "ephemeral")
_PROMPTS = ("system", "developer")
_TURN = "conversation-"
"""The prefix of interaction types for requests within turns; summaries have other types."""
_DUPLICATES = ("assistant.reasoning", "tool.execution_start", "assistant.turn_start")
"""The types of events whose content messages repeat."""
_ASSISTANT = (
    *("messageId", "content", "reasoningText", "toolRequests", "model", "outputTokens", "apiCallId"),
    *("parentToolCallId", "chunkIndex", "interactionId", "turnId"),
)


def fits(values: list[Json]) -> str | None:
    """Check for events with types specific to this agent in a file that contains only objects."""
    lines = objects(values)
    own = sum(each.get("type") in TYPES and isinstance(each.get("data"), dict) for each in lines)
    if not own or len(lines) != len(values):
        return None
    starts_session = at(lines[0], "type") == "session.start" and isinstance(at(lines[0], "data", "sessionId"), str)
    return f"types such as {TYPES[1]} in {own} lines" if starts_session or own > 1 else None


def session(path: str, origin: Origin) -> str | None:
    """Return the name of the session's folder, which is its id."""
    del origin
    return session_folder(path) if path.rpartition("/")[2] == "events.jsonl" else None


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation at the end, then the conversations before each compaction, then those of sub-agents.

    Tool definitions are not stored.
    """
    unread = Unread()
    agents: dict[str, _AgentView] = {"": _AgentView(unread)}
    calls_by_agent = _starting_calls(objects(values))
    session: str | None = None
    model: str | None = None
    for place, line, event in entries(values, lines):
        data = event["data"] if isinstance(event.get("data"), dict) else {}
        event_type = string(event, "type")
        unread.count_members("event", event, *_LINE)
        if event_type in ("session.start", "session.resume"):
            # A resumed process sends only the logged messages.
            for each in agents.values():
                each.lacks_context = False
            session = session or text(data.get("sessionId"))
            model = text(data.get("selectedModel")) or model
            continue
        if event_type == "session.model_change":
            model = text(data.get("newModel")) or model
            continue
        name = text(event.get("agentId")) or text(data.get("parentToolCallId")) or ""
        agent = agents.setdefault(name, _AgentView(unread))
        agent.add(f"entry {place}", event_type, data, Evidence(line, moment(event.get("timestamp")), model=model))
    return with_unread(list(_agent_conversations(agents, calls_by_agent, session)), unread)


def _starting_calls(events: list[Object]) -> dict[str, str]:
    """Return the ids of the calls that started agents, by agent id; in older versions, the two ids are the same."""
    started = [each for each in events if each.get("type") == "subagent.started"]
    calls = [(text(each.get("agentId")), text(at(each, "data", "toolCallId"))) for each in started]
    return {agent: call for agent, call in calls if agent and call}


def _agent_conversations(
    agents: dict[str, _AgentView], calls_by_agent: dict[str, str], session: str | None
) -> Iterator[Conversation]:
    for name, agent in agents.items():
        agent.leave()
        eras = agent.eras
        for number in range(len(eras) - 1, -1, -1):
            kind: ConversationKind = "compacted" if number else "subagent" if name else "main"
            own = f"{name or '1'}.{number + 1}" if len(eras) > 1 else name or "1"
            known: Object = {"id": own, "kind": kind, "session_id": session}
            if number:
                known["parent"] = f"{name or '1'}.{number}"
            elif name:
                known["call"] = calls_by_agent.get(name, name)
            if len(eras) == len(agents) == 1:  # ids only distinguish the conversations of a file
                known |= {"id": "", "parent": None}
            missing = [each.evidence.line for each in eras[number] if each.evidence.lacks_context]
            known["findings"] = tuple((line, RepeatedViolation("missing-history")) for line in missing)
            yield load_conversation(openai_chat, eras[number], **known)


@dataclass(slots=True)
class _AgentView:
    """The conversation of an agent, built from events."""

    unread: Unread
    turns: list[LoggedTurn] = field(default_factory=list)
    eras: list[list[LoggedTurn]] = field(default_factory=list)
    prompts: Object = field(default_factory=dict)
    """The current system prompts by role."""
    last: str | None = None
    """The id of the API call that returned the last assistant message."""
    place: int = 0
    """The index of that message."""
    compaction_start: int | None = None
    """The number of turns when a compaction, which runs in the background, began."""
    usage: Object = field(default_factory=dict)
    """The token counts and the finish reason of the last reply; empty when the reply has been logged."""
    lacks_context: bool = False
    """Whether requests contain an earlier reply that was never logged because it reached its token limit."""

    def add(self, place: str, event_type: str, data: Object, evidence: Evidence) -> None:
        match event_type:
            case "system.message":
                self._system(place, data, replace(evidence, model=None))
            case "user.message":
                self.unread.count_members(
                    event_type, data, "content", "transformedContent", "source", "agentMode", "interactionId"
                )
                words = text(data.get("transformedContent")) or data.get("content")
                self._turn(place, {"role": "user", "content": words}, replace(evidence, model=None))
            case "assistant.message":
                self._assistant(place, data, evidence)
            case "tool.execution_complete":
                self._result(place, data, evidence)
            case "session.usage_record" | "assistant.turn_end":
                self._end_turn(members(data.get("usage")), is_ended=event_type.endswith("end"))
            case "session.compaction_start":
                self.compaction_start = len(self.turns)
            case "session.compaction_complete":
                self._compaction(place, data, evidence)
            case "session.context_cleared":
                self.leave()
                self.turns, self.last, self.prompts, self.lacks_context = [], None, {}, False
            case _ if event_type in _DUPLICATES:
                pass
            case _:
                self.unread.count(f"event {event_type}")

    def leave(self) -> None:
        """Store the turns so far as a conversation."""
        if any(each.evidence.is_sampled for each in self.turns):
            self.eras.append(list(self.turns))

    def _turn(self, place: str, turn: Object, evidence: Evidence) -> None:
        self.last = None
        self.turns.append(LoggedTurn(place, turn, evidence))

    def _system(self, place: str, data: Object, evidence: Evidence) -> None:
        """Insert a system prompt at the beginning, or replace the previous system prompt."""
        # Before the first reply, the system prompt is logged after the user's prompt.
        role = "developer" if data.get("role") == "developer" else "system"
        content = data.get("content")
        if self.prompts.get(role) == content:
            return
        prompt = LoggedTurn(place, {"role": role, "content": content}, evidence)
        first = [at for at, each in enumerate(self.turns) if each.turn["role"] == role]
        self.prompts[role] = content
        if first:
            self.unread.count("system prompt that was replaced")
            self.turns[first[0]] = prompt
        elif any(each.evidence.is_sampled for each in self.turns):
            self._turn(place, prompt.turn, evidence)
        else:
            self.turns.insert(sum(each.turn["role"] in _PROMPTS for each in self.turns), prompt)

    def _assistant(self, place: str, data: Object, evidence: Evidence) -> None:
        """Add an assistant message, which may be a piece of a reply."""
        self.unread.count_members("assistant.message", data, *_ASSISTANT)
        calls = [_call(each) for each in objects(data.get("toolRequests"))]
        thoughts, content = text(data.get("reasoningText")), text(data.get("content"))
        if not (calls or thoughts or content):
            return
        answer = text(data.get("apiCallId"))
        usage, self.usage = self.usage if answer and self.usage.get("apiCallId") == answer else {}, {}
        known = replace(
            evidence,
            is_sampled=True,
            model=text(data.get("model")) or evidence.model,
            prompt_tokens=count(usage.get("inputTokens")),
            completion_tokens=count(data.get("outputTokens", usage.get("outputTokens"))),
            finish_reason=_finish_reason(usage),
            response_id=answer,
            lacks_context=self.lacks_context,
        )
        turn = assistant_message(content, calls, thoughts or "")
        if self.last and self.last == known.response_id:  # results may have been logged in between
            before = self.turns[self.place]
            merged = LoggedTurn(before.place, _join_pieces(before.turn, turn), before.evidence.merge(known))
            self.turns[self.place] = merged
        else:
            self.place = len(self.turns)
            self.turns.append(LoggedTurn(place, turn, known))
        self.last = known.response_id

    def _end_turn(self, usage: Object, *, is_ended: bool) -> None:
        """Store the token counts of a reply, and detect replies that were not logged."""
        # Token counts that are unused at the end of a turn belong to an unlogged reply, which later requests contain.
        if is_ended and self.usage.get("outputTokens") and string(self.usage, "interactionType").startswith(_TURN):
            self.unread.count("reply that was not logged")
            self.lacks_context = True
        self.usage = usage

    def _result(self, place: str, data: Object, evidence: Evidence) -> None:
        # The model does not see commands that the user runs.
        if data.get("isUserRequested") is True:
            self.unread.count("command that the user ran")
            return
        self.unread.count_members("tool.execution_complete", data, *_RESULT)
        self.unread.count_members("tool.execution_complete.result", data.get("result"), "content", "detailedContent")
        content = at(data, "result", "content")
        if content is None:
            content = at(data, "error", "message")
        outcome = "failed" if data.get("success") is False else ""
        turn = tool_message(data.get("toolCallId"), content or "", outcome)
        self.turns.append(LoggedTurn(place, turn, Evidence(evidence.line, evidence.time)))

    def _compaction(self, place: str, data: Object, evidence: Evidence) -> None:
        summary = text(data.get("summaryContent"))
        if data.get("success") is False or summary is None:
            self.unread.count("compaction without a summary")
            return
        self.leave()
        start = len(self.turns) if self.compaction_start is None else self.compaction_start
        # Results must not be separated from their calls.
        while 0 < start < len(self.turns) and self.turns[start].turn["role"] == "tool":
            start -= 1
        system = [each for each in self.turns[:start] if each.turn["role"] in _PROMPTS]
        replacement = LoggedTurn(place, {"role": "user", "content": summary}, Evidence(evidence.line, evidence.time))
        # Messages that were added during the compaction stay after the summary.
        self.turns, self.last, self.compaction_start = [*system, replacement, *self.turns[start:]], None, None
        self.lacks_context = False


def _finish_reason(usage: Object) -> str | None:
    """Return the finish reason of a reply."""
    return "content_filter" if usage.get("contentFilterTriggered") is True else text(usage.get("finishReason"))


def _call(request: Object) -> Object:
    """Convert a call; older versions use other member names for the tool and the arguments."""
    name = request.get("name", request.get("toolName"))
    arguments = request.get("arguments", request.get("args"))
    if request.get("type") == "custom":
        custom = {"name": name, "input": spell_arguments(arguments)}
        return {"id": request.get("toolCallId"), "type": "custom", "custom": custom}
    return spell_call(request.get("toolCallId"), name, arguments)


def _join_pieces(one: Object, other: Object) -> Object:
    """Join two pieces of a reply."""
    content = "".join(filter(None, (one.get("content"), other.get("content"))))
    calls = [*one.get("tool_calls", []), *other.get("tool_calls", [])]
    thoughts = "".join(filter(None, (one.get("reasoning_content"), other.get("reasoning_content"))))
    return assistant_message(content, calls, thoughts)
