"""What people do with history: go back, ask again, change what they asked."""

from tests.simulator.behaviours import behaviour
from tests.simulator.nodes import Node
from tests.simulator.session import Session


@behaviour("rewind")
def rewind(session: Session) -> bool:
    """The person goes back some turns and asks something else."""
    if not (places := session.main.reachable()):
        return False
    session.main.tip = session.rng.choice(places)
    session.turn()
    return True


@behaviour("return")
def come_back(session: Session) -> bool:
    """A branch is left for another, and taken up again."""
    left = session.main.tip
    if not rewind(session):
        return False
    session.main.tip = left
    session.turn()
    return True


@behaviour("edit")
def edit(session: Session) -> bool:
    """A prompt that was answered is changed; never the first."""
    path = session.main.path
    before = {*session.main.reachable()}
    if not (prompts := [node for node in path if node.role == "user" and node.parent in before]):
        return False
    asked = session.rng.choice(prompts)
    session.main.tip = asked.parent
    session.turn(prompt=session.words.altered(asked.text))
    return True


@behaviour("regenerate")
def regenerate(session: Session) -> bool:
    """A reply is asked for again, and work goes on from the new one."""
    reply = _again(session)
    if reply is None:
        return False
    thread = session.main
    thread.tip = reply.parent
    if session.rng.random() < 0.3:
        session.work(thread, 2)
    session.sample(thread)
    session.turn()
    return True


@behaviour("regenerate-same-words")
def regenerate_same_words(session: Session) -> bool:
    """A reply is asked for again and comes in the same words, under another id."""
    reply = _again(session)
    if reply is None or not session.client.names_responses:
        return False
    session.main.tip = reply.parent
    reply.sampled.same_as = session.sample(session.main, text=reply.text, reasoning=reply.reasoning)
    session.turn()
    return True


def _again(session: Session) -> Node | None:
    """A reply at the end that can be asked for again: without ids, another reply has to stand before it."""
    tip = session.main.tip
    if not tip or not tip.sampled or not tip.sampled.whole or tip.calls or session.main.floor is tip:
        return None
    before = [node for node in tip.path[:-1] if node.sampled]
    return tip if before or session.layout.ids else None


@behaviour("micro-compact")
def micro_compact(session: Session) -> bool:
    """The client empties results, all but the last few."""
    results = [node for node in session.main.path if node.role == "tool" and node.copy_of is None]
    kept = session.rng.randint(1, 3)
    if len(results) <= kept:
        return False
    session.cleared.update(results[:-kept])
    session.turn()
    return True


@behaviour("few-shot", "opening")
def few_shot(session: Session) -> bool:
    """Examples that no model said stand before the first prompt."""
    for _ in range(session.rng.randint(1, 3)):
        session.say(session.main)
        session.main.tip = Node("assistant", session.words.text(30, 300), session.main.tip)
    return True


@behaviour("hard-first-edit", hard=True)
def first_edit(session: Session) -> bool:
    """The first prompt is changed, so that all begins anew; behind a summary, that makes a branch."""
    thread, path = session.main, session.main.path
    if thread.tree.kind == "compacted":
        return _first_after_summary(session)
    if not path[1].sampled:
        return False
    session.main = session.thread("main", thread.system, thread.tools)
    session.turn(prompt=session.words.altered(path[0].text))
    session.turn()
    return True


def _first_after_summary(session: Session) -> bool:
    thread = session.main
    said = [node for node in thread.path if node.role == "user" and not node.copy_of and node not in session.summaries]
    if not said or not said[0].parent or any(node.sampled for node in said[0].path):
        return False
    thread.tip = said[0].parent
    session.turn(prompt=session.words.altered(said[0].text))
    return True


@behaviour("hard-window", hard=True)
def window(session: Session) -> bool:
    """From now on only the newest messages are sent."""
    if session.main.window or session.main.tree.kind != "main":
        return False
    session.main.window = session.rng.randint(6, 10)
    session.client.keeps_first = session.rng.random() < 0.5
    while len(session.main.path) < session.main.window + 4:
        session.turn()
    session.turn()
    return True


@behaviour("hard-system", hard=True)
def new_system(session: Session) -> bool:
    """The system prompt is replaced, and work goes on."""
    if "system" in session.once or session.main.window:
        return False
    session.once.add("system")
    session.main.system = f"You are now another agent. {session.words.text(100, 900)}"
    session.turn()
    session.main.floor = session.turn()
    return True


@behaviour("emptied-then-rewind")
def rewind_after_emptied(session: Session) -> bool:
    """Results are emptied, and then the person goes back to a place before all of them."""
    if session.main.window:
        return False
    session.say(session.main)
    place = session.sample(session.main)
    if any(node in session.cleared for node in place.path):
        return False
    for _ in range(2):
        session.say(session.main)
        session.sample(session.main, session.calls())
        session.answer(session.main)
        session.sample(session.main)
    session.cleared.update(node for node in session.main.path if node.role == "tool" and node not in place.path)
    session.turn()
    session.main.tip = place
    session.turn()
    session.turn()
    return True


@behaviour("note-on-prompt")
def note_on_prompt(session: Session) -> bool:
    """The newest prompt carries a note, prompts repeat, and some results are emptied."""
    thread, client = session.main, session.client
    note = session.words.sentence()
    for _ in range(session.rng.choice((2, 3))):
        prompt = session.say(thread, "continue")
        client.notes = {prompt: note} if session.rng.random() < 0.7 else {}
        session.sample(thread, session.calls(session.rng.choice((1, 2))))
        if session.rng.random() < 0.7:
            client.notes = {}
        session.answer(thread)
        if session.rng.random() < 0.5:
            session.sample(thread)
        else:
            session.sample(thread, session.calls())
            session.answer(thread)
            session.sample(thread)
    client.notes = {}
    session.turn()
    if session.rng.random() < 0.5:
        micro_compact(session)
    return True


@behaviour("choices", styles=("openai", "gemini"))
def choices(session: Session) -> bool:
    """A response has two or three choices, and the conversation continues from the last one."""
    session.say(session.main)
    others = tuple(session.words.text(40, 300) for _ in range(session.rng.choice((1, 2))))
    session.sample(session.main, others=others)
    session.turn()
    return True
