"""Where lines are logged: which files, with or without ids, and how that changes."""

from datetime import timedelta

from tests.simulator.behaviours import behaviour
from tests.simulator.session import Layout, Session


@behaviour("file-each-with-ids", "layout")
def file_each_with_ids(layout: Layout) -> None:
    """Each exchange is a file."""
    layout.each = True


@behaviour("file-each-without-ids", "layout")
def file_each_without_ids(layout: Layout) -> None:
    """Each exchange is a file, and none says its session."""
    layout.each, layout.ids = True, False


@behaviour("shared-file", "layout")
def shared_file(layout: Layout) -> None:
    """Sessions without ids share a file."""
    layout.shared, layout.ids = True, False


@behaviour("shared-file-equal-beginnings", "layout")
def equal_beginnings(layout: Layout) -> None:
    """Sessions without ids share a file, their system prompt and their first prompt, as rollouts do."""
    layout.shared, layout.ids, layout.alike = True, False, True


@behaviour("shared-file-with-ids", "layout")
def shared_file_with_ids(layout: Layout) -> None:
    """Sessions with ids share a file, line by line, as with two terminals of one user behind a gateway."""
    layout.shared = True


@behaviour("files-without-ids", "layout")
def files_without_ids(layout: Layout) -> None:
    """Each session has its files, and no line says its session."""
    layout.ids = False


@behaviour("equal-beginnings-with-ids", "layout")
def equal_beginnings_with_ids(layout: Layout) -> None:
    """Sessions with ids have one system prompt and one first prompt, as scheduled jobs do."""
    layout.alike = True


@behaviour("rotation")
def rotation(session: Session) -> bool:
    """At midnight a new file begins."""
    if session.layout.each or session.layout.shared:
        return False
    session.log.now += timedelta(hours=15)
    session.day += 1
    session.turn()
    return True


@behaviour("resume-old-id")
def resume_old_id(session: Session) -> bool:
    """Work goes on in another file, under the same id."""
    if session.layout.shared:
        return False
    session.log.now += timedelta(hours=2)
    session.part += 1
    session.turn()
    return True


@behaviour("resume-new-id")
def resume_new_id(session: Session) -> bool:
    """Work goes on in another file, under another id, with the history copied."""
    if not session.layout.ids:
        return False
    session.log.now += timedelta(hours=2)
    session.begin_part()
    session.turn()
    return True


@behaviour("fork-new-id")
def fork_new_id(session: Session) -> bool:
    """The history is copied to another id and file; the old id has one more turn and ends."""
    tip = session.main.tip
    if not session.layout.ids or not tip or not tip.sampled or not tip.sampled.whole or tip.calls:
        return False
    session.turn()
    session.log.now += timedelta(minutes=5)
    session.main.tip = tip
    session.begin_part()
    session.turn()
    session.turn()
    return True


@behaviour("resume-repeats")
def resume_repeats(session: Session) -> bool:
    """After a resume, each result so far is sent twice, as by Gemini CLI."""
    results = [node for node in session.main.path if node.role == "tool"]
    if not results or session.main.window:
        return False
    session.client.repeated.update(results)
    session.turn()
    return True
