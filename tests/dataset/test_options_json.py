"""Options as run.json has them are read back as they were."""

import json

import pytest

from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.dataset.manifest import describe, parse_options

GROUPS = ("cleaning", "sessions", "reading", "bounds")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sessions_by": "id"},
        {"cleanup": ("claude-code",), "max_line": 77},
        {"include": ("a*",), "from_format": "gemini"},
    ],
    ids=str,
)
def test_options_of_these_groups_come_back(options):
    given = Options(**options)
    told = parse_options(json.loads(json.dumps(describe(given))), GROUPS)
    assert all(getattr(given, name) == value for name, value in told.items())
    assert {"sessions_by", "cleanup", "max_line", "from_format"} <= told.keys()
    assert "preset" not in told


@pytest.mark.parametrize("value", ["yes", 1, [], {}, 1.5])
def test_a_value_of_another_type_is_an_error(value):
    with pytest.raises(UsageError, match="cleanup_goose has an invalid value"):
        parse_options({"cleanup_goose": value}, GROUPS)


@pytest.mark.parametrize(
    "told",
    [
        *(
            {"cleanup_goose": None},
            {"cleanup": None},
            {"cleanup": [1]},
            {"cleanup": ["none of ours"]},
            {"cleanup": "codex"},
        ),
        *({"sessions_by": "x"}, {"sessions_by": []}, {"from_format": {}}, {"from_format": "none of ours"}),
        *({"max_line": True}, {"max_line": -1}, {"max_line": None}),
    ],
    ids=str,
)
def test_so_is_one_that_nobody_could_have_given(told):
    with pytest.raises(UsageError, match="has an invalid value"):
        parse_options(told, GROUPS)
