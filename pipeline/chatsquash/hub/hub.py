"""What is asked of the Hub, in words of ours: of its answers none is repeated but a code.

Files are handed to the library open, not by their names, so that it sends the very bytes that were compared.  It then
sends them by plain HTTP requests (LFS), all of which ``guarded_connection`` sees.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from logging import CRITICAL
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import huggingface_hub
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, constants, errors
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import logging
from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.version import __version__
from chatsquash.dataset.dataset import is_public
from chatsquash.hub.public import Repository

TITLE = "chatsquash push"
"""The title of our commits, by which files of a former push are known."""
_PATHS_PER_REQUEST = 500
"""Paths in one question."""
_REASONS = {
    401: "the Hub does not know the token: set HF_TOKEN anew, or log in by hf auth login",
    403: "the token does not allow it: it has to be one that may write there",
    404: "the Hub has no such thing, or does not show it to this token",
    409: "the dataset was changed meanwhile: push again",
    412: "the dataset was changed meanwhile: push again",
}
_RETRY = "push again, and what was uploaded is not sent again"


class RemoteFile(NamedTuple):
    """A file that the dataset on the Hub has."""

    name: str
    size: int
    sha256: str | None
    """``None`` where the Hub keeps it in git, and knows it by ``blob`` alone."""
    blob: str


class RemoteDataset(NamedTuple):
    """The dataset on the Hub, as it was looked at."""

    private: bool
    commit: str | None
    """The last one of the branch; of ``main`` where the branch is new."""
    has_branch: bool = True


class NoTokenError(UsageError):
    """The user is not logged in to the Hub."""


class UnreachableError(ChatsquashError):
    """The Hub does not answer."""


class Hub:
    """One dataset of the Hub.  Raises ``ChatsquashError`` where the Hub cannot be reached, or refuses."""

    def __init__(self, at: Repository) -> None:
        """Raise ``NoTokenError``, or ``UsageError`` where the Hub that ``HF_ENDPOINT`` names is not encrypted."""
        self.endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
        self._at, token = at, huggingface_hub.get_token()
        if not token:
            raise NoTokenError(f"{at}: there is no token for the Hub: set HF_TOKEN, or log in by hf auth login")
        if not is_safe(self.endpoint):
            raise UsageError("HF_ENDPOINT: has to be an https:// URL, so that the token is not sent for all to read")
        self._api: Any = HfApi(
            endpoint=self.endpoint, token=token, library_name="chatsquash", library_version=__version__
        )
        self._dataset = {"repo_id": at.id, "repo_type": "dataset"}

    @property
    def page(self) -> str:
        """Where a browser shows it."""
        return f"{self.endpoint}/datasets/{self._at.id}"

    def connected(self) -> AbstractContextManager[None]:
        """For as long as this lasts, the Hub may be asked."""
        return guarded_connection(self.endpoint)

    def find_dataset(self) -> RemoteDataset | None:
        """What the Hub has; ``None`` where it has no such dataset."""
        with self._translate_errors():
            try:
                info = self._api.repo_info(**self._dataset)
            except errors.RepositoryNotFoundError as problem:
                if _status(problem) != 404:  # a token that is not known is told so, too
                    raise
                return None
            if info.id.casefold() != self._at.id.casefold():
                raise UsageError(f"{self._at}: was moved: name the dataset as its page does now")
            return self._find_branch(info)

    def _find_branch(self, info: Any) -> RemoteDataset:
        is_private = info.private is True
        if self._at.revision is None:
            return RemoteDataset(is_private, info.sha)
        try:
            return RemoteDataset(is_private, self._api.repo_info(**self._dataset, revision=self._at.revision).sha)
        except errors.RevisionNotFoundError:
            if self._at.revision.startswith("refs/"):
                raise UsageError(f"{self._at}: there is no such reference: open the pull request first") from None
            return RemoteDataset(is_private, info.sha, has_branch=False)

    def files(self, commit: str | None) -> list[RemoteFile]:
        """The files of a commit that have names as those meant for upload."""
        if commit is None:
            return []
        with self._translate_errors():
            entries = self._api.list_repo_tree(**self._dataset, revision=commit, recursive=True)
            return [
                RemoteFile(each.path, each.size, each.lfs.sha256 if each.lfs else None, each.blob_id)
                for each in entries
                if isinstance(each, RepoFile) and is_public(each.path)
            ]

    def last_pushed(self, names: list[str], commit: str | None) -> list[str]:
        """Those of these files that a push of ours wrote last."""
        with self._translate_errors():
            infos = [
                each
                for paths in (names[at : at + _PATHS_PER_REQUEST] for at in range(0, len(names), _PATHS_PER_REQUEST))
                for each in self._api.get_paths_info(**self._dataset, paths=paths, revision=commit, expand=True)
            ]
        return [each.path for each in infos if each.last_commit and each.last_commit.title == TITLE]

    def create(self, *, public: bool) -> None:
        """Make the dataset, empty."""
        with self._translate_errors():
            self._api.create_repo(**self._dataset, private=not public)

    def create_branch(self, commit: str | None) -> None:
        """Make the branch."""
        with self._translate_errors():
            self._api.create_branch(**self._dataset, branch=self._at.revision, revision=commit)

    def upload(self, additions: list[CommitOperationAdd]) -> None:
        """Send what is large, but for what the Hub has; it is in no commit yet."""
        with self._translate_errors():
            self._api.preupload_lfs_files(
                **self._dataset,
                additions=additions,
                revision=self._at.branch,
                gitignore_content="",  # else one that is there could leave files out
            )

    def commit(self, additions: list[CommitOperationAdd], stale: list[str], parent: str | None) -> None:
        """Add files that were uploaded, and delete others, at once, where the branch is still at ``parent``."""
        deletions = [CommitOperationDelete(path_in_repo=name, is_folder=False) for name in stale]
        with self._translate_errors():
            self._api.create_commit(
                **self._dataset,
                operations=[*additions, *deletions],
                commit_message=TITLE,
                revision=self._at.branch,
                parent_commit=parent,
            )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except ChatsquashError:
            raise
        except Exception as problem:  # noqa: BLE001 - each version of the library has its own, which quote what was sent
            raise self._translate(problem) from None

    def _translate(self, problem: BaseException) -> ChatsquashError:
        chain = list(_causes(problem))
        if ours := next((each for each in chain if isinstance(each, ChatsquashError)), None):
            return ours
        status = next(filter(None, map(_status, chain)), None)
        if status in _REASONS:
            return ChatsquashError(f"{self._at}: {_REASONS[status]} (the Hub said {status})")
        if status:
            return ChatsquashError(f"{self._at}: the Hub said {status}: {_RETRY}")
        return UnreachableError(f"{self._at}: the Hub could not be reached ({type(chain[-1]).__name__}): {_RETRY}")


def _status(problem: BaseException) -> int | None:
    """The code of the answer that an error is about."""
    status = getattr(getattr(problem, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)


_SECONDS = 300
"""Seconds that one answer may take."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@contextmanager
def guarded_connection(endpoint: str) -> Iterator[None]:
    """For as long as this lasts, the library sends only what it is asked to, nothing in clear text, and is silent."""
    with ExitStack() as stack:
        _guard(endpoint, stack)
        stack.callback(logging.set_verbosity, logging.get_verbosity())
        logging.set_verbosity(CRITICAL)  # else it quotes URLs and answers
        stack.callback(setattr, constants, "HF_HUB_DISABLE_TELEMETRY", constants.HF_HUB_DISABLE_TELEMETRY)
        constants.HF_HUB_DISABLE_TELEMETRY = True
        if not are_progress_bars_disabled():
            stack.callback(enable_progress_bars)
            disable_progress_bars()
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield


def is_safe(url: str) -> bool:
    """Whether what is sent there is encrypted, or stays on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def _guard(endpoint: str, stack: ExitStack) -> None:
    """Let every client that the library makes ask first."""
    before = huggingface_hub.get_session()
    client, hooks = type(before), before.event_hooks["request"]
    huggingface_hub.set_client_factory(lambda: _client(client, [*hooks, _refuse(endpoint)], _SECONDS))
    stack.callback(huggingface_hub.set_client_factory, lambda: _client(client, hooks, None))


def _client(kind: Any, hooks: list[Callable[[Any], Any]], seconds: float | None) -> Any:
    """What the library sends requests with, its own settings but for the time."""
    return kind(event_hooks={"request": hooks, "response": []}, follow_redirects=True, timeout=seconds)


def _refuse(endpoint: str) -> Callable[[Any], None]:
    """Refuses requests, redirected ones too, that are not encrypted, or take the token elsewhere than to the Hub."""
    home = urlsplit(endpoint)

    def refuse(request: Any) -> None:
        url = urlsplit(str(request.url))
        if not is_safe(str(request.url)):
            raise ChatsquashError("the Hub leads to a connection that is not encrypted: nothing was sent there")
        if "authorization" in request.headers and (url.scheme, url.netloc) != (home.scheme, home.netloc):
            raise ChatsquashError("the Hub asks for the token at another host: it was not sent there")

    return refuse
