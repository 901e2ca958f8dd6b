"""Summaries that share words with prompts, with replies or with earlier summaries."""

from __future__ import annotations

from datetime import timedelta

from tests.simulator.behaviours import behaviour
from tests.simulator.behaviours.compaction import GIVEN, aside, ask_over_a_copy, ask_within, begin, is_compactable
from tests.simulator.nodes import Node
from tests.simulator.session import Session

_MERGING = ("anthropic",)
"""Styles in which neighbouring prompts become one message."""


@behaviour("summary-keeps-prompts", styles=("openai", "responses", "gemini"))
def keeps_prompts(session: Session) -> bool:
    """The new history begins with all prompts and ends with the summary, as Codex builds it."""
    old = session.main
    if not is_compactable(session):
        return False
    summary = ask_within(session)
    prompts = [node for node in old.path if node.role == "user" and node not in session.summaries]
    session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
    for node in prompts:
        session.main.tip = Node("user", node.text, session.main.tip, copy_of=node)
    return _continue(session, GIVEN.format(summary.text))


@behaviour("summary-rolling")
def rolling(session: Session) -> bool:
    """The second history begins with the first summary, followed by the second one."""
    first = _first_summary(session)
    if first is None:
        return False
    old = session.main
    summary = ask_within(session)
    session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
    memory = GIVEN.format(summary.text)
    if session.client.style in _MERGING:
        memory = f"{first.text}\n\n{memory}"
    else:
        session.main.tip = Node("user", first.text, copy_of=first)
        session.summaries.add(session.main.tip)
    return _continue(session, memory)


@behaviour("summary-again")
def again(session: Session) -> bool:
    """The second summary repeats the first one and differs in a sentence."""
    first = _first_summary(session)
    if first is None:
        return False
    old = session.main
    said = first.text.partition("\n\n")[2]
    summary = ask_within(session, f"{said.rpartition(' ')[0]} {session.words.sentence()}")
    session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
    begin(session, old, GIVEN.format(summary.text))
    session.turn()
    return True


@behaviour("summary-answer")
def answer(session: Session) -> bool:
    """The summary is an assistant message of the new history, as in OpenCode."""
    old = session.main
    if not is_compactable(session, copies=True):
        return False
    summary = ask_over_a_copy(session)
    session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
    asked = Node("user", "What did we do so far?")
    session.main.tip = Node("assistant", summary.text, asked, copy_of=summary)
    session.turn(prompt="Continue if you have next steps.")
    session.turn()
    return True


@behaviour("summary-checked")
def checked(session: Session) -> bool:
    """A second request improves the summary, and the new history has an acknowledgement, as in Gemini CLI."""
    old = session.main
    if not is_compactable(session, copies=True) or old.window:
        return False
    thread = aside(session)
    ask_over_a_copy(session, thread)
    thread.tip = Node("user", "Check the summary for what it lacks, and write the final one.", thread.tip)
    summary = session.sample(thread, text=f"{session.words.sentence()} {session.words.text(300, 1500)}", side=True)
    session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
    session.main.tip = Node("user", summary.text)
    session.summaries.add(session.main.tip)
    session.main.tip = Node("assistant", "Got it. Thanks for the additional context!", session.main.tip)
    session.turn()
    session.turn()
    return True


@behaviour("summary-hand-off")
def hand_off(session: Session) -> bool:
    """The work continues from a summary under a new session id, in a file of its own."""
    old = session.main
    if not is_compactable(session, copies=True) or session.layout.shared:
        return False
    ask = session.rng.choice((ask_within, ask_over_a_copy))
    summary = ask(session)
    session.log.now += timedelta(minutes=20)
    session.begin_part()
    session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
    return _continue(session, GIVEN.format(summary.text))


@behaviour("summary-retried")
def summary_retried(session: Session) -> bool:
    """The request for a summary is interrupted and sent again."""
    old = session.main
    if not is_compactable(session):
        return False
    tip = old.tip
    old.tip = Node("user", f"Write the summary now. {session.words.sentence()}", tip)
    asked = old.tip
    session.sample(old, text=session.words.text(40, 300), ended=None, side=True).sampled.retried = True
    old.tip = asked
    summary = session.sample(old, text=session.words.text(300, 2000), side=True)
    old.tip = tip
    session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
    return _continue(session, GIVEN.format(summary.text))


@behaviour("summary-with-files")
def with_files(session: Session) -> bool:
    """The client adds files to the summary, which are about as long."""
    old = session.main
    if not is_compactable(session):
        return False
    summary = ask_within(session)
    files = "\n\n".join(f"File {session.words.word()}.py:\n{session.words.text(200, 700)}" for _ in range(2))
    session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
    return _continue(session, f"{GIVEN.format(summary.text)}\n\n{files}")


def _first_summary(session: Session) -> Node | None:
    """The message with the summary from which the present conversation continues, which is made if there is none."""
    if not is_compactable(session):
        return None
    if session.main.tree.kind != "compacted" or session.main.path[0] not in session.summaries:
        old = session.main
        summary = ask_within(session)
        session.main = session.thread("compacted", old.system, old.tools, anchor=old.tip)
        _continue(session, GIVEN.format(summary.text))
    return session.main.path[0]


def _continue(session: Session, memory: str) -> bool:
    session.main.tip = Node("user", memory, session.main.tip)
    session.summaries.add(session.main.tip)
    session.work(session.main, 2)
    session.sample(session.main)
    session.turn()
    return True
