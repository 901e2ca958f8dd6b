"""``python -m pipeline``, the same as ``chatsquash``."""

from pipeline.cli import main

if __name__ == "__main__":
    main()
