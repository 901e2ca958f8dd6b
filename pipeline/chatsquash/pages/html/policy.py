"""The content security policy of a page, and the only scripts and styles that it lets run: ours, by their hashes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.resources import files

from chatsquash.pages.html.markup import Html, tag


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
    told = {
        "default-src": "'none'",
        "script-src": " ".join(map(hashed, scripts)),
        "style-src": " ".join(map(hashed, styles)),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in told.items())


def meta(policy: str) -> Html:
    """The policy as it stands in the head of a page that no server sends."""
    return tag("meta", http_equiv="Content-Security-Policy", content=policy)
