"""The other forms in which a secret of a session occurs."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from random import Random
from urllib.parse import quote, quote_plus

Form = Callable[[Random, str], str]
"""A text with a secret in another form."""


def _cut(rng: Random, value: str, least: int = 4) -> list[str]:
    pieces = min(rng.choice((2, 2, 3)), max(2, len(value) // least))
    at = sorted(rng.sample(range(2, len(value) - 1), pieces - 1))
    return [value[start:end] for start, end in zip([0, *at], [*at, len(value)], strict=True)]


def _joined(before: str, between: str, after: str) -> Form:
    return lambda rng, value: before + between.join(_cut(rng, value)) + after


def _wrapped(width: int, prefix: str = "") -> Form:
    def wrapped(_: Random, value: str) -> str:
        text = "the value that was set is " + value + " and it stays"
        return "\n".join(prefix + text[at : at + width] for at in range(0, len(text), width))

    return wrapped


def _quoted(value: str) -> str:
    return quote(value, safe="")


def _all_quoted(value: str) -> str:
    return "".join(f"%{byte:02X}" for byte in value.encode())


def _lines64(value: str) -> str:
    text = base64.encodebytes(
        f'{{"kind": "login", "user": "ana", "credential": "{value}", "scope": "all of it"}}'.encode()
    )
    return text.decode().strip()


FORMS: dict[str, Form] = {
    "url": lambda _, value: f"GET /cb?state=1&v={_quoted(value)}&x=2 HTTP/1.1",
    "url-lower": lambda _, value: f"redirect=/in%3fk%3d{_lower(_quoted(value))}&n=1",
    "url-plus": lambda _, value: f"q=value+is+{quote_plus(value)}&lang=en",
    "url-twice": lambda _, value: f"next=%252Fa%253Fv%253D{_quoted(_quoted(value))}",
    "url-every-byte": lambda _, value: f"https://a.corp.io/?v={_all_quoted(value)}",
    "url-in-url": lambda _, value: "https://sso.corp.io/?to=" + _quoted(f"https://a.corp.io/?v={_quoted(value)}"),
    "json-escapes": lambda _, value: f'{{"v": {json.dumps(value)}}}',
    "json-in-json": lambda _, value: json.dumps({"body": json.dumps({"v": value, "text": 'a "b"\n'})}),
    "json-three-deep": lambda _, value: json.dumps({"a": json.dumps({"b": json.dumps({"v": value})})}),
    "json-unicode": lambda _, value: '{"v":"' + "".join(f"\\u{ord(each):04x}" for each in value) + '"}',
    "json-unicode-signs": lambda _, value: (
        '{"v":"' + "".join(each if each.isalnum() else f"\\u{ord(each):04X}" for each in value) + '"}'
    ),
    "json-slash": lambda _, value: '{"v":"' + json.dumps(value)[1:-1].replace("/", "\\/") + '"}',
    "hex-escapes": lambda _, value: "b'" + "".join(f"\\x{byte:02x}" for byte in value.encode()) + "'",
    "xml": lambda _, value: f"<v>{value.replace('&', '&amp;').replace('<', '&lt;').replace(chr(34), '&quot;')}</v>",
    "base64": lambda _, value: f"data: {base64.b64encode(value.encode()).decode()}",
    "base64-no-padding": lambda _, value: f"p.{base64.urlsafe_b64encode(value.encode()).decode().rstrip('=')}",
    "base64-basic": lambda _, value: f"Authorization: Basic {base64.b64encode(f'ana:{value}'.encode()).decode()}",
    "base64-json": lambda _, value: base64.b64encode(json.dumps({"user": "ana", "v": value}).encode()).decode(),
    "base64-of-url": lambda _, value: base64.b64encode(f"https://a.io/?v={_quoted(value)}".encode()).decode(),
    "base64-twice": lambda _, value: base64.b64encode(base64.b64encode(value.encode())).decode(),
    "base64-lines": lambda _, value: _lines64(value),
    "base64-in-url": lambda _, value: f"/x?d={_quoted(base64.b64encode(value.encode()).decode())}",
    "base64-in-json": lambda _, value: json.dumps({"data": base64.b64encode(value.encode()).decode(), "n": 1}),
    "base64-yaml": lambda _, value: f"kind: Secret\ndata:\n  value: {base64.b64encode(value.encode()).decode()}\n",
    "base64-newline": lambda _, value: base64.b64encode(f"{value}\n".encode()).decode(),
    "hex": lambda _, value: f"00000000: {value.encode().hex()}",
    "split-lines": _joined("the value is\n", "\n", "\nand no more"),
    "split-crlf": _joined("v: ", "\r\n", "\r\nend"),
    "split-indented": _joined("value:\n    ", "\n    ", "\nnext: 1"),
    "split-backslash": _joined("tool --value ", "\\\n", " --quiet"),
    "split-quote": _joined("> ", "\n> ", "\n> end"),
    "split-diff": _joined("+v=", "\n+", "\n+x=1"),
    "split-comment": _joined("# ", "\n# ", "\n# end"),
    "split-python": _joined("v = ('", "'\n     '", "')"),
    "split-plus": _joined("const v = 'k=' + '", "' +\n  '", "';"),
    "split-plus-line": _joined('String v = "', '" + "', '";'),
    "split-array": _joined('["', '", "', '"]'),
    "split-array-lines": _joined('{"lines": [\n  "', '",\n  "', '"\n]}'),
    "split-stream": _joined('data: {"delta":{"text":"', '"}}\n\ndata: {"delta":{"text":"', '"}}\n\ndata: [DONE]'),
    "split-escaped": _joined('{"out": "', "\\n", '\\nend"}'),
    "split-yaml": _joined("v: >-\n  ", "\n  ", "\nw: 1"),
    "split-go": _joined('v := "', '" +\n\t"', '"'),
    "split-php": _joined("$v = '", "' . '", "';"),
    "split-terminal": _joined("│ ", " │\n│ ", " │\n╰────╯"),
    "wrapped-40": _wrapped(40),
    "wrapped-quote": _wrapped(36, "> "),
}
"""By name, with what is around them."""


def _lower(quoted: str) -> str:
    pieces = quoted.split("%")
    return "%".join([pieces[0], *(each[:2].lower() + each[2:] for each in pieces[1:])])
