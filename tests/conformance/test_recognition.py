"""Recorded exchanges are recognised as what the folder they lie in says."""

import json

import pytest

from chatsquash.formats import PLAIN_RANK, formats, recognise, recognise_file
from tests.conformance.shared import events
from tests.conftest import needs_real_exchanges, real_exchanges

LOGS = real_exchanges()
MIXED = "mixed"

pytestmark = needs_real_exchanges


def parsed(path):
    """Request, response and events of each line."""
    for line in path.read_bytes().splitlines():
        entry = json.loads(line)
        response = entry["response"]
        raw = response.get("body_raw") if isinstance(response, dict) else None
        yield entry["request"], response, events(raw) if raw is not None else None


def test_the_exchanges_are_those_that_were_counted():
    assert len(LOGS) == 197
    assert {path.parent.name for path in LOGS} <= {*formats(), MIXED}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_is_recognised(path):
    found = recognise_file([recognise(*exchange) for exchange in parsed(path)])
    if path.parent.name == MIXED:
        assert found.is_mixed
        assert found.name in formats()
    else:
        assert (found.name, found.is_mixed) == (path.parent.name, False), found.why


@pytest.mark.parametrize("path", [path for path in LOGS if path.parent.name != MIXED], ids=lambda path: path.stem)
def test_request_and_response_are_recognised_each_by_itself(path):
    for request, response, streamed in parsed(path):
        alone = recognise(request, None, None)
        assert alone.name == path.parent.name, alone.why
        answer = recognise(None, response, streamed)
        if isinstance(response, dict) and "error" in response:
            assert answer.name in (None, path.parent.name), "an error body tells little"
        else:
            assert answer.name == path.parent.name, answer.why
            assert answer.rank < PLAIN_RANK
