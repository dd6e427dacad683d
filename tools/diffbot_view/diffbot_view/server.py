# SPDX-License-Identifier: Apache-2.0
"""The page of a live view and its WebSocket, in a thread of its own; knows no ROS.

A page of another site must not press a button: the WebSocket is refused unless its Origin is this
page's, no other page may frame it, and on the loopback interface foreign host names are refused
(DNS rebinding).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import json
import logging
import math
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from diffbot_report.page import colours
from diffbot_view.store import Cursor, Store

# Largest mass of a payload, kg, and distance from the axle, m.
HEAVIEST, FARTHEST = 1e4, 100.0


class Button(Enum):
    """Buttons of the page."""

    STOP = "stop"
    RELEASE = "release"
    ENABLE = "enable"
    PAUSE = "pause"
    PAYLOAD = "payload"


@dataclass(frozen=True)
class PageCommand:
    """A valid message of a browser; mass, kg, from 0 to HEAVIEST, x ahead of the axle, m."""

    button: Button
    on: bool = True
    mass: float = 0.0
    x: float = 0.0


@dataclass(frozen=True)
class PageAddition:
    """What a page has besides the view.

    Attributes:
        html: Is put above the robot.
        style, script: Are appended to those of the view.
        take: Called in the server's thread with each message of a browser; returns whether it is
            the addition's own. Raises ValueError: what is wrong with it.
        document: Returns a page of results by its path in the address; None: there is none.
    """

    html: str
    style: str
    script: str
    take: Callable[[dict[str, Any]], bool]
    document: Callable[[str], bytes | None] = lambda path: None


def read_message(text: str | bytes) -> dict[str, Any]:
    """Return a message of a browser, in which all numbers are floats. Raises ValueError."""
    try:
        # Numbers of any length become floats, and infinite ones are refused later.
        message = json.loads(text, parse_int=float)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError("a message must be an object")
    return message


def parse_command(text: str | bytes) -> PageCommand:
    """Return the view's command in a message of a browser. Raises ValueError."""
    return _command_of(read_message(text))


def _command_of(message: dict[str, Any]) -> PageCommand:
    name = message.pop("do", None)
    if not isinstance(name, str) or name not in {each.value for each in Button}:
        raise ValueError("do must be a button of the page")
    button = Button(name)
    page_command = PageCommand(button)
    if button is Button.PAUSE:
        on = message.pop("on", None)
        if not isinstance(on, bool):
            raise ValueError("pause: on must be true or false")
        page_command = PageCommand(button, on=on)
    elif button is Button.PAYLOAD:
        mass = _number(message, "mass", 0.0, HEAVIEST)
        page_command = PageCommand(button, mass=mass, x=_number(message, "x", -FARTHEST, FARTHEST))
    if message:
        raise ValueError("the message has parts that its button does not")
    return page_command


def _number(message: dict[str, Any], name: str, least: float, most: float) -> float:
    value = message.pop(name, 0.0 if name == "x" else None)
    if not isinstance(value, float) or not math.isfinite(value) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}")
    return value


try:
    from websockets.asyncio.server import Server, ServerConnection, serve
    from websockets.datastructures import Headers
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request, Response
except ImportError:
    # ROS distributions up to 2024 include an older version.
    raise ImportError(
        "the live view needs the Python package websockets, 13 or newer: run "
        "pip install 'websockets>=13'"
    ) from None

SOCKET = "/live"
# Browsers at a time; more are refused.
MOST_BROWSERS = 32
# Largest message of a browser, bytes; a longer one ends its connection.
LONGEST_REQUEST = 1000
# Period of pings, and time without a reply after which a browser is gone, s.
PING_PERIOD, PING_PATIENCE = 10.0, 20.0
# Data under way to a browser that does not read, bytes.
MOST_PENDING = 1 << 16
# Time between two requests of a browser, s; more of them wait.
REQUEST_PERIOD = 0.02
# What a browser may send in a second, bytes: pings are answered at once, however many.
MOST_RECEIVED = 20_000
LATER_PORTS = 20  # number of ports that are tried, the given one included
# Scripts of a document are in an origin of their own: they can neither connect nor press a button.
DOCUMENT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
TOKEN_BYTES = 16


@dataclass(frozen=True)
class AccessGate:
    """Access control of a view.

    Attributes:
        token: That the URL must contain; None: none, on the loopback interface only.
    """

    address: str
    token: str | None

    @classmethod
    def of(cls, address: str, token: str = "") -> AccessGate:
        """Return the gate for an address; a token is generated if needed and not given.

        Raises ValueError if the address is no IP address, or the token is too short.
        """
        try:
            is_loopback = ipaddress.ip_address(address).is_loopback
        except ValueError:
            raise ValueError(
                f"address = '{address}': must be an IP address of this machine, such as 127.0.0.1 "
                "(this machine only) or 0.0.0.0 (all its networks)"
            ) from None
        if token and len(token) < TOKEN_BYTES:
            raise ValueError(
                f"token: has {len(token)} characters, must have at least {TOKEN_BYTES}; leave it "
                "out to have one generated"
            )
        if not token and not is_loopback:
            token = secrets.token_urlsafe(TOKEN_BYTES)
        return cls(address, token or None)

    def refuses(self, host: str, query: str, origin: str | None, is_socket: bool) -> str | None:
        """Return why a request is refused; `query` is of the URL, `origin` of a WebSocket."""
        if self.token is None:
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if name not in LOOPBACK_NAMES:
                return f"the name '{host}' is not this machine's loopback interface"
        else:
            (given,) = parse_qs(query).get("token", [""])[:1]
            if not hmac.compare_digest(given.encode(), self.token.encode()):
                return "the token is missing or wrong: open the address that was printed"
        if is_socket and origin not in (f"http://{host}", f"https://{host}"):
            return "a page of another site may not connect"
        return None


class _Browser(ServerConnection):
    """A connection that ends if it sends more than MOST_RECEIVED."""

    _since, _received = 0.0, 0

    def data_received(self, data: bytes) -> None:
        now = self.loop.time()
        if now - self._since >= 1.0:
            self._since, self._received = now, 0
        self._received += len(data)
        if self._received > MOST_RECEIVED:
            self.transport.abort()
        else:
            super().data_received(data)


class LiveServer:
    """Serves the page, and the content of a store to each browser.

    Args:
        port: If it is taken, one of the next ones; 0: any free port.
        rate: Updates of a browser, 1/s.
        on_command: Called in the server's thread with each valid request.
        addition: What the page has besides the view.

    Raises:
        OSError: It cannot listen there; the message states what to change.
    """

    def __init__(
        self,
        store: Store,
        gate: AccessGate,
        port: int,
        rate: float,
        on_command: Callable[[PageCommand], None],
        addition: PageAddition | None = None,
    ) -> None:
        self._store, self._gate, self._on_command = store, gate, on_command
        self._addition = addition
        self._period = 1.0 / rate
        self._page, self._policy = assemble(addition)
        self._clients: set[ServerConnection] = set()
        self._listener = _listen(gate.address, port)
        shown = gate.address if not ipaddress.ip_address(gate.address).is_unspecified else _name()
        shown = f"[{shown}]" if ":" in shown else shown
        query = "" if gate.token is None else f"?token={gate.token}"
        self.url = f"http://{shown}:{self._listener.getsockname()[1]}/{query}"
        self._loop = asyncio.new_event_loop()
        self._ends = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live_view", daemon=True)
        self._thread.start()
        self._ready.wait(5.0)

    @property
    def browsers(self) -> int:
        """Number of connected browsers."""
        return len(self._clients)

    def close(self) -> None:
        """Close the connections, and end; a second call changes nothing."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ends.set)
            self._thread.join(3.0)

    # The server's thread.

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        quiet = logging.getLogger("diffbot_view.server")
        quiet.setLevel(logging.CRITICAL)  # do not log refused or closed connections
        server: Server = await serve(
            self._send_updates,
            sock=self._listener,
            create_connection=_Browser,
            process_request=self._answer,
            compression=None,
            max_size=LONGEST_REQUEST,
            max_queue=4,
            write_limit=MOST_PENDING,
            ping_interval=PING_PERIOD,
            ping_timeout=PING_PATIENCE,
            close_timeout=0.5,
            server_header=None,
            logger=quiet,
        )
        self._ready.set()
        await self._ends.wait()
        server.close(code=1001, reason="the view has ended")
        try:
            await asyncio.wait_for(server.wait_closed(), 1.0)
        except asyncio.TimeoutError:  # the builtin one from Python 3.11 on
            for client in list(self._clients):
                client.transport.abort()

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        try:
            url = urlsplit(request.path)
        except ValueError:
            return _refusal(HTTPStatus.BAD_REQUEST, "the address is not valid")
        is_socket = url.path == SOCKET
        hosts = request.headers.get_all("Host")
        origins = request.headers.get_all("Origin")
        if len(hosts) != 1 or len(origins) > 1:
            return _refusal(HTTPStatus.BAD_REQUEST, "one Host, and at most one Origin")
        origin = origins[0] if origins else None
        if why := self._gate.refuses(hosts[0], url.query, origin, is_socket):
            return _refusal(HTTPStatus.FORBIDDEN, why)
        if is_socket:
            if len(self._clients) >= MOST_BROWSERS:
                return _refusal(
                    HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_BROWSERS} browsers are connected"
                )
            return None
        if url.path == "/":
            return _page(self._page, self._policy)
        document = None if self._addition is None else self._addition.document(url.path)
        if document is None:
            return _refusal(HTTPStatus.NOT_FOUND, "there is no such page")
        return _page(document, DOCUMENT_POLICY)

    async def _send_updates(self, browser: ServerConnection) -> None:
        self._clients.add(browser)
        listening = asyncio.create_task(self._listen(browser))
        cursor: Cursor = {}
        try:
            while True:
                text, cursor = self._store.since(cursor)
                await browser.send(text or "{}")  # an empty update shows that it is connected
                await asyncio.sleep(self._period)
        except ConnectionClosed:
            pass
        finally:
            self._clients.discard(browser)
            listening.cancel()

    async def _listen(self, browser: ServerConnection) -> None:
        """Receive a browser's requests; whatever is wrong ends the connection."""
        try:
            async for text in browser:
                message = read_message(text)
                if self._addition is None or not self._addition.take(message):
                    self._on_command(_command_of(message))
                await asyncio.sleep(REQUEST_PERIOD)
        except ConnectionClosed:
            return
        except ValueError as error:
            await browser.close(1003, f"not understood: {error}")
        except Exception:
            await browser.close(1011, "failed")


def assemble(addition: PageAddition | None = None) -> tuple[bytes, str]:
    """Return the page in one file, and the policy that permits only its own script."""
    web = files("diffbot_view") / "web"
    style = colours() + (web / "live.css").read_text(encoding="utf-8")
    scripts = [
        (web / name).read_text(encoding="utf-8") for name in ("scene.js", "charts.js", "live.js")
    ]
    html = ""
    if addition is not None:
        html, style = addition.html, style + addition.style
        scripts.append(addition.script)
    script = "\n".join(scripts)
    page = (web / "live.html").read_text(encoding="utf-8").replace("<!--ADDITION-->", html)
    page = page.replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)
    policy = (
        # 'self' includes the WebSocket of the same address.
        f"default-src 'none'; connect-src 'self'; script-src {_digest(script)}; "
        f"style-src {_digest(style)}; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return page.encode(), policy


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _headers(kind: str, length: int) -> Headers:
    return Headers(
        {
            "Content-Type": kind,
            "Content-Length": str(length),
            "Connection": "close",
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
    )


def _page(content: bytes, policy: str) -> Response:
    headers = _headers("text/html; charset=utf-8", len(content))
    headers["Content-Security-Policy"] = policy
    return Response(HTTPStatus.OK, "OK", headers, content)


def _refusal(status: HTTPStatus, why: str) -> Response:
    body = f"{why}\n".encode()
    return Response(
        status.value, status.phrase, _headers("text/plain; charset=utf-8", len(body)), body
    )


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    ports = range(port, min(port + LATER_PORTS, 65536)) if port else [0]
    problem: OSError | None = None
    for each in ports:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # A browser that resumes reading must not receive old data first.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_PENDING)
        try:
            listener.bind((address, each))
            listener.listen(64)
            listener.setblocking(False)
            return listener
        except OSError as error:
            problem = error
            listener.close()
    assert problem is not None
    raise OSError(
        f"the live view cannot listen on {address}, ports {ports[0]} to {ports[-1]}: "
        f"{problem.strerror}; give an address of this machine, or another port"
    )


def _name() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a reserved address; nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
