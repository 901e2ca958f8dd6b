"""Which version of an agent wrote a file, as far as the file says it."""

from chatsquash.formats import documents
from tests.conftest import cases


@cases(
    "name, objects, expected",
    ("claude_code", [{"type": "summary"}, {"type": "user", "version": "2.1.0"}, {"version": "2.1.1"}], "2.1.0"),
    ("claude_code", [{"version": 2}, {"version": ""}, "version", None], None),
    ("codex", [{"type": "session_meta", "payload": {"cli_version": "0.90.0"}}], "0.90.0"),
    ("codex", [{"payload": "cli_version"}, {"payload": None}], None),
    ("atif", [{"agent": {"name": "a", "version": "1.2"}}], "1.2"),
    ("opencode", [{"info": {"version": "1.1"}, "messages": []}], "1.1"),
    ("opencode", [{"id": "ses_1", "version": "1.0.119"}], "1.0.119"),
    ("goose", [{"version": "1"}], None),
    ("openai_chat", [{"version": "1"}], None),
)
def test_the_version_is_the_first_that_a_file_names(name, objects, expected):
    assert documents.version(name, objects) == expected
