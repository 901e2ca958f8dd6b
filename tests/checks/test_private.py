from chatsquash.checks import private

ROWS = [
    (
        private.secret_found("GITHUB_TOKEN", 1, 3),
        "secret-found",
        "warning",
        "1 secret found (github token): --redact secrets replaces it",
    ),
    (
        private.placeholder_in_reply(1_200, 3),
        "placeholder-in-reply",
        "warning",
        "1,200 replies with a placeholder for a secret: --loss excludes these from training",
    ),
    (
        private.redaction_failed("MemoryError"),
        "redaction-failed",
        "error",
        "text cannot be searched for private data (MemoryError): the session is not written",
    ),
]


def test_findings_on_what_is_private_say_what_is_wrong():
    for fact, code, severity, text in ROWS:
        assert (fact.code, fact.severity, fact.text) == (code, severity, text)


def test_several_secrets_are_told_together():
    assert private.secret_found("SECRET", 2, None).text == "2 secrets found (secret): --redact secrets replaces them"
