"""What is no document is told early."""

from chatsquash.formats import documents


def test_no_format_is_asked_about_values_that_no_document_begins_with(monkeypatch):
    monkeypatch.setattr(documents, "get_format", None)
    assert documents.recognise([1] * 1_000_000) is None
    assert documents.recognise([]) is None
