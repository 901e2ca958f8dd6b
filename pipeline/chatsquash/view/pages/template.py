"""The page of a record rendered by a chat template, with the text that is trained on highlighted."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from time import monotonic
from typing import NamedTuple

from chatsquash.core.text import escape, pluralize
from chatsquash.pages.html.markup import Child, Html, tag, text
from chatsquash.records import StoredRecord
from chatsquash.view.conversation import Conversation
from chatsquash.view.pages.conversation import head, message_url
from chatsquash.view.pages.layout import facts, page, spaced

_MAX_CHARS = 500_000
"""Characters of a rendering shown on the page."""
_MAX_LINKS = 100
"""Replies that are linked in a warning."""


def template(conversation: Conversation, rendered: Rendering, name: str) -> Html:
    """Return the page of a rendering."""
    body: list[Child] = [*head(conversation, "template")]
    if rendered.problem:
        body.append(tag("p", f"The template raises {escape(rendered.problem)}", class_="severity-error"))
        return page("template", conversation.result, *body)
    note = (
        "Highlighted text is trained on: each reply that directly follows the prompt that the template renders at "
        "inference. This is the rule of --samples auto."
    )
    body += [tag("p", note), facts(_facts(rendered, name)), *_untrue(conversation, rendered)]
    body.append(tag("pre", Html("\n"), *_text_parts(rendered), class_="rendered"))
    if len(rendered.text) > _MAX_CHARS:
        body.append(tag("p", f"… {len(rendered.text) - _MAX_CHARS:,} more characters", class_="cut"))
    return page("template", conversation.result, *body)


def _facts(rendered: Rendering, name: str) -> dict[str, Child]:
    values: dict[str, Child] = {"template": escape(name), "characters": f"{len(rendered.text):,}"}
    trained = sum(span.end - span.begin for span in rendered.spans)
    values["characters trained on"] = f"{trained:,}"
    if rendered.tokens is not None:
        values |= {"tokens": f"{rendered.tokens:,}", "tokens trained on": f"{rendered.trained:,}"}
    values["replies trained on"] = f"{len(rendered.spans):,}"
    return values


def _untrue(conversation: Conversation, rendered: Rendering) -> Iterator[Html]:
    if rendered.untrue:
        many = pluralize(len(rendered.untrue), "reply does", "replies do")
        links = (
            tag("a", f"message {number:,}", href=message_url(conversation, number))
            for number in map(conversation.number, rendered.untrue[:_MAX_LINKS])
        )
        warning = f"{many} not follow the prompt rendered at inference; each such reply needs a separate sample:"
        yield tag("p", spaced(warning, *links), class_="severity-warning")
    if rendered.unseen:
        warning = (
            f"{pluralize(rendered.unseen, 'reply', 'replies')} more were not checked because that would take too long."
        )
        yield tag("p", warning, class_="severity-warning")


def _text_parts(rendered: Rendering) -> Iterator[Html]:
    at = 0
    whole = rendered.text[:_MAX_CHARS]
    for span in sorted(rendered.spans):
        begin = max(at, span.begin)
        if begin >= min(span.end, len(whole)):
            continue
        yield text(whole[at:begin])
        yield tag("mark", whole[begin : span.end], class_="trained")
        at = span.end
    yield text(whole[at:])


_SECONDS = 10
"""Time limit for locating the text that is trained on."""


class TrainedSpan(NamedTuple):
    """Text that is trained on: a reply that follows exactly the prompt rendered at inference."""

    begin: int
    end: int
    message: int


class Rendering(NamedTuple):
    """The rendering of a record."""

    text: str
    problem: str
    """Why the record could not be rendered; empty if it was."""
    spans: list[TrainedSpan]
    untrue: list[int]
    """The replies to be trained on that do not follow the prompt which the model saw."""
    unseen: int
    """The number of replies that were not checked, since that takes too long."""
    tokens: int | None
    """The number of tokens; ``None`` if the model has no tokenizer."""
    trained: int | None
    """The number of tokens that are trained on."""


class Model:
    """The template of a model, and its tokenizer if it has one; renders one record at a time."""

    def __init__(self, path: str) -> None:
        """Load the template; raise ``UsageError`` if there is none at this path."""
        from chatsquash.results.template import template  # which few runs need
        from chatsquash.templates.counting import Tokenizer, of_template, pack

        self.path = path
        self._template = template(path)
        folder = of_template(path)
        self._tokenizer = Tokenizer(pack(folder)) if folder else None
        self._lock = Lock()

    def close(self) -> None:
        """Stop the rendering process."""
        self._template.close()

    def render(self, record: StoredRecord, trained: list[int]) -> Rendering:
        """Render a record and locate the messages that are trained on."""
        with self._lock:
            return self._render(record, trained)

    def _render(self, record: StoredRecord, trained: list[int]) -> Rendering:
        whole = self._template.render(record.messages, record.tools)
        if whole.text is None:
            return Rendering("", whole.problem, [], [], 0, None, None)
        ends = monotonic() + _SECONDS
        spans: list[TrainedSpan] = []
        untrue: list[int] = []
        seen = 0
        for at in trained:
            if monotonic() > ends or self._template.given_up:
                break
            seen += 1
            span = self._span(record, at, whole.text)
            if span:
                spans.append(span)
            else:
                untrue.append(at)
        tokens, count = self._token_counts(whole.text, spans)
        return Rendering(whole.text, "", spans, untrue, len(trained) - seen, tokens, count)

    def _span(self, record: StoredRecord, at: int, whole: str) -> TrainedSpan | None:
        """Return the span of a reply in the full rendering, if the rendering up to the reply is a prefix of it."""
        prompt = self._template.render(record.messages[:at], record.tools, generation=True).text
        said = self._template.render(record.messages[: at + 1], record.tools).text
        if not prompt or not said or not said.startswith(prompt) or not whole.startswith(said):
            return None
        return TrainedSpan(len(prompt), len(said), at)

    def _token_counts(self, text: str, spans: list[TrainedSpan]) -> tuple[int | None, int | None]:
        if self._tokenizer is None:
            return None, None
        from chatsquash.templates.counting import RefusedError

        try:
            return self._tokenizer.count([text]), self._tokenizer.count([text[each.begin : each.end] for each in spans])
        except RefusedError:
            return None, None
