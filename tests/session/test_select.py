"""Which snapshot becomes the record, the union of the tools up to it, and the role traces on the way."""

from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.chat import role_token
from chatsquash.session.select import flatten, select
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases
from tests.session.streams import entry, noted, stream, texts

# Selection


def requests(*lengths):
    """Entries with so many messages, each beginning like the others."""
    messages = [user(str(number)) for number in range(max(lengths, default=0))]
    return stream(*(entry(*messages[:length], at=10 + line) for line, length in enumerate(lengths)))


@cases(
    "lengths, line, tail",
    ("the only entry", [3], 1, None),
    ("an entry without messages", [0], 1, None),
    ("the last of entries that grow", [1, 3, 5], 3, None),
    ("the last of entries that are as long, as after a retry", [3, 3, 3], 3, None),
    ("the last, though one before was shorter", [5, 1, 5], 3, None),
    ("the last, though one before was empty", [0, 0], 2, None),
    ("the last with the maximum, when a shorter one follows", [1, 3, 2], 2, (3, 2, 2, 3)),
    ("the last with the maximum, when several shorter ones follow", [3, 1, 2], 1, (3, 2, 1, 3)),
    ("the last with the maximum, not the first", [1, 3, 3, 1], 3, (4, 1, 3, 3)),
    ("the last with the maximum, though the tail grows again", [5, 1, 2, 3, 4], 1, (5, 4, 1, 5)),
    ("an empty entry at the end is cut", [2, 0], 1, (2, 0, 1, 2)),
)
def test_what_becomes_the_record_is(lengths, line, tail):
    session = select(requests(*lengths), trace_roles=False)
    snapshot = session.snapshot
    assert snapshot.entry.line == line
    assert len(snapshot.entry.messages) == max(lengths)
    assert (snapshot.superseded, snapshot.cut) == (line - 1, len(lengths) - line)
    assert noted(session) == ([(line, "short-tail", "warning")] if tail else [])
    if tail:
        last, last_length, kept, kept_length = tail
        (text,) = texts(session, "short-tail")
        assert text.startswith(f"line {last} has {last_length} message")
        assert f"line {kept} has {kept_length} and is converted" in text


def test_a_session_without_entries_gives_nothing():
    session = select(iter([]))
    assert session.snapshot is None
    assert session.notes == []


@cases(
    "times, started",
    ("the first entry", [7, 8, 9], 7),
    ("the first entry with a readable time", [None, 8, 9], 8),
    ("file order, also where the times go back", [8, 7, 9], 8),
    ("0, which is a time", [0, 1], 0),
    ("none", [None, None], None),
)
def test_a_session_starts_with_the_time_of(times, started):
    entries = stream(*(entry(user(), at=at) for at in times))
    assert select(entries).snapshot.started_at == started


def test_a_session_does_not_start_with_an_entry_that_is_cut():
    entries = stream(entry(user(), user()), entry(user(), at=5))
    assert select(entries).snapshot.started_at is None


# Tools

GREP, READ = tool("grep"), tool("read")
OTHER_GREP = tool("grep", description="another")


def wrapped(function):
    return {"type": "function", "function": function}


@cases(
    "logged, expected",
    ("a definition that is flat", GREP, GREP),
    ("a flat definition with a type", {"type": "custom", **GREP}, {"type": "custom", **GREP}),
    ("a function that is a string", {"name": "a", "function": "grep"}, {"name": "a", "function": "grep"}),
    ("a function that is null", {"name": "a", "function": None}, {"name": "a", "function": None}),
    ("a server tool", {"type": "web_search", "max_uses": 3}, {"type": "web_search", "max_uses": 3}),
    ("a string", "grep", "grep"),
    ("null", None, None),
    ("a list", [GREP], [GREP]),
    ("a wrapped definition becomes its function", wrapped(GREP), GREP),
    ("what stands beside the function goes", {**wrapped(GREP), "strict": True, "name": "x"}, GREP),
    ("an empty function is a function", wrapped({}), {}),
    ("a function within a function stays", wrapped({"function": GREP}), {"function": GREP}),
)
def test_flattening(logged, expected):
    assert flatten(logged) == expected


def custom(name, **changes):
    return {"type": "custom", "custom": {"name": name, "description": "d", **changes}}


SQL, OTHER_SQL = custom("sql"), custom("sql", description="other")


def with_tools(*lists):
    messages = [user() for _ in lists]
    return stream(*(entry(*messages[:length], tools=tools) for length, tools in enumerate(lists, 1)))


@cases("lists, expected",
    ("there are none", [[], []], []),
    ("tools that stay", [[GREP, READ], [GREP, READ]], [GREP, READ]),
    ("first appearance decides the order", [[READ], [GREP, READ]], [READ, GREP]),
    ("a tool that is gone later stays", [[GREP, READ], [READ], []], [GREP, READ]),
    ("a tool that comes late", [[], [GREP], [GREP, READ]], [GREP, READ]),
    ("the same name twice in one list", [[GREP, dict(GREP)]], [GREP]),
    ("wrapped and flat are the same tool", [[wrapped(GREP)], [GREP]], [GREP]),
    ("names in another case are others", [[tool("grep"), tool("Grep")]], [tool("grep"), tool("Grep")]),
    ("nameless tools are kept once", [[{"type": "web"}], [{"type": "web"}]], [{"type": "web"}]),
    ("nameless tools are told apart by their definition", [[{"type": "web"}, {"type": "web", "uses": 1}]], [{"type": "web"}, {"type": "web", "uses": 1}]),
    ("1, 1.0 and true are three definitions", [[{"default": 1}, {"default": 1.0}, {"default": True}, {"default": 1}]], [{"default": 1}, {"default": 1.0}, {"default": True}]),
    ("a name that is no string is none", [[{"name": 5}, {"name": 5, "title": 1}]], [{"name": 5}, {"name": 5, "title": 1}]),
    ("definitions that are no objects are nameless", [["grep", None, "grep", 5, [], None]], ["grep", None, 5, []]),
    ("a nameless one is not one that is named", [[{"type": "web"}, tool("web")]], [{"type": "web"}, tool("web")]),
)  # fmt: skip
def test_the_union_of_tools(lists, expected):
    session = select(with_tools(*lists))
    union = session.snapshot.tools
    assert repr(union) == repr(expected)  # which tells 1 from 1.0 and from True
    assert session.notes == []


@cases("lists, expected, lines",
    ("the first definition wins", [[GREP], [OTHER_GREP]], [GREP], [2]),
    ("in one list too", [[GREP, OTHER_GREP]], [GREP], [1]),
    ("though it is gone in between", [[GREP], [READ], [OTHER_GREP]], [GREP, READ], [3]),
    ("though the first one comes back", [[GREP], [OTHER_GREP], [GREP]], [GREP], [2]),
    ("once for a tool", [[GREP], [OTHER_GREP], [tool("grep", title=1)]], [GREP], [2]),
    ("once for each tool", [[GREP, READ], [OTHER_GREP], [tool("read", title=1)]], [GREP, READ], [2, 3]),
    ("1 and true differ", [[tool(title=1)], [tool(title=True)]], [tool(title=1)], [2]),
    ("1 and 1.0 differ", [[tool(title=1)], [tool(title=1.0)]], [tool(title=1)], [2]),
    ("wrapped or not makes no difference to that", [[wrapped(GREP)], [OTHER_GREP]], [GREP], [2]),
    ("the order of keys is none", [[GREP], [dict(reversed(GREP.items()))]], [GREP], []),
    ("what stands beside the function is none", [[wrapped(GREP)], [{**wrapped(GREP), "strict": True}]], [GREP], []),
    ("nameless tools have none", [[{"default": 1}], [{"default": 2}]], [{"default": 1}, {"default": 2}], []),
    ("a custom tool in two versions has one, and both are in the record", [[SQL], [OTHER_SQL]], [SQL, OTHER_SQL], [2]),
    ("so has one in a list", [[SQL, OTHER_SQL]], [SQL, OTHER_SQL], [1]),
    ("and one that is new in a longer list", [[GREP], [GREP, SQL], [GREP, OTHER_SQL]], [GREP, SQL, OTHER_SQL], [3]),
    ("once for a custom tool", [[SQL], [OTHER_SQL], [custom("sql", title=1)]], [SQL, OTHER_SQL, custom("sql", title=1)], [2]),
    ("other custom tools have none", [[SQL], [custom("run")]], [SQL, custom("run")], []),
    ("a custom tool in another order of keys has none", [[SQL], [dict(reversed(SQL.items()))]], [SQL], []),
    ("a custom tool beside a function of its name has none", [[SQL], [tool("sql")]], [SQL, tool("sql")], []),
    ("custom tools without a name have none", [[custom(None)], [custom(None, title=1)]], [custom(None), custom(None, title=1)], []),
)  # fmt: skip
def test_conflicts_of_tools(lists, expected, lines):
    session = select(with_tools(*lists))
    union = session.snapshot.tools
    assert repr(union) == repr(expected)
    assert noted(session) == [(line, "tool-conflict", "warning") for line in lines]


@cases(
    "lists, expected",
    ("a tool that is defined once", [[GREP, READ]], [GREP, READ]),
    ("the last definition, in the place of the first", [[GREP, READ], [OTHER_GREP]], [OTHER_GREP, READ]),
    ("the one that came back", [[GREP], [OTHER_GREP], [GREP]], [GREP]),
    ("the last of three", [[GREP], [OTHER_GREP], [tool("grep", title=1)]], [tool("grep", title=1)]),
    ("though another list came behind it", [[GREP], [OTHER_GREP], [READ]], [OTHER_GREP, READ]),
    ("that of each tool", [[GREP, READ], [OTHER_GREP], [tool("read", title=1)]], [OTHER_GREP, tool("read", title=1)]),
    ("wrapped or not", [[GREP], [wrapped(OTHER_GREP)]], [OTHER_GREP]),
    ("each of a custom tool", [[SQL], [OTHER_SQL]], [SQL, OTHER_SQL]),
)
def test_of_definitions_of_one_name_the_last_is_taken_on_request(lists, expected):
    assert repr(select(with_tools(*lists), last_tools=True).snapshot.tools) == repr(expected)


def test_the_last_definition_is_not_one_behind_the_selected_entry():
    long = [user("a"), assistant("b"), user("c")]
    entries = [entry(*long[:2], tools=[GREP]), entry(*long, tools=[OTHER_GREP]), entry(user("t"), tools=[GREP])]
    session = select(stream(*entries), last_tools=True)
    assert session.snapshot.tools == [OTHER_GREP]
    (text,) = texts(session, "tool-conflict")
    assert "the last definition is kept" in text


# Which definition held


def held(*entries):
    """Of each call of the snapshot and its reply, by its id, the description of the definition that held."""
    snapshot = select(stream(*entries), trace_calls=True).snapshot
    reply = snapshot.entry.reply.message
    messages = [*snapshot.entry.messages, *([reply] if reply else [])]
    calling = [(message, each) for message in messages for each in message.get("tool_calls", ())]
    redefined = snapshot.redefined
    return redefined and {
        each["id"]: redefined.definition(message, each["id"], "grep")["description"] for message, each in calling
    }


def turn(call_id):
    return [assistant("", call(call_id)), result("x", call_id)]


ONE, TWO, THREE = ([tool(description=name)] for name in ("one", "two", "three"))
A, B, C = turn("a"), turn("b"), turn("c")


@cases("logged, expected",
    ("nothing is known where nothing is redefined", [([user()], ONE, A[0]), ([user(), *A], ONE, B[0])], None),
    ("that of the request which a call replied to", [([user()], ONE, A[0]), ([user(), *A], TWO, B[0])], {"a": "one", "b": "two"}),
    ("also where replies are not logged", [([user()], ONE, None), ([user(), *A], TWO, None), ([user(), *A, *B], TWO, None)], {"a": "one", "b": "two"}),
    ("one that came back", [([user()], ONE, A[0]), ([user(), *A], TWO, B[0]), ([user(), *A, *B], ONE, C[0])], {"a": "one", "b": "two", "c": "one"}),
    ("the one before, where a request has none", [([user()], ONE, A[0]), ([user(), *A], [], B[0]), ([user(), *A, *B], TWO, C[0])], {"a": "one", "b": "one", "c": "two"}),
    ("the first, of calls that were there before the log", [([user(), *A], ONE, B[0]), ([user(), *A, *B], TWO, C[0])], {"a": "one", "b": "one", "c": "two"}),
    ("that of the reply, though another request came in between", [([user()], ONE, A[0]), ([user("title")], TWO, assistant("t")), ([user(), *A], ONE, B[0]), ([user(), *A, *B], THREE, None)], {"a": "one", "b": "one"}),
    ("also in a history that was rewritten", [([user()], ONE, A[0]), ([user(), *A], TWO, B[0]), ([user("summary"), *B, user()], TWO, C[0]), ([user("summary"), *B, user(), *C], TWO, None)], {"b": "two", "c": "two"}),
)  # fmt: skip
def test_the_definition_that_held_when_a_call_was_made(logged, expected):
    assert held(*(entry(*messages, tools=tools, reply=reply) for messages, tools, reply in logged)) == expected


def test_which_definition_held_is_not_asked_without_need():
    entries = stream(entry(user(), tools=ONE), entry(user(), tools=TWO))
    assert select(entries).snapshot.redefined is None


def test_a_conflict_names_the_tool_and_both_lines():
    session = select(with_tools([READ], [GREP], [OTHER_GREP]))
    (text,) = texts(session, "tool-conflict")
    assert text.startswith("line 3 defines 'grep' differently than line 2")


def test_tools_that_are_the_same_list_are_not_looked_at_again():
    tools = [GREP]
    assert select(with_tools(tools, tools)).snapshot.tools == [GREP]


def test_tools_and_findings_of_entries_behind_the_selected_one_do_not_count():
    long = [user("a"), assistant("b"), user("c")]
    tail = [assistant("another start")]
    session = select(stream(entry(*long, tools=[GREP]), entry(*tail, tools=[OTHER_GREP, READ])))
    assert session.snapshot.tools == [GREP]
    assert noted(session) == [(1, "short-tail", "warning")]


def test_what_stood_behind_a_maximum_counts_once_a_later_maximum_is_selected():
    long = [user("a"), assistant("b"), user("c")]
    tail = [assistant("another start")]
    session = select(stream(entry(*long, tools=[GREP]), entry(*tail, tools=[OTHER_GREP, READ]), entry(*long)))
    assert session.snapshot.entry.line == 3
    assert session.snapshot.tools == [GREP, READ]
    assert noted(session) == [
        (2, "tool-conflict", "warning"),
        (2, "role-sequence", "error"),
        (3, "role-sequence", "error"),
    ]


# Role traces

SYSTEM, DEVELOPER = {"role": "system", "content": "s"}, {"role": "developer", "content": "s"}
AC, AT, ACT, A = assistant("text"), assistant(None, call()), assistant("text", call()), assistant("")
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}


def traced(earlier, later):
    """Two entries whose messages are no objects in common, and then in common as far as they are equal."""
    yield stream(entry(*earlier), entry(*map(dict, later), *[user()] * len(earlier)))
    yield stream(entry(*earlier), entry(*later, *[user()] * len(earlier)))


@cases(
    "earlier, later",
    ("the same", [user()], [user()]),
    ("more", [user()], [user(), AC, user()]),
    ("anything after nothing", [], [AC, user()]),
    ("other text in the same roles", [SYSTEM, user("a"), AC], [SYSTEM, user("b"), assistant("c"), user()]),
    ("developer counts as system", [DEVELOPER, user()], [SYSTEM, user()]),
    ("calls under another id", [user(), AT, result()], [user(), assistant(None, call("x9")), result(), AC]),
    ("legacy calls are calls", [user(), AT], [user(), assistant(None, function_call={"name": "grep"})]),
    ("a content list with text is text", [AC], [assistant([{"type": "text", "text": "text"}])]),
    ("an image is no text", [A], [assistant([IMAGE])]),
    ("white space is no text", [A], [assistant(" \n")]),
    ("null is no text", [A], [assistant(None)]),
    ("an empty list of calls is no call", [AC], [assistant("text", tool_calls=[])]),
    ("another role is itself", [{"role": "function"}], [{"role": "function"}]),
    ("calls of a user are no calls", [{**user(), "tool_calls": [call()]}], [user()]),
    ("Ac At meet Act", [user(), AC, AT, result()], [user(), ACT, result(), AC]),
    ("Ac At meet Ac At", [user(), AC, AT], [user(), AC, AT, result()]),
    ("Ac At meet Act more than once", [AC, AT, result(), AC, AT], [ACT, result(), ACT, result()]),
    ("Ac At meet Act here and Ac At there", [AC, AT, result(), AC, AT], [ACT, result(), AC, AT]),
    ("Ac at the end meets Ac", [user(), AC], [user(), AC, AT]),
    ("Ac Ac At meet Ac Act", [AC, AC, AT], [AC, ACT]),
)
def test_a_trace_begins_with_the_one_before(earlier, later):
    for entries in traced(earlier, later):
        assert noted(select(entries)) == []


@cases("earlier, later, expected, seen",
    ("less", [user(), AC], [user()], "'Ac'", "there is no message 1"),
    ("nothing", [user()], [], "'user'", "there is no message 0"),
    ("another role at the end", [user(), AC], [user(), user()], "'Ac'", "message 1 is 'user'"),
    ("another role at the start", [SYSTEM, user()], [user(), AC], "'system'", "message 0 is 'user'"),
    ("a message put in", [user(), AC, user()], [user(), SYSTEM, AC, user()], "'Ac'", "message 1 is 'system'"),
    ("a message taken out", [user(), AT, result(), AC], [user(), AC, user(), AC], "'At'", "message 1 is 'Ac'"),
    ("text where there was none", [A], [AC], "'A'", "message 0 is 'Ac'"),
    ("a call where there was none", [AC], [ACT], "'Ac'", "message 0 is 'Act'"),
    ("a call that is gone", [ACT], [AC], "'Act'", "message 0 is 'Ac'"),
    ("text that is gone", [ACT], [AT], "'Act'", "message 0 is 'At'"),
    ("Act does not meet Ac At, which is the other way round", [ACT, result()], [AC, AT, result()], "'Act'", "message 0 is 'Ac'"),
    ("At Ac are not Ac At", [AT, AC], [ACT], "'At'", "message 0 is 'Act'"),
    ("Ac and a user's message before At do not meet Act", [AC, user(), AT], [ACT, user()], "'Ac'", "message 0 is 'Act'"),
    ("a role in another case", [user()], [{"role": "User"}], "'user'", "message 0 is 'User'"),
    ("after Ac At met Act the positions are those of each entry", [AC, AT, result(), user()], [ACT, result(), AC], "'user'", "message 2 is 'Ac'"),
)  # fmt: skip
def test_a_trace_departs_from_the_one_before(earlier, later, expected, seen):
    padded = [*later, *[user()] * (0 if "no message" in seen else len(earlier))]
    longest = [*padded, *[user()] * len(earlier)]  # so that the second entry is not behind the selected one
    session = select(stream(entry(*earlier), entry(*padded), entry(*longest)))
    found = [fact for fact in noted(session) if fact[0] == 2]
    assert found == [(2, "role-sequence", "error")]
    assert texts(session, "role-sequence")[0].startswith(f"on line 2, {seen}, but line 1 has {expected}")


def test_only_neighbours_are_compared():
    base = [SYSTEM, user()]
    other = [user(), AC]
    session = select(stream(entry(*base), entry(*other), entry(*other, user()), entry(*other, user(), AC)))
    assert noted(session) == [(2, "role-sequence", "error")]


def test_traces_are_followed_through_every_kind_of_edit():
    s, u, c, t, r = SYSTEM, user(), AC, AT, result()
    steps = [[s, u], [s, u, c, u], [s, u, t, r], [u, t, r, s], [u, t, r, s, c], [u, t, r, u, s, c]]
    session = select(stream(*(entry(*messages) for messages in steps)))
    # 3: Ac is now At; 4: system is gone from the front; 6: a user's message was put in.
    assert [line for line, *_ in noted(session)] == [3, 4, 6]


def test_traces_are_not_taken_when_nobody_wants_them():
    assert noted(select(stream(entry(SYSTEM), entry(user())), trace_roles=False)) == []


def begins_with(later, earlier):
    """The rule as the contract has it, one token after the other."""
    if not earlier:
        return True
    if later and later[0] == earlier[0]:
        return begins_with(later[1:], earlier[1:])
    return earlier[:2] == ["Ac", "At"] and later[:1] == ["Act"] and begins_with(later[1:], earlier[2:])


MESSAGES = [user(), user("b"), AC, assistant("other"), AT, ACT, A, result(), SYSTEM, DEVELOPER]
HISTORIES = st.lists(st.lists(st.sampled_from(MESSAGES), max_size=6), min_size=1, max_size=5)


@given(HISTORIES, st.lists(st.booleans(), min_size=4, max_size=4))
def test_traces_are_those_of_whole_entries_whatever_their_edits(histories, growing):
    for number, grows in enumerate(growing[: len(histories) - 1], 1):
        if grows:
            histories[number] = [*histories[number - 1], *histories[number]]
    session = select(stream(*(entry(*messages) for messages in histories)))
    selected = session.snapshot.entry.line
    traces = [[role_token(message) for message in messages] for messages in histories[:selected]]
    expected = [line for line in range(2, selected + 1) if not begins_with(traces[line - 1], traces[line - 2])]
    assert [line for line, code, _ in noted(session) if code == "role-sequence"] == expected
