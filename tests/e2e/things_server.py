#!/usr/bin/env python3
"""An API server of a tenant's own, to test aggregation with: things_server.py CERTIFICATE KEY FRONT-PROXY-CA ADDRESS PORT LOG.

Serves things.example.com/v1: a namespaced kind Thing that is kept in memory, with list, get, create, delete and watch. It believes a
front proxy alone: whoever shows no certificate of that CA gets no connection. A Thing says in spec.by and spec.groups who made
it, as the front proxy said. Each request is a line of LOG. Standard library only."""
import http.server
import json
import ssl
import sys
import threading
import urllib.parse

from https_server import JsonHandler

GROUP_VERSION = "things.example.com/v1"
BASE = f"/apis/{GROUP_VERSION}"
RESOURCES = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP_VERSION, "resources": [
    {"name": "things", "singularName": "thing", "namespaced": True, "kind": "Thing", "verbs": ["create", "delete", "get", "list", "watch"]}]}


class Shelf:
    """All things, and what happened to them, in order: an event's place is its version."""

    def __init__(self):
        self.changed, self.things, self.events = threading.Condition(), {}, []

    def note(self, kind, thing):
        thing["metadata"]["resourceVersion"] = str(len(self.events) + 1)
        self.events.append({"type": kind, "object": json.loads(json.dumps(thing))})
        self.changed.notify_all()

    def put(self, thing):
        with self.changed:
            self.things[thing["metadata"]["name"]] = thing
            self.note("ADDED", thing)

    def remove(self, name):
        with self.changed:
            thing = self.things.pop(name, None)
            if thing:
                self.note("DELETED", thing)
            return thing

    def listed(self):
        with self.changed:
            return {"kind": "ThingList", "apiVersion": GROUP_VERSION, "metadata": {"resourceVersion": str(len(self.events))},
                    "items": list(self.things.values())}

    def after(self, version):
        with self.changed:
            self.changed.wait_for(lambda: len(self.events) > version, timeout=1)
            return self.events[version:]


class Server(JsonHandler):
    def refuse(self, code, reason, message):
        self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code}, code)

    def place(self):
        """The name behind .../things/, "" for all of them; None: no thing is asked for."""
        parts = urllib.parse.urlsplit(self.path).path.removeprefix(BASE).strip("/").split("/")
        parts = parts[2:] if parts[0] == "namespaces" else parts
        return (parts[1] if len(parts) > 1 else "") if parts and parts[0] == "things" else None

    def do_GET(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        name = self.place()
        if urllib.parse.urlsplit(self.path).path == BASE:
            self.answer(RESOURCES)
        elif name is None:
            self.refuse(404, "NotFound", "the server could not find the requested resource")
        elif name:
            thing = self.server.shelf.things.get(name)
            self.answer(thing) if thing else self.refuse(404, "NotFound", f'things "{name}" not found')
        elif query.get("watch") in ("1", "true"):
            self.watch(int(query.get("resourceVersion") or 0))
        else:
            self.answer(self.server.shelf.listed())

    def watch(self, version):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while True:
                for event in self.server.shelf.after(version):
                    line = json.dumps(event).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                    version += 1
                self.wfile.flush()
                if self.connection.pending() == 0 and self.peer_is_gone():
                    break
        except OSError:
            pass
        self.server.log("WATCH-ENDED")
        self.close_connection = True

    def peer_is_gone(self):
        self.connection.settimeout(0.01)
        try:
            return self.connection.recv(1) == b""
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        finally:
            self.connection.settimeout(None)

    def do_POST(self):
        thing = self.asked()
        groups = sorted(self.headers.get_all("X-Remote-Group") or [])
        thing["spec"] = {"by": self.headers.get("X-Remote-User"), "groups": groups, "token": self.headers.get("Authorization") or "none"}
        self.server.shelf.put(thing)
        self.answer(thing, 201)

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        thing = self.server.shelf.remove(self.place() or "")
        self.answer(thing) if thing else self.refuse(404, "NotFound", "not found")

    def log_message(self, _, *arguments):
        self.server.log(f"{self.headers.get('X-Remote-User') if hasattr(self, 'headers') else '-'} {arguments[0]}")


class Threads(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def finish_request(self, request, client_address):
        # Here, on the connection's own thread: a peer that says nothing holds up nobody.
        with self.context.wrap_socket(request, server_side=True) as connection:
            super().finish_request(connection, client_address)

    def handle_error(self, request, client_address):
        self.log(f"REFUSED {sys.exc_info()[1]}")

    def log(self, line):
        with open(self.log_file, "a") as file:
            file.write(line + "\n")


def main():
    certificate, key, front_proxy, address, port, log_file = sys.argv[1:]
    server = Threads((address, int(port)), Server)
    server.shelf, server.log_file = Shelf(), log_file
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.context.load_cert_chain(certificate, key)
    server.context.verify_mode = ssl.CERT_REQUIRED
    server.context.load_verify_locations(front_proxy)
    server.log("LISTENS")
    server.serve_forever()


main()
