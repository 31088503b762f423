#!/usr/bin/env python3
"""A conversion webhook to test with: conversion_server.py CERTIFICATE KEY PORT-FILE [ADDRESS].

Between v1 of a Link (spec.hostPort: "a:1") and v2 (spec.host, spec.port). /convert does it; /wrong renames what it converts, /fail says
no, /few gives nothing back, /hang never answers. Standard library only."""
import http.server
import json
import os
import ssl
import sys
import threading


def convert(item, wanted):
    spec = item.get("spec", {})
    if wanted.endswith("/v2") and "hostPort" in spec:
        spec["host"], _, spec["port"] = spec.pop("hostPort").partition(":")
    elif wanted.endswith("/v1") and "host" in spec:
        spec["hostPort"] = f"{spec.pop('host')}:{spec.pop('port', '')}"
    item["apiVersion"] = wanted
    return item


class Hook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request, path = review["request"], self.path.split("?")[0]
        objects = [convert(item, request["desiredAPIVersion"]) for item in request["objects"]]
        result = {"status": "Success"}
        if path == "/hang":
            threading.Event().wait()
        if path == "/wrong":
            for item in objects:
                item["metadata"]["name"] = "other"
        if path == "/few":
            objects = []
        if path == "/fail":
            objects, result = [], {"status": "Failed", "message": "not this one"}
        if path == "/label":
            for item in objects:
                item["metadata"].setdefault("labels", {})["by"] = "hook"
        response = {"uid": request["uid"], "result": result, "convertedObjects": objects}
        body = json.dumps({"kind": "ConversionReview", "apiVersion": review["apiVersion"], "response": response}).encode()
        self.send_response(404 if path == "/none" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def main():
    certificate, key, port_file = sys.argv[1:4]
    server = http.server.ThreadingHTTPServer((sys.argv[4] if len(sys.argv) > 4 else "127.0.0.1", 0), Hook)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(port_file + ".new", "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


main()
