"""The order of findings by harm."""

from chatsquash.checks import harm, rules
from tests.conftest import cases


@cases(
    "first, second",
    ("a secret is worse than an error in a definition", ("warning", "secret-found"), ("error", "tool-name")),
    ("a secret is worse than a lost session", ("warning", "secret-found"), ("error", "timestamp-order")),
    ("a lost reply is worse than an error in a record", ("warning", "replies-lost"), ("error", "undeclared-tool")),
    ("a lost reply is worse than a truncated one", ("warning", "replies-lost"), ("warning", "reply-truncated")),
    ("of what is lost, an error comes first", ("error", "bad-line"), ("warning", "replies-lost")),
    (
        "a truncated reply is worse than an error in a record",
        ("warning", "stream-interrupted"),
        ("error", "undeclared-tool"),
    ),
    ("of the rest, an error comes first", ("error", "undeclared-tool"), ("warning", "tool-conflict")),
    ("a note comes last, whatever it is about", ("warning", "tool-conflict"), ("info", "replies-lost")),
)
def test_the_order_is_by_harm_and_then_by_severity(first, second):
    assert harm.rank(*first) < harm.rank(*second)


def test_the_order_names_codes_that_findings_have():
    named = {*harm._SECRETS, *harm._LOSSES, *harm._TRUNCATED}
    assert named <= rules().keys()
