"""A run whose logs try to be a page: what each text holds would run, load, style, hide or break something."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from tests.conftest import assistant, log_line, user, write_log

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="window.evil=1"><script>window.evil=1</script></svg>'
TEXTS = {
    "script": "<script>window.evil=1</script><script src=https://evil.example/x.js></script>",
    "handler": "<img src=x onerror=window.evil=1><b onmouseover=window.evil=1>b</b><svg/onload=window.evil=1>",
    "end": "</script></style></textarea></title></pre></details><!-- --><![CDATA[ ]]>",
    "attribute": '"><script>window.evil=1</script> \' onfocus=window.evil=1 autofocus x="',
    "link": "javascript:window.evil=1 data:text/html,<script>window.evil=1</script> //evil.example/",
    "style": "<style>*{background:url(https://evil.example/)}</style><link rel=stylesheet href=//evil.example/>",
    "meta": '<meta http-equiv=refresh content="0;url=https://evil.example/"><base href=https://evil.example/>',
    "terminal": "\x1b[2J\x1b]0;owned\x07\x9b31m\x00 NUL \x08",
    "bidi": "admin\u202egnp.exe\u2066 \u200b\u2028 \ufeff",
    "right to left": "שלום עולם مرحبا بالعالم",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301",
    "fence": "```js\nconst a = '<script>window.evil=1</script>'; // <img src=x onerror=window.evil=1>\n```\n"
    "```diff\n-<script>window.evil=1</script>\n+<b onclick=window.evil=1>\n",
    "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-<script>window.evil=1</script>\n+<img src=x onerror=window.evil=1>",
}
LARGE, TURNS = 10_000_000, 2_000
NAME = '"><script>window.evil=1</script>'


def _call(number: int, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return assistant(None, tool_calls=[{"id": f"c{number}", "type": "function", "function": function}])


def _image(kind: str, data: bytes) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{b64encode(data).decode()}"}}


def texts() -> list[dict[str, object]]:
    """A session that says each text in every place that a message has."""
    messages: list[dict[str, object]] = [{"role": "system", "content": TEXTS["script"]}]
    for number, text in enumerate(TEXTS.values()):
        messages += [
            user(text),
            assistant(text, reasoning_content=text),
            user([{"type": "text", "text": text}]),
            _call(number, NAME, json.dumps({text: [text]})),
            {"role": "tool", "tool_call_id": f"c{number}", "content": text},
        ]
    return messages


def write(folder: Path, *, large: int = LARGE, turns: int = TURNS) -> Path:
    """The logs, below a folder."""
    fields = {"session_id": NAME, "model": NAME}
    tools = [{"type": "function", "function": {"name": NAME, "description": TEXTS["handler"], "parameters": {}}}]
    first = texts()
    write_log(
        folder / "<img src=x onerror=window.evil=1>.jsonl",
        log_line(*first[:2], reply=TEXTS["handler"], tools=tools, **fields),
        log_line(*first, reply=TEXTS["end"], tools=tools, **fields),
        "{<script>window.evil=1</script>",
    )
    write_log(folder / "large.jsonl", log_line(user("<b>" * (large // 3)), session_id="large"))
    long = [each for at in range(turns) for each in (user(f"turn {at} <i>"), assistant(f"answer {at}"))]
    write_log(folder / "long.jsonl", log_line(*long, "the last", session_id="long"))
    images = [
        _image("image/png", PNG),
        _image("image/svg+xml", SVG),
        _image("image/png", SVG),
        _image("text/html", SVG),
    ]
    images.append({"type": "image_url", "image_url": {"url": "https://evil.example/x.png"}})
    write_log(folder / "images.jsonl", log_line(user([{"type": "text", "text": "look"}, *images]), session_id="images"))
    return folder
