"""What a conversion would write that makes no mistake."""

from __future__ import annotations

import orjson

from chatsquash.core.accounting import STEP_FACTS
from tests.simulator.judge import Output


def agreeing(played, *, restored_loss=False):
    """An output that is what the truth says."""
    truth = played.truth
    records, places = {}, {}
    for number, each in enumerate(truth.conversations.values(), 1):
        places[each.name] = f"data/train-00000-of-00001.jsonl:{number}"
        records[places[each.name]] = {
            "messages": written(each.messages),
            "conversation": each.name,
            "parent": each.parent,
            "kind": each.kind,
        }
    rows = []
    for reply in truth.replies:
        loss = int(reply.loss_if_restored if restored_loss else reply.loss)
        record = places.get(reply.conversation)
        message = found(truth.conversations[reply.conversation], reply) if record else None
        if loss:
            records[record]["messages"][message]["weight"] = 1
        rows.append(
            {
                "file": reply.file,
                "line": reply.line,
                "id": None,
                "session": reply.session,
                "kind": reply.kind,
                "status": "carried" if record else "lost",
                "why": None if record else "duplicate" if reply.kind == "branch" else "retry",
                "record": record,
                "message": message,
                "loss": loss,
                "conversation": reply.conversation or "",
                "parent": None,
                **dict.fromkeys(STEP_FACTS, False),
            }
        )
    return Output(rows, records)


def found(conversation, reply):
    return [message.canonical for message in conversation.messages].index(reply.canonical)


def written(messages):
    made, calls = [], []
    for number, message in enumerate(messages):
        said = message.canonical
        record = {"role": said.role, "content": said.text}
        if said.role == "assistant":
            record["weight"] = 0
            calls = [call(f"c{number}.{at}", *each.split(" ", 1)) for at, each in enumerate(said.calls)]
            record |= {"tool_calls": calls} if calls else {}
            record |= {"reasoning_content": message.reasoning} if message.reasoning else {}
        if said.role == "tool":
            record["tool_call_id"] = calls[said.answers]["id"]
        made.append(record)
    return made


def call(name, tool, arguments):
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": orjson.loads(arguments)}}
