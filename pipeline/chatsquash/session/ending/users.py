"""What a user said last of what the assistant did, by words: in English, and only as far as these tell."""

from __future__ import annotations

import re
from typing import Literal

from chatsquash.checks.registry import View
from chatsquash.core import chat

LastUser = Literal["thanks", "complaint", "correction", "none", "unknown"]
COMPLAINTS = (
    "does not work", "doesn't work", "not working", "didn't work", "did not work", "still fails", "still failing",
    "still broken", "still wrong", "still not", "still doesn't", "still the same", "same error", "another error",
    "is wrong", "that's wrong", "wrong again", "is broken", "it fails", "it failed", "it crashes", "it crashed",
    "you broke", "you deleted", "you removed", "you forgot", "you missed", "you ignored", "you didn't", "you did not",
    "why did you", "not what i", "makes no sense", "this is bad", "useless", "terrible",
)  # fmt: skip
CORRECTIONS = (
    "no", "nope", "actually", "instead", "i meant", "i mean", "i said", "rather", "revert", "undo", "don't", "do not",
    "stop", "wait", "should not", "shouldn't", "should be", "should have", "not like that", "the other way",
)  # fmt: skip
THANKS = (
    "thanks", "thank you", "thx", "cheers", "perfect", "great", "awesome", "excellent", "nice", "well done",
    "good job", "looks good", "lgtm", "it works", "works now", "works great", "love it", "amazing",
)  # fmt: skip
_ABROAD = frozenset(["no", "nope", "stop", "perfect", "nice", "great", "terrible", "cheers", "rather"])
"""Those that people who write in other languages begin with, too."""
_COMMON = [
    "again", "and", "are you", "but", "can you", "does", "doesn't", "don't", "from", "have to", "how", "i'm", "instead",
    "is it", "is not", "isn't", "it", "it's", "its", "make", "my", "not", "now", "of", "one", "please", "should",
    "still", "that", "the", "then", "there", "they", "this", "to the", "we", "what", "when", "which", "why", "with",
    "work", "would", "you", "your",
]  # fmt: skip
"""Words that few texts in other languages have."""


def _any_of(phrases: tuple[str, ...] | list[str], begin: str = r"\b") -> re.Pattern[str]:
    longest_first = sorted(phrases, key=len, reverse=True)
    return re.compile(rf"{begin}(?:{'|'.join(map(re.escape, longest_first))})\b")


_COMPLAINT, _ENGLISH = _any_of(COMPLAINTS), _any_of(_COMMON)
_CORRECTION = _any_of(CORRECTIONS, r"(?:\A|[.!?\n]\s{0,2}|,\s|\bbut\s)")
_THANK = _any_of(THANKS, r"(?:\A|[.!?\n,]\s{0,2}|\b(?:ok|okay|yes|so|now|very|many)\s)")
_RULES: tuple[tuple[LastUser, re.Pattern[str]], ...] = (
    ("complaint", _COMPLAINT), ("correction", _CORRECTION), ("thanks", _THANK),
)  # fmt: skip
_LOOKED_AT = 600
"""Characters of a message that are looked at: what is said of the work stands before what is pasted."""
_TAGGED = re.compile(r"\s*+<([a-z][\w-]{0,40})>")


def last_word(view: View) -> tuple[LastUser, str | None]:
    """What the last message of a user behind a reply says, and which message that is."""
    roles = view.columns.roles
    first = next((at for at, role in enumerate(roles) if role == "assistant"), len(roles))
    for at in range(len(roles) - 1, first, -1):
        if roles[at] != "user":
            continue
        text = _said(chat.text(view.messages[at]) or "")
        if text:
            kind, phrase = judged(text)
            return kind, f"message {at}" + (f", {phrase!r}" if phrase else "")
    return "none", None


def _said(text: str) -> str:
    """The beginning of what a person said: without blocks in tags, which clients add."""
    at = 0
    while found := _TAGGED.match(text, at):
        closing = f"</{found[1]}>"
        at = text.find(closing, found.end())
        if at < 0:
            return ""
        at += len(closing)
    return text[at:].lstrip()[:_LOOKED_AT]


def judged(text: str) -> tuple[LastUser, str]:
    """What a message says of what came before it, and the words that tell; *unknown* where it is not English."""
    plain = text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    letters = [char for char in plain if char.isalpha()]
    is_english = bool(_ENGLISH.search(plain)) and sum(map(str.isascii, letters)) >= 0.9 * len(letters)
    for kind, pattern in _RULES:
        for found in pattern.finditer(plain):
            words = found[0].strip(" .,!?\n")
            if is_english or words.split()[-1] not in _ABROAD or words == plain.strip(" .,!?\n"):
                return kind, words
    return ("none" if is_english else "unknown"), ""
