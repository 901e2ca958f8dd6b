"""Parse git commands: whether they show history, and which revisions they name."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.core.lazy import lazy_compile

_GLOBAL_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_LOGS = frozenset({"log", "shortlog", "whatchanged", "rev-list", "show", "format-patch", "grep", "diff", "show-branch"})
"""Commands that accept all branches or tags instead of a revision."""
_READERS = _LOGS | {
    *("difftool", "diff-tree", "blame", "annotate", "cat-file", "ls-tree", "checkout", "switch", "restore"),
    *("cherry-pick", "archive", "range-diff", "reset", "read-tree"),
}
"""Commands that show or copy the content of revisions."""
_SHOWING = _READERS - {"show-branch"} | {
    *("commit", "rev-parse", "merge-base", "describe", "merge", "rebase", "revert", "status", "cherry", "hash-object"),
    *("write-tree", "commit-tree", "ls-files", "bisect", "am", "pull", "init"),
}
"""Commands whose output contains commits that the current one reaches, unless it names others."""
_ALL = ("--all", "--remotes", "--branches", "--tags", "--glob", "--reflog", "--walk-reflogs", "-g")
_VALUES = frozenset(
    (
        *("--grep", "--author", "--committer", "--since", "--until", "--after", "--before", "--max-count", "--skip"),
        *("--exclude", "--output", "--orphan", "--format", "--pretty", "--date", "--max-depth", "--threads"),
    )
)
"""Long options with a value in the next argument."""
_SHORT_VALUES = {
    **dict.fromkeys(("log", "shortlog", "whatchanged", "rev-list", "show", "diff", "format-patch"), "nSGLO"),
    **dict.fromkeys(("blame", "annotate"), "LS"),
    "grep": "efABCmO",
    "checkout": "bB",
    "switch": "cC",
    "archive": "o",
    "cherry-pick": "mX",
}
"""Short options with a value in the next argument, by command."""
HASH = lazy_compile(r"(?:(?<![0-9a-zA-Z])|(?<=\\[nt]))[0-9a-f]{7,40}(?![0-9a-zA-Z])")
"""A hash, also after a line feed or a tab in JSON."""
REMOTE = lazy_compile(r"(?:refs/remotes/|remotes/)[\w./-]+|(?:origin|upstream)/[\w./-]*\w")
_REFLOG = lazy_compile(r"@\{(?!-)[^}]*\}")
_UPSTREAM = lazy_compile(r"@\{(?:u|upstream|push)\}", 2)  # IGNORECASE
_SUFFIX = lazy_compile(r"[~^].*\Z", 16)  # DOTALL
PREFIX = 7
"""The number of characters by which hashes are compared."""


class GitUse(NamedTuple):
    """How a git command uses history."""

    reads: bool
    """Whether it shows or copies content of revisions."""
    is_future: bool
    """Whether it names revisions that the current commit need not reach."""
    remotes: tuple[str, ...] = ()
    """Remote-tracking branches that it names."""
    hashes: tuple[str, ...] = ()
    """Hashes that it names."""
    shows: bool = False
    """Whether its output contains hashes of commits that the current one reaches."""


def git_use(arguments: list[str]) -> GitUse | None:
    """Return how a git command uses history; ``None`` without a command."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in _GLOBAL_VALUES else 1
    if at >= len(arguments):
        return None
    name, rest = arguments[at], arguments[at + 1 :]
    if name == "reflog":
        return GitUse(not rest or rest[0] not in ("expire", "delete", "exists", "drop"), is_future=True)
    if name == "fsck":
        return GitUse(any(each in ("--lost-found", "--unreachable") for each in rest), is_future=True)
    if name not in _READERS and name not in _SHOWING:
        return None
    options, revisions = _parsed(name, rest)
    is_all = name in _LOGS and any(_is_all(name, option) for option in options)
    ends = [end for revision in revisions for end in _ends(name, revision)]
    return GitUse(
        name in _READERS,
        is_all or any(map(_is_reflog, ends)),
        tuple(each for end in ends if (each := _remote(end))),
        tuple(each for end in ends if (each := _hash(end))),
        name in _SHOWING,
    )


def _is_all(name: str, option: str) -> bool:
    if option == "-g" and name not in ("log", "show", "rev-list", "shortlog", "whatchanged"):
        return False
    return option.partition("=")[0] in _ALL


def _parsed(name: str, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Divide arguments into options and revisions; paths after ``--`` are ignored."""
    options: list[str] = []
    revisions: list[str] = []
    is_negated = False
    at = 0
    while at < len(arguments) and arguments[at] != "--":
        word = arguments[at]
        at += 1
        if word == "--not":
            is_negated = not is_negated
        elif word in ("--source", "-s") and name == "restore":
            revisions += arguments[at : at + 1]
            at += 1
        elif word.startswith("--source=") and name == "restore":
            revisions.append(word.partition("=")[2])
        elif word.startswith("-") and word != "-":
            options.append(word)
            if word in _VALUES or (len(word) == 2 and word[1] in _SHORT_VALUES.get(name, "")):
                at += 1
        elif not is_negated and name != "restore":
            revisions.append(word)
    if name == "grep" and not {"-e", "-f"}.intersection(options):
        del revisions[:1]  # the pattern
    return options, revisions


def _ends(name: str, revision: str) -> list[str]:
    """Return the revisions of a range whose content is shown, without paths and ancestors."""
    if revision.startswith("^"):
        return []
    revision = revision.partition(":")[0] if not revision.startswith(":") else ""
    is_diff = name in ("diff", "difftool", "diff-tree", "range-diff")
    for sign, shows_first in (("...", not is_diff), ("..", is_diff)):
        if sign in revision:
            first, _, second = revision.partition(sign)
            return [_SUFFIX.sub("", end) for end in ((first, second) if shows_first else (second,)) if end]
    return [_SUFFIX.sub("", revision)] if revision else []


def _is_reflog(revision: str) -> bool:
    if revision in ("ORIG_HEAD", "FETCH_HEAD"):
        return True
    match = _REFLOG.search(revision)
    return match is not None and not revision.startswith(("stash", "refs/stash"))


def _remote(revision: str) -> str:
    match = REMOTE.match(revision)
    return revision if match is not None and match.end() == len(revision) else ""


def _hash(revision: str) -> str:
    match = HASH.match(revision)
    if match is None or match.end() != len(revision):
        return ""
    return revision if len(revision) == 40 or any(map(str.isdecimal, revision)) else ""
