"""Entry point of ``python -m chatsquash``, which does the same as ``chatsquash``."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command; Ctrl-C during the imports is handled like a later one."""
    gc.set_threshold(200_000, 20, 100)  # imports create no garbage; collecting it takes a tenth of the start
    try:
        from chatsquash.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201 - click may not be loaded yet
        sys.exit(130)
    finally:
        gc.freeze()  # the exit would otherwise search all objects for cycles, several times


if __name__ == "__main__":
    main()
