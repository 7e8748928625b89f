"""The studio as an ASGI application: a page, its files, uploads, and a socket for every tab."""

from __future__ import annotations

import asyncio
import json
from importlib.resources import files
from typing import Any

from neuromap.errors import InputError, NeuromapError
from neuromap.studio.scene.document import Document, parse_json
from neuromap.studio.scene.scene_file import scene_bytes
from neuromap.studio.serve.guard import Receive, Scope, Send
from neuromap.studio.serve.kept import KeptSessions
from neuromap.studio.serve.sessions import Sessions
from neuromap.studio.serve.uploads import UPLOADS, take_upload
from neuromap.studio.stage.commands import act
from neuromap.studio.stage.session import Session, line_of
from neuromap.studio.views.messages import Viewer
from neuromap.studio.views.parts import page_html

__all__ = ["MOST_MESSAGE", "StudioApp"]

MOST_MESSAGE = 2**21
"""Bytes of a message from a browser."""
_BEAT = 0.08
"""Seconds between two looks."""
_STATIC = {
    "colours.css": ("neuromap.forms", "templates"), "style.css": ("neuromap.forms", "templates"),
    "drawing.css": ("neuromap.forms", "templates"), "studio.css": ("neuromap.studio.views", "static"),
    "studio.js": ("neuromap.studio.views", "static"), "pictures.js": ("neuromap.studio.views", "static"),
    "input.js": ("neuromap.studio.views", "static"),
}  # fmt: skip
_KINDS = {
    "css": "text/css",
    "js": "text/javascript",
    "html": "text/html",
    "json": "application/json",
    "txt": "text/plain",
}


class StudioApp:
    """Answers requests that the guard has let through."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._one_at_a_time = asyncio.Semaphore(1)  # what is read of an upload takes several times its size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        words = str(scope["path"]).strip("/").split("/")
        if scope["type"] == "websocket":
            await self._socket(words, receive, send)
            return
        try:
            status, kind, body, headers = await self._answer(scope["method"], words, receive)
        except Exception as error:  # one that is none of the tree is a fault of ours, and a line all the same
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
        await receive()  # that it connects
        if len(words) != 3 or words[0] != "s" or words[2] != "live" or not KeptSessions.is_name(words[1]):
            await send({"type": "websocket.close", "code": 1008})
            return
        await send({"type": "websocket.accept"})
        try:
            context = self._sessions.looked_at(words[1], begins=True)
            session = await asyncio.to_thread(context.__enter__)
        except Exception as error:  # the page waits for a word of this, whatever comes
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
    """Do one command; what is wrong with it is told to this tab alone."""
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
    """Say why this tab is shown nothing, and close its socket; the page shows the line and asks again by itself."""
    await _tell(send, {"kind": "refused", "line": line_of(error)})
    await send({"type": "websocket.close", "code": 1013})


async def _tell(send: Send, message: dict[str, Any]) -> None:
    await send({"type": "websocket.send", "text": json.dumps(message, ensure_ascii=False)})


async def _body(receive: Receive) -> bytes:
    """Read a request's body; the guard has bounded it."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise InputError("upload: ended before all of it had come; send it again")
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
