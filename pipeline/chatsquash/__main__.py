"""``python -m chatsquash``, the same as ``chatsquash``."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command; an interrupt while it is still being loaded ends it like a later one."""
    gc.set_threshold(50_000, 20, 100)  # modules hold no garbage, looking for it would take a tenth of the start
    try:
        from chatsquash.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201 - click may not be there yet
        sys.exit(130)


if __name__ == "__main__":
    main()
