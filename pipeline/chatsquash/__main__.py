"""``python -m chatsquash``, the same as ``chatsquash``."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

_WATCHERS = frozenset(("_lsprof", "bdb", "coverage"))
"""What profilers, debuggers and tracers load, which run a program and have something to do at its end."""


def main() -> NoReturn:
    """Run the command; an interrupt while it is still being loaded ends it like a later one."""
    gc.set_threshold(50_000, 20, 100)  # modules hold no garbage, looking for it would take a tenth of the start
    try:
        from chatsquash.cli import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201 - click may not be there yet
        sys.exit(130)
    except SystemExit as done:
        _leave(done.code)
        raise


def _leave(code: object) -> None:
    """End the process without taking apart all that it holds, where nothing is left to say and nobody watches."""
    if isinstance(code, int) and not (sys.flags.inspect or _WATCHERS & sys.modules.keys()):
        atexit._run_exitfuncs()  # noqa: SLF001 - what else would run before the interpreter is taken apart
        with suppress(OSError, ValueError):
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            os._exit(code)


if __name__ == "__main__":
    main()
