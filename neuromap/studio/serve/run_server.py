"""Start the server of the studio, and end it in order."""

from __future__ import annotations

import socket
from collections.abc import Callable

from neuromap.errors import InputError
from neuromap.studio.scene.scene import Scene
from neuromap.studio.serve.address import Address
from neuromap.studio.serve.connections import Patience, make_server
from neuromap.studio.serve.guard import Guard
from neuromap.studio.serve.kept import KeptSessions
from neuromap.studio.serve.sessions import Sessions
from neuromap.studio.serve.studio_app import MOST_MESSAGE, StudioApp
from neuromap.studio.stage.offer import Offer

__all__ = ["run_server"]


def run_server(
    address: Address, kept: KeptSessions, offer: Offer, first: Scene, said: Callable[[str], object] = print
) -> None:
    """Serve the studio until it is interrupted; sessions are saved then."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host.strip("[]"), address.port))
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise InputError(f"{address.host}:{address.port}: cannot listen there ({why}); choose another --port") from None
    sessions = Sessions(kept, offer, first)
    try:
        server = make_server(Guard(StudioApp(sessions), address.rules), Patience(), MOST_MESSAGE)
        said(f"neuromap studio: {address.url} (Ctrl-C ends it; sessions are kept)")
        server.run(sockets=[listener])
    finally:
        sessions.close()
        listener.close()
