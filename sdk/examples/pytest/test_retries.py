"""With pytest: the receiver is a server of this test, and the hours pass in milliseconds."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@pytest.fixture
def bank():
    """Always down."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            server.asked.append(self.path)
            self.send_response(200 if self.path == "/failed" else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_retried_then_given_up_with_a_failure_callback(postrider, bank):
    url = f"http://127.0.0.1:{bank.server_port}"
    started = postrider.now()
    message = postrider.publish(f"{url}/charge", {"order": 7}, Retries="3", Failure_Callback=f"{url}/failed")
    postrider.advance("2m")
    attempts = postrider.call("GET", f"/v2/messages/{message}")["attempts"]
    assert [attempt["startedAt"] - started for attempt in attempts] == [0, 1000, 8390, 62989]
    assert bank.asked == ["/charge"] * 4 + ["/failed"]


def test_a_delay_of_a_month(postrider, bank):
    postrider.publish(f"http://127.0.0.1:{bank.server_port}/later", None, Delay="30d", Retries="0")
    postrider.advance("29d")
    assert bank.asked == []
    postrider.advance("1d")
    assert bank.asked == ["/later"]
