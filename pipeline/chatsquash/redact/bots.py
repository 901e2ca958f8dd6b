"""Addresses that stand for nobody: those that nobody reads, those of examples, and those with which programs sign."""

from __future__ import annotations

_UNREAD = frozenset(("noreply", "donotreply"))
"""Local parts of addresses that nobody reads, without what may stand between their words."""
_JOINTS = str.maketrans("", "", "-_.")
BOTS = frozenset(
    (
        *("support@github.com", "support@dependabot.com", "copilot@github.com"),
        *("action@github.com", "actions@github.com", "github-actions@github.com"),
        *("bot@renovateapp.com", "renovate@whitesourcesoftware.com", "snyk-bot@snyk.io"),
        *("semantic-release-bot@martynus.net", "badger@gitter.im", "badger@codacy.com"),
        *("aider@aider.chat", "amp@ampcode.com", "codex@openai.com", "crush@charm.land", "cursoragent@cursor.com"),
        *("openhands@all-hands.dev", "qwen-coder@alibabacloud.com"),
    )
)
"""Those in trailers of commits, such as ``Co-authored-by``, and in what programs that commit are set to."""
_GITHUB = "users.noreply.github.com"
ACCOUNTS = frozenset(
    ("actions-user", "copilot", "dependabot", "github-actions", "github-actions-bot", "renovate", "renovate-bot")
)
"""Accounts of programs at GitHub; all others with such an address are people, unless their name ends in ``[bot]``."""
_MARKS = ("[bot]", "%5bbot%5d")


def is_nobody(local: str, domain: str) -> bool:
    """Whether an address in lower case is no person's by its local part, as that of a program or of an example."""
    if local.translate(_JOINTS) in _UNREAD or f"{local}@{domain}" in BOTS:
        return True
    if local == "user" and domain.startswith("example."):
        return True
    if domain == _GITHUB:
        return local.endswith(_MARKS) or local.rpartition("+")[2] in ACCOUNTS
    # Of GitLab, wherever it runs: project_7_bot_0f3a@noreply.gitlab.com.
    return domain.startswith("noreply.") and local.startswith(("project_", "group_")) and "_bot_" in local
