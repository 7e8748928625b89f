"""Readers of what a browser sends to the studio."""

import asyncio
import json
import time
from dataclasses import replace
from functools import cache
from urllib.parse import unquote

import numpy as np
from of_own_files import make_frames, make_npz
from one_reader import EXAMPLES, frames, network, reader, small

import neuromap as nm
from neuromap.datasets.tracks import ImageSet

# ------------------------------------------------------------------------------------------------------------- studio


@cache
def scene():
    from neuromap.faults.edited_program import SilentCore, ThresholdEdit, WeightEdit
    from neuromap.studio.scene.scene import Change, Scene, SceneRun, Shown

    runs = tuple(SceneRun(nm.RolloutPattern.named(network(), n), "windowed") for n in ("streaming", "sequential"))
    shown = Shown("picture", {"I": np.full((2, 3, 1), 200, np.uint8)}, noise=0.1, seed=5, label="drawn")
    edits = (ThresholdEdit("H", 1), WeightEdit("I", 1, "H", 2, 1), SilentCore(0))
    changes = (Change(0, shown=shown), Change(2, run=0, edits=edits))
    return Scene(network(), small(), runs, changes=changes, ticks=4, checksums=(1, 2), stimulus=frames())


def make_scenes(_):
    from neuromap.studio.scene.scene_file import scene_bytes

    plain = replace(scene(), changes=(), ticks=0, checksums=(), stimulus=None)
    return [scene_bytes(scene()), scene_bytes(plain)]


def unmapped_session(_):
    """A session that takes what is sent and maps nothing: that is no reading."""
    from neuromap.studio.scene.commands import Session

    class Unmapped(Session):
        def map(self):
            pass

    return Unmapped("one", scene())


def upload(kind):
    def read(path, session):
        from neuromap.studio.run_server import take_upload

        try:
            take_upload(session, kind, path.read_bytes())
        finally:
            session.set_scene(scene())

    return read


def make_network_uploads(folder):
    import base64

    network().save(folder / "network.toml")
    text, weights = ((folder / f"network.{end}").read_bytes() for end in ("toml", "safetensors"))
    plain = (EXAMPLES / "structures" / "sr.toml").read_text()
    return [
        json.dumps({"toml": text.decode(), "weights": base64.b64encode(weights).decode()}).encode(),
        json.dumps({"toml": plain}).encode(),
    ]


reader("studio-scene", "scene.json", make_scenes, upload("scene"), context=unmapped_session)
reader("studio-network", "upload", make_network_uploads, upload("network"), context=unmapped_session)
reader(
    "studio-stimulus",
    "upload",
    lambda folder: [*make_frames(folder), *make_npz(folder)],
    upload("stimulus"),
    context=unmapped_session,
)


def make_messages(_):
    edits = [
        {"kind": "threshold", "node": "H", "index": 2, "by": 1},
        {"kind": "weight", "source": "I", "source_index": 1, "target": "H", "target_index": 2, "weight": 1},
        {"kind": "silent-core", "core": 0},
    ]
    commands = [
        {"do": "tick"},
        {"do": "speed", "value": 10},
        {"do": "toggle", "run": 0, "source": "I", "target": "H"},
        {"do": "pattern", "run": 0, "value": "sequential"},
        {"do": "execution", "run": 0, "value": "pipelined"},
        {"do": "second", "value": True},
        {"do": "draw", "node": "I", "pixels": [0, 255, 3, 4, 5, 6]},
        {"do": "noise", "value": 0.5},
        {"do": "random", "value": 0.25},
        {"do": "chip", "value": "truenorth"},
        {"do": "clear"},
        {"do": "stimulus"},
        {"do": "frame"},
        {"do": "restart"},
        {"do": "play"},
        {"do": "pause"},
        {"do": "replay"},
        {"do": "undo", "run": 0, "value": 0},
        {"do": "image", "value": 1},
        {"do": "network", "value": "other"},
        *({"do": "edit", "run": 0, "edit": e} for e in edits),
    ]
    return [json.dumps(command).encode() for command in commands]


SILENT = {"do": "edit", "run": 0, "edit": {"kind": "silent-core", "core": 0}}


def mapped_session(_):
    """Gives a session whose network has run for a tick and has one edit; a new one only where others are on stage."""
    from neuromap.studio.scene.commands import Offer, Session
    from neuromap.studio.scene.scene import Shown

    plain, sessions = replace(scene(), runs=scene().runs[:1], changes=(), ticks=0, checksums=()), []
    pictures = np.arange(18, dtype=np.uint8).reshape(3, 2, 3, 1)
    images = ImageSet("drawn", "test", pictures, np.zeros(3, np.int64), ("0",), 255)
    offer = Offer({"other": nm.load_network(EXAMPLES / "digits" / "ff.toml")}, images)

    def begun():
        runs = sessions[-1].stage.runs if sessions else ()  # none while a pattern cannot be mapped
        if runs and len(runs[0].edits) == 1 and sessions[-1].stage.scene.runs == plain.runs:
            session = sessions[-1]
            session.pause()
            session.stage.restart()
            session.stage.show(Shown())
        else:
            for session in sessions:
                session.close()
            sessions[:] = [Session("one", plain, offer)]
            wait_for(sessions[-1])
            act_on(sessions[-1], SILENT)
        sessions[-1].step(1)
        return sessions[-1]

    act_on(begun(), {"do": "chip", "value": "truenorth"})  # its kernel is compiled before anything is timed
    return begun


def wait_for(session):
    until = time.monotonic() + 300
    while session.is_mapping and time.monotonic() < until:
        time.sleep(0.002)


def act_on(session, values):
    from neuromap.studio.scene.commands import act
    from neuromap.studio.scene.scene_file import Document

    act(session, Document(values, "command"))
    wait_for(session)
    if "internal error" in session.line:
        raise AssertionError(session.line)


def read_message(path, begun):
    """As the server obeys what comes over a socket: what it tells the tab must be a line of ours."""
    from neuromap.errors import InputError
    from neuromap.studio.run_server import _obey

    session, told = begun(), []

    async def send(message):
        told.append(json.loads(message["text"])["line"])

    asyncio.run(_obey(session, path.read_bytes().decode("utf-8", "surrogateescape"), send))
    wait_for(session)
    for line in (*told, session.line):
        if "internal error" in line:
            raise AssertionError(line)
    if told:
        raise InputError(told[0])


reader("studio-message", "message", make_messages, read_message, context=mapped_session, form="json")


def make_requests(_):
    host, name = ["host", "127.0.0.1:8765"], "A" * 24
    same = ["origin", "http://127.0.0.1:8765"]
    found = [
        {"method": "GET", "target": target, "headers": [host], "body": ""}
        for target in ("/", "/open.json", "/static/studio.js", f"/s/{name}", f"/s/{name}/scene.json", "/?token=abc")
    ]
    found += [
        {"method": "HEAD", "target": "/static/style.css", "headers": [host, ["cookie", "a=b; c"]], "body": ""},
        {"method": "POST", "target": f"/s/{name}/stimulus", "headers": [host, same], "body": "none"},
        {"method": "OPTIONS", "target": "/%2e%2e/x", "headers": [host, ["sec-fetch-site", "none"]], "body": "a"},
    ]
    return [json.dumps(one).encode() for one in found]


def guarded_app(folder):
    from neuromap.studio.guard import Address, Guard
    from neuromap.studio.run_server import StudioApp
    from neuromap.studio.scene.commands import Offer
    from neuromap.studio.sessions import KeptSessions, Sessions

    sessions = Sessions(KeptSessions(folder / "kept"), Offer({}), replace(scene(), changes=(), ticks=0, checksums=()))
    return [Guard(StudioApp(sessions), address.rules) for address in (Address(), Address(token="t" * 20))]


def request(path, apps):
    """As a request comes from uvicorn: whatever is in it, the answer is whole and none of a fault of ours."""
    from neuromap.errors import InputError

    if path.stat().st_size > 2**24:
        raise InputError("json, which stands in for the server here, takes too much memory for it")
    try:
        told = json.loads(path.read_bytes())
        method, target, body = (told[key].encode("latin-1") for key in ("method", "target", "body"))
        headers = [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in told["headers"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError("the server's own library refuses it") from None
    where, _, query = target.partition(b"?")
    scope = {
        "type": "http", "method": method.decode("latin-1"), "path": unquote(where.decode("latin-1")), "raw_path": where,
        "query_string": query, "headers": headers, "scheme": "http", "server": ("127.0.0.1", 8765), "root_path": "",
    }  # fmt: skip
    for app in apps:
        messages, sent = [{"type": "http.request", "body": body, "more_body": False}], []

        async def receive(messages=messages):
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message, sent=sent):
            sent.append(message)

        asyncio.run(app(dict(scope), receive, send))
        assert [one["type"] for one in sent] == ["http.response.start", "http.response.body"], sent
        assert sent[0]["status"] < 500, sent
        assert all(b"\r" not in k + v and b"\n" not in k + v for k, v in sent[0]["headers"]), sent


reader("studio-request", "request.json", make_requests, request, context=guarded_app, form="json")
