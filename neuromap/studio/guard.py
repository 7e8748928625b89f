"""Address of the studio, and access control."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from neuromap.errors import InputError
from neuromap.files.argument_checks import whole_number
from neuromap.render.value import Card

# Size limit of a request: an upload of a complete scene (128 MiB).
MOST_BYTES = 2**27
_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Address(Card):
    """Host, port and token."""

    host: str = "127.0.0.1"  # a name or address of this machine; loopback needs no token
    port: int = 8765  # 1 to 65535
    token: str = ""  # at least 16 characters unless the host is loopback; letters, digits, ``-`` and ``_``

    def __post_init__(self) -> None:
        if not 1 <= whole_number("port", self.port) <= 65535:
            raise InputError(f"port {self.port}: must be 1 to 65535")
        if not self.host or any(c.isspace() or c in "/@?#" for c in self.host):
            raise InputError(f"host {self.host!r:.60}: is not a name or address of this machine, such as 127.0.0.1")
        allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        if self.token and not (_SHORTEST_TOKEN <= len(self.token) <= 200 and set(self.token) <= allowed):
            raise InputError(f"token: must be {_SHORTEST_TOKEN} to 200 letters, digits, - or _")
        if not self.token and not self.is_loopback:
            raise InputError(
                f"host {self.host}: others can reach it, so the studio asks for a token; write the output of "
                "python -c 'import secrets; print(secrets.token_urlsafe())' to a file and give --token-file FILE, or "
                "set NEUROMAP_STUDIO_TOKEN, or leave --host out"
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """Address to open in a browser."""
        host = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    @property
    def rules(self) -> Rules:
        """Access rules for this address."""
        names = {"localhost", "127.0.0.1", "[::1]", self.host if ":" not in self.host else f"[{self.host.strip('[]')}]"}
        hosts = {f"{name}:{self.port}" for name in names} | (names if self.port == 80 else set())
        return Rules(frozenset(hosts) if self.is_loopback else None, self.token, MOST_BYTES)


# Access control: an ASGI layer that refuses foreign origins, missing tokens and absurd sizes, for pages and sockets.


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
COOKIE = "neuromap_studio"
# Least rate of a body, in bytes per second.
SLOWEST = 2**15
_LONGEST_URL = 4096
_HEADERS = (
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
)


@dataclass(frozen=True)
class Rules:
    """Access rules for requests."""

    # allowed values of the header Host; None allows any, which requires a token. This refuses foreign names that
    # resolve to this machine (DNS rebinding)
    hosts: frozenset[str] | None
    token: str  # required in the address once, and in a cookie from then on; empty if none is required
    most_bytes: int  # size limit of a request's body
    # time limit of a body, plus one second for every ``SLOWEST`` bytes received
    seconds: float = 20.0


class Guard:
    """Admits requests that obey the rules."""

    def __init__(self, app: App, rules: Rules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it in one line."""
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(scope, send, *refusal)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        elif self._rules.token and (place := self._without_token(scope)) is not None:
            cookie = f"{COOKIE}={self._rules.token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, "", [(b"location", place.encode()), (b"set-cookie", cookie.encode())])
        else:
            await self._bounded(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        rules, is_socket = self._rules, scope["type"] == "websocket"
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string", b"")) > _LONGEST_URL:
            return 414, f"address: longer than {_LONGEST_URL} bytes"
        host, origins = _one(scope, b"host"), _all(scope, b"origin")
        if host is None or (rules.hosts is not None and host.lower() not in rules.hosts):
            return 403, "host: is none of this studio; open the address that it printed"
        if (is_socket and not origins) or any(not _is_own(origin, host) for origin in origins):
            return 403, "origin: another site asks; open the studio itself"
        if _is_called_from_elsewhere(scope):
            return 403, "origin: a page of another site asks; open the studio itself"
        if rules.token and not self._has_token(scope):
            return 401, "token: missing or wrong; open the address with the token that the studio printed"
        length = _one(scope, b"content-length")
        if length is not None and (not length.isdigit() or len(length) > 12 or int(length) > rules.most_bytes):
            return 413, f"body: larger than {rules.most_bytes} bytes"
        return None

    def _has_token(self, scope: Scope) -> bool:
        given = [value for name, value in _query(scope) if name == "token"]
        for header in _all(scope, b"cookie"):
            try:
                cookie = SimpleCookie(header).get(COOKIE)
            except CookieError:
                continue
            given += [] if cookie is None else [cookie.value]
        return any(hmac.compare_digest(value.encode(), self._rules.token.encode()) for value in given)

    @staticmethod
    def _without_token(scope: Scope) -> str | None:
        """Return the address without its token; None if it has none."""
        query = _query(scope)
        if scope["method"] != "GET" or all(name != "token" for name, _ in query):
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        return "/" + quote(str(scope["path"]).lstrip("/\\")) + (f"?{rest}" if rest else "")

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request, counting and timing its body; beyond the limits it is ended."""
        rules, n_bytes, has_begun, is_whole = self._rules, 0, False, False
        refusal: tuple[int, str] | None = None
        began = asyncio.get_running_loop().time()

        async def counted() -> Message:
            nonlocal n_bytes, refusal, is_whole
            left = began + rules.seconds + n_bytes / SLOWEST - asyncio.get_running_loop().time()
            try:
                message = await (receive() if is_whole else asyncio.wait_for(receive(), max(0.001, left)))
            except TimeoutError:
                refusal = 408, f"body: comes slower than {SLOWEST} bytes in a second; send it again"
                return {"type": "http.disconnect"}
            if message["type"] == "http.request":
                n_bytes += len(message.get("body", b""))
                is_whole = not message.get("more_body")
                if n_bytes > rules.most_bytes:
                    refusal = 413, f"body: larger than {rules.most_bytes} bytes"
                    return {"type": "http.disconnect"}
            return message

        async def answered(message: Message) -> None:
            nonlocal has_begun
            if refusal is not None and not has_begun:
                return
            has_begun = True
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            await self._app(scope, counted, answered)
        except Exception:
            if refusal is None or has_begun:
                raise
        if refusal is not None and not has_begun:
            await _refuse(scope, send, *refusal)


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope.get("headers", ()) if key.lower() == name]


def _one(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header; None unless it occurs exactly once."""
    found = _all(scope, name)
    return found[0] if len(found) == 1 else None


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)


def _is_own(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _is_called_from_elsewhere(scope: Scope) -> bool:
    """Whether a page of another site makes the request; browsers tell even if they send no origin."""
    # Following a link from there is allowed: it shows the studio, and changes nothing.
    site, mode, goal = (_one(scope, b"sec-fetch-" + name) for name in (b"site", b"mode", b"dest"))
    is_followed = scope.get("method") == "GET" and mode == "navigate" and goal == "document"
    return site in ("cross-site", "same-site") and not is_followed


async def _refuse(scope: Scope, send: Send, status: int, line: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": line[:120]})
        return
    await _answer(send, status, f"neuromap studio: {line}\n", [])


async def _answer(send: Send, status: int, text: str, headers: list[tuple[bytes, bytes]]) -> None:
    body = text.encode()
    plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*plain, *_HEADERS, *headers]})
    await send({"type": "http.response.body", "body": body})
