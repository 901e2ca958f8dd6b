"""What Google's library sees of a request's contents and system instruction."""

from __future__ import annotations

from typing import Any

from .common import (
    Links,
    Object,
    arguments,
    block,
    both,
    compact,
    kind_of,
    merged,
    output,
    rest,
    runs,
    text,
    turn,
    usual,
)

GOOGLE = "google"
_TOOLS = {"GOOGLE_SEARCH_WEB": "web_search", "URL_CONTEXT": "web_fetch", "FILE_SEARCH": "file_search"}
_KINDS = "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse".split()


def read(document: Any) -> list[Object]:
    """The turns of a request; results without ids are found by their names."""
    links = Links()
    prompt = document.get("systemInstruction")
    found = [turn("system", _parts(prompt["parts"], links))] if prompt else []
    for content in document["contents"]:
        parts = content["parts"]
        own = rest(GOOGLE, content, "role", "parts")
        links.next(by_assistant=content["role"] == "model")
        if content["role"] == "model":
            made = [turn("assistant", _with_ids(_parts(parts, links)))]
        else:
            made = runs(_parts(parts, links)) or [turn("user", [])]
        made[0] |= {"native": own} if own else {}
        found += made
    return merged(found)


def _with_ids(blocks: list[Object]) -> list[Object]:
    """A tool that the service runs has an id where none was logged: its number in the turn."""
    count = 0
    for each in blocks:
        count += each["type"] == "hosted_call"
        if each["type"] in ("hosted_call", "hosted_result") and not each.get("id"):
            each["id"] = f"hosted_{count}"
    return blocks


def _parts(parts: list[Object], links: Links) -> list[Object]:
    return [made for part in parts for made in _part(part, links)]


def _part(part: Object, links: Links) -> list[Object]:
    own = rest(GOOGLE, part, *_KINDS)
    kind = next((kind for kind in _KINDS if kind in part), "")
    held = part.get(kind)
    match kind:
        case "text":
            return _text(held, own) or [block("other", provider=GOOGLE, value=part)] * bool(own)
        case "inlineData" | "fileData":
            return [_medium(kind, held, own)]
        case "functionCall":
            more = rest(GOOGLE, held, "id", "name", "args")
            native = both(own, {GOOGLE: {"functionCall": more[GOOGLE]}} if more else {})
            name = held.get("name") or ""
            return [
                block(
                    "call",
                    id=links.call(held.get("id"), name),
                    name=name,
                    arguments=arguments(held.get("args")),
                    native=native,
                )
            ]
        case "functionResponse":
            return [_result(held, own, links)]
        case "executableCode" | "toolCall":
            return [_hosted(held, own, is_code=kind == "executableCode")]
        case "codeExecutionResult" | "toolResponse":
            return [_gave(held, own, is_code=kind == "codeExecutionResult")]
    return [block("other", provider=GOOGLE, value=part)]


def _text(said: str, own: Object) -> list[Object]:
    held = dict(own.get(GOOGLE, {}))
    thinks, signature = held.pop("thought", None), held.get("thoughtSignature", "")
    if not thinks and (said or not signature):
        return text(said, own)
    held.pop("thoughtSignature", None)
    native = {GOOGLE: held} if held else {}
    return [block("reasoning", text=said, signer=GOOGLE if signature else "", signature=signature, native=native)]


def _medium(of: str, held: Object, own: Object) -> Object:
    mime, name = held.get("mimeType", ""), held.get("displayName")
    is_inline = of == "inlineData"
    kind = kind_of(mime)
    named = {"name": name} if is_inline and kind != "audio" else {}
    rests = rest(GOOGLE, held, "data", "fileUri", "mimeType", *(["displayName"] if named else []))
    native = both(own, {GOOGLE: {of: rests[GOOGLE]}} if rests else {})
    where = {"data": held["data"]} if is_inline else {"url": held["fileUri"]}
    return block("media", kind=kind, mime="" if mime.endswith("/*") else usual(mime), native=native, **where, **named)


def _result(held: Object, own: Object, links: Links) -> Object:
    value, outcome = held["response"], "success"
    if list(value) == ["error"] and isinstance(value["error"], str):
        value, outcome = value["error"], "failed"
    elif list(value) == ["output"] and value["output"] is not None:
        value = value["output"]
    told = output(value)
    told["content"] = told["content"] + _parts(held.get("parts") or [], Links())
    more = rest(GOOGLE, held, "id", "name", "response", "parts")
    native = both(own, {GOOGLE: {"functionResponse": more[GOOGLE]}} if more else {})
    name = held.get("name") or ""
    return block("result", id=links.answer(held.get("id"), name), name=name, outcome=outcome, native=native, **told)


def _hosted(held: Object, own: Object, *, is_code: bool) -> Object:
    if is_code:
        given = {key: value for key, value in held.items() if key != "id"}
        return block(
            "hosted_call",
            id=held.get("id"),
            name="code_execution",
            arguments=compact(given),
            provider=GOOGLE,
            native=own,
        )
    of = held["toolType"]
    given = compact(held.get("args") or {})
    return block(
        "hosted_call", id=held.get("id"), name=_TOOLS.get(of, of), arguments=given, provider=GOOGLE, native=own
    )


def _gave(held: Object, own: Object, *, is_code: bool) -> Object:
    if is_code:
        value = {key: each for key, each in held.items() if key != "id"}
        failed = held.get("outcome") in ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
        more = {"name": "code_execution", "outcome": "failed" if failed else "success"}
        return block("hosted_result", id=held.get("id"), value=value, provider=GOOGLE, native=own, **more)
    of, value = held["toolType"], held.get("response")
    if isinstance(value, dict) and list(value) == ["output"] and isinstance(value["output"], str):
        value = value["output"]  # which must be an object
    return block("hosted_result", id=held.get("id"), name=_TOOLS.get(of, of), value=value, provider=GOOGLE, native=own)


def tools(document: Any) -> list[Object]:
    """The definitions of functions."""
    declared = [each for tool in document.get("tools", []) for each in tool["functionDeclarations"]]
    return [{"type": "function", "function": _function(each)} for each in declared]


def _function(declared: Object) -> Object:
    return {("parameters" if key == "parametersJsonSchema" else key): value for key, value in declared.items()}
