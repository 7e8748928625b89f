"""Where the studio listens, and who may come from there."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from neuromap.errors import InputError
from neuromap.files.given import whole_number
from neuromap.forms.card import Card
from neuromap.studio.guard import Rules

__all__ = ["Address"]

MOST_BYTES = 2**27
"""Of a request: an upload of a scene with everything in it (128 MiB)."""
_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Address(Card):
    """Host, port and token."""

    host: str = "127.0.0.1"  # A name or address of this machine; loopback needs no token
    port: int = 8765  # 1 to 65535
    token: str = ""  # 16 characters or more where the host is not loopback; letters, digits, ``-`` and ``_``

    def __post_init__(self) -> None:
        if not 1 <= whole_number("port", self.port) <= 65535:
            raise InputError(f"port {self.port}: must be 1 to 65535")
        if not self.host or any(c.isspace() or c in "/@?#" for c in self.host):
            raise InputError(f"host {self.host!r:.60}: is no name or address of this machine, such as 127.0.0.1")
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
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """What is opened in a browser."""
        host = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    @property
    def rules(self) -> Rules:
        """What is let through."""
        names = {"localhost", "127.0.0.1", "[::1]", self.host if ":" not in self.host else f"[{self.host.strip('[]')}]"}
        hosts = {f"{name}:{self.port}" for name in names} | (names if self.port == 80 else set())
        return Rules(frozenset(hosts) if self.is_loopback else None, self.token, MOST_BYTES)
