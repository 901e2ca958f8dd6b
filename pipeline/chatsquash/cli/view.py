"""``chatsquash view``: browse a result or session logs in the browser."""

from __future__ import annotations

from typing import Any

import click

from chatsquash.cli.click_options import argument, option, options
from chatsquash.cli.command import Command, refuse_idle


@click.command(cls=Command, epilog="Example: chatsquash view out --open")
@argument("arguments", nargs=-1, required=True, metavar="OUT|LOGS... [ID]")
@options("cleaning", "reading", "bounds")
@option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port.  [default: a free one]")
@option("--open", "opens", is_flag=True, help="Open the browser.")
@option("--against", metavar="RESULT", help="Compare with this earlier output folder, side by side.")
@option("--template", metavar="MODEL", help="Also show records as this chat template renders them.")
def view(
    arguments: tuple[str, ...], *, port: int, opens: bool, against: str | None, template: str | None, **reading: Any
) -> None:
    """Browse an output folder, or session logs, in the browser: sessions, conversations, log lines and search.

    Serves on loopback only, to holders of the token in the printed URL, until Ctrl-C. LOGS are converted to a private
    folder that is deleted at the end. With the id of a session, or its beginning, the URL opens the page of that
    session. Requires the extra view.
    """
    from chatsquash.conversion.progress import Watch
    from chatsquash.core.options import Options
    from chatsquash.dataset.option_rules import refuse_invalid_values
    from chatsquash.results.show import with_session
    from chatsquash.view import serve

    converting = Options(anonymize=False, conversations="all", trace_replies=True, **reading)
    refuse_invalid_values(converting)
    if serve.result_of(with_session(arguments)[0]):
        refuse_idle(reading, "on an output folder because its logs were already read")
    watch = Watch(quiet=False, verbose=False)
    serve.view(
        arguments, converting, port=port, template=template, opens=opens, say=click.echo, watch=watch, against=against
    )
