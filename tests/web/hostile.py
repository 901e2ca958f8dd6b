"""Logs whose texts try to become more than texts once a page shows them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from tests.conftest import assistant, log_line, user, write_log

HACK = "window.hacked=1;document.title='hacked'"
ATTACKS = (
    f"<script>{HACK}</script>",
    f"</script><script>{HACK}</script>",
    f"</style><script>{HACK}</script><style>*{{display:none}}",
    f'"><img src=x onerror="{HACK}">',
    f"' onfocus='{HACK}' autofocus='",
    f"<svg/onload={HACK}>",
    f'<a href="javascript:{HACK}">click</a>',
    "<link rel=stylesheet href=https://evil.example/x.css><img src=https://evil.example/x.png>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<!--<script>", "]]>", "</textarea></title></details></article></main></body></html>",
    "url(https://evil.example/x) ; } body { display: none }",
    "\x1b[2J\x1b]0;hacked\x07\x9b31m",
    "\x00null\x00",
    "\u202eevil\u2066\u200f",
    "\ud800 a surrogate",
    "שלום עולם مرحبا بالعالم",
    "emoji 👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈",
    "{{7*7}} ${7*7} <%= 7 %>",
)  # fmt: skip
SVG = "data:image/svg+xml;base64," + base64.b64encode(f"<svg onload={HACK}/>".encode()).decode()
PAGE = f"data:text/html,<script>{HACK}</script>"
LARGE = 10_000_000
TURNS = 2000


def call(number: int, bad: str) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": bad, "arguments": bad}}


def result(number: int, bad: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": bad}


def session(number: int, bad: str) -> dict[str, Any]:
    """An entry with the text in every place that a page shows."""
    media = [{"type": "image_url", "image_url": {"url": url}} for url in (SVG, PAGE, bad)]
    messages = [
        {"role": "system", "content": bad},
        user([{"type": "text", "text": bad}, *media]),
        assistant(bad, reasoning_content=bad, tool_calls=[call(number, bad)]),
        result(number, bad),
        {"role": "user", "name": bad, "content": bad},
    ]
    tools = [{"type": "function", "function": {"name": bad, "description": bad, "parameters": {}}}]
    return log_line(*messages, reply=assistant(bad), session_id=f"{number} {bad}", tools=tools, model=bad)


def write(folder: Path) -> Path:
    """A folder of such logs, a message of 10 MB and a session of 2,000 turns among them."""
    for number, bad in enumerate(ATTACKS):
        write_log(folder / f"{number}.jsonl", session(number, bad), bad.encode("utf-8", "replace"))
    write_log(folder / "<script>hacked=1<.jsonl", log_line("a name of a file", session_id="named"))
    write_log(folder / "large.jsonl", log_line("<" * LARGE, session_id="large"))
    turns = [
        user(f"turn {at // 2}") if at % 2 == 0 else assistant(f"reply {at // 2} " + "&" * 200)
        for at in range(2 * TURNS - 1)
    ]
    write_log(folder / "long.jsonl", log_line(*turns, session_id="long"))
    return folder
