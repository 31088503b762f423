"""Sides: the two servers, each asked over a kept connection per thread; how to reach one is read as tests/api/run reads it."""

import http.client
import importlib.machinery
import importlib.util
import json
import pathlib
import threading

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def api_runner():
    loader = importlib.machinery.SourceFileLoader("api_run", str(REPOSITORY / "tests/api/run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("api_run", loader))
    loader.exec_module(module)
    return module


class Gone(Exception):
    """A server that takes no connections any more, with the request that found it so."""


class Answer:
    """Status 0: the server closed the connection instead, twice (a panic of Go's does that)."""

    def __init__(self, status, body):
        self.status, self.body = status, body


class Server:
    """One API server as its administrator. Threads: any, each has a connection of its own."""

    def __init__(self, label, kubeconfig, runner):
        self.label = label
        self.side = runner.Side(label, kubeconfig)
        self.local = threading.local()

    def ask(self, method, path, body=None, content_type="application/json"):
        """The answer; a connection that the server closed meanwhile is opened again once."""
        payload = None if body is None else json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()
        headers = {"Accept": "application/json"}
        if payload is not None:
            headers["Content-Type"] = content_type
        if self.side.token:
            headers["Authorization"] = "Bearer " + self.side.token
        for attempt in (1, 2):
            connection = getattr(self.local, "connection", None)
            if connection is None:
                try:
                    connection = self.local.connection = self.side.connect(True)
                except OSError as error:
                    raise Gone(f"{self.label}: {error}, at {method} {path} {json.dumps(body)}") from None
            try:
                connection.request(method, path, payload, headers)
                response = connection.getresponse()
                text = response.read()
            except (http.client.HTTPException, OSError):
                connection.close()
                self.local.connection = None
                if attempt == 2:
                    return Answer(0, {"message": "the connection ends without an answer"})
                continue
            try:
                return Answer(response.status, json.loads(text))
            except ValueError:
                return Answer(response.status, {"message": text.decode("utf-8", "replace").strip()})
