"""Gemini's ``generateContent``, as section 3.4 of the specification has it."""

from __future__ import annotations

import re
from typing import Any

from tests.golden.naive.common import Links, Object, compact, content, function_call, text


def camel(value: Any, depth: int = 2) -> Any:
    """Keys in camel case; those of arguments, results and schemas are nobody's names and stay."""
    if not isinstance(value, dict) or depth == 0:
        return value
    return {re.sub("_([a-z])", lambda at: at[1].upper(), key): camel(held, depth - 1) for key, held in value.items()}


def opened(turn: Any) -> list[Object]:
    """The parts of a turn; bare text is a part, too."""
    found = turn["parts"] if isinstance(turn, dict) else turn
    listed = found if isinstance(found, list) else [found]
    known = [text(part) if isinstance(part, str) else camel(part) for part in listed]
    for part in known:
        for kind, inner in (("functionCall", "args"), ("functionResponse", "response")):
            if kind in part:  # as it was logged
                logged = next(raw for raw in listed if raw and camel(raw) == part)
                part[kind][inner] = next(iter(v for k, v in logged.items() if camel({k: 0}) == {kind: 0})).get(inner)
    return known


def conversation(request: Object) -> list[Object]:
    links, messages, last = Links(), list[Object](), ""
    system = camel(request, 1).get("systemInstruction")
    if system is not None:
        messages.append({"role": "system", "content": content(media(opened(system)))})
    for turn in request["contents"]:
        found = opened(turn)
        role = turn.get("role") or ("model" if any("functionCall" in part for part in found) else "user")
        if role == "model" and last != "model":
            links.waiting = []
        messages += [model(found, links)] if role == "model" else user(found, links)
        last = role
    return messages


def user(parts: list[Object], links: Links) -> list[Object]:
    """Results first, each a message; what else was said follows them."""
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    ids = {id(each): links.answered(each["id"], each["name"]) for each in results if each.get("id")}
    named = [call for call in links.waiting if call[1] in [each.get("name") for each in results]]
    for each in results:  # names first, so that none is taken by position that another has by name
        if id(each) not in ids and any(call[1] == each.get("name") for call in named):
            ids[id(each)] = links.answered(None, each["name"])
            named = [call for call in named if call in links.waiting]
    ids |= {id(each): links.answered(None, "") for each in results if id(each) not in ids}
    messages = [
        {"role": "tool", "tool_call_id": ids[id(each)], "name": each["name"], "content": result(each)}
        for each in results
    ]
    rest = [part for part in parts if "functionResponse" not in part]
    return [*messages, *([{"role": "user", "content": content(media(rest))}] if rest else [])]


def result(each: Object) -> Any:
    """``{"output": ...}`` and ``{"error": text}`` are what is in them; anything else is JSON."""
    value = each["response"]
    if list(value) == ["error"] and isinstance(value["error"], str):
        value = value["error"]
    elif list(value) == ["output"]:
        value = value["output"]
    said = value if isinstance(value, str) else compact(value)
    more = media(opened(each)) if each.get("parts") else []
    return content([*([text(said)] if said or not more else []), *more])


def media(parts: list[Object]) -> list[Object]:
    found: list[Object] = []
    for part in parts:
        data = part.get("inlineData", {})
        bits = data.get("data", "").replace("-", "+").replace("_", "/")
        mime, url = data.get("mimeType", ""), f"data:{data.get('mimeType')};base64,{bits}"
        if part.get("text") and not part.get("thought"):
            found.append(text(part["text"]))
        elif mime.startswith("image/"):
            found.append({"type": "image_url", "image_url": {"url": url}})
        elif mime == "audio/wav":
            found.append({"type": "input_audio", "input_audio": {"data": bits, "format": "wav"}})
        elif mime:
            named = {"filename": data["displayName"]} if "displayName" in data else {}
            found.append({"type": "file", "file": {"file_data": url, **named}})
        elif "fileData" in part:
            found.append({"type": "image_url", "image_url": {"url": part["fileData"]["fileUri"]}})
    return found


def model(parts: list[Object], links: Links) -> Object:
    calls = [at for at, part in enumerate(parts) if "functionCall" in part]
    thoughts = [part["text"] for part in parts if part.get("thought") and part.get("text")]
    before = parts[: calls[0]] if calls else parts
    message = {"role": "assistant", "content": content(media(before), None if calls else "")}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        made = [parts[at]["functionCall"] for at in calls]
        message["tool_calls"] = [
            function_call(links.called(call.get("id"), call["name"]), call["name"], call.get("args")) for call in made
        ]
    return message


def tools(request: Object) -> list[Object]:
    listed = request.get("tools", [])
    found = []
    for tool in listed if isinstance(listed, list) else [listed]:
        for declared in camel(tool, 1).get("functionDeclarations", []):
            known = camel(declared, 1)
            schema = known.get("parametersJsonSchema") or lowered(known.get("parameters"))
            named = {key: known[key] for key in ("name", "description") if key in known}
            found.append({**named, **({"parameters": schema} if schema else {})})
    return found


def lowered(schema: Any) -> Any:
    """An OpenAPI schema with its types as JSON Schema has them."""
    if isinstance(schema, list):
        return [lowered(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: value.lower() if key == "type" else lowered(value) for key, value in schema.items()}


def reply(response: Any) -> Object | None:
    listed = camel(response, 1).get("candidates", []) if isinstance(response, dict) else []
    turn = listed[0].get("content", {}) if listed else {}
    return model(opened(turn), Links()) if turn.get("parts") else None


def whole(events: list[Object]) -> Object:
    """All parts of the first candidate; neighbouring texts are one, unless one is a thought and the other is not."""
    parts: list[Object] = []
    for event in events:
        for candidate in event.get("candidates", [])[:1]:
            for part in candidate.get("content", {}).get("parts", []):
                last = parts[-1] if parts else {}
                if "text" in part and "text" in last and part.get("thought") == last.get("thought"):
                    parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
                else:
                    parts.append(part)
    return {"candidates": [{"content": {"role": "model", "parts": parts}}]}
