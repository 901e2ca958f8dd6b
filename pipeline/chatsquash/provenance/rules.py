"""The rules and options that explain the difference between a text and the strings of its log."""

from __future__ import annotations

from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.records import presets
from chatsquash.redaction.placeholders import PLACEHOLDER

JOIN, SPELLING, STRIP = "join", "spelling", "strip"
"""Rules that are part of reading a format: joined parts, the spelling of JSON, and white space around texts."""
ANONYMIZE, REDACT, CLEANUP, FORMAT, PRESET, OPTION = "anonymize", "redact", "cleanup", "format", "preset", "option"
"""Rules that have a name after a colon, except ``anonymize``."""
_IDS = ("/id", "/tool_call_id", "/call_id")
NOT_IN_LOG = "not-in-log"
CERTAIN = (JOIN, SPELLING, ANONYMIZE)
"""Rules whose text is checked, in addition to placeholders and ids."""
_OPTIONS = (
    *("mark_failed_results", "bridge_results", "json_tool_calls", "merge_consecutive"),
    *("split_parallel", "split_text_and_calls", "drop_text_beside_calls", "system_file", "media"),
)
"""Options that add text to messages or remove it."""


class Rules:
    """The rules that apply to the messages of a session."""

    def __init__(self, outcome: Outcome, options: Options) -> None:
        usual = Options()
        self._cleanups = [f"{CLEANUP}:{name}" for name, count in outcome.account.cleanup_counts.items() if count]
        self._options = [f"{OPTION}:{name}" for name in _OPTIONS if getattr(options, name) != getattr(usual, name)]
        self._preset = [] if options.preset == presets.DEFAULT else [f"{PRESET}:{options.preset}"]
        self._replaces = options.replaces
        self._is_plain = outcome.account.format in (None, "openai_chat")
        self._format = f"{FORMAT}:{outcome.account.format or 'unknown'}"
        self._ids = self._format if options.tool_ids == usual.tool_ids else f"{OPTION}:tool_ids"

    def insertion(self, text: bytes, path: str) -> str:
        """Return the rule that inserted some text, or an empty string."""
        if not text.strip():
            return JOIN
        if match := PLACEHOLDER.fullmatch(_decode(text)):
            return f"{REDACT}:{match['kind'].lower()}" if match["kind"] else ANONYMIZE
        if path.endswith(_IDS):
            return self._ids
        if self._replaces and not any(character.isalpha() for character in _decode(text)):
            return REDACT  # numbers get other digits
        if self._preset or self._options:
            return (self._options or self._preset)[0]
        return "" if self._is_plain else self._format

    def reason(self, text: bytes, path: str) -> str:
        """Return why some inserted text is not proven, or an empty string for text that can be checked."""
        rule = self.insertion(text, path)
        if not rule:
            return NOT_IN_LOG
        kind = rule.partition(":")[0]
        if rule in CERTAIN or kind == REDACT or path.endswith(_IDS):
            return ""
        return f"text-of-{kind}"

    def omissions(self, text: bytes) -> list[str]:
        """Return the rules that may have removed some text."""
        if not text.strip():
            return [STRIP]
        return self._cleanups or self._options or self._preset or [self._format]


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")
