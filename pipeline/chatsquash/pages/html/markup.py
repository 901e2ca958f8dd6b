"""HTML as a type of its own, made of text only by escaping it, and the content security policy of a page."""

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
    # The property Default_Ignorable_Code_Point but for joiners, of which Python tells nothing.
    "[\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f"
    "\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\uffff\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a"
    "\\U000e0000-\\U000e0fff"
    # Controls, other signs of format without a shape, divided lines, surrogates, and a braille sign without dots.
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u2800\\ud800-\\udfff\\U00013430-\\U0001343f"
    # The flags of three regions, which are one sign and stay.
    f"{_FLAG}](?:(?<={_FLAG})\\U000e0067\\U000e0062(?:\\U000e0065\\U000e006e\\U000e0067|\\U000e0073\\U000e0063\\U000e0074"
    "|\\U000e0077\\U000e006c\\U000e0073)\\U000e007f)?"
)
"""What controls, hides or reorders text. Joiners of scripts and emoji, and spaces of any width, stay."""
_SELECTORS = ("\ufe0e", "\ufe0f")
"""What makes the character before it an emoji, or none."""
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
"""Places of this page or this server, and images; nothing that runs, and no other host."""
_OUTSIDE = re.compile(r"(?:https?://|mailto:)[^\s\\]+", re.IGNORECASE)
"""Other hosts, to which a link of a log leads if somebody follows it."""
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


def _visible(match: re.Match[str]) -> str:
    sign, before = match[0], match.start() - 1
    is_emoji = sign[0] == _FLAG
    if sign in _SELECTORS and before >= 0:
        is_emoji = bool(_EMOJI.match(match.string, before) or _KEY.match(match.string, before))
    return sign if is_emoji else ascii(sign)[1:-1]


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


def outside_link(url: str, *children: Child) -> Html:
    """Return a link of a text to another host, which learns nothing of this page; its target is its title.

    Raises ``ValueError`` for all but http, https and mailto.
    """
    if not _OUTSIDE.fullmatch(url):
        raise ValueError(f"{url} is not a web or mail address")
    named = tag("a", *children, title=url, rel="noopener noreferrer nofollow")
    quoted = text(url).translate(_QUOTES)
    return Html(f'<a href="{quoted}"{named[2:]}')


def _attribute(key: str, value: Any) -> str:
    name = key.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE.fullmatch(name) or _FORBIDDEN.fullmatch(name):
        raise ValueError(f"{name} is not an attribute of a page of ours")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if name in _URLS and not _URL.fullmatch(str(value)):
        raise ValueError(f"{name} leads elsewhere")
    return f' {name}="{text(str(value)).translate(_QUOTES)}"'


def source(package: str, name: str) -> str:
    """A script or a style sheet that comes with us."""
    return (files(package) / name).read_text(encoding="utf-8")


def script(content: str) -> Html:
    """A module that stands in the page."""
    return Html(f'<script type="module">{_ours(content, "script")}</script>')


def module(url: str) -> Html:
    """A module that the server of the page sends; for its other places this raises as ``tag``."""
    return Html(f'<script type="module" src="{tag("a", href=url)[9:-6]}"></script>')


def style(content: str) -> Html:
    """A style sheet that stands in the page."""
    return Html(f"<style>{_ours(content, 'style')}</style>")


def _ours(content: str, name: str) -> str:
    if f"</{name}" in content.lower() or "<!--" in content or "\r" in content:  # which the page would read otherwise
        raise ValueError(f"the {name} ends before its end")
    return content


def hashed(content: str) -> str:
    """What a policy says of a script or a style sheet that may stand in the page."""
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def of_page(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """The policy of a page that is one file: nothing is loaded, sent, framed or run but these."""
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
    """The policy as it stands in the head of a page that no server sends."""
    return tag("meta", http_equiv="Content-Security-Policy", content=policy)
