"""Who may ask: origins, hosts, tokens, sizes; asked as a server would ask, for pages and sockets."""

import asyncio
from urllib.parse import unquote, urlsplit

import pytest

from neuromap.errors import InputError
from neuromap.studio.guard import COOKIE, Address, Guard, Rules

TOKEN = "t" * 20
OPEN = Address(port=8000).rules
LOCKED = Address("0.0.0.0", 8000, TOKEN).rules


async def echo(scope, receive, send):
    """Answers with the size of the body; accepts every socket."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RuntimeError("client went away")
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def ask(rules, address="/", kind="http", method="GET", parts=(b"",), app=echo, **headers):
    """Status, headers and body of the answer; of a socket 101 or 403."""
    found = urlsplit(address)
    given = [(k.replace("_", "-").encode(), v.encode()) for k, v in {"host": "127.0.0.1:8000", **headers}.items() if v]
    scope = {
        "type": kind, "method": method, "path": unquote(found.path), "raw_path": found.path.encode(),
        "query_string": found.query.encode(), "headers": given,
    }  # fmt: skip
    messages = [{"type": "http.request", "body": p, "more_body": k + 1 < len(parts)} for k, p in enumerate(parts)]
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(app, rules)(scope, receive, send))
    if kind == "websocket":
        return 101 if sent[0]["type"] == "websocket.accept" else 403
    head = {k.decode().lower(): v.decode() for k, v in sent[0]["headers"]}
    return sent[0]["status"], head, b"".join(message.get("body", b"") for message in sent[1:]).decode()


def page():
    """What a server says of a body that is sent to the studio."""
    return {
        "type": "http", "method": "POST", "path": "/", "raw_path": b"/", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8000")],
    }  # fmt: skip


async def gone(*_):
    """A connection that the other side has closed."""
    return {"type": "http.disconnect"}


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("headers", "is_let_in"),
    [
        ({"origin": "http://127.0.0.1:8000"}, True),
        ({"origin": "http://localhost:8000", "host": "localhost:8000"}, True),
        ({"origin": "http://127.0.0.1:8001"}, False),
        ({"origin": "http://localhost:8000"}, False),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://127.0.0.1:8000.evil.example"}, False),
        ({"origin": "http://["}, False),
        ({"origin": "http://evil.example", "host": "evil.example"}, False),
        ({"origin": "http://127.0.0.1:8000", "host": ""}, False),
    ],
)
def test_only_the_studio_itself_asks(kind, headers, is_let_in):
    found = ask(OPEN, kind=kind, **headers)
    status = found if kind == "websocket" else found[0]
    assert status == ((200 if kind == "http" else 101) if is_let_in else 403)


def test_a_socket_says_where_it_comes_from_and_a_page_need_not():
    assert ask(OPEN, kind="websocket") == 403
    assert ask(OPEN)[0] == 200


def test_pages_of_other_sites_ask_for_no_part_of_their_own():
    """They give no origin for pictures and frames, but browsers say where these come from."""
    part = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    frame = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    for headers in (part, {**part, "sec-fetch-site": "same-site"}, frame):
        assert ask(OPEN, **headers)[0] == 403
    assert ask(OPEN, method="POST", **link)[0] == 403
    assert ask(OPEN, **link)[0] == 200
    for site in ("same-origin", "none"):
        assert ask(OPEN, **{**part, "sec-fetch-site": site})[0] == 200


def test_a_token_is_asked_for_once_and_kept_in_a_cookie():
    own = {"host": "box:8000", "origin": "http://box:8000"}
    for address, cookie in (
        ("/", ""),
        ("/?token=wrong", ""),
        ("/?token=", ""),
        ("/", f"{COOKIE}=wrong"),
        ("/", "a=b;;="),
    ):
        status, _, body = ask(LOCKED, address, cookie=cookie, **own)
        assert status == 401
        assert TOKEN not in body
        assert ask(LOCKED, address, kind="websocket", cookie=cookie, **own) == 403
    status, head, _ = ask(LOCKED, f"//evil.example/s/x?a=1&token={TOKEN}", **own)
    assert (status, head["location"]) == (303, "/s/x?a=1")
    assert "HttpOnly" in head["set-cookie"]
    assert ask(LOCKED, f"/a%0D%0Ab?token={TOKEN}", **own)[1]["location"] == "/a%0D%0Ab"
    assert "SameSite=Strict" in head["set-cookie"]
    cookie = head["set-cookie"].split(";")[0]
    assert ask(LOCKED, cookie=f"other=1; {cookie}", **own)[0] == 200
    assert ask(LOCKED, kind="websocket", cookie=cookie, **own) == 101
    assert ask(LOCKED, kind="websocket", cookie=cookie, **{**own, "origin": "http://evil.example"}) == 403


def test_absurd_sizes_are_refused_whether_they_are_said_or_not():
    rules = Rules(OPEN.hosts, "", 100)
    assert ask(rules, method="POST", parts=(b"x" * 60, b"x" * 40))[2] == "100"
    assert ask(rules, method="POST", parts=(b"x" * 60, b"x" * 41, b"x"))[0] == 413
    for length in ("101", "9" * 30, "-1", "1e3"):
        assert ask(rules, method="POST", content_length=length)[0] == 413
    assert ask(OPEN, "/?" + "a" * 5000)[0] == 414
    _, head, body = ask(rules, method="POST", content_length="101")
    assert body.count("\n") == 1
    assert head["x-frame-options"] == "DENY"


async def answers_at_once(scope, receive, send):
    """Answers before it reads the body."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.body", "body": b"read"})


async def answers_who_is_gone(scope, receive, send):
    """Does not care why the body ends."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"read"})


def test_a_request_has_one_answer_a_refusal_too():
    rules, parts = Rules(OPEN.hosts, "", 100), (b"x" * 60, b"x" * 41, b"x")
    status, _, body = ask(rules, method="POST", parts=parts, app=answers_who_is_gone)
    assert (status, body) == (413, "neuromap studio: body: larger than 100 bytes\n")
    assert ask(rules, method="POST", parts=parts, app=answers_at_once)[::2] == (200, "read")


def test_a_body_that_does_not_come_is_not_waited_for():
    """A part that comes in time gives more time, as much as it takes at the slowest."""
    rules, sent, pauses = Rules(OPEN.hosts, "", 10**6, seconds=0.2), [], [0.0, 60.0]

    async def receive():
        await asyncio.sleep(pauses.pop(0))
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(echo, rules)(page(), receive, send))
    assert sent[0]["status"] == 408
    assert sent[1]["body"] == b"neuromap studio: body: comes slower than 32768 bytes in a second; send it again\n"


def test_what_goes_wrong_in_the_studio_itself_is_not_hidden():
    with pytest.raises(RuntimeError, match="client went away"):
        asyncio.run(Guard(echo, OPEN)(page(), gone, gone))


def test_only_loopback_goes_without_a_token():
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.9"):
        assert Address(host).is_loopback
        assert Address(host).rules.hosts
    assert Address("::1", 80).url == Address("[::1]", 80).url == "http://[::1]:80/"
    assert Address().url == "http://127.0.0.1:8765/"
    for host in ("0.0.0.0", "::", "192.168.0.2", "box", "127.0.0.1.evil.example"):
        with pytest.raises(InputError, match="asks for a token"):
            Address(host)
        assert Address(host, token=TOKEN).url.endswith(f"/?token={TOKEN}")
    for wrong in ({"port": 0}, {"port": 65536}, {"host": "a b"}, {"host": ""}, {"token": "short"}, {"token": "ü" * 20}):
        with pytest.raises(InputError):
            Address(**wrong)
