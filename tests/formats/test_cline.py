"""Cline: what it left out of what it sends, more than once."""

from chatsquash.formats.agents import cline

TASK = "<task>\nx\n</task>\n<environment_details>"


def history(replies):
    return [
        {"role": "assistant" if at % 2 else "user", "content": str(at) if at else TASK} for at in range(2 * replies)
    ]


def shown(*ranges):
    return [{"say": "text", "conversationHistoryDeletedRange": each} for each in ranges]


def told(replies, *ranges):
    found = cline.conversations([history(replies)], meta=shown(*ranges))
    return [[message["content"] for message in each.messages][1:] for each in found]


def test_each_reply_that_was_left_out_stands_in_the_conversation_before():
    assert told(3, [2, 3]) == [["1", "4", "5"], ["1", "2", "3"]]
    assert told(4, [2, 3], [2, 3], [2, 5]) == [["1", "6", "7"], ["1", "4", "5"], ["1", "2", "3"]]


def test_each_such_conversation_goes_on_from_the_one_before():
    found = cline.conversations([history(4)], meta=shown([2, 3], [2, 5]))
    links = [(each.origin.id, each.origin.kind, each.origin.parent) for each in found]
    assert links == [("3", "compacted", "2"), ("2", "compacted", "1"), ("1", "main", None)]


def test_a_range_that_is_none_leaves_nothing_out():
    for odd in ([3, 2], [-1, 2], [2, 99], [2], "2", [True, 2], [2, 2.0], None):
        assert told(2, odd) == [["1", "2", "3"]]
