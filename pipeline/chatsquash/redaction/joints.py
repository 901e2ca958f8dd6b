"""Values that are split into pieces: concatenated strings, stream events, and lines in terminal boxes."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction.encodings import UnescapedText, remove

_TEXTS = (
    "text|content|delta|partial_json|arguments|thinking|reasoning|reasoning_content|value|token|chunk|data|output|line"
)
_MEMBER = rf"(?!\"(?:{_TEXTS})\")\"[a-z_]{{1,24}}\": ?(?:null|[0-9]{{1,9}}|\{{\}}|\"[\w-]{{0,40}}\")"
_JOINT = lazy_compile(
    # two members of an object, one after the other
    r"\"[ \t]{0,8}+,\s{0,40}+\"[\w.-]{1,24}\": ?\"|"
    # 'abc' + 'def', 'abc' 'def', "abc" . "def", ["abc", "def"], also over a break of the line
    r"(?P<quote>[\"'`])[ \t]{0,40}+(?:\\?\r?\n[ \t]{0,80}+)?(?:[+,&~|]|\.{1,2}|<>|\|\|)?[ \t]{0,40}+"
    r"(?:\\?\r?\n[ \t]{0,80}+)?[rbfuLR$@]{0,2}(?P=quote)"
    # {"text": "abc"} and {"text": "def"}, each on its line
    rf"|\"(?=[,}}\]])[^\"\n]{{0,60}}+(?:{_MEMBER}[^\"\n]{{0,20}}+){{0,4}}+"
    rf"\n[ \t\r\n]{{0,8}}+(?:event: ?[^\n]{{0,60}}+\n)?"
    rf"(?:data: ?)?\{{[^\n]{{0,300}}?\"(?:{_TEXTS})\": ?\""
    # │ abc │ and │ def │
    r"|[ \t]{0,200}+[\u2502\u2503\u2551|][ \t]{0,8}+\r?\n[ \t]{0,8}+[\u2502\u2503\u2551|][ \t]{0,8}+"
    # the colors of a terminal
    r"|(?:\r?\n)?\x1b\[[0-9;]{0,16}+[mK](?:\r?\n)?"
)


def join_pieces(reading: UnescapedText) -> UnescapedText:
    """Join pieces that may belong together, or return the same object if there are none."""
    return reading.then(_JOINT, remove)


def piece_spans(reading: UnescapedText, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans in the source of the pieces of a joined text."""
    view = reading.views[-1]
    before = UnescapedText(view.source, reading.views[:-1])
    while start < end:
        stop = min(end, view.piece(start)[1])
        yield before.span(*view.span(start, stop))
        start = stop
