"""How long the server waits for whoever connects and says nothing, and how many may: uvicorn with bounds of our own."""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from neuromap.errors import NotSupportedError
from neuromap.forms.card import Card

__all__ = ["Patience", "make_server"]


@dataclass(frozen=True)
class Patience(Card):
    """What a connection may take."""

    # seconds within which a request's head must be whole, from the first moment on, or from its first byte where the
    # connection has been used before
    head: float = 10.0
    idle: int = 5  # seconds for which a connection is kept for a further request
    unread: float = 30.0  # seconds for which what was sent may lie unread, or a machine that vanished be waited for
    ping: float = 20.0  # seconds between two questions to an open socket, and those within which it must answer
    connections: int = 256  # that are open at the same time


def make_server(app: Any, patience: Patience, most_message: int) -> Any:
    """Make a server of uvicorn that waits no longer than it has patience."""
    try:
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol
        from uvicorn.protocols.websockets import websockets_sansio_impl  # noqa: F401  # that it is there
    except ImportError:
        raise NotSupportedError(
            "studio: needs uvicorn and websockets; pip install 'neuromap-rollouts[studio]'"
        ) from None

    class Patient(H11Protocol):
        """Closes connections whose requests do not come; uvicorn itself waits for a first one for ever."""

        _clock: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > patience.connections:
                self._refuse(503, "Service Unavailable", f"{patience.connections} connections are open; close some")
                return
            _give_up_on_the_vanished(transport.get_extra_info("socket"), patience.unread)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Let the clock run while a head is missing, and while a body comes that nobody reads any more."""
            waits = self.cycle is None or self.cycle.response_complete
            if not waits or self.transport.is_closing() or self.transport.get_protocol() is not self:
                self._stop()
            elif self._clock is None:
                self._clock = self.loop.call_later(patience.head, self._too_late)

        def _stop(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

        def _too_late(self) -> None:
            self._clock = None
            if self.cycle is None:
                self._refuse(408, "Request Timeout", f"request: did not come within {patience.head:g} s; send it again")
            else:
                self.transport.close()

        def _refuse(self, status: int, phrase: str, line: str) -> None:
            body = f"neuromap studio: {line}\n".encode()
            head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
            self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            self.transport.close()

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws_max_size=most_message,
        ws="websockets-sansio", http=Patient, timeout_graceful_shutdown=2, ws_ping_interval=patience.ping,
        ws_ping_timeout=patience.ping, timeout_keep_alive=patience.idle,
    )  # fmt: skip
    return uvicorn.Server(config)


def _give_up_on_the_vanished(connection: Any, seconds: float) -> None:
    """Have the system end a connection whose other end reads nothing, or is no longer there; where it can."""
    options = {"TCP_USER_TIMEOUT": int(1000 * seconds), "TCP_KEEPIDLE": max(1, int(seconds)), "TCP_KEEPINTVL": 10}
    with suppress(OSError, AttributeError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in options.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
