"""What OpenAI's library sees of a request's input and instructions."""

from __future__ import annotations

import json
from typing import Any

from .common import SOUNDS, Object, block, linked, merged, rest, text, turn

OPENAI = "openai"
_RESULTS = ("function_call_output", "custom_tool_call_output")
_HOSTED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "web_search_call": ("web_search", (), ""),
    "file_search_call": ("file_search", ("queries",), "results"),
    "code_interpreter_call": ("code_interpreter", ("code", "container_id"), "outputs"),
    "image_generation_call": ("image_generation", (), "result"),
}
"""The name of a tool that the service runs, the members that it is given, and the one that it gives."""


def read(document: Any) -> list[Object]:
    """The turns of a request; what the assistant's items say up to one of somebody else is one."""
    prompt = document.get("instructions")
    found = [turn("system", text(prompt), instructions=True)] if prompt else []
    is_open = False
    for item in document["input"]:
        of, role = item.get("type", "message"), item.get("role")
        if of in _RESULTS:
            found.append(turn("tool", [_result(item)]))
        elif of == "message" and role != "assistant":
            found.append(turn(role, _parts(item["content"]), native=rest(OPENAI, item, "type", "role", "content")))
        else:
            if not is_open:
                found.append(turn("assistant", []))
            found[-1]["blocks"] += _said(item, of, found[-1]["blocks"])
            is_open = True
            continue
        is_open = False
    return merged(found)


def _said(item: Object, of: str, before: list[Object]) -> list[Object]:
    match of:
        case "message":
            return _message(item, before)
        case "reasoning":
            return _thoughts(item)
        case "function_call" | "custom_tool_call":
            member = "arguments" if of == "function_call" else "input"
            own = rest(OPENAI, item, "type", "call_id", "name", member)
            more = {"arguments": item[member], "custom": of == "custom_tool_call", "native": own}
            return [block("call", id=item["call_id"], name=item["name"], **more)]
    return _hosted(item, of) or [block("other", provider=OPENAI, value={"item": item})]


def _message(item: Object, before: list[Object]) -> list[Object]:
    """A message, whose first text knows the rest of it; a text of another one does not go on from the one before."""
    found = _parts(item["content"])
    first = next((each for each in found if each["type"] in ("text", "refusal")), None)
    own = rest(OPENAI, item, "type", "role", "content")
    if first is None:
        return [block("other", provider=OPENAI, value={"item": item})] if found or own else []
    native = {**own.get(OPENAI, {}), **first.get("native", {}).get(OPENAI, {})}
    first |= {"native": {OPENAI: native}} if native else {}
    if first["type"] == "text" and before and before[-1]["type"] in ("text", "refusal", "source", "other"):
        first["apart"] = True
    return found


def _thoughts(item: Object) -> list[Object]:
    raw = item.get("content") or []
    parts = raw or item.get("summary") or [{"text": ""}]
    encrypted, ident = item.get("encrypted_content"), item.get("id")
    signer = OPENAI if encrypted or ident else ""
    if any(part.keys() - {"type", "text"} for part in parts):
        whole = rest(OPENAI, item, "type", "id", "encrypted_content")
        said = "\n\n".join(part["text"] for part in parts)
        return [block("reasoning", text=said, signer=signer, encrypted=encrypted, id=ident, native=whole)]
    of = {"type": "reasoning_text"} if raw else {}
    own = {
        **of,
        **rest(OPENAI, item, "type", "id", "encrypted_content", "content", *([] if raw else ["summary"])).get(
            OPENAI, {}
        ),
    }
    first, *others = parts
    found = [
        block(
            "reasoning",
            text=first["text"],
            signer=signer,
            encrypted=encrypted,
            id=ident,
            native={OPENAI: own} if own else {},
        )
    ]
    more = {"signer": signer, "id": ident, "native": {OPENAI: of} if of else {}}
    return found + [block("reasoning", text=part["text"], **more) for part in others]


def _hosted(item: Object, of: str) -> list[Object]:
    if of not in _HOSTED:
        return []
    name, given, gave = _HOSTED[of]
    held = item.get("action", {}) if of == "web_search_call" else {key: item[key] for key in given}
    own = rest(OPENAI, item, "type", "id", "action", gave, *given)
    found = [block("hosted_call", id=item["id"], name=name, arguments=json.dumps(held), provider=OPENAI, native=own)]
    if gave and item.get(gave) is not None:
        outcome = "failed" if item.get("status") == "failed" else "success"
        found.append(
            block("hosted_result", id=item["id"], name=name, value=item[gave], outcome=outcome, provider=OPENAI)
        )
    return found


def _result(item: Object) -> Object:
    own = rest(OPENAI, item, "type", "call_id", "output", "name")
    return block("result", id=item["call_id"], name=item.get("name"), content=_parts(item["output"]), native=own)


def _parts(content: Any) -> list[Object]:
    return text(content) if isinstance(content, str) else [made for part in content for made in _part(part)]


def _part(part: Object) -> list[Object]:
    usual = ("detail",) if part.get("detail") == "auto" else ()
    more = rest(
        OPENAI,
        part,
        *usual,
        *("type", "text", "refusal", "annotations", "image_url", "file_data", "file_url", "file_id", "filename"),
    )
    match part["type"]:
        case "input_text" | "output_text":
            return text(part["text"], more) + [_source(each) for each in part.get("annotations", [])]
        case "refusal":
            return [block("refusal", text=part["refusal"], native=more)]
        case "input_image" if part.get("image_url"):
            return [linked("image", part["image_url"], native=more)]
        case "input_image":
            return [block("media", kind="image", file_id=part["file_id"], provider="openai", native=more)]
        case "input_audio":
            inner = part["input_audio"]
            own = rest(OPENAI, part, "type", "input_audio")
            return [block("media", kind="audio", mime=SOUNDS[inner["format"]], data=inner["data"], native=own)]
        case "input_file":
            name = part.get("filename")
            if part.get("file_id"):
                return [block("media", kind="file", file_id=part["file_id"], provider="openai", name=name, native=more)]
            return [linked("file", part.get("file_url") or part["file_data"], name=name, native=more)]
    return [block("other", provider=OPENAI, value=part)]


def _source(noted: Object) -> Object:
    if noted["type"] == "url_citation":
        own = rest(OPENAI, noted, "type", "url", "title")
        return block("source", url=noted["url"], title=noted.get("title"), native=own)
    own = rest(OPENAI, noted, "file_id", "filename")
    return block("source", id=noted["file_id"], name=noted.get("filename"), native=own)


def tools(document: Any) -> list[Object]:
    """The definitions of tools; the library wants parameters and strictness even where they are null."""
    found = [{key: value for key, value in tool.items() if value is not None} for tool in document.get("tools", [])]
    return [{"type": tool.pop("type"), of: tool} for tool in found for of in [tool["type"]]]
