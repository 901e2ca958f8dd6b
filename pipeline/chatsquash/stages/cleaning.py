"""Take out what Goose and its like put around a conversation; ``docs/cleanup.md`` states the rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from chatsquash import chat, reasoning
from chatsquash.edits import compose
from chatsquash.ledger import Ledger
from chatsquash.memo import Again
from chatsquash.model import Added, Cleaned, Edits, Entry, Message, Reply
from chatsquash.stages.tidied import Followed, Tidied

SYSTEM_PROMPT = "You are a general-purpose AI agent"
_GOOSE = re.compile(r"general-purpose\s+AI\s+agent\s+called\s+goose", re.IGNORECASE)
_PURPOSE = re.compile("-[Pp][Uu][Rr][Pp][Oo]")
"""What stands in each of them; a pattern that begins with one character is found many times as fast as others."""
_INFO_OPEN = re.compile(r"\s*<info-msg>")
_INFO_CLOSE = "</info-msg>"
_TITLE_SYSTEM = re.compile(r"\s*Reply with only a description in four words or less")
_TITLE_USER = re.compile(r"\s*Here are the first few user messages:")
_TITLE_WORDS = range(1, 7)
_TIDIED = ("user", "system")
_SUBSTANCE = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio", *reasoning.MEMBERS)


def clean(entries: Iterator[Entry], ledger: Ledger) -> Iterator[Entry]:
    """Apply the four cleaning rules to every entry.

    An entry that no rule touches goes on as it is.  The edits of the others follow from those of the requests, since
    cleaning moves messages and drops entries that the next one's edits speak of.
    """
    request = _Request()
    since: Edits | None = None  # what leads from the last entry that went on to one that did not
    for entry in entries:
        edits = request.follow(entry)
        edits = edits if since is None else compose(since, edits)
        if _is_title_request(request.messages, entry.reply):
            ledger.clean(entry.size)
            since = edits
            continue
        if request.is_plain and since is None:
            yield entry
        else:
            yield replace(entry, messages=request.messages, edits=edits, cleaned=request.cleaned())
        since = None


class _Request:
    """The messages of the last request, cleaned."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._tidied: Tidied | None = None
        self._followed: Followed | None = None

    @property
    def is_plain(self) -> bool:
        """Whether no rule could touch a message so far."""
        return self._tidied is None

    def follow(self, entry: Entry) -> Edits:
        """Clean what an entry adds, and give the edits of what is left."""
        if self._tidied is None or self._followed is None:
            if all(all(map(_is_plain, run.messages)) for run in entry.edits if type(run) is Added):
                self.messages = entry.messages
                return entry.edits
            self._tidied = Tidied(self.messages, _tidy)
            self._followed = Followed(self.messages, _is_blank)
        before = self._tidied.messages
        edits = self._followed.follow(before, self._tidied.follow(entry.edits))
        self.messages = self._followed.messages
        return edits

    def cleaned(self) -> Cleaned:
        """The counts of rules a to c."""
        if self._tidied is None or self._followed is None:
            return Cleaned()
        return Cleaned(len(self._tidied.gone), len(self._tidied.changed), len(self._followed.gone))


def _is_plain(message: Message) -> bool:
    """Whether no rule could touch a message, whatever its neighbours."""
    role = message["role"]
    if role == "assistant":
        return not _is_blank(message)
    return role not in _TIDIED or _tidy(message) is message


def _tidy(message: Message) -> Message | None:
    """Rules a and b, which need no neighbours: the message, what becomes of it, or ``None`` where it goes."""
    role = message["role"]
    if role == "user":
        text = chat.text(message)
        if text is not None and _INFO_OPEN.match(text) and _is_info(text) and not chat.other_parts(message):
            return None
    elif role == "system":
        text = chat.text(message)
        if text is not None and _is_goose(text):
            return {**message, "content": SYSTEM_PROMPT}
    return message


@Again
def _is_goose(text: str) -> bool:
    """Whether a system prompt is Goose's; bytes are lowered many times as fast as characters beyond ASCII."""
    if not _PURPOSE.search(text):
        return False
    return b"goose" in text.encode("utf-8", "surrogatepass").lower() and _GOOSE.search(text) is not None


def _is_info(text: str) -> bool:
    """Whether a text is one or more info elements with only white space around and between."""
    at = 0
    while opened := _INFO_OPEN.match(text, at):
        closed = text.find(_INFO_CLOSE, opened.end())
        if closed < 0:
            return False
        at = closed + len(_INFO_CLOSE)
    return at > 0 and not text[at:].strip()


def _is_blank(message: Message) -> bool:
    """Whether a message is an assistant's with a text that says nothing, and has nothing else."""
    if message["role"] != "assistant":
        return False
    text = chat.text(message)
    if text is None or (text and not text.isspace()):
        return False
    return not any(message.get(key) for key in _SUBSTANCE) and not chat.other_parts(message)


def _is_title_request(messages: list[Message], reply: Reply) -> bool:
    """Rule d: the side request in which Goose asks for a session's title."""
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user" or reply.message is None:
        return False
    if not _TITLE_SYSTEM.match(chat.text(messages[0]) or "") or reply.message.get("role", "assistant") != "assistant":
        return False
    answer = chat.text(reply.message) or ""
    return bool(_TITLE_USER.match(chat.text(messages[1]) or "")) and len(answer.split()) in _TITLE_WORDS
