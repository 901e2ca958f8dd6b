"""What tracing products log of applications with a framework: messages of LangChain, parts of the AI SDK, definitions.

The rows were written with invented texts by langchain-core 1.8.3 (its tracer, with langchain-openai 1.7.4 and
langchain-anthropic 1.7.10 against a server that answered what a test wants), langfuse 5.0.4 and
openinference-instrumentation-openai 0.1.66 and -anthropic 3.1.0, and shortened; those of the AI SDK and of OpenLLMetry in
Langfuse are as the ingestion of langfuse's server builds them (OtelIngestionProcessor.ts).
"""

import json

import pytest

from chatsquash import Options, convert_session
from tests.conftest import cases

SCHEMA = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
OPENAI_TOOL = {
    "type": "function",
    "function": {"name": "tide", "description": "Looks up the tide.", "parameters": SCHEMA},
}
ANTHROPIC_TOOL = {"name": "tide", "input_schema": SCHEMA, "description": "Looks up the tide."}
CALL = {"name": "tide", "args": {"port": "Leith"}, "id": "call_1", "type": "tool_call"}
VERBATIM = {"id": "call_1", "type": "function", "function": {"name": "tide", "arguments": '{"port": "Leith"}'}}
TIMES = ("2026-01-13T10:00:00", "2026-01-13T10:00:05")


def converted(*rows, **options):
    (outcome,) = convert_session([json.dumps(row) for row in rows], Options(anonymize=False, **options))
    return outcome


def told(outcome):
    """What a record says, without what distinguishes spellings of the same."""
    record = json.loads(outcome.record)
    said = []
    for each in record["messages"]:
        called = each.get("tool_calls") or []
        functions = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in called]
        calls = [(own, name, json.loads(arguments)) for own, name, arguments in functions]
        thought = each.get("reasoning_content")
        said.append((each["role"], each["content"] or None, thought, calls or each.get("tool_call_id")))
    return said, [(tool["name"], tool["parameters"]["properties"]) for tool in record["tools"]]


def expected(thought=None, last=None):
    return [
        ("system", "Be brief.", None, None),
        ("user", "High water at Leith?", None, None),
        ("assistant", "One moment.", thought, [("call_1", "tide", {"port": "Leith"})]),
        ("tool", "half past nine", None, "call_1"),
        ("assistant", "At half past nine.", last, None),
    ], [("tide", {"port": {"type": "string"}})]


# LangSmith


def constructor(name, **kwargs):
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


ASKED = [
    constructor("SystemMessage", content="Be brief.", type="system"),
    constructor("HumanMessage", content="High water at Leith?", type="human"),
]
RESULT = constructor("ToolMessage", content="half past nine", type="tool", tool_call_id="call_1", status="success")
LAST = constructor("AIMessage", content="At half past nine.", type="ai", tool_calls=[], invalid_tool_calls=[])


def ai(content, **more):
    return constructor(
        "AIMessage", **{"content": content, "type": "ai", "tool_calls": [CALL], "invalid_tool_calls": [], **more}
    )


TEXT = {"type": "text", "text": "One moment."}
THOUGHT = {"type": "reasoning", "reasoning": "I need the table."}
REPLIES = {
    "ChatOpenAI": ("", ai("One moment.", additional_kwargs={"refusal": None})),
    "ChatOpenAI, with the calls as they were sampled": ("", ai("One moment.", additional_kwargs={"tool_calls": [VERBATIM]})),
    "ChatOpenAI, output version v1": ("", ai([TEXT, {**CALL, "type": "tool_call"}], additional_kwargs={"refusal": None})),
    "ChatOpenAI of Responses": (
        "I need the table.",
        ai([
            {"id": "rs_1", "summary": [{"text": "I need the table.", "type": "summary_text"}], "type": "reasoning"},
            {**TEXT, "annotations": [], "id": "msg_1"},
            {"arguments": '{"port":"Leith"}', "call_id": "call_1", "name": "tide", "type": "function_call", "id": "fc_1"},
        ]),
    ),
    "ChatOpenAI of Responses, output version v1": (
        "I need the table.",
        ai([{"id": "rs_1", **THOUGHT}, TEXT, {**CALL, "extras": {"item_id": "fc_1"}}]),
    ),
    "ChatAnthropic": (
        "I need the table.",
        ai([
            {"signature": "c2ln", "thinking": "I need the table.", "type": "thinking"},
            TEXT,
            {"id": "call_1", "input": {"port": "Leith"}, "name": "tide", "type": "tool_use", "toolset_name": None},
        ]),
    ),
    "ChatAnthropic, output version v1": (
        "I need the table.",
        ai([{**THOUGHT, "extras": {"signature": "c2ln"}}, TEXT, {**CALL, "extras": {"toolset_name": None}}]),
    ),
}  # fmt: skip


def run(number, messages, answer, tools, **generation):
    made = {"text": "", "type": "ChatGeneration", "message": answer, **generation}
    extra = {"invocation_params": {"model": "m-1", "tools": tools}, "metadata": {"ls_model_name": "m-1"}}
    row = {"id": f"r{number}", "trace_id": "s1", "run_type": "llm", "start_time": TIMES[number], "error": None}
    return {**row, "extra": extra, "inputs": {"messages": [messages]}, "outputs": {"generations": [[made]]}}


@pytest.mark.parametrize("tool", [OPENAI_TOOL, ANTHROPIC_TOOL], ids=["function", "input_schema"])
@pytest.mark.parametrize("name", REPLIES)
def test_a_run_of_langchain_has_each_call_once(name, tool):
    thought, first = REPLIES[name]
    rows = run(0, ASKED, first, [tool]), run(1, [*ASKED, first, RESULT], LAST, [tool])
    outcome = converted(*rows)
    assert told(outcome) == expected(thought or None)
    assert outcome.account.counts.superseded == 1
    assert not {each.code for each in outcome.findings} & {"mixed-formats", "wrong-type"}


def test_arguments_stay_as_they_were_sampled_where_a_run_has_them():
    outcome = converted(run(0, ASKED, REPLIES["ChatOpenAI, with the calls as they were sampled"][1], [OPENAI_TOOL]))
    assert json.loads(outcome.record)["messages"][-1]["tool_calls"] == [VERBATIM]


def test_an_invalid_call_of_langchain_is_a_call_with_the_arguments_as_far_as_they_came():
    broken = {"name": "tide", "args": '{"port": "Le', "id": "call_1", "error": None, "type": "invalid_tool_call"}
    answer = ai("", tool_calls=[], invalid_tool_calls=[broken])
    (last,) = json.loads(converted(run(0, ASKED, answer, [OPENAI_TOOL])).record)["messages"][2:]
    function = {"name": "tide", "arguments": '{"port": "Le'}
    assert last["tool_calls"] == [{"id": "call_1", "type": "function", "function": function}]


@cases("reason, finish",
    ("chat", {"generation_info": {"finish_reason": "length"}}, "length"),
    ("Anthropic", {"message": ai("x", tool_calls=[], response_metadata={"stop_reason": "max_tokens"})}, "length"),
    ("whole", {"generation_info": {"finish_reason": "stop"}}, "stop"),
)  # fmt: skip
def test_a_run_of_langchain_says_why_it_ended(reason, finish):
    answer = ai("x", tool_calls=[])
    outcome = converted(run(0, ASKED, answer, [OPENAI_TOOL], **reason))
    assert outcome.output.records[0].ending.finish == finish


def test_a_bad_run_costs_that_run():
    first = REPLIES["ChatAnthropic"][1]
    good = run(0, ASKED, first, [ANTHROPIC_TOOL]), run(1, [*ASKED, first, RESULT], LAST, [ANTHROPIC_TOOL])
    bad = [
        {**good[0], "inputs": odd}
        for odd in ({}, {"messages": 5}, {"messages": [[5]]}, {"messages": [[{"type": "ai"}]]})
    ]
    outcome = converted(good[0], *bad, good[1])
    assert told(outcome) == expected("I need the table.")
    assert outcome.account.counts.unreadable == len(bad)


# Langfuse


def observation(number, given, answer, **columns):
    row = {"id": f"o{number}", "trace_id": "t1", "session_id": "s1", "type": "GENERATION", "start_time": TIMES[number]}
    return {
        **row,
        "input": json.dumps(given),
        "output": answer if isinstance(answer, str) else json.dumps(answer),
        **columns,
    }


PROMPT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "High water at Leith?"}]
DEFINITION = {"role": "tool", "content": OPENAI_TOOL}
OF_LANGCHAIN = {
    "role": "assistant",
    "content": "One moment.",
    "tool_calls": [CALL],
    "additional_kwargs": {"refusal": None},
}
OF_ANTHROPIC = {
    "role": "assistant",
    "content": [TEXT, {"type": "tool_use", "id": "call_1", "name": "tide", "input": {"port": "Leith"}}],
}
ANSWERED = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "half past nine"}]}
TOLD = {"role": "tool", "content": "half past nine", "tool_call_id": "call_1", "additional_kwargs": {}}
AI_CALL = {"toolCallId": "call_1", "toolName": "tide", "input": {"port": "Leith"}}
OF_AI = {
    "role": "assistant",
    "content": [{"type": "reasoning", "text": "I need the table."}, TEXT, {"type": "tool-call", **AI_CALL}],
}
AI_RESULT = {"type": "tool-result", "toolCallId": "call_1", "toolName": "tide"}
OF_OPENLLMETRY = {
    "role": "assistant",
    "content": "One moment.",
    "tool_calls": [{"id": "call_1", "name": "tide", "arguments": '{"port":"Leith"}'}],
}
OF_OPENINFERENCE = {
    "role": "assistant",
    "content": "One moment.",
    "tool_calls": [{"tool_call": {"id": "call_1", "function": {"name": "tide", "arguments": '{"port":"Leith"}'}}}],
}
ITEMS = [
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "One moment.", "annotations": []}],
    },
    {"type": "function_call", "call_id": "call_1", "name": "tide", "arguments": '{"port":"Leith"}'},
]
BODY = {"tools": [OPENAI_TOOL]}
COLUMN = {"tool_definitions": {"tide": json.dumps({"description": "Looks up the tide.", "parameters": SCHEMA})}}


def wrapped(*messages):
    return [{"message": each} for each in messages]


@cases("first, second, answer, columns",
    ("LangChain, with its definitions as messages", [*PROMPT, DEFINITION], [*PROMPT, OF_LANGCHAIN, TOLD, DEFINITION], OF_LANGCHAIN, {}),
    ("LangChain of Anthropic, with a definition of its own", [*PROMPT, {"role": "tool", "content": ANTHROPIC_TOOL}], [*PROMPT, OF_LANGCHAIN, TOLD, {"role": "tool", "content": ANTHROPIC_TOOL}], OF_LANGCHAIN, {}),
    ("Anthropic's blocks, tools in a column", PROMPT, [*PROMPT, OF_ANTHROPIC, ANSWERED], OF_ANTHROPIC["content"], COLUMN),
    ("Anthropic's request and blocks", {"system": "Be brief.", "messages": PROMPT[1:], "tools": [ANTHROPIC_TOOL]}, {"system": "Be brief.", "messages": [PROMPT[1], OF_ANTHROPIC, ANSWERED], "tools": [ANTHROPIC_TOOL]}, OF_ANTHROPIC, {}),
    ("OpenAI's client, Responses", {"input": PROMPT, **BODY}, {"input": [*PROMPT, *ITEMS, {"type": "function_call_output", "call_id": "call_1", "output": "half past nine"}], **BODY}, ITEMS, {}),
    ("OpenAI's client, items alone", PROMPT, [*PROMPT, *ITEMS, {"type": "function_call_output", "call_id": "call_1", "output": "half past nine"}], ITEMS, COLUMN),
    ("the AI SDK", PROMPT, [*PROMPT, {**OF_AI, "content": OF_AI["content"][1:]}, {"role": "tool", "content": [{**AI_RESULT, "output": {"type": "text", "value": "half past nine"}}]}], {"role": "assistant", "content": "One moment.", "tool_calls": json.dumps([AI_CALL])}, COLUMN),
    ("the AI SDK 4", PROMPT, [*PROMPT, {"role": "assistant", "content": [TEXT, {"type": "tool-call", "toolCallId": "call_1", "toolName": "tide", "args": {"port": "Leith"}}]}, {"role": "tool", "content": [{**AI_RESULT, "result": "half past nine"}]}], {"role": "assistant", "content": "One moment.", "tool_calls": json.dumps([AI_CALL])}, COLUMN),
    ("OpenLLMetry", PROMPT, [*PROMPT, OF_OPENLLMETRY, {"role": "tool", "content": "half past nine", "tool_call_id": "call_1"}], [OF_OPENLLMETRY], COLUMN),
    ("OpenLLMetry of Anthropic", PROMPT, [*PROMPT, {**OF_ANTHROPIC, "content": json.dumps(OF_ANTHROPIC["content"])}, {"role": "user", "content": json.dumps(ANSWERED["content"])}], [OF_OPENLLMETRY], COLUMN),
    ("OpenInference", wrapped(*PROMPT), wrapped(*PROMPT, OF_OPENINFERENCE, {"role": "tool", "content": "half past nine", "tool_call_id": "call_1"}), wrapped(OF_OPENINFERENCE), COLUMN),
)  # fmt: skip
def test_an_observation_has_each_call_once_whoever_sent_it(first, second, answer, columns):
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "At half past nine."}]}
    last = item if answer == ITEMS else "At half past nine."
    outcome = converted(observation(0, first, answer, **columns), observation(1, second, last, **columns))
    assert told(outcome) == expected()
    assert outcome.account.counts.superseded == 1
    assert not {each.code for each in outcome.findings} & {"mixed-formats", "wrong-type", "missing-reply"}


def test_reasoning_of_the_ai_sdk_is_reasoning():
    result = {"role": "tool", "content": [{**AI_RESULT, "output": {"type": "json", "value": {"at": "9:30"}}}]}
    outcome = converted(observation(0, [*PROMPT, OF_AI, result], "At half past nine."))
    messages = json.loads(outcome.record)["messages"]
    assert (messages[2]["content"], messages[2]["reasoning_content"]) == ("One moment.", "I need the table.")
    assert (messages[3]["content"], messages[3]["tool_call_id"]) == ('{"at":"9:30"}', "call_1")


def test_a_result_that_looks_like_a_definition_stays_a_result():
    """What answers a call is no definition of a tool, whatever it is."""
    looked_up = {"role": "tool", "content": OPENAI_TOOL, "tool_call_id": "call_1"}
    outcome = converted(observation(0, [*PROMPT, OF_LANGCHAIN, looked_up], "That is the tool.", **COLUMN))
    assert [each["role"] for each in json.loads(outcome.record)["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_choices_in_an_observation_are_choices():
    said = [{"role": "assistant", "content": text} for text in ("Nine.", "Ten.")]
    outcome = converted(observation(0, PROMPT, said))
    assert json.loads(outcome.record)["messages"][-1]["content"] == "Nine."
    assert "extra-choices" in {each.code for each in outcome.findings}


# Phoenix


def span(number, **attributes):
    names = {"openinference.span.kind": "LLM", "session.id": "s1", "llm.model_name": "m-1", **attributes}
    return {"name": "x", "start_time": TIMES[number] + "Z", "attributes": names}


def flat(prefix, messages):
    made = {}
    for number, message in enumerate(messages):
        made |= {f"{prefix}.{number}.message.{name}": value for name, value in message.items()}
    return made


TOOLS = {"llm.tools.0.tool.json_schema": json.dumps(ANTHROPIC_TOOL)}
FLAT_CALL = {
    "tool_calls.0.tool_call.id": "call_1",
    "tool_calls.0.tool_call.function.name": "tide",
    "tool_calls.0.tool_call.function.arguments": '{"port": "Leith"}',
}
FLAT_ANTHROPIC = {
    "role": "assistant",
    "contents.0.message_content.type": "reasoning",
    "contents.0.message_content.text": "I need the table.",
    "contents.0.message_content.signature": "c2ln",
    "contents.1.message_content.type": "text",
    "contents.1.message_content.text": "One moment.",
    **FLAT_CALL,
    "contents.2.message_content.type": "tool_use",
    "contents.2.tool_call.id": "call_1",
    "contents.2.tool_call.function.name": "tide",
}
FLAT_RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "half past nine"}
FLAT_ITEMS = [
    {
        "role": "assistant",
        "contents.0.message_content.type": "reasoning",
        "contents.0.message_content.text": "I need the table.",
    },
    {"role": "assistant", "contents.0.message_content.type": "text", "contents.0.message_content.text": "One moment."},
    {"role": "assistant", **FLAT_CALL},
]


@pytest.mark.parametrize("said", [[FLAT_ANTHROPIC], FLAT_ITEMS], ids=["blocks of Anthropic", "items of Responses"])
def test_messages_in_attributes_are_pieces_of_replies(said):
    end = flat("llm.output_messages", [{"role": "assistant", "content": "At half past nine."}])
    rows = (
        span(0, **flat("llm.input_messages", PROMPT), **flat("llm.output_messages", said), **TOOLS),
        span(1, **flat("llm.input_messages", [*PROMPT, *said, FLAT_RESULT]), **end, **TOOLS),
    )
    outcome = converted(*rows)
    assert told(outcome) == expected("I need the table.")
    assert outcome.account.counts.superseded == 1


@pytest.mark.parametrize("name", REPLIES)
def test_a_span_of_langchain_has_its_messages_as_a_text(name):
    thought, first = REPLIES[name]
    both = (ASKED, first), ([*ASKED, first, RESULT], LAST)
    rows = []
    for number, (messages, answer) in enumerate(both):
        values = {"input.value": json.dumps({"messages": [messages]})}
        values["output.value"] = json.dumps({"generations": [[{"text": "", "message": answer}]]})
        rows.append(span(number, **values, **TOOLS))
    assert told(converted(*rows)) == expected(thought or None)
