"""How one request's messages come out of the previous one's."""

from __future__ import annotations

from typing import Any

from pipeline.model import Added, Edits, Kept, Message


def difference(before: list[Message], after: list[Message]) -> Edits:
    """The edits that make one list of messages out of another; what is the same object counts as kept."""
    places = {id(message): at for at, message in reversed(list(enumerate(before)))}
    runs: list[list[Any]] = []
    expected = 0  # where the last kept run would go on
    for message in after:
        same = expected < len(before) and before[expected] is message
        at = expected if same else places.get(id(message))
        if at is None:
            if not runs or runs[-1][0] is not None:
                runs.append([None])
            runs[-1].append(message)
        elif runs and runs[-1][0] is not None and at == expected == runs[-1][1]:
            runs[-1][1] = expected = at + 1
        else:
            runs.append([at, at + 1])
            expected = at + 1
    return tuple(Added(tuple(run[1:])) if run[0] is None else Kept(*run) for run in runs)


def replay(before: list[Message], edits: Edits) -> list[Message]:
    """The messages that edits make of the previous entry's."""
    messages: list[Message] = []
    for run in edits:
        messages += before[run.start : run.stop] if isinstance(run, Kept) else run.messages
    return messages
