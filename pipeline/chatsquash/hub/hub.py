"""Requests to the Hugging Face Hub, with error messages of chatsquash.

Responses of the Hub are never quoted, apart from their status codes, since they can repeat private data.

The library receives open files rather than paths, so that it uploads exactly the bytes that were compared. It then
uploads them with plain HTTP requests (LFS), and ``guarded_connection`` checks each of these.
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
"""The title of each commit; files of an earlier push are recognised by it."""
_PATHS_PER_REQUEST = 500
"""The maximum number of paths in a request."""
_REASONS = {
    401: "the Hub rejected the token: set HF_TOKEN to a valid one, or log in with `hf auth login`",
    403: "the token does not allow this: use one with write access to the dataset",
    404: "not found on the Hub, or not visible with this token",
    409: "the dataset changed during the push: push again",
    412: "the dataset changed during the push: push again",
}
_RETRY = "push again; files that were already uploaded are not sent again"


class RemoteFile(NamedTuple):
    """A file of the dataset on the Hub."""

    name: str
    size: int
    sha256: str | None
    """``None`` for a file that is stored in git itself, which has only ``blob``."""
    blob: str
    """The id of the git object."""


class RemoteDataset(NamedTuple):
    """The state of a dataset on the Hub."""

    private: bool
    commit: str | None
    """The head of the branch, or of ``main`` if the branch does not exist yet."""
    has_branch: bool = True


class NoTokenError(UsageError):
    """The user is not logged in to the Hub."""


class UnreachableError(ChatsquashError):
    """The Hub could not be reached."""


class Hub:
    """A dataset on the Hub.

    All methods raise ``ChatsquashError`` if the Hub cannot be reached or rejects the request.
    """

    def __init__(self, at: Repository) -> None:
        """Read the token and the endpoint from the environment.

        Raises:
            NoTokenError: The user is not logged in.
            UsageError: The URL in ``HF_ENDPOINT`` is not encrypted.
        """
        self.endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
        self._at, token = at, huggingface_hub.get_token()
        if not token:
            raise NoTokenError(f"{at}: no token for the Hub; set HF_TOKEN, or log in with `hf auth login`")
        if not is_safe(self.endpoint):
            raise UsageError("HF_ENDPOINT: must be an https:// URL, so that the token is not sent unencrypted")
        self._api: Any = HfApi(
            endpoint=self.endpoint, token=token, library_name="chatsquash", library_version=__version__
        )
        self._dataset = {"repo_id": at.id, "repo_type": "dataset"}

    @property
    def page(self) -> str:
        """The URL of the dataset page."""
        return f"{self.endpoint}/datasets/{self._at.id}"

    def connected(self) -> AbstractContextManager[None]:
        """Return the context in which requests are allowed."""
        return guarded_connection(self.endpoint)

    def find_dataset(self) -> RemoteDataset | None:
        """Return the state of the dataset, or ``None`` if it does not exist."""
        with self._translate_errors():
            try:
                info = self._api.repo_info(**self._dataset)
            except errors.RepositoryNotFoundError as problem:
                if _status(problem) != 404:  # the library also raises this for an invalid token (401)
                    raise
                return None
            if info.id.casefold() != self._at.id.casefold():
                raise UsageError(f"{self._at}: the dataset was renamed; use its current name")
            return self._find_branch(info)

    def _find_branch(self, info: Any) -> RemoteDataset:
        is_private = info.private is True
        if self._at.revision is None:
            return RemoteDataset(is_private, info.sha)
        try:
            return RemoteDataset(is_private, self._api.repo_info(**self._dataset, revision=self._at.revision).sha)
        except errors.RevisionNotFoundError:
            if self._at.revision.startswith("refs/"):
                raise UsageError(f"{self._at}: no such pull request; create it first") from None
            return RemoteDataset(is_private, info.sha, has_branch=False)

    def files(self, commit: str | None) -> list[RemoteFile]:
        """Return the files of a commit whose names chatsquash could have pushed."""
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
        """Return the names of the files that were last changed by a push of chatsquash."""
        with self._translate_errors():
            infos = [
                each
                for paths in (names[at : at + _PATHS_PER_REQUEST] for at in range(0, len(names), _PATHS_PER_REQUEST))
                for each in self._api.get_paths_info(**self._dataset, paths=paths, revision=commit, expand=True)
            ]
        return [each.path for each in infos if each.last_commit and each.last_commit.title == TITLE]

    def create(self, *, public: bool) -> None:
        """Create an empty dataset."""
        with self._translate_errors():
            self._api.create_repo(**self._dataset, private=not public)

    def create_branch(self, commit: str | None) -> None:
        """Create the branch at this commit."""
        with self._translate_errors():
            self._api.create_branch(**self._dataset, branch=self._at.revision, revision=commit)

    def upload(self, additions: list[CommitOperationAdd]) -> None:
        """Upload large files that the Hub does not have yet, without committing them."""
        with self._translate_errors():
            self._api.preupload_lfs_files(
                **self._dataset,
                additions=additions,
                revision=self._at.branch,
                gitignore_content="",  # otherwise a .gitignore in the dataset could exclude files
            )

    def commit(self, additions: list[CommitOperationAdd], stale: list[str], parent: str | None) -> None:
        """Add uploaded files and delete stale ones in one commit; fails if the branch is no longer at ``parent``."""
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
        except Exception as problem:  # noqa: BLE001 - exception types vary between versions of the library, and their texts quote requests
            raise self._translate(problem) from None

    def _translate(self, problem: BaseException) -> ChatsquashError:
        chain = list(_causes(problem))
        if ours := next((each for each in chain if isinstance(each, ChatsquashError)), None):
            return ours
        status = next(filter(None, map(_status, chain)), None)
        if status in _REASONS:
            return ChatsquashError(f"{self._at}: {_REASONS[status]} (HTTP status {status})")
        if status:
            return ChatsquashError(f"{self._at}: the Hub returned HTTP status {status}: {_RETRY}")
        return UnreachableError(f"{self._at}: the Hub could not be reached ({type(chain[-1]).__name__}): {_RETRY}")


def _status(problem: BaseException) -> int | None:
    """Return the HTTP status code that an exception is about."""
    status = getattr(getattr(problem, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)


_SECONDS = 300
"""Timeout of one request, in seconds."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@contextmanager
def guarded_connection(endpoint: str) -> Iterator[None]:
    """Block unencrypted requests, telemetry and output of the library within this context."""
    with ExitStack() as stack:
        _guard(endpoint, stack)
        stack.callback(logging.set_verbosity, logging.get_verbosity())
        logging.set_verbosity(CRITICAL)  # its log quotes URLs and responses
        stack.callback(setattr, constants, "HF_HUB_DISABLE_TELEMETRY", constants.HF_HUB_DISABLE_TELEMETRY)
        constants.HF_HUB_DISABLE_TELEMETRY = True
        if not are_progress_bars_disabled():
            stack.callback(enable_progress_bars)
            disable_progress_bars()
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield


def is_safe(url: str) -> bool:
    """Return whether requests to this URL are encrypted or stay on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def _guard(endpoint: str, stack: ExitStack) -> None:
    """Check every request of every client that the library creates."""
    before = huggingface_hub.get_session()
    client, hooks = type(before), before.event_hooks["request"]
    huggingface_hub.set_client_factory(lambda: _client(client, [*hooks, _refuse(endpoint)], _SECONDS))
    stack.callback(huggingface_hub.set_client_factory, lambda: _client(client, hooks, None))


def _client(kind: Any, hooks: list[Callable[[Any], Any]], seconds: float | None) -> Any:
    """Create an HTTP client with the settings of the library, apart from the timeout."""
    return kind(event_hooks={"request": hooks, "response": []}, follow_redirects=True, timeout=seconds)


def _refuse(endpoint: str) -> Callable[[Any], None]:
    """Return a hook that blocks unencrypted requests and requests that would send the token to another host.

    The hook also sees redirected requests.
    """
    home = urlsplit(endpoint)

    def refuse(request: Any) -> None:
        url = urlsplit(str(request.url))
        if not is_safe(str(request.url)):
            raise ChatsquashError("the Hub redirected to an unencrypted connection; nothing was sent over it")
        if "authorization" in request.headers and (url.scheme, url.netloc) != (home.scheme, home.netloc):
            raise ChatsquashError("the Hub redirected to another host; the token was not sent there")

    return refuse
