"""What a type checker accepts and refuses of the public API; ``mypy`` reads this file, and nothing runs it."""

from chatsquash import Options, convert

convert("logs", "out", Options(preset="hf", samples="reply", reasoning="inline"))
convert("logs", "out", Options(preset="trl"))  # type: ignore[arg-type]
convert("logs", "out", Options(samples="replies"))  # type: ignore[arg-type]
convert("logs", "out", Options(format="json"))  # type: ignore[arg-type]
