"""Addresses of nobody stay: those that nobody reads, those of examples, and those with which programs sign commits."""

from chatsquash.redaction.addresses import ACCOUNTS, BOTS
from tests.conftest import cases
from tests.generate import ROOT
from tests.redact.rows import rows
from tests.redact.test_pseudonyms import anonymize, oracle


@cases("text", *rows("addresses_bots.stays"))
def test_stays(text):
    assert anonymize(text) == text


@cases("text", *rows("addresses_bots.is_hidden"))
def test_is_hidden(text):
    assert anonymize(text) == oracle(text)


def test_the_manual_lists_them():
    page = (ROOT / "docs" / "conversion.md").read_text(encoding="utf-8")
    told = page.partition("## E-mail addresses")[2].partition("\n## ")[0]
    assert [each for each in sorted(BOTS | ACCOUNTS) if f"`{each}`" not in told] == []
