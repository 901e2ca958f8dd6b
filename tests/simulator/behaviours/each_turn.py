"""Requests that a client sends with every turn: suggestions of the next prompt, recaps, checks, notes for a memory."""

from __future__ import annotations

from tests.simulator.behaviours import behaviour
from tests.simulator.behaviours.compaction import copied, is_emptied
from tests.simulator.nodes import Node
from tests.simulator.session import LIMIT, Session
from tests.simulator.styles.common import WORKING


@behaviour("each-turn-suggestion")
def suggestion(session: Session) -> bool:
    """After each turn, the next prompt is suggested under all settings of the conversation; some suggestions are used."""
    text = f"Suggest what the person may type next, in a few words. {session.words.sentence()}"

    def ask(session: Session) -> None:
        session.suggestion = one_more(session, text, session.words.text(12, 80)).text

    return _from_now_on(session, ask)


@behaviour("each-turn-recap")
def recap(session: Session) -> bool:
    """After each turn, a recap is asked for without tools."""
    text = f"Say in one sentence what was done in this turn. {session.words.sentence()}"
    return _from_now_on(session, lambda session: one_more(session, text, session.words.text(60, 200), tools=()))


@behaviour("each-turn-speaker")
def speaker(session: Session) -> bool:
    """After each turn, the history is sent without the system prompt, to ask who speaks next."""
    text = f"Decide who speaks next, the user or the model. {session.words.sentence()}"
    return _from_now_on(session, lambda session: over_a_copy(session, "", text, '{"next_speaker": "user"}'))


@behaviour("each-turn-memory")
def memory(session: Session) -> bool:
    """After each turn, the history is sent under another system prompt with tools, to extract what to remember."""
    text = f"Extract what is worth remembering. {session.words.sentence()}"
    system = f"You keep the memory of an agent. {session.words.sentence()}"
    tools = WORKING[:2]
    return _from_now_on(session, lambda session: over_a_copy(session, system, text, "Nothing new.", tools=tools))


@behaviour("each-turn-topic")
def topic(session: Session) -> bool:
    """Before each turn, the prompt is sent alone, to decide whether it begins a new topic."""
    system = f"Decide whether the message begins a new topic. Answer in JSON. {session.words.sentence()}"

    def ask(session: Session) -> None:
        prompt = session.main.tip.text
        if len(prompt) >= 30 and prompt not in session.once:
            session.once.add(prompt)
            thread = session.thread("side", system, about=session.main.tree)
            thread.tip = Node("user", prompt)
            session.sample(
                thread, text=f'{{"isNewTopic": true, "title": "{session.words.word()}"}}', side=True, limit=512
            )

    if "each turn topic" in session.once or session.layout.alike:
        return False
    session.once.add("each turn topic")
    session.before.append(ask)
    for _ in range(3):
        session.turn()
    return True


@behaviour("each-turn-prompts")
def prompts(session: Session) -> bool:
    """After each turn, all prompts so far are sent as a list, for a title that is kept up to date."""
    system = f"Keep the title of the session up to date. {session.words.sentence()}"

    def ask(session: Session) -> None:
        said = [node.text for node in session.main.path if node.role == "user" and node not in session.summaries]
        thread = session.thread("side", system, about=session.main.tree)
        thread.tip = Node("user", "Prompts so far:\n" + "\n".join(f"- {text}" for text in said))
        session.sample(thread, text=session.words.text(12, 60), side=True, limit=512)

    return not session.main.window and _from_now_on(session, ask)


def _from_now_on(session: Session, ask) -> bool:
    """Send a request after each turn, of which there are at least three more."""
    if not session.main.tip or not session.main.tip.sampled:
        return False
    session.after.append(ask)
    for _ in range(3):
        session.turn()
    return True


def one_more(session: Session, text: str, answer: str, tools: tuple[str, ...] | None = None) -> Node:
    """Send the conversation with one more prompt, and forget both the prompt and the reply."""
    thread, client = session.main, session.client
    tip, reminds = thread.tip, client.reminds
    if reminds == "moves":
        client.reminds = None
    thread.tip = Node("user", text, tip)
    reply = session.sample(thread, text=answer, side=True, tools=tools)
    thread.tip, client.reminds = tip, reminds
    return reply


def over_a_copy(
    session: Session, system: str, text: str, answer: str, tools: tuple[str, ...] = (), limit: int = LIMIT
) -> None:
    """Send the history and one more prompt under another system prompt."""
    if is_emptied(session, session.main.path) or session.main.window:
        return
    thread = session.thread("side", system, tools, about=session.main.tree)
    thread.tip = Node("user", text, copied(session.main.path))
    session.sample(thread, text=answer, side=True, limit=limit)
