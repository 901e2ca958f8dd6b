"""Presets and modifiers done the obvious way, for records in which every call is answered; nothing is counted.

Only what the golden cases hold is known: no unparsable arguments, no missing results, no ids that are missing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import xxhash

from chatsquash import Options

Object = dict[str, Any]
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
HOW_TO_CALL = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
%s
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>"""


def shaped(record: Object, options: Options) -> Object | None:
    """A specified record with the modifiers and in the shape asked for; ``None`` where that has no place for it."""
    if options.preset != "chat" and is_unfit(record["messages"]):
        return None
    messages = modified(record["messages"], options)
    if options.preset == "chat":
        return {"messages": messages, "tools": record["tools"]}
    images = [part for message in messages for part in parts(message) if part["type"] == "image_url"]
    if images and options.media == "refuse":
        return None
    if options.media == "keep":
        return with_images(record, images)
    if options.unpaired == "cut":
        messages = ended(messages)
    elif options.unpaired == "close":
        messages = closed(messages, "[no result]" if options.unpaired_text is None else options.unpaired_text)
    made: Object = SHAPES[options.preset](plain(messages), wrapped(record["tools"]))
    return made


def is_unfit(messages: list[Object]) -> bool:
    """Whether content is of a wrong type, or the last reply says nothing."""
    if any(not isinstance(message.get("content"), str | list | None) for message in messages):
        return True
    replies = [message for message in messages if message["role"] == "assistant"]
    last = replies[-1] if replies else {}
    said = words(last).strip() or last.get("tool_calls") or last.get("reasoning_content")
    return bool(replies) and not said


def modified(messages: list[Object], options: Options) -> list[Object]:
    done: list[Object] = []
    for message in messages:
        if options.system == "drop" and message["role"] == "system":
            continue
        last = done[-1] if done else {"role": ""}
        if options.merge_consecutive and last["role"] == message["role"] == "user":
            done[-1] = {**last, "content": last["content"] + "\n\n" + message["content"]}
        else:
            done.append(message)
    if options.split_parallel:
        done = one_by_one(done)
    return apart(done) if options.split_text_and_calls else done


def one_by_one(messages: list[Object]) -> list[Object]:
    done: list[Object] = []
    for message in messages:
        calls = message.get("tool_calls", [])
        answers = [each for each in messages if each["role"] == "tool"]
        if len(calls) > 1:
            for number, call in enumerate(calls):
                around = {"role": "assistant", "content": ""} if number else message
                done.append({**around, "tool_calls": [call]})
                done += [each for each in answers if each["tool_call_id"] == call["id"]]
        elif message not in done:  # an answer that stands there already
            done.append(message)
    return done


def apart(messages: list[Object]) -> list[Object]:
    done: list[Object] = []
    for message in messages:
        if message.get("content") and "tool_calls" in message:
            done.append({key: value for key, value in message.items() if key != "tool_calls"})
            message = {"role": "assistant", "content": "", "tool_calls": message["tool_calls"]}
        done.append(message)
    return done


def parts(message: Object) -> list[Object]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def with_images(record: Object, images: list[Object]) -> Object | None:
    """The record of a conversation without tools, with its images."""
    urls = [image["image_url"]["url"].partition(";base64,") for image in images]
    if not all(comma for _, comma, _ in urls):
        return None
    names = [
        f"images/{hashlib.sha256(base64.b64decode(data)).hexdigest()[:40]}.{kind.removeprefix('data:image/')}"
        for kind, _, data in urls
    ]
    messages = []
    for message in record["messages"]:
        said: Any = []
        for part in parts(message):
            if part["type"] == "image_url":
                said.append({"type": "image"})
            elif said and said[-1]["type"] == "text":
                said[-1] = {"type": "text", "text": said[-1]["text"] + "\n" + part["text"]}
            else:
                said.append(part)
        if not said:
            is_list = images and message["role"] == "user"
            said = [{"type": "text", "text": message["content"]}] if is_list else message["content"]
        messages.append({"role": message["role"], "content": said})
    return {"messages": messages, "images": names}


def open_calls(messages: list[Object], at: int) -> list[Object]:
    """The calls of a message that no message before the assistant's next one answers; none where there is no next."""
    behind = [place for place in range(at + 1, len(messages)) if messages[place]["role"] == "assistant"]
    if not behind:
        return []
    answered = {each.get("tool_call_id") for each in messages[at : behind[0]]}
    return [call for call in messages[at].get("tool_calls", []) if call["id"] not in answered]


def ended(messages: list[Object]) -> list[Object]:
    for at in range(len(messages)):
        if open_calls(messages, at):
            return messages[:at]
    return messages


def closed(messages: list[Object], text: str) -> list[Object]:
    done: list[Object] = []
    waiting: list[Object] = []
    for at, message in enumerate(messages):
        if message["role"] != "tool":
            done += [{"role": "tool", "tool_call_id": call["id"], "content": text} for call in waiting]
            waiting = open_calls(messages, at)
        done.append(message)
    return done


def words(message: Object) -> str:
    """The texts as one: those of the assistant side by side, others as lines, and all around an image as paragraphs."""
    content = message.get("content")
    if not isinstance(content, list):
        return content or ""
    said = ""
    for at, part in enumerate(content):
        if part["type"] != "text" or not part["text"]:
            continue
        if said and content[at - 1]["type"] != "text":
            said = said.rstrip("\n") + "\n\n"
        elif said and message["role"] != "assistant" and not said[-1].isspace() and not part["text"][0].isspace():
            said += "\n"
        said += part["text"]
    return said


def plain(messages: list[Object]) -> list[Object]:
    """The messages as ``hf`` has them."""
    names = {str(call["id"]): call["function"]["name"] for each in messages for call in each.get("tool_calls", [])}
    done: list[Object] = []
    for at, message in enumerate(messages):
        said = words(message)
        role = message["role"]
        if role == "system" and done and done[-1]["role"] == "system":
            done[-1]["content"] += "\n\n" + said
        elif role == "system" and done:
            messages[at + 1] = {**messages[at + 1], "content": said + "\n\n" + words(messages[at + 1])}
        elif role == "tool":
            ident = str(message["tool_call_id"])
            done.append({"role": role, "tool_call_id": ident, "name": names[ident], "content": said})
        else:
            new = {"role": role, "content": said}
            thought = message.get("reasoning_content") or message.get("reasoning")
            new |= {"reasoning_content": thought} if thought else {}
            calls = [
                {
                    "id": str(call["id"]),
                    "type": "function",
                    "function": {"name": call["function"]["name"], "arguments": call["function"]["arguments"]},
                }
                for call in message.get("tool_calls", [])
            ]
            new |= {"tool_calls": calls} if calls else {}
            done.append(new)
    while done[-1]["role"] != "assistant":
        done.pop()
    return done


def wrapped(tools: list[Object]) -> list[Object]:
    empty: Object = {"type": "object", "properties": {}}
    return [{"type": "function", "function": {**tool, "parameters": tool.get("parameters", empty)}} for tool in tools]


def with_objects(message: Object) -> Object:
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def hf(messages: list[Object], tools: list[Object]) -> Object:
    return {"messages": list(map(with_objects, messages)), **({"tools": tools} if tools else {})}


def known(tools: list[Object]) -> Object:
    order = ("name", "description", "parameters", "strict")
    functions = [{key: tool["function"][key] for key in order if key in tool["function"]} for tool in tools]
    return {"tools": [{"type": "function", "function": function} for function in functions]} if tools else {}


def openai(messages: list[Object], tools: list[Object]) -> Object:
    done = []
    for message in messages:
        gone = {"reasoning_content"} | ({"name"} if message["role"] == "tool" else set())
        gone |= {"content"} if "tool_calls" in message and not message["content"] else set()
        done.append({key: value for key, value in message.items() if key not in gone})
    return {"messages": done, **known(tools)}


def short(ident: str) -> str:
    if len(ident) == 9 and ident.isalnum():
        return ident
    number = xxhash.xxh3_64_intdigest(ident.encode(), 0)
    return "".join(LETTERS[number // 62**place % 62] for place in range(9))


def mistral(messages: list[Object], tools: list[Object]) -> Object:
    done: list[Object] = []
    for message in messages:
        new = {key: value for key, value in message.items() if key != "reasoning_content"}
        if "tool_calls" in new:
            new |= {"content": "", "tool_calls": [{**call, "id": short(call["id"])} for call in new["tool_calls"]]}
        if "tool_call_id" in new:
            new["tool_call_id"] = short(new["tool_call_id"])
        done.append(new)
    return {"messages": done, **known(tools)}


def called(call: Object) -> str:
    function = {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
    text = json.dumps(function, ensure_ascii=False)
    return text.replace("<", "\\u003c") if "<tool_call>" in text else text


def thinking(message: Object) -> str:
    thought = message.get("reasoning_content")
    return f"<think>\n{thought}\n</think>\n\n{message['content']}" if thought else str(message["content"])


def sharegpt(messages: list[Object], tools: list[Object]) -> Object:
    system = [message["content"] for message in messages if message["role"] == "system"]
    turns: list[Object] = []
    for message in messages:
        role, text = message["role"], message["content"]
        if role == "assistant":
            text, calls = thinking(message), [called(call) for call in message.get("tool_calls", [])]
            if len(calls) > 1 or (calls and text):
                text += "<tool_call>[" + ", ".join(calls) + "]</tool_call>"
            elif calls:
                text = calls[0]
            turns.append({"from": "function_call" if calls else "gpt", "value": text})
        elif role != "system":
            side = "observation" if role == "tool" else "human"
            between = "\n</tool_response>\n<tool_response>\n" if role == "tool" else "\n\n"
            if turns and turns[-1]["from"] == side:
                turns[-1]["value"] += between + text
            else:
                turns.append({"from": side, "value": text})
    functions = json.dumps([tool["function"] for tool in tools], ensure_ascii=False) if tools else ""
    return {"conversations": turns, "system": "".join(system), "tools": functions}


def text(messages: list[Object], tools: list[Object]) -> Object:
    done: list[Object] = [{"role": "system", "content": ""}]
    for at, message in enumerate(messages):
        said = message["content"]
        if message["role"] == "system":
            done[0]["content"] = said
        elif message["role"] == "tool":
            response = f"<tool_response>\n{said}\n</tool_response>"
            if messages[at - 1]["role"] == "tool":
                done[-1]["content"] += "\n" + response
            else:
                done.append({"role": "user", "content": response})
        else:
            said = thinking(message)
            for number, call in enumerate(message.get("tool_calls", [])):
                said += "\n" if number or message["content"] else ""
                said += f"<tool_call>\n{called(call)}\n</tool_call>"
            done.append({"role": message["role"], "content": said})
    if tools:
        given = HOW_TO_CALL % "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
        done[0]["content"] += ("\n\n" if done[0]["content"] else "") + given
    return {"messages": done if done[0]["content"] else done[1:]}


SHAPES: Any = {"hf": hf, "openai": openai, "mistral": mistral, "sharegpt": sharegpt, "text": text}
