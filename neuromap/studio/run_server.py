"""Start the server of the studio, and shut it down cleanly."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from neuromap.errors import InputError, NeuromapError, NotSupportedError
from neuromap.files.foreign import foreign_boundary
from neuromap.render.value import Card
from neuromap.simulation.stimulus import load_frames
from neuromap.studio.guard import Address, Guard, Receive, Scope, Send
from neuromap.studio.messages import Viewer, page_html
from neuromap.studio.scene.commands import Offer, Session, act, line_of, scene_of_network
from neuromap.studio.scene.scene import Scene, World
from neuromap.studio.scene.scene_file import (
    MOST_BYTES,
    MOST_TOML_BYTES,
    MOST_WEIGHT_BYTES,
    Document,
    check_size,
    parse_json,
    read_network,
    read_scene,
    scene_bytes,
)
from neuromap.studio.sessions import KeptSessions, Sessions


def run_server(
    address: Address, kept: KeptSessions, offer: Offer, first: Scene, said: Callable[[str], object] = print
) -> None:
    """Serve the studio until interrupted, then save sessions."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host.strip("[]"), address.port))
        listener.listen()  # before the address is printed: who connects at once waits, and is not refused
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


# Timeouts and limits of connections, in addition to those of uvicorn.
@dataclass(frozen=True)
class Patience(Card):
    """Timeouts and limits of connections."""

    # seconds within which a request's head must be complete, from the start of the connection, or from its first byte
    # if the connection has been used before
    head: float = 10.0
    idle: int = 5  # seconds that an idle connection is kept open
    unread: float = 30.0  # seconds until a connection with unread data, or to a vanished machine, is closed
    ping: float = 20.0  # seconds between pings of an open socket, and within which it must answer
    connections: int = 256  # most open connections


def make_server(app: Any, patience: Patience, most_message: int) -> Any:
    """Make a uvicorn server with the timeouts and limits of ``patience``."""
    try:
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol
        from uvicorn.protocols.websockets import websockets_sansio_impl  # noqa: F401  # check that it is installed
    except ImportError:
        raise NotSupportedError(
            "studio: needs uvicorn and websockets; pip install 'neuromap-rollouts[studio]'"
        ) from None

    class Patient(H11Protocol):
        """Closes connections whose requests do not arrive; uvicorn waits for a first one for ever."""

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
            """Run the timeout while a request's head is missing, or after its response is complete."""
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
        ws="websockets-sansio", http=Patient, lifespan="off", timeout_graceful_shutdown=2,
        ws_ping_interval=patience.ping, ws_ping_timeout=patience.ping, timeout_keep_alive=patience.idle,
    )  # fmt: skip
    return uvicorn.Server(config)


def _give_up_on_the_vanished(connection: Any, seconds: float) -> None:
    """Make the system close a connection whose peer reads nothing or has vanished, where supported."""
    options = {"TCP_USER_TIMEOUT": int(1000 * seconds), "TCP_KEEPIDLE": max(1, int(seconds)), "TCP_KEEPINTVL": 10}
    with suppress(OSError, AttributeError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in options.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


# The studio as an ASGI application: a page, its files, uploads, and one socket per tab.


# Most bytes of a message from a browser.
MOST_MESSAGE = 2**21
# Seconds between two updates.
_BEAT = 0.08
_STATIC = {
    **dict.fromkeys(("colours.css", "style.css", "drawing.css"), ("neuromap.render", "templates")),
    **dict.fromkeys(("studio.css", "studio.js", "pictures.js", "input.js"), ("neuromap.studio", "static")),
}
_KINDS = {
    "css": "text/css",
    "js": "text/javascript",
    "html": "text/html",
    "json": "application/json",
    "txt": "text/plain",
}


class StudioApp:
    """Answers requests that the guard has admitted."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._one_at_a_time = asyncio.Semaphore(1)  # a parsed upload takes several times its size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        words = str(scope["path"]).strip("/").split("/")
        if scope["type"] == "websocket":
            await self._socket(words, receive, send)
            return
        try:
            status, kind, body, headers = await self._answer(scope["method"], words, receive)
        except Exception as error:  # others than NeuromapError are our own bugs, but still get one line
            status = 400 if isinstance(error, NeuromapError) else 500
            kind, body, headers = "json", json.dumps({"error": line_of(error)}).encode(), []
        length = (b"content-length", str(len(body)).encode())
        head = [(b"content-type", f"{_KINDS[kind]}; charset=utf-8".encode()), length, (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": status, "headers": [*head, *headers]})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _answer(self, method: str, words: list[str], receive: Receive) -> tuple[int, str, bytes, list[Any]]:
        reads = method in ("GET", "HEAD")
        if reads and words == [""]:
            return 303, "txt", b"", [(b"location", f"/s/{Sessions.new_name()}".encode())]
        if reads and words == ["open.json"]:
            return 200, "json", json.dumps({"sessions": len(self._sessions.names)}).encode(), []
        if reads and len(words) == 2 and words[0] == "static" and words[1] in _STATIC:
            package, folder = _STATIC[words[1]]
            data = files(package).joinpath(folder, words[1]).read_bytes()
            return 200, words[1].rpartition(".")[2], data, []
        if words[0] == "s" and 2 <= len(words) <= 3 and KeptSessions.is_name(words[1]):
            if reads and len(words) == 2:
                return 200, "html", page_html(words[1]).encode(), []
            if reads and words[2:] == ["scene.json"]:
                return 200, "json", await asyncio.to_thread(self._scene, words[1]), []
            if method == "POST" and words[2:] and words[2] in UPLOADS:
                data = await _body(receive)
                async with self._one_at_a_time:
                    await asyncio.to_thread(self._upload, words[1], words[2], data)
                return 200, "json", b'{"ok": true}', []
        return 404, "txt", b"neuromap studio: there is no such page; open its first one\n", []

    def _scene(self, name: str) -> bytes:
        with self._sessions.looked_at(name) as session:
            return scene_bytes(session.stage.scene)

    def _upload(self, name: str, kind: str, data: bytes) -> None:
        with self._sessions.looked_at(name) as session:
            take_upload(session, kind, data)

    async def _socket(self, words: list[str], receive: Receive, send: Send) -> None:
        await receive()  # the connect message
        if len(words) != 3 or words[0] != "s" or words[2] != "live" or not KeptSessions.is_name(words[1]):
            await send({"type": "websocket.close", "code": 1008})
            return
        await send({"type": "websocket.accept"})
        try:
            context = self._sessions.looked_at(words[1], begins=True)
            session = await asyncio.to_thread(context.__enter__)
        except Exception as error:  # the page waits for an answer, whatever happens
            await _turn_away(send, error)
            return
        telling = asyncio.create_task(_tell_news(session, send))
        try:
            while (message := await receive())["type"] == "websocket.receive":
                await _obey(session, message.get("text"), send)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            await asyncio.to_thread(context.__exit__, None, None, None)


async def _obey(session: Session, text: str | None, send: Send) -> None:
    """Execute one command; only this tab is told about errors."""
    try:
        values = parse_json((text or "").encode("utf-8", "replace"), "command", MOST_MESSAGE)
        await asyncio.to_thread(act, session, Document(values, "command"))
    except Exception as error:  # as above
        await _tell(send, {"kind": "error", "line": line_of(error)})


async def _tell_news(session: Session, send: Send) -> None:
    viewer = Viewer(session)
    while not session.is_closed:
        try:
            news = await asyncio.to_thread(viewer.news)
        except Exception as error:  # as above
            await _turn_away(send, error)
            return
        for message in news:
            await _tell(send, message)
        await asyncio.sleep(_BEAT)


async def _turn_away(send: Send, error: Exception) -> None:
    """Send the reason for showing nothing, and close the socket; the page shows it and reconnects by itself."""
    await _tell(send, {"kind": "refused", "line": line_of(error)})
    await send({"type": "websocket.close", "code": 1013})


async def _tell(send: Send, message: dict[str, Any]) -> None:
    await send({"type": "websocket.send", "text": json.dumps(message, ensure_ascii=False)})


async def _body(receive: Receive) -> bytes:
    """Read a request's body, whose size the guard limits."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise InputError("upload: ended before all of it had come; send it again")
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


# Uploads from a browser: a network, input frames or a scene, each checked before it is used.
_MOST_STIMULUS_BYTES = 2**24
_MOST_UNPACKED = 2**27
_PORTION = 2**20


def take_upload(session: Session, kind: str, data: bytes) -> None:
    """Load an uploaded file into a session."""
    with foreign_boundary(f"a {kind} file"):
        scene = UPLOADS[kind](session, data)
    session.set_scene(scene)


def _network(session: Session, data: bytes) -> Scene:
    body = Document(parse_json(data, "upload", 2 * (MOST_TOML_BYTES + MOST_WEIGHT_BYTES)), "upload")
    network = read_network(body, "network file")
    check_size(network, "network file")
    return scene_of_network(network, session.stage.scene)


def _stimulus(session: Session, data: bytes) -> Scene:
    if len(data) > _MOST_STIMULUS_BYTES:
        raise InputError(f"stimulus file: has {len(data)} bytes; the studio takes at most {_MOST_STIMULUS_BYTES}")
    scene, is_npz = session.stage.scene, data.startswith(b"PK\x03\x04")
    if is_npz:
        data = _unpacked(data)
    with TemporaryDirectory(prefix="neuromap-") as folder:
        path = Path(folder, "stimulus.npz" if is_npz else "stimulus.safetensors")
        path.write_bytes(data)
        try:
            frames = load_frames(path, scene.network)
        except InputError as error:
            raise type(error)(str(error).replace(str(path), "stimulus file")) from None
    return replace(scene, changes=(), ticks=0, checksums=(), stimulus=frames)


def _unpacked(data: bytes) -> bytes:
    """Return an archive's uncompressed copy, within bounds: members may be larger than they claim."""
    found = BytesIO()
    try:
        with ZipFile(BytesIO(data)) as archive, ZipFile(found, "w") as plain:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > _MOST_UNPACKED:
                raise InputError(
                    f"stimulus file: unpacks to {unpacked} bytes; the studio takes at most {_MOST_UNPACKED}"
                )
            for member in members:
                # with other methods, a few bytes can unpack to any size
                if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                    raise InputError(
                        f"stimulus file: {member.filename!r:.40} is packed in a way that NumPy does not use"
                    )
                with archive.open(member) as stream, plain.open(member.filename, "w") as copy:
                    while part := stream.read(_PORTION):
                        copy.write(part)
    except InputError:
        raise
    except Exception:  # zipfile raises various exceptions for damaged archives or unknown versions
        raise InputError(
            "stimulus file: not a readable .npz archive of plain arrays; save frames with NumPy's savez"
        ) from None
    return found.getvalue()


def _scene(_: Session, data: bytes) -> Scene:
    if len(data) > MOST_BYTES:
        raise InputError(f"scene file: has {len(data)} bytes; at most {MOST_BYTES} are read")
    scene = read_scene(data, "scene file")
    check_size(scene.network, "scene file")
    world = World(scene.network, scene.stimulus)
    for change in scene.changes:
        if change.shown is not None:
            world.check(change.shown)
    return scene


# Kinds of uploads and their readers.
UPLOADS = {"network": _network, "stimulus": _stimulus, "scene": _scene}
