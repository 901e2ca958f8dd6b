"""``python -m pipeline``, the same as ``chatsquash``."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command; an interrupt while it is still being loaded ends it like a later one."""
    try:
        from pipeline.cli import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201 - click may not be there yet
        sys.exit(130)


if __name__ == "__main__":
    main()
