"""A server's sessions, asked as a browser asks, without one: what each tab is told, what is kept, what is freed."""

import asyncio
import base64
import io
import json
import time
from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.faults.edited_program import SilentCore
from neuromap.network.edge import Edge
from neuromap.network.node import Node
from neuromap.studio.run_server import StudioApp
from neuromap.studio.scene.commands import Offer
from neuromap.studio.scene.scene import Change, Shown
from neuromap.studio.scene.scene_file import network_bytes, scene_bytes
from neuromap.studio.sessions import MOST_OPEN, MOST_SESSIONS, KeptSessions, Sessions

NAME = "session-of-a-test-0001"
LATER = 60.0
HUGE = """
format = 1
[nodes]
I = { shape = [1, 1, 16384] }
O = { shape = [1, 1, 16384], threshold = 1 }
[edges]
"I -> O" = { transform = "dense", weights = { seed = 1, values = [1] } }
"""


@pytest.fixture
def open_sessions(scene, tmp_path):
    """Make the sessions of a server; the folder stays, as it does when a server is killed."""
    every = []

    def make():
        found = Sessions(KeptSessions(tmp_path), Offer({"small": scene.network}), scene)
        found._ended.set()  # the tests sweep themselves
        every.append(found)
        return found

    yield make
    for sessions in every:
        sessions.close()


class Tab:
    """A tab of a browser: sends commands, keeps what it is told."""

    def __init__(self, app, name=NAME):
        self.app, self.name = app, name
        self.asked, self.told = asyncio.Queue(), []

    async def __aenter__(self):
        await self.asked.put({"type": "websocket.connect"})
        scope = {"type": "websocket", "path": f"/s/{self.name}/live"}
        self.task = asyncio.create_task(self.app(scope, self.asked.get, self._hear))
        return self

    async def __aexit__(self, *_):
        await self.asked.put({"type": "websocket.disconnect"})
        await self.task

    async def _hear(self, message):
        self.told.append(json.loads(message["text"]) if "text" in message else {"kind": "socket", **message})

    async def ask(self, **command):
        await self.asked.put({"type": "websocket.receive", "text": json.dumps(command)})

    async def until(self, is_true):
        """Wait for a message; the last look by default."""
        end = time.monotonic() + 60
        while not any(map(is_true, self.told)):
            assert time.monotonic() < end, self.told[-1:]
            await asyncio.sleep(0.01)
        return next(filter(is_true, self.told))

    async def ready(self):
        return await self.until(lambda m: m.get("kind") == "look" and m["ready"])


async def post(app, kind, data, name=NAME):
    """Status and answer of an upload."""
    return await ask_for(app, f"/s/{name}/{kind}", "POST", data)


async def ask_for(app, path, method="GET", data=b""):
    """Status and answer, which is JSON."""
    sent, body = [], [{"type": "http.request", "body": data}]

    async def receive():
        return body.pop()

    async def send(message):
        sent.append(message)

    await app({"type": "http", "method": method, "path": path}, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


def run(scenario):
    asyncio.run(scenario)


def test_tabs_of_one_session_see_the_same_and_those_of_another_do_not(open_sessions):
    sessions = open_sessions()
    app = StudioApp(sessions)

    async def scenario():
        async with Tab(app) as one, Tab(app) as two, Tab(app, "another-session-0001") as other:
            for tab in (one, two, other):
                await tab.ready()
            await one.ask(do="random", value=0.5)
            for _ in range(4):
                await one.ask(do="tick")
            for tab in (one, two):
                await tab.until(lambda m: m.get("kind") == "look" and m["tick"] == 4)
            looks = [[m for m in tab.told if m["kind"] == "look" and m["runs"]] for tab in (one, two)]
            seen = [[column for look in some for column in look["runs"][0]["columns"]] for some in looks]
            assert seen[0] == seen[1]
            assert [tick for tick, _ in seen[0]] == [0, 1, 2, 3]
            await one.ask(do="toggle", run=0, source="I", target="H")
            await two.until(lambda m: "valid: 3 of 4" in m.get("parts", {}).get("figures-0", ""))
            assert not any(m["kind"] == "look" and m["tick"] for m in other.told)
            assert set(sessions.names) == {NAME, "another-session-0001"}
        sessions.sweep(time.monotonic() + LATER)
        assert sessions.names == ()

    run(scenario())


def test_wrong_commands_are_told_to_who_asked_and_change_nothing(open_sessions):
    sessions = open_sessions()
    app = StudioApp(sessions)
    wrong = [
        {}, {"do": 5}, {"do": "eval", "value": "1"}, {"do": "speed", "value": 3}, {"do": "toggle", "run": 7},
        {"do": "toggle", "run": 0, "source": "O", "target": "I"}, {"do": "pattern", "run": 0, "value": "none"},
        {"do": "execution", "run": 0, "value": "pipelined:x"}, {"do": "chip", "value": "/etc/chip.toml"},
        {"do": "network", "value": "../x"}, {"do": "draw", "node": "I", "pixels": [1]}, {"do": "noise", "value": 2},
        {"do": "draw", "node": "I", "pixels": [300] * 9}, {"do": "image", "value": 0}, {"do": "replay"},
        {"do": "edit", "run": 0, "edit": {"kind": "threshold", "node": "H", "by": 10**9}}, {"do": "stimulus"},
        {"do": "edit", "run": 0, "edit": {"kind": "other"}}, {"do": "undo", "run": 0, "value": 0},
        {"do": "noise", "value": 10**400}, {"do": "random", "value": -(10**400)}, {"do": "speed", "value": 10**400},
        {"do": "pattern", "run": 0, "value": "\ud800"}, {"do": "toggle", "run": 0, "source": "\udfff", "target": "H"},
    ]  # fmt: skip

    async def scenario():
        async with Tab(app) as tab, Tab(app) as two:
            await tab.ready()
            for command in wrong:
                await tab.ask(**command)
            await tab.asked.put({"type": "websocket.receive", "text": "[1"})
            await tab.asked.put({"type": "websocket.receive", "bytes": b"x"})
            end = time.monotonic() + 30
            while sum(m["kind"] == "error" for m in tab.told) < len(wrong) + 2:
                assert time.monotonic() < end, [m for m in tab.told if m["kind"] == "error"]
                await asyncio.sleep(0.01)
            lines = [m["line"] for m in tab.told if m["kind"] == "error"]
            assert all(line and "\n" not in line and len(line) < 300 for line in lines)
            assert not any(m["kind"] == "error" for m in two.told)
            with sessions.looked_at(NAME) as session:
                assert (session.stage.now, session.stage.scene.changes) == (0, ())

    run(scenario())


def test_what_was_saved_is_played_again_by_another_server(open_sessions):
    first, second = open_sessions(), open_sessions()

    async def scenario(sessions, commands, tick):
        async with Tab(StudioApp(sessions)) as tab:
            await tab.ready()
            for command in commands:
                await tab.ask(**command)
            await tab.until(lambda m: m.get("kind") == "look" and m["tick"] == tick)
            sessions.sweep(time.monotonic())  # and then it is killed
            with sessions.looked_at(NAME) as session:
                return session.stage.scene

    threshold = {"kind": "threshold", "node": "H", "by": 1, "index": None}
    commands = [{"do": "random", "value": 0.6}, {"do": "tick"}, {"do": "edit", "run": 1, "edit": threshold}]
    before = asyncio.run(scenario(first, [*commands, *[{"do": "tick"}] * 6], 7))
    after = asyncio.run(scenario(second, [], 7))
    assert after.checksums == before.checksums
    assert after.edits_at(7, 1) == before.edits_at(7, 1) != ()
    assert len(after.changes) == 2


def test_uploads_take_the_stage_or_are_one_line(open_sessions, digits):
    sessions = open_sessions()
    app = StudioApp(sessions)
    text, weights = network_bytes(digits)

    async def scenario():
        async with Tab(app) as tab:
            await tab.ready()
            body = {"toml": text.decode(), "weights": base64.b64encode(weights).decode()}
            status, answer = await post(app, "network", json.dumps({**body, "weights": None}).encode())
            assert (status, list(answer)) == (400, ["error"])
            assert "choose that file too" in answer["error"]
            for kind, data in (
                ("network", b"{"),
                ("scene", b"[]"),
                ("stimulus", b"PK"),
                ("network", b'{"toml": "x = "}'),
            ):
                status, answer = await post(app, kind, data)
                assert status == 400
                assert "\n" not in answer["error"]
                assert "/tmp" not in answer["error"]
            status, answer = await post(app, "network", json.dumps({"toml": HUGE}).encode())
            assert (status, "the studio takes at most" in answer["error"]) == (400, True)
            assert await post(app, "network", json.dumps(body).encode()) == (200, {"ok": True})
            await tab.until(lambda m: m.get("title", "").startswith("digits SR"))

    run(scenario())


def test_a_server_holds_so_many_sessions_and_keeps_so_many(open_sessions, tmp_path):
    sessions = open_sessions()
    holders = [sessions.looked_at(f"session-number-{k:06}", begins=True) for k in range(MOST_OPEN)]
    for holder in holders:
        session = holder.__enter__()
    session.stage.show(Shown("random"))

    async def scenario():
        tab = Tab(StudioApp(sessions))
        async with tab:
            await tab.until(lambda m: m.get("kind") == "refused")

    run(scenario())
    for holder in holders:
        holder.__exit__(None, None, None)
    sessions.sweep(time.monotonic() + LATER)
    assert sessions.names == ()
    kept = KeptSessions(tmp_path / "kept")
    for k in range(MOST_SESSIONS + 3):
        kept.save(f"session-number-{k:06}", b"{}")
    assert len(list((tmp_path / "kept").iterdir())) == MOST_SESSIONS
    for name in ("../../x", "short", "a" * 65, "a/b-----------------"):
        assert not KeptSessions.is_name(name)
    assert [path.name for path in tmp_path.glob("*.json")] == [f"session-number-{MOST_OPEN - 1:06}.json"]


def test_a_link_to_a_file_of_a_session_begins_none(open_sessions):
    """Else a page of another site could fill the server, and drive out what is kept, by pictures of such addresses."""
    sessions = open_sessions()
    app = StudioApp(sessions)

    async def scenario():
        status, answer = await post(app, "scene", b"{}", "nobody-looks-at-this")
        assert (status, "is not there" in answer["error"]) == (400, True)
        status, answer = await ask_for(app, "/s/nobody-looks-at-this/scene.json")
        assert (status, "is not there" in answer["error"]) == (400, True)
        assert sessions.names == ()
        async with Tab(app) as tab:
            await tab.ready()
            assert (await ask_for(app, f"/s/{NAME}/scene.json"))[0] == 200

    run(scenario())


def test_what_goes_wrong_with_an_upload_or_a_command_is_a_line(open_sessions):
    app, sent = StudioApp(open_sessions()), []

    async def gone():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    async def scenario():
        async with Tab(app) as tab:
            await tab.ready()
            await app({"type": "http", "method": "POST", "path": f"/s/{NAME}/scene"}, gone, send)
            assert sent[0]["status"] == 400
            assert json.loads(sent[1]["body"]) == {"error": "upload: ended before all of it had come; send it again"}
            status, answer = await post(app, "scene", b"[" + b"[]," * 2 * 10**6 + b"0]")
            assert (status, answer["error"]) == (400, "scene file: has 4000001 values; at most 4000000 are read")
            await tab.ask(do="toggle", run=0, source="I", target="\n")
            told = await tab.until(lambda m: m["kind"] == "error")
            assert told["line"] == "edge I -> '\\n': is none of network small"

    run(scenario())


def test_a_network_that_cannot_be_shown_changes_nothing(scene, tmp_path):
    shapeless = nm.Network("shapeless", {n: Node(n, None) for n in "IO"}, {("I", "O"): Edge("I", "O")})
    sessions = Sessions(KeptSessions(tmp_path), Offer({"shapeless": shapeless}), scene)

    async def scenario():
        async with Tab(StudioApp(sessions)) as tab:
            await tab.ready()
            await tab.ask(do="network", value="shapeless")
            told = await tab.until(lambda m: m["kind"] == "error")
            assert told["line"].startswith("node I: has no shape")
            await tab.ask(do="tick")
            await tab.until(lambda m: m["kind"] == "look" and m["tick"] == 1)
            with sessions.looked_at(NAME) as session:
                assert session.stage.scene.network is scene.network

    run(scenario())
    sessions.close()


def test_frames_come_as_an_archive_of_numpy_too(open_sessions):
    app = StudioApp(open_sessions())

    def archive(**arrays):
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)
        return stream.getvalue()

    async def scenario():
        async with Tab(app) as tab:
            await tab.ready()
            assert await post(app, "stimulus", archive(I=np.eye(9, dtype=np.uint8))) == (200, {"ok": True})
            status, answer = await post(app, "stimulus", archive(I=np.zeros((2, 2**27), np.bool_)))
            assert (status, "unpacks to" in answer["error"]) == (400, True)
            status, answer = await post(app, "stimulus", archive(I=np.eye(9))[:-40])
            assert (status, "not a readable .npz" in answer["error"]) == (400, True)
            await tab.ask(do="stimulus")
            await tab.until(lambda m: m.get("kind") == "picture" and m["of"] == "stimulus")

    run(scenario())


@pytest.mark.parametrize("tick", [0, 3])
def test_a_scene_that_lies_ends_where_it_does_and_goes_on_from_there(open_sessions, scene, tick):
    """A core that the program lacks cannot be known before it is mapped."""
    sessions = open_sessions()
    app = StudioApp(sessions)
    changes = (Change(0, shown=Shown("random")), Change(tick, edits=(SilentCore(9999),)), Change(5, edits=()))

    async def scenario():
        async with Tab(app) as tab:
            await tab.ready()
            lie = scene_bytes(replace(scene, changes=changes, ticks=9, checksums=(1, 2)))
            assert await post(app, "scene", lie) == (200, {"ok": True})
            await tab.until(lambda m: m.get("kind") == "look" and "core 9999" in m["line"])
            with sessions.looked_at(NAME) as session:
                while session.is_mapping:
                    await asyncio.sleep(0.01)
                assert session.stage.scene.ticks == tick
                assert [change.tick for change in session.stage.scene.changes] == [0]
            await tab.ask(do="tick")
            await tab.until(lambda m: m.get("kind") == "look" and m["tick"] == tick + 1)

    run(scenario())


def test_a_scene_shows_what_fits_the_network(open_sessions, scene):
    app = StudioApp(open_sessions())

    async def scenario():
        async with Tab(app) as tab:
            await tab.ready()
            for shown in (Shown(pictures={"I": np.zeros((1, 2, 1), np.uint8)}), Shown("stimulus")):
                lie = scene_bytes(replace(scene, changes=(Change(0, shown=shown),)))
                assert (await post(app, "scene", lie))[0] == 400

    run(scenario())
