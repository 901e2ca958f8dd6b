from chatsquash.checks import stored_records

ROWS = [
    (
        stored_records.personal_data_found("IP_ADDRESS", 1_200, 3),
        "personal-data-found",
        "warning",
        "private values found (ip address): 1,200, which chatsquash redact replaces",
    ),
    (
        stored_records.unsearched_line("the line is no JSON (\x1b)"),
        "unsearched-line",
        "error",
        "line skipped: the line is no JSON (\\x1b); text that cannot be searched is not written",
    ),
]


def test_findings_on_datasets_that_exist_say_what_is_wrong():
    for fact, code, severity, text in ROWS:
        assert (fact.code, fact.severity) == (code, severity)
        assert fact.text == text
        assert fact.text.isprintable()
