"""What is found in joining a gateway's session with the agent's own files of it."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import counted


@rule("info")
def joined(files: int, both: int, alone: int) -> Fact:
    """Reported when `--join` joins a gateway's session with an agent's files of it.

    Its tree then has the kinds of conversations that these files tell, and the replies that they alone have.
    """
    more = f"; {counted(alone, 'reply', 'replies')} that no gateway logged {'is' if alone == 1 else 'are'} added"
    said = f"is joined with {counted(files, 'file')} of an agent, by {counted(both, 'reply', 'replies')} in both"
    return Fact(said + (more if alone else ""))


@rule("warning")
def joined_texts(differing: int, both: int) -> Fact:
    """Reported when an agent's file has another text of a reply than the gateway's log, with `--join`.

    What the gateway logged stands in the record: it is what the model sent.
    """
    has = "differs" if differing == 1 else "differ"
    return Fact(
        f"{differing:,} of {counted(both, 'reply', 'replies')} {has} in the agent's file; the record has the gateway's"
    )
