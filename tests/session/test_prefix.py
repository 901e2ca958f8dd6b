"""What two conversations that begin alike have in common, by which records are put into the same split."""

from chatsquash.session.record_maker import prefix as _prefix
from tests.conftest import cases

SYSTEM, USER = {"role": "system", "content": "s"}, {"role": "user", "content": "u"}


@cases(
    "one, other, same",
    ("what follows the first user message makes no difference", [SYSTEM, USER], [SYSTEM, USER, SYSTEM, USER], True),
    ("the system prompt does", [SYSTEM, USER], [USER], False),
    ("the first user message does", [SYSTEM, USER], [SYSTEM, {**USER, "content": "v"}], False),
    ("so do all messages of the system", [SYSTEM, SYSTEM, USER], [SYSTEM, USER], False),
    ("parts are no text", [USER], [{**USER, "content": [{"type": "text", "text": "u"}]}], False),
    ("other members make no difference", [USER], [{**USER, "name": "n"}], True),
    ("who speaks does", [USER], [{**USER, "role": "assistant"}], False),
)
def test_conversations_begin_alike(one, other, same):
    assert (_prefix(one) == _prefix(other)) is same
