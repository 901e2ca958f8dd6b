"""HTML as a type of its own: text becomes it by being escaped, and by nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_SPECIAL = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTES = str.maketrans({'"': "&quot;", "'": "&#39;"})
_HIDDEN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b"
    "\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\uffff\\ud800-\\udfff"
    "\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]"
)
"""What controls, hides or reorders text. Joiners of scripts and emoji, and spaces of any width, stay."""
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_ATTRIBUTE = re.compile(r"[a-z][A-Za-z0-9-]*")
_FORBIDDEN = re.compile("on.*|style|srcdoc", re.IGNORECASE)
_EMPTY = frozenset(("br", "col", "hr", "img", "input", "link", "meta"))
_URLS = frozenset(("action", "formaction", "href", "src"))
_URL = re.compile(r"#[^\s]*|\?[^\s]*|/(?![/\\])[^\s\\]*|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*|\.?")
"""Places of this page or this server, and images; nothing that runs, and no other host."""
_RAW = frozenset(("script", "style"))


class Html(str):
    """HTML that may stand on a page as it is.  Only this package and constants of ours make it."""

    __slots__ = ()


Child = Html | str | int | None
"""What an element may hold: a text is escaped, ``None`` is nothing."""


def text(value: str) -> Html:
    """A text as HTML: special characters as entities, and what controls, hides or reorders text as visible escapes."""
    if type(value) is Html:
        return value
    lines = value.replace("\r\n", "\n")
    return Html(_HIDDEN.sub(_visible, lines).translate(_SPECIAL))


def _visible(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]


def tag(name: str, /, *children: Child, **attributes: Any) -> Html:
    """An element.

    Attributes are words of Python: ``class_``, ``data_code``; ``None`` and ``False`` leave one out, ``True`` gives it
    no value.  Raises ``ValueError`` for an attribute that runs or styles something, and for a URL that leads elsewhere.
    """
    assert _NAME.fullmatch(name), name
    if name in _RAW:
        raise ValueError(f"<{name}> is made by policy.py alone, which hashes it")
    opened = "".join([f"<{name}", *(_attribute(key, value) for key, value in attributes.items()), ">"])
    if name in _EMPTY:
        assert not children, name
        return Html(opened)
    return Html(f"{opened}{together(children)}</{name}>")


def together(children: Iterable[Child]) -> Html:
    """Texts and elements one behind the other."""
    return Html(
        "".join(text(str(child)) if type(child) is not Html else child for child in children if child is not None)
    )


def _attribute(key: str, value: Any) -> str:
    name = key.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE.fullmatch(name) or _FORBIDDEN.fullmatch(name):
        raise ValueError(f"{name} is no attribute of a page of ours")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if name in _URLS and not _URL.fullmatch(str(value)):
        raise ValueError(f"{name} leads elsewhere")
    return f' {name}="{text(str(value)).translate(_QUOTES)}"'
