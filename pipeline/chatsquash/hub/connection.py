"""What the library of the Hub may connect to, and say, while it works for us."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from logging import CRITICAL
from typing import Any
from urllib.parse import urlsplit

import huggingface_hub
from huggingface_hub import constants
from huggingface_hub.utils import logging
from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from chatsquash.core.errors import ChatsquashError

_SECONDS = 300
"""Seconds that one answer may take."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@contextmanager
def held(endpoint: str) -> Iterator[None]:
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
