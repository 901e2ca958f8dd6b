"""The confined process: render records with a chat template, and detect what the template loses.

A trial renders a copy of a record with a unique word in each part, and looks for these words in the rendering.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, NamedTuple

from chatsquash.checks.template import Expectation, Kind, Trial
from chatsquash.core import chat, jsonio, reasoning
from chatsquash.core.errors import UsageError
from chatsquash.core.jsonio import leaves
from chatsquash.core.model import Json, Message
from chatsquash.templates.render import Renderer  # loads jinja2 before memory is limited
from chatsquash.templates.source import TemplateOutput, TemplateSource

_DEEP = "RecursionError: the record is nested too deeply"
_renderers: list[Renderer] = []
"""The template of the first request."""


def answers(request: memoryview) -> Iterator[bytes]:
    """Yield the response to a request.

    Requests are ``["open", path, templates, tokens]``, ``["render", messages, tools, generation]`` and
    ``["trial", messages, tools]``. Their responses are: ``null``, or why the template cannot be used; a
    ``TemplateOutput``; the members of a ``Trial`` after its messages, with an empty text. The last two are preceded by
    the duration in seconds.
    """
    began = monotonic()
    try:
        what, *arguments = jsonio.loads(bytes(request))
    except RecursionError:
        yield jsonio.dumps([monotonic() - began, None, _DEEP])
        return
    if what == "open":
        yield jsonio.dumps(_open(*arguments))
        return
    if what == "render":
        answer: Any = _render(*arguments)
    else:
        _, text, problem, sought, *rest = trial(_renderers[0], *arguments)
        answer = [None if text is None else "", problem, sorted(sought), *rest]
    yield jsonio.dumps([monotonic() - began, *answer])


def _open(path: str, templates: dict[str, str], tokens: dict[str, str]) -> str | None:
    try:
        _renderers.append(Renderer(path, TemplateSource(templates, tokens)))
    except UsageError as problem:
        return str(problem)
    return None


def _render(messages: Any, tools: Any, generation: bool) -> TemplateOutput:
    try:
        return _renderers[0](messages, tools, generation=generation)
    except RecursionError:
        return TemplateOutput(None, _DEEP)


_KINDS: dict[str, Kind] = {"system": "system", "developer": "system", "tool": "result"}


class MarkedPlace(NamedTuple):
    """A word and its place in the copy."""

    word: str
    place: Expectation
    original: str
    """The text that the word was added to, or an adjacent name; used for the search if the copy cannot be rendered."""
    double_encodings: tuple[str, ...] = ()
    """Texts that only occur in the rendering if the arguments were encoded twice."""
    literal: str = ""
    """The Python literal of the object that contains the word; empty for a text."""


class MarkedCopy(NamedTuple):
    """A marked copy of a record."""

    messages: list[Message]
    tools: Json
    marks: list[MarkedPlace]


class Marker:
    """Creates copies of records with a unique word in each part that a rendering should contain.

    Searching for the words detects lost parts more reliably than searching for the texts: a text such as "ok" occurs in
    many places, and templates change texts.
    """

    def __init__(self, text: str) -> None:
        self._stem = "Zq"
        while self._stem in text:
            self._stem += "q"
        self._marks: list[MarkedPlace] = []

    def copy(self, messages: list[Message], tools: Json) -> MarkedCopy:
        """Return a marked copy of a record."""
        definitions = tools if isinstance(tools, list) else ()
        marked_tools = [mark_definition(tool, at, self._place_word) for at, tool in enumerate(definitions)] or tools
        return MarkedCopy(
            [self._message(at, message) for at, message in enumerate(messages)], marked_tools, self._marks
        )

    def _word(self) -> str:
        return f"{self._stem}{len(self._marks)}x"  # the suffix distinguishes 1 from 10

    def _place_word(self, place: Expectation, original: str) -> str:
        """Return a new word for an expected element."""
        word = self._word()
        self._marks.append(MarkedPlace(word, place, original))
        return word

    def _message(self, at: int, message: Message) -> Message:
        copy: dict[str, Any] = dict(message)
        for key in reasoning.TEXTS:
            if isinstance(text := message.get(key), str) and text.strip():
                copy[key] = self._text(text, Expectation("reasoning", at))
                break
        if "content" in message:
            copy["content"] = self._content(message["content"], Expectation(_KINDS.get(message["role"], "text"), at))
        if calls := message.get("tool_calls"):
            is_list = isinstance(calls, list)
            copy["tool_calls"] = [self._call(at, n, call) for n, call in enumerate(calls)] if is_list else calls
        return copy  # type: ignore[return-value]

    def _content(self, content: Json, place: Expectation) -> Json:
        if isinstance(content, str):
            # Templates split texts here: the text before the last closing tag is reasoning.
            thought, end, answer = content.rpartition(reasoning.CLOSE)
            if thought.strip() not in ("", reasoning.OPEN):
                thought = self._text(thought, Expectation("reasoning", place.at))
            return thought + end + self._text(answer, place)
        return [self._part(part, place) for part in content] if isinstance(content, list) else content

    def _part(self, part: Json, place: Expectation) -> Json:
        if not isinstance(part, dict) or not isinstance(part.get("text"), str):
            return part
        place = Expectation("reasoning", place.at) if reasoning.is_part(part) else place
        before = len(self._marks)
        copy = {**part, "text": self._text(part["text"], place)}
        for number in range(before, len(self._marks)):
            self._marks[number] = self._marks[number]._replace(literal=repr(copy))
        return copy

    def _text(self, text: str, place: Expectation) -> str:
        """Insert a word near the middle of a text, away from tags and the end; empty texts are unchanged."""
        body = text.strip()
        if not body:
            return text
        begin = text.index(body)
        space = next((n for n in range(len(body) // 2, len(body)) if body[n].isspace()), len(body))
        word = self._word()
        self._marks.append(MarkedPlace(word, place, body))
        return text[: begin + space] + word + text[begin + space :]

    def _call(self, at: int, index: int, call: Json) -> Json:
        name = chat.call_name(call) if isinstance(call, dict) else None
        arguments = call["function"].get("arguments") if name is not None else None
        if name is None or not isinstance(arguments, str | dict):
            return call
        word, place = self._word(), Expectation("call", at, index, name)
        if isinstance(arguments, dict):
            copy: Json = _insert_word(arguments, word)
            self._marks.append(MarkedPlace(word, place, name, literal=repr(copy)))
        else:
            value = jsonio.value(arguments)
            copy = jsonio.dumps(_insert_word(value, word)).decode() if isinstance(value, dict) else f"{arguments}{word}"
            self._marks.append(MarkedPlace(word, place, name, _json_spellings(copy)))
        return {**call, "function": {**call["function"], "arguments": copy}}


def _insert_word(arguments: dict[str, Any], word: str) -> dict[str, Any]:
    """Return a copy with the word at the end of the first text, or as a new member if there is no text."""
    key = next((key for key, member in arguments.items() if isinstance(member, str)), word)
    return {**arguments, key: arguments.get(key, "") + word}


def _json_spellings(text: str) -> tuple[str, ...]:
    """Return the JSON encodings of a text without quotes that differ from the text."""
    spellings = {json.dumps(text, ensure_ascii=ascii_)[1:-1] for ascii_ in (False, True)}
    return tuple(sorted(spellings - {text}))


def trial(render: Renderer, messages: list[Message], tools: Json) -> Trial:
    """Render a record, and detect parts that are missing from the rendering or wrong in it."""
    try:
        return _try_record(render, messages, tools)
    except RecursionError:
        return Trial(messages, None, "RecursionError: the record is nested too deeply")


def _try_record(render: Renderer, messages: list[Message], tools: Json) -> Trial:
    plain = render(messages, tools)
    if plain.text is None:
        return Trial(messages, None, plain.problem)
    copy = Marker(plain.text).copy(messages, tools)
    marked_output = render(copy.messages, copy.tools)
    wrapped_tools = list(map(_wrap, tools or []))
    return Trial(
        messages,
        plain.text,
        sought=frozenset(mark.place.kind for mark in copy.marks),
        missing=tuple(mark.place for mark in copy.marks if _is_lost(mark, plain.text, marked_output)),
        twice=tuple(mark.place for mark in copy.marks if _contains(marked_output, *mark.double_encodings)),
        spelled=tuple(mark.place for mark in copy.marks if mark.literal and _contains(marked_output, mark.literal)),
        nulls=tuple(_nulls(render, messages, tools, plain.text)),
        flat=wrapped_tools != (tools or []) and _differs(plain.text, render(messages, wrapped_tools)),
        empty=tools == [] and _differs(plain.text, render(messages, None)),
    )


def _is_lost(mark: MarkedPlace, plain: str, output: TemplateOutput) -> bool:
    if output.text is not None:
        return mark.word not in output.text
    # The template rejects the copy, so look for the original text.
    return mark.original not in plain and json.dumps(mark.original)[1:-1] not in plain


def _contains(output: TemplateOutput, *spellings: str) -> bool:
    return output.text is not None and any(spelling in output.text for spelling in spellings)


def _differs(text: str, other: TemplateOutput) -> bool:
    return other.text is not None and other.text != text


def _wrap(tool: dict[str, Any]) -> dict[str, Any]:
    return tool if isinstance(tool.get("function"), dict) else {"type": "function", "function": tool}


def _nulls(render: Renderer, messages: list[Message], tools: Json, text: str) -> Iterator[str]:
    """Yield the effects of nulls, in all versions and in transformers before 5.23, which kept nulls in messages."""
    count = _count(text)
    if any(None in message.values() for message in messages):
        older = render(messages, tools, nulls=True)
        if older.text is None:
            yield f"null members of messages cause the template to raise {older.problem} (transformers before 5.23)"
        elif _count(older.text) > count:
            yield "null members of messages are printed as None (transformers before 5.23)"
    lacks_content = any("content" not in message for message in messages)
    if count and (lacks_content or None in leaves([messages, tools])):
        without = render(list(map(_fill, messages)), _drop_nulls(tools))
        if without.text is not None and _count(without.text) < count:
            yield "null or missing content is printed as None"


def _count(text: str) -> int:
    return text.count("None")


def _fill(message: Message) -> Any:
    """Return a message without nulls and with content."""
    bare = _drop_nulls(message)
    return bare if "content" in bare else {**bare, "content": ""}


def _drop_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _drop_nulls(member) for key, member in value.items() if member is not None}
    return [_drop_nulls(item) for item in value] if isinstance(value, list) else value


Place = Callable[[Expectation, str], str]
"""Returns a word for an expected element, given the text that it is added to."""
_MOST = 20
"""The number of marked parts per definition; templates treat all parts of a kind alike."""
_SCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_DEFINITIONS = ("$defs", "definitions")


def mark_definition(tool: Json, at: int, place: Place) -> Json:
    """Return a copy of a wrapped or flat definition with words in its description and parameters."""
    inner = tool.get("function") if isinstance(tool, dict) else None
    definition = inner if isinstance(inner, dict) else tool
    name = chat.tool_name(definition)
    if name is None:
        return tool
    word, description = place(Expectation("tool", at, name=name), name), definition.get("description")
    text = f"{description} {word}" if isinstance(description, str) else word
    copy = {**definition, "description": text}
    if isinstance(parameters := definition.get("parameters"), dict):
        copy["parameters"] = _Parts(at, name, place).schema(parameters)
    return {**tool, "function": copy} if definition is inner else copy


class _Parts:
    """Marks the parts of one definition."""

    def __init__(self, at: int, name: str, place: Place) -> None:
        self._at, self._name, self._place = at, name, place
        self._remaining = _MOST

    def schema(self, schema: dict[str, Any], within: Kind | None = None) -> dict[str, Any]:
        """Return a copy with a word in the name of each property and in each ``enum``.

        ``within`` is the kind of the enclosing element if it replaces that of the parts.
        """
        copy = dict(schema)
        if isinstance(values := schema.get("enum"), list) and values:
            copy["enum"] = [*values, *filter(None, [self._word(within or "enum", str(values[0]))])]
        if isinstance(properties := schema.get("properties"), dict):
            self._properties(copy, properties, within)
        for key in _SCHEMAS:
            if isinstance(inner := schema.get(key), dict):
                copy[key] = self.schema(inner, within)
        for key in _LISTS:
            if isinstance(several := schema.get(key), list):
                copy[key] = [self.schema(each, within) if isinstance(each, dict) else each for each in several]
        for key in _DEFINITIONS:
            if isinstance(definitions := schema.get(key), dict):
                copy[key] = {name: self._definition_schema(each, name) for name, each in definitions.items()}
        return copy

    def _properties(self, copy: dict[str, Any], properties: dict[str, Any], within: Kind | None) -> None:
        names = {name: f"{name}{self._word(within or 'property', name)}" for name in properties}
        copy["properties"] = {
            names[name]: self.schema(each, within) if isinstance(each, dict) else each
            for name, each in properties.items()
        }
        if isinstance(required := copy.get("required"), list):
            copy["required"] = [names.get(name, name) if isinstance(name, str) else name for name in required]

    def _definition_schema(self, schema: Json, name: str) -> Json:
        """Return a marked copy of a schema in ``$defs``, whose name stays because of ``$ref``."""
        if not isinstance(schema, dict):
            return schema
        remaining = self._remaining
        copy = self.schema(schema, "$defs")
        if self._remaining == remaining and (word := self._word("$defs", name)):
            copy["description"] = f"{schema.get('description') or ''} {word}".strip()
        return copy

    def _word(self, kind: Kind, original: str) -> str:
        """Return a word for a part, or an empty string after enough parts."""
        if not self._remaining:
            return ""
        self._remaining -= 1
        return self._place(Expectation(kind, self._at, name=self._name), original)
