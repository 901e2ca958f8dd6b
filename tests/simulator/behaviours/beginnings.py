"""What a client sends before or with the first prompt: titles, warm-ups, sessions of one turn."""

from __future__ import annotations

from tests.simulator.behaviours import behaviour
from tests.simulator.nodes import Node
from tests.simulator.session import LIMIT, Session
from tests.simulator.styles.common import WORKING

_TITLE = "Write a title of at most six words for the conversation that begins with this prompt. {}"


@behaviour("title-before", "opening")
def title_before(session: Session) -> None:
    """The title is requested before the prompt is sent, as OpenCode does."""
    if session.layout.alike or session.opening:
        return
    session.opening = session.words.text(40, 900)
    title(session, session.opening)


@behaviour("one-turn-title", "opening")
def one_turn(session: Session) -> None:
    """The session has one turn, and a title before or after it."""
    if session.layout.alike or session.opening:
        return
    session.only_turn = True
    session.opening = session.words.text(40, 900)
    if session.rng.random() < 0.5:
        title(session, session.opening)
    else:
        session.after.append(lambda session: title(session, session.main.path[0].text))


@behaviour("warm-up-before", "opening")
def warm_ups(session: Session) -> None:
    """Two or three agents are warmed up, each with its own system prompt, before the person says anything."""
    if not session.layout.ids:
        return
    for _ in range(session.rng.choice((2, 3))):
        thread = session.thread("side", f"You are one more agent. {session.words.text(80, 400)}", WORKING)
        thread.tree.about = session.main.tree
        thread.tip = Node("user", "Warmup")
        session.sample(thread, text=f"I am ready. {session.words.sentence()}", side=True)


@behaviour("first-regenerated", "opening")
def regenerate_first(session: Session) -> None:
    """The first reply is requested again after a title, and the conversation continues from the second one."""
    if not session.layout.ids or session.main.tip or session.opening:
        return
    if session.client.reminds == "moves" and not session.client.tagged:  # as if the user had changed the prompt
        return
    prompt = session.say(session.main, session.words.text(40, 900))
    session.sample(session.main)
    title(session, prompt.text)
    session.main.tip = prompt
    session.sample(session.main)


def title(session: Session, prompt: str) -> None:
    """Request a title for a prompt."""
    plain = session.client.plain_side
    system = _TITLE.format(session.words.sentence())
    thread = session.thread("side", system, session.main.tools if plain else (), about=session.main.tree)
    thread.tip = Node("user", prompt)
    session.sample(thread, text=session.words.text(20, 50), side=True, limit=LIMIT if plain else 64)
