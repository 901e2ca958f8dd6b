"""Requests of the client's own, beside the conversation."""

from __future__ import annotations

from tests.simulator.behaviours import behaviour
from tests.simulator.nodes import Call, Node
from tests.simulator.session import LIMIT, Session


def _ask(session: Session, system: str, prompt: str, limit: int, *, settings: bool = False) -> bool:
    """One request about the present conversation, with one reply that nothing goes on from."""
    plain = settings or session.client.plain_side
    thread = session.thread("side", system, session.main.tools if plain else (), about=session.main.tree)
    thread.tip = Node("user", prompt)
    asked = LIMIT if session.client.plain_side and limit > 1 else limit
    ended = "length" if limit == 1 else "stop"
    text = session.words.word() if limit == 1 else session.words.text(30, 60)
    session.sample(thread, text=text, ended=ended, side=True, limit=asked)
    return True


def _once(session: Session, what: str) -> bool:
    """Whether it was not yet played: the same request sent twice would be one that was asked for again."""
    fresh = what not in session.once
    session.once.add(what)
    return fresh


@behaviour("side-title")
def title(session: Session) -> bool:
    """A title for what the person asked first."""
    path = session.main.path
    began = session.main.tree.kind == "main" and path[1].sampled
    if not began or not _once(session, f"title {path[0].text}"):
        return False
    system = "Write a title of at most six words for what the person asks. Answer with the title alone."
    return _ask(session, system, path[0].text, 64)


@behaviour("side-topic")
def topic(session: Session) -> bool:
    """Whether the person's last message begins a new topic."""
    asked = [node for node in session.main.path if node.role == "user" and node not in session.summaries]
    said = [node for node in asked if len(node.text) >= 30]
    if not said or not _once(session, f"topic {said[-1].text}"):
        return False
    return _ask(session, "Say whether this message begins a new topic, as JSON.", said[-1].text, 128)


@behaviour("side-probe")
def probe(session: Session) -> bool:
    """Whether there is quota left."""
    return bool(session.main.tree.replies) and _once(session, "probe") and _ask(session, "", "quota", 1)


@behaviour("side-warm-up")
def warm_up(session: Session) -> bool:
    """A request that fills the cache, with the system prompt and the tools of the conversation."""
    if not session.main.tree.replies or not _once(session, "warm-up"):
        return False
    return _ask(session, session.main.system, "Warmup", 1, settings=True)


@behaviour("side-classification")
def classification(session: Session) -> bool:
    """Whether a call may be made without asking the person."""
    asked = [node for node in session.main.path if node.calls]
    if not asked:
        return False
    value = max(map(str, asked[-1].calls[0].arguments.values()), key=len)
    if len(value.split()) < 8 or not _once(session, f"classify {value}"):
        return False
    return _ask(session, "Classify the risk of what an agent is about to do.", f"Is this harmless?\n\n{value}", 64)


@behaviour("command-classified")
def command(session: Session) -> bool:
    """The prefix of a short command is requested before the command runs."""
    main = session.main
    if not main.tip:
        return False
    session.say(main)
    words = [session.words.word() for _ in range(session.rng.randint(3, 7))]
    line = " ".join(["npm", *words[:-1], f"--{words[-1]}"])
    (call,) = session.calls()
    asked = session.sample(main, (Call(call.id, "run", {"command": line, "note": session.words.text(20, 60)}),))
    policy = f"Name the prefix of a command. {session.words.sentence()}"
    prompt = f"Prefixes: git, npm run, cargo test.\n\nCommand: {line}"
    if _once(session, f"classify {line}"):
        _ask(session, policy, prompt, 256)
    main.tip = asked
    session.answer(main)
    session.sample(main)
    return True


@behaviour("command-output")
def command_output(session: Session) -> bool:
    """After a command ran, the files that it names are requested, given the command and its output."""
    main = session.main
    if not main.tip:
        return False
    session.say(main)
    line = f"cat {session.words.word()}.py | grep {session.words.word()} | head"
    (call,) = session.calls()
    session.sample(main, (Call(call.id, "run", {"command": line, "note": session.words.text(20, 60)}),))
    session.answer(main)
    output = main.tip.text
    if _once(session, f"output {line}"):
        tip = main.tip
        system = f"List the paths of files that the output contains. {session.words.sentence()}"
        _ask(session, system, f"Command: {line}\nOutput: {output}", 512)
        main.tip = tip
    session.sample(main)
    return True


@behaviour("title-wrapped")
def title_wrapped(session: Session) -> bool:
    """A title for the first prompt, of which the first 500 characters are sent within a tag."""
    path = session.main.path
    began = session.main.tree.kind == "main" and path[1].sampled
    if not began or len(path[0].text) < 30 or not _once(session, f"title {path[0].text}"):
        return False
    system = "Write a short title in lower case for the session. Return JSON."
    return _ask(session, system, f"<session>\n{path[0].text[:500]}\n</session>", 64)
