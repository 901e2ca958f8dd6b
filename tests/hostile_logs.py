"""One run whose logs try to be more than logs once somebody looks at them: in a report, in the viewer, in a browser."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

from chatsquash import Options
from tests.conftest import assistant, log_line, user, write_log

HACK = "window.hacked=1;document.title='hacked'"
ELSEWHERE = "evil.example"
SCRIPT = f"<script>{HACK}</script>"
TEXTS = {
    "script": f"{SCRIPT}<script src=https://{ELSEWHERE}/x.js></script>",
    "end of a script": f"</script>{SCRIPT}",
    "end of a style": f"</style>{SCRIPT}<style>*{{display:none}}",
    "ends": "</textarea></title></pre></details></article></main></body></html><!-- --><![CDATA[ ]]>",
    "comment": "<!--<script>",
    "attribute": f"\">{SCRIPT} ' onfocus='{HACK}' autofocus x=\"",
    "image": f'"><img src=x onerror="{HACK}"><b onmouseover="{HACK}">b</b>',
    "svg": f"<svg/onload={HACK}><svg><script>{HACK}</script></svg><math><mtext><style><img src=x onerror={HACK}>",
    "link": f'<a href="javascript:{HACK}">a</a> javascript:{HACK} //{ELSEWHERE}/ \\\\{ELSEWHERE}\\x',
    "data URL": f"data:text/html,{SCRIPT} <object data=data:text/html,{SCRIPT}>",
    "style": f"<style>*{{background:url(https://{ELSEWHERE}/)}}</style><link rel=stylesheet href=//{ELSEWHERE}/x.css>",
    "CSS": f"url(https://{ELSEWHERE}/x) ; }} body {{ display: none }} @import '//{ELSEWHERE}/x.css'; expression({HACK})",
    "meta": f'<meta http-equiv=refresh content="0;url=https://{ELSEWHERE}/"><base href=https://{ELSEWHERE}/>',
    "frame": f'<iframe srcdoc="<script>parent.hacked=1</script>"></iframe><form action=//{ELSEWHERE}/><button autofocus>',
    "names": "<img name=body><form id=main><input name=children></form><a id=hits></a><a id=acts></a>",
    "member": "__proto__ constructor toString hasOwnProperty",
    "terminal": "\x1b[2J\x1b]0;owned\x07\x9b31m \x08 \x1b]8;;https://evil.example/\x1b\\a\x1b]8;;\x1b\\",
    "NUL": "\x00NUL\x00",
    "direction": "admin\u202egnp.exe\u2066 \u200b\u2028 \ufeff \u200f",
    "surrogate": "\ud800 a surrogate",
    "right to left": "שלום עולם مرحبا بالعالم",
    "emoji": "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301",
    "marks": f"Z{chr(0x335) * 300}algo",
    "one word": "w" * 3_000,
    "template": "{{7*7}} ${7*7} <%= 7 %> {% raw %}",
    "code": f"```js\nconst a = '{SCRIPT}'; // <img src=x onerror={HACK}>\n```\n```diff\n-{SCRIPT}\n+<b onclick={HACK}>\n",
    "diff": f"--- a\n+++ b\n@@ -1 +1 @@\n-{SCRIPT}\n+<img src=x onerror={HACK}>",
}
"""What a text of a log may hold that a page has to show as a text."""
OPTIONS = Options(anonymize=False, format="jsonl", pairs="logged")
"""Shows as much of it as there is, preference pairs too."""
SESSIONS = len(TEXTS) + (6 if sys.platform == "darwin" else 7)
LARGE, TURNS = 10_000_000, 2_000
NAME = TEXTS["attribute"]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">2I5B", 2, 2, 8, 0, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\x00\xff\x00\xff\x00"))
    + _chunk(b"IEND", b"")
)
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{HACK}"><script>{HACK}</script></svg>'.encode()


def image(kind: str, data: bytes) -> dict[str, Any]:
    """A part that says what kind of image it is, which need not be so."""
    return _at(f"data:{kind};base64,{b64encode(data).decode()}")


def _at(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def _call(id_: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def _entry(messages: list[Any], reply: dict[str, Any], bad: str, minute: int, number: int) -> dict[str, Any]:
    """An entry that says the text in all that stands around its messages."""
    function = {
        "name": bad,
        "description": bad,
        "parameters": {"type": "object", "properties": {bad: {"description": bad}}},
    }
    at = f"2026-01-13T10:{minute:02}:00Z"
    fields = {"session_id": f"{number} {bad}", "model": bad, "trace_id": bad, "user": bad, "metadata": {bad: bad}}
    entry = log_line(*messages, reply=reply, at=at, tools=[{"type": "function", "function": function}], **fields)
    entry["response"] |= {"id": bad, "model": bad, "system_fingerprint": bad}
    entry["response"]["choices"][0]["finish_reason"] = "stop"
    return entry


def _turn(bad: str) -> list[dict[str, Any]]:
    """A question, a call with its result, one whose arguments are malformed with its result, and one more question."""
    calls = [_call(f"1 {bad}", bad, json.dumps({bad: [bad]})), _call(f"2 {bad}", bad, bad)]
    results = [{"role": "tool", "tool_call_id": call["id"], "name": bad, "content": bad} for call in calls]
    replies = [assistant(bad, reasoning_content=bad, tool_calls=[call]) for call in calls]
    return [
        user([{"type": "text", "text": bad}, image("image/svg+xml", SVG), _at(bad)]),
        *(message for both in zip(replies, results, strict=True) for message in both),
        {"role": "user", "name": bad, "content": bad},
        assistant(bad),
    ]


def session(number: int, *texts: str) -> list[dict[str, Any]]:
    """A session with texts in every place that a page shows; its first reply is given twice, which makes a pair."""
    bad = texts[0]
    first, *rest = [message for each in texts for message in _turn(each)]
    asked = [{"role": "system", "content": bad}, first]
    last = _entry([*asked, *rest[:-1]], rest[-1], bad, 2, number)
    last["response"]["choices"][0]["finish_reason"] = bad  # of the others a reason that is unknown would leave no pair
    return [
        _entry(asked, assistant(f"not so: {bad}"), bad, 0, number),
        _entry(asked, rest[0], bad, 1, number),
        last,
    ]


def _name(bad: str) -> str:
    """As much of a text as the name of a file may have."""
    return bad.encode("utf-8", "replace").decode().replace("/", "∕").replace("\x00", "␀")[:60]


def write(folder: Path) -> Path:
    """The logs, below a folder."""
    for number, bad in enumerate(TEXTS.values()):
        raw = bad.replace("\n", " ").encode("utf-8", "replace")
        write_log(folder / f"{number} {_name(bad)}.jsonl", *session(number, bad), b"{" + raw)
    texts = [bad for name, bad in TEXTS.items() if name != "surrogate"]  # with which there is no record
    write_log(folder / "all.jsonl", *session(len(TEXTS), *texts))
    if sys.platform != "darwin":
        write_log(folder / "\udcff no UTF-8.jsonl", log_line("named so", session_id="bytes"))
    write_log(folder / "large.jsonl", log_line(user("<b>" * (LARGE // 3)), session_id="large"))
    long = [each for at in range(TURNS) for each in (user(f"turn {at} <i>"), assistant(f"answer {at} {'&' * 200}"))]
    write_log(folder / "long.jsonl", log_line(*long, "the last", session_id="long"))
    kinds = {"image/png": PNG, "image/svg+xml": SVG, "image/jpeg": SVG, "text/html": SVG}
    parts = [image(kind, data) for kind, data in kinds.items()]
    parts += map(_at, (f"https://{ELSEWHERE}/x.png", f"data:text/html,{SCRIPT}", NAME))
    write_log(folder / "images.jsonl", log_line(user([{"type": "text", "text": "look"}, *parts]), session_id="images"))
    write_log(folder / "role.jsonl", log_line({"role": NAME, "content": NAME}, session_id="role"))
    write_log(
        folder / "time.jsonl", log_line("x", session_id="time", at=NAME), log_line(NAME, session_id=NAME, at=NAME)
    )
    return folder
