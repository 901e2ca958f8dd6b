"""A record is divided so that it is known what stands in which message, and put together as it was."""

from chatsquash.redaction.privacy import Pieces
from tests.conftest import assistant, cases, user

SYSTEM = {"role": "system", "content": "s"}


@cases("record, places, replies",
    ("messages", {"messages": [SYSTEM, user(), assistant()], "tools": []}, [0, 1, 2], [2]),
    ("ShareGPT", {"conversations": [{"from": "human"}, {"from": "gpt"}], "system": "s"}, [0, 1], [1]),
    ("a sample of one reply", {"prompt": [user(), assistant(), user()], "completion": [assistant()]}, [0, 1, 2, 3], [3]),
    ("a pair", {"prompt": [user()], "chosen": [assistant()], "rejected": [assistant()]}, [0, 1, 1], [1]),
    ("a completion that is a text", {"prompt": "p", "completion": "c", "x": 1}, [None], [0]),
    ("a pair of texts", {"chosen": "a", "rejected": "b"}, [None, None], [0]),
    ("messages that are none", {"messages": ["x", user()]}, [], []),
    ("no messages", {"a": {"b": 1}, "text": "t"}, [], []),
)  # fmt: skip
def test_pieces_know_their_places(record, places, replies):
    pieces = Pieces(record)
    count = len(pieces.values)
    assert [pieces.place(at) for at in range(count)] == [*places, None]
    assert pieces.replies(range(count)) == replies
    assert pieces.assemble() == record
    assert [*pieces.assemble()] == [*record]


def test_what_changes_in_its_place_is_in_the_whole():
    pieces = Pieces({"prompt": "p", "completion": "c", "secret": 1})
    pieces.values[0]["completion"] = "d"
    rest = pieces.values[-1]
    rest.pop("secret")
    rest["masked"] = 2
    assert pieces.assemble() == {"prompt": "p", "completion": "d", "masked": 2}
