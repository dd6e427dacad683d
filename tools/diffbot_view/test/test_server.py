# SPDX-License-Identifier: Apache-2.0
"""Who may open the view, and that browsers cannot hold each other, or it, up."""

import contextlib
import json
import re
import socket
import time
import urllib.error
import urllib.request
from contextlib import ExitStack

import pytest

from diffbot_view.server import Button, PageCommand, parse_command
from diffbot_view.store import Store

pytest.importorskip("websockets", minversion="13")
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from diffbot_view.server import MOST_BROWSERS, AccessGate, LiveServer, assemble

PATIENCE = 10.0
# Messages of up to 1000 bytes that are not those of the page.
NONSENSE = [
    "stop",
    "[]",
    '{"do": 1}',
    '{"do": ["stop"]}',
    "{" * 2000,
    "[" * 990,
    '{"do": "fire"}',
    '{"do": "stop", "__class__": 1}',
    '{"do": "pause"}',
    '{"do": "pause", "on": 1}',
    '{"do": "payload"}',
    '{"do": "payload", "mass": 1' + "0" * 400 + "}",
    '{"do": "payload", "mass": -1}',
    '{"do": "payload", "mass": NaN}',
    '{"do": "payload", "mass": 1, "x": 1e999}',
    '{"do": "payload", "mass": "1"}',
    b"\xff\xfe",
]
TOKEN = "0123456789abcdef"


@pytest.fixture
def asked():
    return []


@pytest.fixture
def store():
    return Store({"a": 0.0})


@pytest.fixture
def serve(store, asked):
    servers = []

    def start(gate=None):
        server = LiveServer(store, gate or AccessGate.of("127.0.0.1"), 0, 30.0, asked.append)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


def port_of(server):
    return int(re.search(r":(\d+)/", server.url)[1])


def open_socket(server, origin=None, host="127.0.0.1", query="", **options):
    port = port_of(server)
    return connect(
        f"ws://{host}:{port}/live{query}", origin=origin or f"http://{host}:{port}", **options
    )


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def get(server, path="/", **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port_of(server)}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def test_the_page_is_one_file_that_runs_only_its_own_script(serve):
    status, headers, page = get(serve())
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    assert not re.findall(r"""(?:src|href|import)\s*=?\s*["'(]?https?://""", page)
    assert "<script src" not in page and "/*SCRIPT*/" not in page and "onclick=" not in page
    assert page.encode() == assemble()[0]


def test_other_paths_are_none(serve):
    assert get(serve(), "/../etc/passwd")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example"])
def test_a_foreign_name_that_points_to_loopback_is_refused(serve, host):
    status, _, text = get(serve(), Host=host)
    assert status == 403 and host in text


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost", ""]
)
def test_a_page_of_another_site_may_not_connect(serve, origin, asked):
    with pytest.raises(InvalidStatus) as error:
        open_socket(serve(), origin=origin or " ")
    assert error.value.response.status_code == 403
    assert asked == []


def test_a_program_that_names_no_origin_may_not_connect(serve):
    server = serve()
    with pytest.raises(InvalidStatus):
        connect(f"ws://127.0.0.1:{port_of(server)}/live")


def test_beyond_loopback_a_token_is_needed(serve):
    server = serve(AccessGate.of("0.0.0.0"))
    token = re.search(r"\?token=(.+)$", server.url)[1]
    assert len(token) >= 16
    for query in ("", "?token=", "?token=wrong", f"?token={token}x", f"?Token={token}"):
        assert get(server, f"/{query}")[0] == 403
        with pytest.raises(InvalidStatus):
            open_socket(server, query=query)
    assert get(server, f"/?token={token}")[0] == 200
    with open_socket(server, query=f"?token={token}") as browser:
        assert browser.recv(PATIENCE)
    assert AccessGate.of("0.0.0.0").token != token


def test_loopback_takes_a_token_where_one_is_given(serve):
    server = serve(AccessGate.of("127.0.0.1", TOKEN))
    assert get(server)[0] == 403 and get(server, f"/?token={TOKEN}")[0] == 200


@pytest.mark.parametrize(
    ("address", "token", "said"), [("robot", "", "IP address"), ("127.0.0.1", "short", "16")]
)
def test_what_cannot_be_is_refused(address, token, said):
    with pytest.raises(ValueError, match=said):
        AccessGate.of(address, token)


def test_an_address_of_another_machine_is_refused(store):
    with pytest.raises(OSError, match="cannot listen on 192.0.2.1"):
        LiveServer(store, AccessGate.of("192.0.2.1", TOKEN), 0, 10.0, print)


def test_a_port_that_is_taken_is_left_to_its_owner(serve, store, asked):
    port = port_of(serve())
    second = LiveServer(store, AccessGate.of("127.0.0.1"), port, 10.0, asked.append)
    try:
        assert port < port_of(second) < port + 20
    finally:
        second.close()


def test_what_a_browser_asks_for_arrives_and_nonsense_ends_its_connection(serve, asked):
    server = serve()
    with open_socket(server) as browser:
        browser.send('{"do": "stop"}')
        until(lambda: asked)
    assert asked == [PageCommand(Button.STOP)]
    for nonsense in NONSENSE:
        with open_socket(server) as browser:
            browser.send(nonsense)
            until(lambda: server.browsers == 0)
    assert len(asked) == 1


def test_the_commands_of_the_page_are_understood():
    assert parse_command(b'{"do": "pause", "on": false}') == PageCommand(Button.PAUSE, on=False)
    payload = parse_command('{"do": "payload", "mass": 2, "x": -0.1}')
    assert payload == PageCommand(Button.PAYLOAD, mass=2.0, x=-0.1)


def test_the_policy_takes_nothing_from_the_request(serve):
    server = serve(AccessGate.of("127.0.0.1", TOKEN))
    for host in ("evil.example; script-src *", "evil.example"):
        status, headers, _ = get(server, f"/?token={TOKEN}", Host=host)
        assert status == 200 and "evil" not in headers["Content-Security-Policy"]
    assert "connect-src 'self'" in headers["Content-Security-Policy"]


def test_ten_browsers_are_told_the_same(serve, store):
    server = serve()
    with ExitStack() as stack:
        browsers = [stack.enter_context(open_socket(server)) for _ in range(10)]
        store.add("a", 1.0, [2.0])
        for browser in browsers:
            rows = []
            until(lambda: rows.extend(rows_of(browser)) or rows)  # noqa: B023
            assert rows == [[1.0, 2.0]]
    until(lambda: server.browsers == 0)


def rows_of(browser):
    return json.loads(browser.recv(PATIENCE)).get("series", {}).get("a", {}).get("rows", [])


def test_a_browser_that_stops_reading_holds_up_nobody_and_its_stop_still_works(serve, store, asked):
    server = serve()
    small = socket.socket()
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    small.connect(("127.0.0.1", port_of(server)))
    # It reads nothing, and 12 MB do not fit into what lies between: its task waits.
    with ExitStack() as stack:
        stalled = stack.enter_context(
            open_socket(server, sock=small, max_queue=1, max_size=None, close_timeout=0.1)
        )
        reader = stack.enter_context(open_socket(server, max_size=None))
        store.set(much="x" * 12_000_000)
        until(lambda: "much" in reader.recv(PATIENCE))
        store.add("a", 1.0, [2.0])
        until(lambda: rows_of(reader))
        stalled.send('{"do": "stop"}')
        until(lambda: asked)
        small.shutdown(socket.SHUT_RDWR)


def test_more_browsers_than_there_may_be_are_refused(serve):
    server = serve()
    with ExitStack() as stack:
        for _ in range(MOST_BROWSERS):
            stack.enter_context(open_socket(server))
        with pytest.raises(InvalidStatus) as error:
            open_socket(server)
    assert error.value.response.status_code == 503


@pytest.mark.parametrize("frame", [b"\x89\x80abcd", b"\x8a\x80abcd", b"\x81\x80abcd"])
def test_a_browser_that_floods_is_disconnected_and_others_are_served(serve, frame):
    server = serve()
    with open_socket(server) as flooding, open_socket(server) as other:
        with contextlib.suppress(OSError):
            for _ in range(100):  # pings, pongs or empty texts, and it reads nothing
                flooding.socket.sendall(1000 * frame)
        until(lambda: server.browsers == 1)
        assert other.recv(PATIENCE)
