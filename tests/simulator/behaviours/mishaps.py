"""What goes wrong: replies that break off or are cut, and lines that are logged twice."""

from tests.simulator.behaviours import behaviour
from tests.simulator.nodes import Node
from tests.simulator.session import Session


def _partial(session: Session, ended=None) -> Node:
    return session.sample(session.main, text=session.words.text(40, 400), ended=ended)


@behaviour("broken-retried")
def broken_retried(session: Session) -> bool:
    """A reply breaks off, once or twice, and the same request is sent again."""
    thread = session.main
    session.say(thread)
    session.work(thread, 1)
    for _ in range(session.rng.choice((1, 1, 2))):
        tip = thread.tip
        _partial(session).sampled.retried = True
        thread.tip = tip
    session.sample(thread)
    return True


@behaviour("broken-kept")
def broken_kept(session: Session) -> bool:
    """A reply breaks off, and the client goes on with what came."""
    session.say(session.main)
    _partial(session)
    session.turn()
    return True


@behaviour("broken-last")
def broken_last(session: Session) -> bool:
    """A reply breaks off, and the person takes the prompt back for another."""
    if session.main.tip is None or not session.main.tip.sampled:
        return False
    tip = session.main.tip
    session.say(session.main)
    _partial(session)
    session.main.tip = tip
    session.turn()
    return True


@behaviour("truncated")
def truncated(session: Session) -> bool:
    """A reply ends at its length limit, and the person asks on."""
    session.say(session.main)
    _partial(session, "length")
    session.turn()
    return True


@behaviour("logged-twice")
def logged_twice(session: Session) -> bool:
    """A proxy and a client log the same exchange, in one file or in two."""
    if session.client.stores and not session.client.refers_back:  # a reader takes the second line for a new turn
        return False
    node = session.turn()
    other = "" if session.rng.random() < 0.6 else f"second-proxy/{session.name}.jsonl"
    session.write(node, other, 0.02)
    return True


@behaviour("broken-prefill", styles=("openai", "anthropic"))
def prefill(session: Session) -> bool:
    """A reply is interrupted, and its beginning is sent as the last message, so that the model continues it."""
    thread = session.main
    session.say(thread)
    session.work(thread, 1)
    tip = thread.tip
    partial = _partial(session)
    partial.sampled.retried = True
    thread.tip = tip
    session.sample(thread, text=f"{partial.text} {session.words.text(60, 400)}", prefill=partial.text)
    session.turn()
    return True


@behaviour("broken-item", styles=("responses",))
def item_kept(session: Session) -> bool:
    """A stream ends after a finished message, which the client keeps and sends with the retry, as Codex does."""
    thread = session.main
    session.say(thread)
    session.work(thread, 1)
    text, reasoning = session.words.text(40, 300), session.words.text(30, 200)
    session.sample(thread, text=text, reasoning=reasoning, ended=None).sampled.retried = True
    session.sample(thread, session.calls())
    session.answer(thread)
    session.sample(thread)
    return True


@behaviour("failed-retried")
def failed_retried(session: Session) -> bool:
    """A request is refused with 429, 500 or 529, once or several times, and sent again."""
    thread = session.main
    if not thread.tip or not thread.tip.sampled:
        return False
    session.say(thread)
    for _ in range(session.rng.choice((1, 1, 3))):
        status = session.rng.choice((429, 500, 529))
        body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        session.fail(thread, session.rng.choice((body, {"error": body["error"]}, None)), status)
    session.work(thread, 1)
    session.sample(thread)
    return True


@behaviour("late-answer")
def late_answer(session: Session) -> bool:
    """The client gives a request up and sends it again; the first one is answered and logged later, too."""
    thread = session.main
    if thread.window or not any(node.sampled for node in thread.path):
        return False
    prompt = session.say(thread)
    used = session.sample(thread)
    if session.rng.random() < 0.5:
        session.say(thread)
        used = session.sample(thread)
    thread.tip = prompt
    session.sample(thread)
    thread.tip = used
    session.turn()
    session.turn()
    return True


@behaviour("queued-prompt")
def queued_prompt(session: Session) -> bool:
    """The user types while tools run, and the prompt is sent after their results."""
    thread = session.main
    session.say(thread)
    session.sample(thread, session.calls(session.rng.choice((1, 2))))
    session.answer(thread)
    session.say(thread, session.words.text(20, 200))
    session.work(thread, 1)
    session.sample(thread)
    return True
