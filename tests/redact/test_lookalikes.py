"""What looks like a secret by itself, wherever it stands, and what says that it is none."""

import base64

import pytest

from chatsquash.redaction import lookalikes, rules
from tests.conftest import cases
from tests.redact.rows import rows

PASSWORDS = [
    *("hunter2pw", "Summer2024!", "correct-horse-battery-9", "Falcon-7193!x", "fm9f=Fern243", "o4e4.Paper9645"),
    *("p@ssw0rd-for-ana", "bjld(cuxlb)1t&$z4tr&ebze!nm!n$", "-DQ_pbJlryuLvcKYsLLlowSJ", "CaNuxpsgPyXq", "tiger*copper"),
    *("6CBEA3ZI7DZA", "bpye iuyk djnc hivf", "%6mjz^)2v%s#_r33d(hi%h7#4$pr", "123e4567-e89b-12d3-a456-426614174000"),
]


@pytest.mark.parametrize("value", PASSWORDS)
def test_a_password_is_one(value):
    assert lookalikes.is_password(value)


@cases("value", *rows("lookalikes.what_says_that_it_is_none_is_no_password"))
def test_what_says_that_it_is_none_is_no_password(value):
    assert not lookalikes.is_password(value)
    assert not lookalikes.is_token(value)


@pytest.mark.parametrize("value", sorted(lookalikes.EXAMPLES))
def test_an_example_of_a_documentation_is_no_secret(value):
    assert not any(check(value, 0.0) for check in lookalikes.CHECKS.values())


@cases("value, is_one", *rows("lookalikes.a_token_looks_random"))
def test_a_token_looks_random(value, is_one):
    assert lookalikes.is_token(value) is is_one


NAMES = [
    *(
        (name, "password")
        for name in ("password", "DB_PASS", "PGPASSWORD", "dbPassword", "client_secret", "-Dpassword")
    ),
    *((name, "password") for name in ("SECRET_KEY_BASE", "bindpw", "ansible_ssh_pass", "Passwort", "jwt.secret")),
    *(
        (name, "token")
        for name in ("API_KEY", "apiKey", "X-Auth-Token", "accessToken", "fastly_key", "api-key", "GH_TOKEN")
    ),
    *(
        (name, "")
        for name in ("key", "max_tokens", "token_count", "secretName", "password_hash", "cache_key", "keyboard")
    ),
    *(
        (name, "")
        for name in ("primary_key", "next_page_token", "PUBLIC_KEY", "passenger", "tokenizer", "KEY_ID", "author")
    ),
]


@pytest.mark.parametrize(("name", "level"), NAMES)
def test_a_name_says_what_a_value_may_be(name, level):
    assert rules.level(name) == level


def test_what_is_encoded_as_in_secrets_of_kubernetes_is_decoded():
    assert lookalikes.decode_base64(base64.b64encode(b"hunter2pw").decode()) == "hunter2pw"
    assert lookalikes.decode_base64("q7Rk2mXv9LpZt4Wn8BcY3dHs") == "q7Rk2mXv9LpZt4Wn8BcY3dHs"


@pytest.mark.parametrize(("value", "is_one"), [("ana:hunter2pw", True), ("ana", False), (":", False), ("a:b", False)])
def test_basic_authorization_is_a_name_and_a_password(value, is_one):
    assert lookalikes.is_basic(base64.b64encode(value.encode()).decode()) is is_one
