"""What the tests share: the real node, and servers that are none."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import threading
from typing import Any, Callable, Iterator, List, Optional, Tuple

from reeve_aos import Guardian

CARD = "4000 0000 0000 0002"  # which the tests' policy masks
URL = os.environ["REEVE_URL"]

AGENT: Any = {
    "id": "clerk", "name": "Clerk", "instructions": "Help the office.", "version": "1.0",
    "provider": {"name": "Birch", "url": "https://birch.example"}, "organization": {"id": "birch"},
}


def guardian(**settings: Any) -> Guardian:
    return Guardian(**{"url": URL, "agent": AGENT, "timeout": 20.0, **settings})


def answer_approval(id: str, answer: str) -> None:
    """Answers as a person would with `reeve approvals approve`, by the node's own socket."""

    class Operator(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(os.path.join(os.environ["REEVE_DATA"], "reeve.sock"))

    with contextlib.closing(Operator("localhost")) as operator:
        operator.request("GET", f"/approvals/{id}")
        held = json.loads(operator.getresponse().read())
        body = json.dumps({"answer": answer, "seen": held.get("seen", "")})
        operator.request("POST", f"/approvals/{id}", body, {"Content-Type": "application/json"})
        response = operator.getresponse()
        text = response.read()
        assert response.status == 200, text


class Peer:
    """One connection to a server that is none."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.file = connection.makefile("rb")

    def request(self) -> Optional[Tuple[bytes, bytes]]:
        """The head and body of the next request; None when there is none."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            if not line:
                return None
            head += line
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        return head, self.file.read(length)

    def answer(self, body: bytes, status: str = "200 OK", *headers: str) -> None:
        lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode() + body)

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@contextlib.contextmanager
def server(serve: Callable[[Peer, int], None]) -> Iterator[str]:
    """A server that gives each connection, with its number, to a function in a thread. Yields its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    peers: List[Peer] = []

    def handle(peer: Peer, number: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            serve(peer, number)
        peer.close()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer = Peer(listener.accept()[0])
                peers.append(peer)
                threading.Thread(target=handle, args=(peer, len(peers) - 1), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/aos"
    finally:
        listener.close()
        for peer in peers:
            with contextlib.suppress(OSError):
                peer.socket.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def relay(lost: int) -> Iterator[str]:
    """The real node behind a line that loses its first answers, after the node has given them."""
    host, port = URL.split("//")[1].rstrip("/").split(":")
    count = iter(range(1 << 30))

    def serve(peer: Peer, number: int) -> None:
        while True:
            request = peer.request()
            if request is None:
                return
            with contextlib.closing(http.client.HTTPConnection(host, int(port))) as node:
                node.request("POST", "/aos", request[1], {"Content-Type": "application/json"})
                answer = node.getresponse().read()
            if next(count) < lost:
                return
            peer.answer(answer)

    with server(serve) as url:
        yield url
