"""An HTML type that text enters only through escaping, and the content security policy of a page."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.resources import files
from typing import Any

_SPECIAL = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTES = str.maketrans({'"': "&quot;", "'": "&#39;"})
_FLAG = "\U0001f3f4"
_HIDDEN = re.compile(
    # Default_Ignorable_Code_Point without joiners; unicodedata does not expose this property.
    "[\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f"
    "\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\uffff\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a"
    "\\U000e0000-\\U000e0fff"
    # Control characters, invisible format characters, line separators, surrogates, and the blank braille pattern.
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u2800\\ud800-\\udfff\\U00013430-\\U0001343f"
    # The flags of England, Scotland and Wales are tag sequences that form a single visible character.
    f"{_FLAG}](?:(?<={_FLAG})\\U000e0067\\U000e0062(?:\\U000e0065\\U000e006e\\U000e0067|\\U000e0073\\U000e0063\\U000e0074"
    "|\\U000e0077\\U000e006c\\U000e0073)\\U000e007f)?"
)
"""Characters that control, hide or reorder text, without joiners of scripts and emoji and without spaces."""
_SELECTORS = ("\ufe0e", "\ufe0f")
"""Variation selectors, which request text or emoji presentation of the preceding character."""
_EMOJI = re.compile(
    "[\\xa9\\xae\\u203c\\u2049\\u2122\\u2139\\u2190-\\u21ff\\u2300-\\u23ff\\u24c2\\u25a0-\\u27bf\\u2900-\\u297f"
    "\\u2b00-\\u2bff\\u3030\\u303d\\u3297\\u3299\\U0001f000-\\U0001faff]"
)
_KEY = re.compile("[0-9#*]\\ufe0f\\u20e3")
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_ATTRIBUTE = re.compile(r"[a-z][A-Za-z0-9-]*")
_FORBIDDEN = re.compile("on.*|style|srcdoc", re.IGNORECASE)
_EMPTY = frozenset(("br", "col", "hr", "img", "input", "link", "meta"))
_URLS = frozenset(("action", "formaction", "href", "src"))
_URL = re.compile(r"#[^\s]*|\?[^\s]*|/(?![/\\])[^\s\\]*|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*|\.?")
"""Locations on this page or server, and data URLs of images: no scripts and no other hosts."""
_EXTERNAL = re.compile(r"(?:https?://|mailto:)[^\s\\]+", re.IGNORECASE)
"""Web and mail addresses that a link in a log may lead to."""
_RAW = frozenset(("script", "style"))


class Html(str):
    """HTML that is safe to put on a page; created only by this package and from constants."""

    __slots__ = ()


Child = Html | str | int | None
"""Content of an element: text is escaped, ``None`` is ignored."""


def text(value: str) -> Html:
    """Escape text: special characters become entities, and invisible or reordering ones become visible escapes."""
    if type(value) is Html:
        return value
    lines = value.replace("\r\n", "\n")
    return Html(_HIDDEN.sub(_escape_hidden, lines).translate(_SPECIAL))


def _escape_hidden(match: re.Match[str]) -> str:
    sign, before = match[0], match.start() - 1
    is_emoji = sign[0] == _FLAG
    if sign in _SELECTORS and before >= 0:
        is_emoji = bool(_EMOJI.match(match.string, before) or _KEY.match(match.string, before))
    return sign if is_emoji else ascii(sign)[1:-1]


def tag(name: str, /, *children: Child, **attributes: Any) -> Html:
    """Return an element.

    Attributes are keyword arguments such as ``class_`` and ``data_code``; ``None`` and ``False`` omit the attribute,
    and ``True`` writes it without a value.

    Raises:
        ValueError: An attribute contains a script or a style, or a URL leads outside of this page or server.
    """
    assert _NAME.fullmatch(name), name
    if name in _RAW:
        raise ValueError(f"<{name}>: use script(), module() or style() instead of tag()")
    start_tag = "".join([f"<{name}", *(_attribute(key, value) for key, value in attributes.items()), ">"])
    if name in _EMPTY:
        assert not children, name
        return Html(start_tag)
    return Html(f"{start_tag}{together(children)}</{name}>")


def together(children: Iterable[Child]) -> Html:
    """Concatenate texts and elements."""
    return Html(
        "".join(text(str(child)) if type(child) is not Html else child for child in children if child is not None)
    )


def outside_link(url: str, *children: Child) -> Html:
    """Return a link to another host, without a referrer and with the address as its title.

    Raises ``ValueError`` for schemes other than http, https and mailto.
    """
    if not _EXTERNAL.fullmatch(url):
        raise ValueError(f"{url} is not a web or e-mail URL")
    anchor = tag("a", *children, title=url, rel="noopener noreferrer nofollow")
    quoted = text(url).translate(_QUOTES)
    return Html(f'<a href="{quoted}"{anchor[2:]}')


def _attribute(key: str, value: Any) -> str:
    name = key.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE.fullmatch(name) or _FORBIDDEN.fullmatch(name):
        raise ValueError(f"{name} is not an allowed attribute")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if name in _URLS and not _URL.fullmatch(str(value)):
        raise ValueError(f"{name}: the URL does not lead to this page or server")
    return f' {name}="{text(str(value)).translate(_QUOTES)}"'


def source(package: str, name: str) -> str:
    """Read a script or style sheet of the package."""
    return (files(package) / name).read_text(encoding="utf-8")


def script(content: str) -> Html:
    """Return an inline module script."""
    return Html(f'<script type="module">{_check_content(content, "script")}</script>')


def module(url: str) -> Html:
    """Return a module script served under a URL; raise ``ValueError`` for a URL outside the server."""
    return Html(f'<script type="module" src="{tag("a", href=url)[9:-6]}"></script>')


def style(content: str) -> Html:
    """Return an inline style sheet."""
    return Html(f"<style>{_check_content(content, 'style')}</style>")


def _check_content(content: str, name: str) -> str:
    # A browser would end the element early or normalize the line ends, so that the hash would not match.
    if f"</{name}" in content.lower() or "<!--" in content or "\r" in content:
        raise ValueError(f"the {name} contains a closing tag, a comment or a carriage return")
    return content


def hashed(content: str) -> str:
    """Return the policy source that allows an inline script or style sheet."""
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def of_page(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """Return the policy of a self-contained page, which allows only these scripts and styles and inline images."""
    directives = {
        "default-src": "'none'",
        "script-src": " ".join(map(hashed, scripts)),
        "style-src": " ".join(map(hashed, styles)),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def meta(policy: str) -> Html:
    """Return the policy as a meta element, for a page that is opened as a file."""
    return tag("meta", http_equiv="Content-Security-Policy", content=policy)
