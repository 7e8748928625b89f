"""The studio's server on a real socket: broken uploads, connections that say nothing, tabs beyond the most."""

import bz2
import io
import json
import logging
import socket
import threading
import time
import tracemalloc
import urllib.error
import urllib.request
import zipfile
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.network.edge import Edge
from neuromap.network.node import Node
from neuromap.studio.guard import SLOWEST, Address, Guard
from neuromap.studio.run_server import MOST_MESSAGE, Patience, StudioApp, make_server, run_server
from neuromap.studio.scene.commands import Offer
from neuromap.studio.scene.scene import Scene, SceneRun
from neuromap.studio.sessions import MOST_TABS, KeptSessions, Sessions

pytest.importorskip("uvicorn")
client = pytest.importorskip("websockets.sync.client")

NAME = "session-of-a-test-0001"
MOST = 2**20
LIMIT = 20.0
"""Seconds that a busy machine may take for what should take one."""


class Served:
    """A studio that listens, with little patience."""

    def __init__(self, port, sessions):
        self.port, self.sessions, self.logged = port, sessions, []

    def connect(self):
        found = socket.create_connection(("127.0.0.1", self.port))
        found.settimeout(LIMIT)
        return found

    def tab(self, name=NAME):
        url, origin = f"ws://127.0.0.1:{self.port}/s/{name}/live", f"http://127.0.0.1:{self.port}"
        return client.connect(url, origin=origin, max_size=None)

    def post(self, kind, data):
        """Status and text of the answer to an upload."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/s/{NAME}/{kind}", data)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@contextmanager
def serving(folder, scene, **patience):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        sessions = Sessions(KeptSessions(folder), Offer({}), scene)
        served = Served(port, sessions)
        rules = replace(Address(port=port).rules, most_bytes=MOST, seconds=1.0)
        short = Patience(**{"head": 0.7, "idle": 1, "unread": 2.0, "ping": 0.5, **patience})
        server = make_server(Guard(StudioApp(sessions), rules), short, MOST_MESSAGE)
        handler = logging.Handler()
        handler.emit = lambda record: served.logged.append(record.getMessage())
        logging.getLogger("uvicorn.error").addHandler(handler)
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True)
        thread.start()
        try:
            end = time.monotonic() + LIMIT
            while not server.started:
                assert time.monotonic() < end
                time.sleep(0.01)
            yield served
        finally:
            server.should_exit = True
            thread.join(LIMIT)
            logging.getLogger("uvicorn.error").removeHandler(handler)
            sessions.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory, scene):
    with serving(tmp_path_factory.mktemp("kept"), scene) as found:
        yield found


def head(kind="scene", *lines):
    return "\r\n".join([f"POST /s/{NAME}/{kind} HTTP/1.1", "Host: 127.0.0.1:{port}", *lines, "", ""])


class ToldError(Exception):
    pass


def test_it_listens_before_it_says_where(tmp_path, scene):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def connect(_):
        socket.create_connection(("127.0.0.1", port), LIMIT).close()
        raise ToldError

    with pytest.raises(ToldError):
        run_server(Address(port=port), KeptSessions(tmp_path), Offer({}), scene, connect)


def said(connection, data=b""):
    """All that the server says until it closes."""
    found = b""
    try:
        connection.sendall(data)
        while part := connection.recv(65536):
            found += part
    except ConnectionError:
        pass  # it closed, and did not read all
    return found.decode("latin-1")


def test_uploads_that_are_broken_off_or_too_large_are_no_fault_of_the_server(served):
    begin = head("scene", "Content-Length: 1000").format(port=served.port).encode()
    with served.connect() as gone:
        gone.sendall(begin + b"{")
    chunked = head("scene", "Transfer-Encoding: chunked").format(port=served.port).encode()
    with served.connect() as large:
        piece = b"%x\r\n%s\r\n" % (2**16, b"x" * 2**16)
        answer = said(large, chunked + piece * (MOST // 2**16 + 1))
    assert answer.startswith("HTTP/1.1 413 ")
    assert answer.endswith(f"\r\n\r\nneuromap studio: body: larger than {MOST} bytes\n")
    with served.connect() as said_so:
        answer = said(said_so, head("scene", f"Content-Length: {MOST + 1}").format(port=served.port).encode())
    assert answer.startswith("HTTP/1.1 413 ")
    assert not [line for line in served.logged if "Exception" in line]


def archives():
    """Archives that no NumPy writes, each with what is said of it."""

    def packed(how, name="I.npy", data=None):
        inner, found = io.BytesIO(), io.BytesIO()
        np.save(inner, np.eye(9, dtype=np.uint8))
        with zipfile.ZipFile(found, "w", how) as archive:
            archive.writestr(name, inner.getvalue() if data is None else data)
        return found.getvalue()

    plain = packed(zipfile.ZIP_STORED)
    entry = plain.index(b"PK\x01\x02")
    version = bytearray(plain)
    version[entry + 6] = 99  # that is needed to unpack it
    method = bytearray(plain)
    method[entry + 10] = 97
    locked = bytearray(plain)
    locked[entry + 8] |= 1
    yield "an unknown version", bytes(version), "not a readable .npz"
    yield "an unknown compression", bytes(method), "is packed in a way that NumPy does not use"
    yield "a locked member", bytes(locked), "not a readable .npz"
    yield "bzip2", packed(zipfile.ZIP_BZIP2), "is packed in a way that NumPy does not use"
    yield "lzma", packed(zipfile.ZIP_LZMA), "is packed in a way that NumPy does not use"
    yield "no array", packed(zipfile.ZIP_DEFLATED, data=b"hello"), "not a readable .npz"
    yield "a name with folders", packed(zipfile.ZIP_DEFLATED, name="../../I.npy"), "node ../../I is not an input node"
    yield "cut short", plain[:-30], "not a readable .npz"
    yield "bzip2 and no archive", b"PK\x03\x04" + bz2.compress(b"x" * 2**20), "not a readable .npz"


@pytest.mark.parametrize(("data", "line"), [pytest.param(*given, id=name) for name, *given in archives()])
def test_an_archive_of_frames_that_is_odd_is_one_line(served, data, line):
    with served.tab():
        status, answer = served.post("stimulus", data)
    assert status == 400
    assert line in json.loads(answer)["error"]
    assert "\n" not in json.loads(answer)["error"]


def test_a_member_larger_than_it_says_is_unpacked_no_further(served):
    inner, found = io.BytesIO(), io.BytesIO()
    np.save(inner, np.eye(9, dtype=np.uint8))
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("I.npy", inner.getvalue() + bytes(2**25))
    data, size = bytearray(found.getvalue()), len(inner.getvalue())
    entry = data.index(b"PK\x01\x02")
    for at in (22, entry + 24):
        data[at : at + 4] = size.to_bytes(4, "little")
    for at in (14, entry + 16):
        data[at : at + 4] = zipfile.crc32(inner.getvalue()).to_bytes(4, "little")
    with served.tab() as tab:
        tab.recv(timeout=LIMIT)
        tracemalloc.start()
        assert served.post("stimulus", bytes(data)) == (200, '{"ok": true}')
        assert tracemalloc.get_traced_memory()[1] < 2**24
        tracemalloc.stop()


@pytest.mark.parametrize("sent", ["", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\nA: "])
def test_who_connects_and_does_not_ask_is_let_go(served, sent):
    with served.connect() as connection:
        answer = said(connection, sent.encode())
    assert answer.startswith("HTTP/1.1 408 ")
    assert "request: did not come within 0.7 s; send it again\n" in answer


def test_a_second_request_that_does_not_come_is_not_waited_for_either(served):
    ask = f"GET /open.json HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode()
    with served.connect() as connection:
        connection.sendall(ask)
        answer = connection.recv(65536)
        while not answer.endswith(b"}"):  # its head and its body may come one by one
            answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert said(connection, b"GET / HT") == ""


def test_a_body_that_drips_is_not_waited_for(served):
    with served.connect() as connection:
        answer = said(connection, head("scene", "Content-Length: 1000").format(port=served.port).encode() + b"{")
    assert answer.startswith("HTTP/1.1 408 ")
    assert "body: comes slower than" in answer


def test_a_socket_that_answers_no_question_is_closed_and_one_that_does_stays(served):
    shake = [
        f"GET /s/{NAME}/live HTTP/1.1", f"Host: 127.0.0.1:{served.port}", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
        f"Origin: http://127.0.0.1:{served.port}", "", "",
    ]  # fmt: skip
    with served.tab() as tab, served.connect() as connection:
        assert "101 Switching" in said(connection, "\r\n".join(shake).encode())
        tab.send('{"do": "nonsense"}')
        end = time.monotonic() + LIMIT
        while "nonsense" not in tab.recv(timeout=LIMIT):
            assert time.monotonic() < end


def test_tabs_of_a_session_are_bounded(served):
    with ExitStack() as tabs:
        for _ in range(MOST_TABS):
            tabs.enter_context(served.tab("a-session-of-many-tabs")).recv(timeout=LIMIT)
        with served.tab("a-session-of-many-tabs") as one_more:
            told = json.loads(one_more.recv(timeout=LIMIT))
            assert told["kind"] == "refused"
            assert f"{MOST_TABS} tabs show it, which is its most; close one" in told["line"]
        with served.tab() as other:
            assert json.loads(other.recv(timeout=LIMIT))["kind"] != "refused"


def test_the_documentation_names_the_bounds():
    page = " ".join((Path(__file__).resolve().parents[2] / "docs" / "studio.md").read_text().split())
    patience, rules = Patience(), Address().rules
    for said in (
        f"bodies above {rules.most_bytes >> 20} MiB and messages above {MOST_MESSAGE >> 20} MiB",
        f"{patience.head:g} seconds for a request, {rules.seconds:g} and one more for every {SLOWEST >> 10} KiB",
        f"a socket that reads nothing is given up after {patience.unread:g}",
        f"{patience.connections} connections can be open, and {MOST_TABS} tabs of one session",
    ):
        assert said in page


def test_connections_are_bounded(tmp_path, scene):
    with serving(tmp_path, scene, connections=2, head=LIMIT) as served, served.connect(), served.connect():
        with served.connect() as third:
            answer = said(third)
        assert answer.startswith("HTTP/1.1 503 ")
        assert "2 connections are open; close some" in answer


def test_a_network_that_cannot_be_mapped_is_refused_with_the_reason(tmp_path, scene):
    nodes = {"I": Node("I", None), "O": Node("O", None)}
    network = nm.Network("shapeless", nodes, {("I", "O"): Edge("I", "O")})
    first = Scene(network, scene.chip, (SceneRun(nm.RolloutPattern.streaming(network)),))
    with serving(tmp_path, first) as served, served.tab() as tab:
        told = json.loads(tab.recv(timeout=LIMIT))
    assert told["kind"] == "refused"
    assert told["line"].startswith("network shapeless: cannot be shown: node I: has no shape")
    assert "add shape" in told["line"]
