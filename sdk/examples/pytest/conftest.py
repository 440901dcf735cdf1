"""A Postrider with a manual clock, for tests in Python. It needs nothing but the command `postrider`."""

import json
import os
import shlex
import subprocess
import urllib.request

import pytest

COMMAND = shlex.split(os.environ.get("POSTRIDER_COMMAND", "npx postrider"))


class Postrider:
    def __init__(self, url, token):
        self.url = url
        self.token = token

    def call(self, method, path, body=None, headers=None):
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", **(headers or {})},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def publish(self, destination, body, **settings):
        headers = {f"Service-{name.replace('_', '-')}": value for name, value in settings.items()}
        return self.call("POST", f"/v2/publish/{destination}", body, headers)["messageId"]

    def now(self):
        return self.call("GET", "/v2/dev/clock")["now"]

    def advance(self, span):
        """Returns when everything that became due was attempted."""
        clock = self.call("POST", "/v2/dev/clock", {"advance": span})
        assert clock["underWayCount"] == 0, f"receivers do not answer: {clock['underWay']}"


@pytest.fixture(scope="session")
def postrider():
    """One service for all tests: each begins at the time that the one before has left."""
    arguments = ["dev", "--clock", "manual", "--port", "0", "--json", "--until-stdin-ends"]
    with subprocess.Popen(COMMAND + arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        ready = json.loads(service.stdout.readline())
        yield Postrider(ready["api"], ready["token"])
        service.stdin.close()
