"""Addresses of nobody stay: those that nobody reads, those of examples, and those with which programs sign commits."""

from chatsquash.redact.addresses import ACCOUNTS, BOTS
from tests.conftest import cases
from tests.generate import ROOT
from tests.redact.test_pseudonyms import anonymize, oracle


@cases(
    "text",
    ("nobody reads it", "noreply@corp.com no-reply@corp.com no_reply@x.de donotreply@corp.com do-not-reply@corp.com"),
    ("in any case", "NoReply@Corp.com Do.Not.Reply@corp.com"),
    ("nor as in a URL", "noreply%40corp.com no%2Dreply%40corp.com"),
    ("a user of an example", "user@example.de User@Example.co.uk user%40example.io"),
    ("an agent signs", "Co-authored-by: Claude <noreply@anthropic.com>\nCo-authored-by: aider (m) <aider@aider.chat>"),
    ("a bot signs off", "Signed-off-by: dependabot[bot] <support@github.com>"),
    ("a bot has a mark", "49699333+dependabot[bot]@users.noreply.github.com renovate[bot]@users.noreply.github.com"),
    ("also as in a URL", "1%2Bsome%5Bbot%5D%40users.noreply.github.com 1+some%5bbot%5d@users.noreply.github.com"),
    ("accounts of programs", "223556219+Copilot@users.noreply.github.com actions-user@users.noreply.github.com"),
    ("bots of projects", "project_7_bot_0f3a@noreply.gitlab.com group_7_bot_0f3a@noreply.gitlab.corp.com"),
)
def test_stays(text):
    assert anonymize(text) == text


@cases(
    "text",
    ("a person at GitHub", "123+jane@users.noreply.github.com"),
    ("without a number too", "jane@users.noreply.github.com"),
    ("whose name ends as that of a program", "1+my-copilot@users.noreply.github.com"),
    ("a person at GitLab", "123-jane@users.noreply.gitlab.com"),
    ("who is named as a bot", "project_7_bot_0f3a@corp.com"),
    ("somebody at the host of a bot", "jane@aider.chat"),
    ("a name with these words in it", "noreply-jane@corp.com"),
    ("another user of an example", "jane@example.de"),
    ("a user of what only begins so", "user@examples.de"),
)
def test_is_hidden(text):
    assert anonymize(text) == oracle(text)


def test_the_manual_lists_them():
    page = (ROOT / "docs" / "conversion.md").read_text(encoding="utf-8")
    told = page.partition("## E-mail addresses")[2].partition("\n## ")[0]
    assert [each for each in sorted(BOTS | ACCOUNTS) if f"`{each}`" not in told] == []
