"""What looks like a secret by itself, wherever it stands, and what says that it is none."""

import base64

import pytest

from chatsquash.redact import lookalikes, names_of_secrets
from tests.conftest import cases

PASSWORDS = [
    *("hunter2pw", "Summer2024!", "correct-horse-battery-9", "Falcon-7193!x", "fm9f=Fern243", "o4e4.Paper9645"),
    *("p@ssw0rd-for-ana", "bjld(cuxlb)1t&$z4tr&ebze!nm!n$", "-DQ_pbJlryuLvcKYsLLlowSJ", "CaNuxpsgPyXq", "tiger*copper"),
    *("6CBEA3ZI7DZA", "bpye iuyk djnc hivf", "%6mjz^)2v%s#_r33d(hi%h7#4$pr", "123e4567-e89b-12d3-a456-426614174000"),
]


@pytest.mark.parametrize("value", PASSWORDS)
def test_a_password_is_one(value):
    assert lookalikes.is_password(value)


@cases(
    "value",
    ("too short", "abc12"),
    ("a word", "correcthorse"),
    ("words", "Enter your password here"),
    ("a sentence with a number", "it must have 12 characters"),
    ("a number", "4096"),
    ("a time", "2024-01-15T10:30:00Z"),
    ("a version", "v2.13.0-rc.1"),
    ("a name of a secret", "db-password-v2"),
    ("a variable", "$DB_PASS"),
    ("a variable with a default", "${DB_PASS:-x1y2z3}"),
    ("a form", "{{ vault_password_1 }}"),
    ("a mark of a form", "<password1>"),
    ("a call", "get_password(user1)"),
    ("a member", "config.db1.password"),
    ("a member of the environment", 'os.environ["DB_PASS1"]'),
    ("the name of what keeps it", "arn:aws:secretsmanager:us-east-1:123456789012:secret:x-AbCd12"),
    ("a path", "/run/secrets/db_password_2"),
    ("an address", "https://example.com/x1"),
    ("a checksum", "sha256:9f86d081884c7d659a2feaa0c55ad015"),
    ("an algorithm", "sha256"),
    ("a mask", "ab********12"),
    ("one character, often", "xxxxxxxxxxxx"),
    ("what is to be replaced", "your-password-1"),
    ("a regular expression", "[A-Za-z0-9]{20,}"),
    ("a color", "#ba65be"),
    ("a format", "%s-%d-x1"),
    ("what is public", "pk_live_51HG8vDLkdIwHu7ixZhnattbh"),
    ("a piece of a program: safe=False", "safe=False"),
    ("a piece of a program: verbose=True", "verbose=True"),
    ("a piece of a program: timeout=30", "timeout=30"),
    ("a piece of a program: --timeout=30", "--timeout=30"),
    ("a piece of a program: session_id=secret", "session_id=secret"),
    ("a piece of a program: kept=[", "kept=["),
    ("a piece of a program: config[", "config["),
    ("a piece of a program: Annotated[", "Annotated["),
    ("a piece of a program: Piecewise((0", "Piecewise((0"),
    ("a piece of a program: targetspn=self._host", "targetspn=self._host"),
    ("a piece of a program: dbPassword", "dbPassword"),
    ("a piece of a program: PrivateKeyTypes", "PrivateKeyTypes"),
    ("a piece of a program: login`.", "login`."),
    ("a piece of a program: 464/tcp", "464/tcp"),
    ("a piece of a program: [^:]+", "[^:]+"),
)
def test_what_says_that_it_is_none_is_no_password(value):
    assert not lookalikes.is_password(value)
    assert not lookalikes.is_token(value)


@pytest.mark.parametrize("value", sorted(lookalikes.EXAMPLES))
def test_an_example_of_a_documentation_is_no_secret(value):
    assert not any(check(value, 0.0) for check in lookalikes.CHECKS.values())


@cases(
    "value, is_one",
    ("letters and digits", "q7Rk2mXv9LpZt4Wn8BcY3dHs", True),
    ("hexadecimal digits", "0f5831beec4e72dea03a6e0e2e3b7a71", True),
    ("with signs between", "m2x-iDXc-BEcqRttkOxu", True),
    ("of capitals and digits", "CJSGDAVHQZ4VDPTR", True),
    ("letters of both cases", "HEzzuYpwpMBFYLCjtVMxKq", True),
    ("the name of a thing", "my-api-token-12", False),
    ("the name of a cache", "v2-node-modules-linux-abc123", False),
    ("camels", "getUserNameFromRequest", False),
    ("a zone of a cloud", "us-east-1-m5.2xlarge", False),
)
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
    assert names_of_secrets.level(name) == level


def test_what_is_encoded_as_in_secrets_of_kubernetes_is_decoded():
    assert lookalikes.decoded(base64.b64encode(b"hunter2pw").decode()) == "hunter2pw"
    assert lookalikes.decoded("q7Rk2mXv9LpZt4Wn8BcY3dHs") == "q7Rk2mXv9LpZt4Wn8BcY3dHs"


@pytest.mark.parametrize(("value", "is_one"), [("ana:hunter2pw", True), ("ana", False), (":", False), ("a:b", False)])
def test_basic_authorization_is_a_name_and_a_password(value, is_one):
    assert lookalikes.is_basic(base64.b64encode(value.encode()).decode()) is is_one
