"""A history that grows too long is summarised, and work goes on from the summary."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.simulator.behaviours import behaviour
from tests.simulator.nodes import Node
from tests.simulator.session import LIMIT, Session, Thread

_ASK = "Summarise the conversation so far, so that the work can go on from your summary alone: {}"
GIVEN = "This session goes on from one that ran out of context. It is summarised here:\n\n{}"
_SYSTEM = "You summarise conversations between a person and an agent. {}"
Ask = Callable[[Session], Node]


@behaviour("compact-inside")
def inside(session: Session) -> bool:
    """The summary is asked for as one more turn."""
    return _compact(session, ask_within)


@behaviour("compact-system")
def under_another_system(session: Session) -> bool:
    """The history is sent under another system prompt."""
    return not is_emptied(session, session.main.path) and _compact(session, ask_over_a_copy)


@behaviour("compact-transcript")
def as_transcript(session: Session) -> bool:
    """The history is sent as one text."""
    return _compact(session, _transcript)


@behaviour("hard-unused-summary", hard=True)
def unused(session: Session) -> bool:
    """A summary is asked for and never used."""
    if not session.main.tree.replies or not session.main.tip.sampled:
        return False
    copied = session.rng.random() < 0.5 and not is_emptied(session, session.main.path)
    (ask_over_a_copy if copied else _transcript)(session)
    session.turn()
    return True


def _compact(session: Session, ask: Ask) -> bool:
    old = session.main
    if not is_compactable(session):
        return False
    summary = ask(session)
    session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
    begin(session, old, _used(session, summary.text))
    session.turn()
    return True


def ask_within(session: Session, text: str = "") -> Node:
    """Request a summary as one more turn."""
    tip = session.main.tip
    session.main.tip = Node("user", _ASK.format(session.words.sentence()), tip)
    summary = session.sample(session.main, text=text or _text(session), side=True)
    session.main.tip = tip
    return summary


def is_compactable(session: Session, *, copies: bool = False) -> bool:
    """Whether the conversation is long enough and ends with an answer; ``copies``: and is sent with all results."""
    old = session.main
    if not old.tip or not old.tip.sampled or old.tip.calls or len(old.path) < 4:
        return False
    return not copies or not is_emptied(session, old.path)


def ask_over_a_copy(session: Session, thread: Thread | None = None) -> Node:
    """Request a summary of the history under another system prompt."""
    thread = thread or aside(session)
    thread.tip = copied(session.main.path)
    return _summary(session, thread, _ASK.format(session.words.sentence()))


def _transcript(session: Session) -> Node:
    said = [f"{node.role}: {node.text}{_calls(node)}" for node in session.main.path]
    return _summary(session, aside(session), "\n\n".join(["Summarise this:", *said]))


def _calls(node: Node) -> str:
    return "".join(f"\n{call.name} {json.dumps(call.arguments)}" for call in node.calls)


def aside(session: Session) -> Thread:
    """Begin a thread for requests of summaries under a system prompt of their own."""
    tools = session.main.tools if session.client.plain_side else ()
    system = _SYSTEM.format(session.words.sentence())
    return session.thread("side", system, tools, about=session.main.tree)


def _summary(session: Session, thread: Thread, prompt: str) -> Node:
    thread.tip = Node("user", prompt, thread.tip)
    limit = LIMIT if session.client.plain_side else 2048
    return session.sample(thread, text=_text(session), side=True, limit=limit)


def copied(path: list[Node]) -> Node:
    """Return the last message of a copy of a path."""
    tip: Node | None = None
    for node in path:
        tip = _copy(node, tip)
    return tip


def _text(session: Session) -> str:
    """The words of a summary, which may list the prompts."""
    text = session.words.text(300, 2000)
    if not session.client.lists_prompts:
        return text
    prompts = [node.text for node in session.main.path if node.role == "user" and node not in session.summaries]
    listed = "\n".join(f"   - {prompt}" for prompt in prompts)
    return f"1. What was done:\n{text}\n\n2. All messages of the user:\n{listed}\n\n3. Next: {session.words.sentence()}"


def _copy(node: Node, tip: Node | None) -> Node:
    return Node(node.role, node.text, tip, node.calls, answers=node.answers, copy_of=node)


def is_emptied(session: Session, nodes: list[Node]) -> bool:
    return any(node in session.cleared for node in nodes)


def _used(session: Session, summary: str) -> str:
    """A summary as the client writes it into what comes after."""
    if not session.client.respells_summaries:
        return GIVEN.format(summary)
    kept = summary[: int(len(summary) * session.rng.uniform(0.6, 1))].rpartition(" ")[0]
    return GIVEN.format("\n".join(f"- {line.strip()}" for line in kept.split(". ")))


def begin(session: Session, old: Thread, given: str) -> None:
    """What comes after: the summary, perhaps with the first task, an acknowledgement, or a tail of messages."""
    new, tail = session.main, _tail(session, old)
    first = old.path[0]
    keeps_task = session.rng.random() < 0.3 and old.tree.kind == "main" and old.path[1].sampled
    if len(first.text) > len(given) / 2:  # behind which the summary would be hard to see
        keeps_task = False
    if keeps_task and session.client.style == "anthropic":
        given = f"{first.text}\n\n{given}"
    elif keeps_task:
        new.tip = _copy(first, None)
    new.tip = Node("user", given, new.tip)
    session.summaries.add(new.tip)
    if not tail and session.rng.random() < 0.5:
        new.tip = Node("assistant", f"Understood. {session.words.sentence()}", new.tip)
    for node in tail:
        new.tip = _copy(node, new.tip)
    if not tail and new.tip.role == "user":
        session.work(new, 2)
        session.sample(new)


def _tail(session: Session, old: Thread) -> list[Node]:
    """The last messages, from a reply of the assistant on, which is never the first that was sampled."""
    path = old.path
    first = next(at for at, node in enumerate(path) if node.sampled)
    starts = [at for at in range(max(first + 1, len(path) - 6), len(path)) if path[at].role == "assistant"]
    fitting = [at for at in starts if not is_emptied(session, path[at:])]
    return path[session.rng.choice(fitting) :] if fitting and session.rng.random() < 0.4 else []
