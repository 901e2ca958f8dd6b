"""The names of users are found in paths of homes, and beside these where a user is told; those of services stay."""

import json
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatsquash.redaction.names import GENERIC_ACCOUNTS, paths
from tests.redact.rows import rows


def replaced(text):
    pieces, done = [], 0
    for hit in paths(text):
        pieces += [text[done : hit.start], "<U>"]
        done = hit.end
    return "".join([*pieces, text[done:]])


FOUND = rows("paths.found")


@pytest.mark.parametrize("text, left", FOUND, ids=[row[0] for row in FOUND])
def test_a_user_is_found(text, left):
    assert replaced(text) == left


KEPT_PATHS = [
    *(f"/home/{name}/x" for name in ("user", "runner", "ubuntu", "vscode", "ROOT", "1000")),
    "C:\\Users\\Public\\x /Users/Shared/x",
    "https://host.example/home/ana and web/home/ana",
    "GET /home/index.html /home/style.css",
    "/home/$USER/x /home/${USER} /home/<user>/x /home/{name} C:\\Users\\%USERNAME%\\x",
    "/home/ /home /home/... ~/x HEAD~1/x a~b/",
    "/api/users/ana /users/ana",
    "ana@laptop:~/x$ git@github.com:x/y",
    "-rw-r--r-- 1 ana ana 12 x",
    "cmd -home-ana-x",
    "/homes/ana /homework/ana",
]


@pytest.mark.parametrize("text", KEPT_PATHS)
def test_what_names_nobody_stays(text):
    assert replaced(text) == text


def deep(times):
    def as_json(text):
        for _ in range(times):
            text = json.dumps(text)[1:-1]
        return text

    return as_json


FORMS = [*map(deep, range(5)), lambda text: quote(text, safe=""), lambda text: quote(quote(text, safe=""), safe="")]
PLACES = ["/home/{}/x", "/Users/{}/x", "C:\\Users\\{}\\x", "\\\\host\\Users\\{}\\new", "/mnt/c/Users/{}/x"]


@example("nora", "C:\\Users\\{}\\x", FORMS[-2])
@example("nora", "C:\\Users\\{}\\x", FORMS[-1])
@given(
    st.from_regex(r"[a-z][a-z0-9_.]{1,12}[a-z0-9]", fullmatch=True).filter(lambda name: name not in GENERIC_ACCOUNTS),
    st.sampled_from(PLACES),
    st.sampled_from(FORMS),
)
def test_a_user_is_found_in_paths_that_are_escaped(user, place, form):
    text = f'in "{form(place.format(user))}".'
    assert [hit.value for hit in paths(text)] == [user]
    assert form(place.split("{}")[0])[-5:] in replaced(text)


@given(st.text("/\\home Users-:C~ana.@\n%", max_size=80))
def test_any_text_is_searched(text):
    assert all(text[hit.start : hit.end] == hit.value or "%" in text or "\\" in text for hit in paths(text))
