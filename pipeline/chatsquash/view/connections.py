"""A connection to a browser, which ends where nothing is asked."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

IDLE = 10.0
"""Seconds in which a connection has to ask for something, as a whole; an answer may take longer."""


class Connection(H11Protocol):
    """Ends where no whole request comes: uvicorn itself ends only one that asked before."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It begins."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """It ended."""
        if self._waiting:
            self._waiting.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(IDLE, self._look, self.cycle)

    def _look(self, before: RequestResponseCycle | None) -> None:
        """Close it where nothing was asked since, and nothing is answered."""
        if self.cycle is before and (before is None or before.response_complete):
            self.transport.close()
        else:
            self._wait()
