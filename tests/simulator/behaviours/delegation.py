"""Sub-agents: a call begins a conversation of its own, and its result holds the last reply of that."""

from __future__ import annotations

from tests.simulator.behaviours import behaviour
from tests.simulator.behaviours.compaction import GIVEN, copied, is_emptied
from tests.simulator.nodes import Call, Node
from tests.simulator.session import Session, Thread
from tests.simulator.styles.common import WORKING

_STARTED = "The fork works in the background."
_SYSTEM = "You do one task for another agent. {}"
_SUFFIXES = ("", "\n\nagentId: {} (send it a message to go on)", "\n<usage>tokens: {}</usage>")


@behaviour("subagent")
def one(session: Session) -> bool:
    """One sub-agent."""
    return _delegate(session, 1)


@behaviour("subagent-parallel")
def parallel(session: Session) -> bool:
    """Several at once, whose requests are logged between one another."""
    return _delegate(session, session.rng.choice((2, 3)))


@behaviour("subagent-nested")
def nested(session: Session) -> bool:
    """A sub-agent that begins another."""
    return _delegate(session, 1, deeper=True)


def _delegate(session: Session, count: int, *, deeper: bool = False, own: bool = False) -> bool:
    session.say(session.main)
    asked = session.sample(session.main, session.delegations(count))
    session.answer(session.main, _played(session, asked, deeper=deeper, own=own))
    session.work(session.main, 1)
    session.sample(session.main)
    return True


def _played(session: Session, asked: Node, *, deeper: bool, own: bool = False) -> list[str]:
    """The results of what the calls of a reply began."""
    threads = [_begun(session, asked, place) for place in range(len(asked.calls))]
    for thread in threads if own else ():
        thread.session_id = f"{session.name}-{session.words.key(8)}"
        thread.file = f"agents/{thread.session_id}.jsonl"
    busy = [thread for thread in threads for _ in range(session.rng.randint(0, 2))]
    session.rng.shuffle(busy)
    for thread in busy:
        session.sample(thread, session.calls(session.rng.choice((1, 1, 2))))
        session.answer(thread)
    if deeper:
        below = session.sample(threads[0], session.delegations())
        session.answer(threads[0], _played(session, below, deeper=False, own=own))
    session.rng.shuffle(order := list(threads))
    for thread in order:
        session.sample(thread, text=session.words.text(60, 1200))
    return [_result(session, thread.tip) for thread in threads]


def _begun(session: Session, asked: Node, place: int) -> Thread:
    prompt = asked.calls[place].arguments["prompt"]
    if session.client.wraps_prompts:
        prompt = f"Another agent asks you this:\n\n{prompt}\n\nReport when it is done. {session.words.sentence()}"
    tools = (*WORKING[:3], "delegate")
    thread = session.thread("subagent", _SYSTEM.format(session.words.text(60, 400)), tools, anchor=asked)
    thread.tip = Node("user", prompt)
    return thread


def _result(session: Session, last: Node) -> str:
    return last.text + session.rng.choice(_SUFFIXES).format(session.words.key(8))


@behaviour("delegate-own-id")
def own_id(session: Session) -> bool:
    """One or two sub-agents with a session id and a file of their own, as in OpenCode."""
    return _delegate(session, session.rng.choice((1, 1, 2)), own=True)


@behaviour("delegate-own-id-nested")
def own_id_nested(session: Session) -> bool:
    """A sub-agent with an id of its own begins another one with an id of its own."""
    return _delegate(session, 1, deeper=True, own=True)


@behaviour("delegate-equal-prompts")
def equal_prompts(session: Session) -> bool:
    """Two or three sub-agents get the same prompt at once."""
    session.say(session.main)
    (first,) = session.delegations()
    count = session.rng.choice((2, 3))
    calls = tuple(Call(session.delegations()[0].id, first.name, first.arguments) for _ in range(count))
    asked = session.sample(session.main, calls)
    session.answer(session.main, _played(session, asked, deeper=False))
    session.sample(session.main)
    return True


@behaviour("delegate-failed")
def failed(session: Session) -> bool:
    """A sub-agent works for a while and is stopped; its call has an error as result."""
    session.say(session.main)
    asked = session.sample(session.main, session.delegations())
    thread = _begun(session, asked, 0)
    session.sample(thread, session.calls())
    session.answer(thread)
    session.sample(thread)
    session.answer(session.main, ["The user stopped the agent."])
    session.sample(session.main)
    return True


@behaviour("delegate-continued")
def continued(session: Session) -> bool:
    """The agent sends a second message to a sub-agent that has answered."""
    session.say(session.main)
    asked = session.sample(session.main, session.delegations())
    thread = _begun(session, asked, 0)
    session.work(thread, 1)
    session.sample(thread, text=session.words.text(60, 900))
    session.answer(session.main, [_result(session, thread.tip)])
    again = session.sample(session.main, session.delegations())
    thread.tip = Node("user", again.calls[0].arguments["prompt"], thread.tip)
    session.work(thread, 1)
    session.sample(thread, text=session.words.text(60, 900))
    session.answer(session.main, [_result(session, thread.tip)])
    session.sample(session.main)
    return True


@behaviour("delegate-compacted")
def compacted(session: Session) -> bool:
    """A sub-agent summarises its history and continues from the summary."""
    session.say(session.main)
    asked = session.sample(session.main, session.delegations())
    thread = _begun(session, asked, 0)
    for _ in range(2):
        session.sample(thread, session.calls())
        session.answer(thread)
    tip = session.sample(thread, text=session.words.text(60, 400))
    thread.tip = Node("user", f"Summarise your work so that it can continue. {session.words.sentence()}", tip)
    summary = session.sample(thread, text=session.words.text(300, 1500), side=True)
    after = session.thread("compacted", thread.system, thread.tools, anchor=tip)
    after.tip = Node("user", GIVEN.format(summary.text))
    session.work(after, 1)
    session.sample(after, text=session.words.text(60, 900))
    session.answer(session.main, [_result(session, after.tip)])
    session.sample(session.main)
    return True


@behaviour("delegate-forked")
def forked(session: Session) -> bool:
    """A sub-agent that gets the whole history and then its task."""
    main = session.main
    if main.window or not main.tip or is_emptied(session, main.path):
        return False
    session.say(main)
    asked = session.sample(main, session.delegations(session.rng.choice((1, 1, 2))))
    results = []
    for call in asked.calls:
        thread = session.thread("subagent", main.system, main.tools, anchor=asked)
        thread.tip = copied(main.path)
        session.answer(thread, [_STARTED] * len(asked.calls))
        thread.tip = Node("user", call.arguments["prompt"], thread.tip)
        session.work(thread, 2)
        results.append(session.sample(thread, text=session.words.text(60, 1200)).text)
    session.answer(main, results)
    session.work(main, 1)
    session.sample(main)
    return True
