"""A record as the template renders it, with what is trained on in colour."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.core.text import counted, escaped
from chatsquash.pages.html.markup import Child, Html, tag, text
from chatsquash.view.conversation import Conversation
from chatsquash.view.pages.conversation import head, message_url
from chatsquash.view.pages.layout import facts, joined, page
from chatsquash.view.rendering import Rendered

_SHOWN = 500_000
"""Characters of a rendering that are shown."""
_NAMED = 100
"""Replies that are named."""


def template(shown: Conversation, rendered: Rendered, name: str) -> Html:
    """The page of a rendering."""
    body: list[Child] = [*head(shown, "template", has_template=True)]
    if rendered.problem:
        body.append(tag("p", f"The template raises {escaped(rendered.problem)}", class_="severity-error"))
        return page("template", shown.result, *body)
    told = (
        "Coloured text is trained on: each reply that stands behind exactly what the template gives at inference. "
        "That is the rule of --samples auto."
    )
    body += [tag("p", told), facts(_facts(rendered, name)), *_untrue(shown, rendered)]
    body.append(tag("pre", Html("\n"), *_coloured(rendered), class_="rendered"))
    if len(rendered.text) > _SHOWN:
        body.append(tag("p", f"… {len(rendered.text) - _SHOWN:,} characters more", class_="cut"))
    return page("template", shown.result, *body)


def _facts(rendered: Rendered, name: str) -> dict[str, Child]:
    told: dict[str, Child] = {"template": escaped(name), "characters": f"{len(rendered.text):,}"}
    trained = sum(span.end - span.begin for span in rendered.spans)
    told["characters trained on"] = f"{trained:,}"
    if rendered.tokens is not None:
        told |= {"tokens": f"{rendered.tokens:,}", "tokens trained on": f"{rendered.trained:,}"}
    told["replies trained on"] = f"{len(rendered.spans):,}"
    return told


def _untrue(shown: Conversation, rendered: Rendered) -> Iterator[Html]:
    if rendered.untrue:
        many = counted(len(rendered.untrue), "reply does", "replies do")
        links = (
            tag("a", f"message {number:,}", href=message_url(shown, number))
            for number in map(shown.number, rendered.untrue[:_NAMED])
        )
        told = f"{many} not stand behind what the template gives at inference, and need a sample of their own:"
        yield tag("p", joined(told, *links), class_="severity-warning")
    if rendered.unseen:
        told = f"{counted(rendered.unseen, 'reply', 'replies')} more were not looked at, since that takes too long."
        yield tag("p", told, class_="severity-warning")


def _coloured(rendered: Rendered) -> Iterator[Html]:
    at = 0
    whole = rendered.text[:_SHOWN]
    for span in sorted(rendered.spans):
        begin = max(at, span.begin)
        if begin >= min(span.end, len(whole)):
            continue
        yield text(whole[at:begin])
        yield tag("mark", whole[begin : span.end], class_="trained")
        at = span.end
    yield text(whole[at:])
