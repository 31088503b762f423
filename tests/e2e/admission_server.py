#!/usr/bin/env python3
"""An admission webhook to test with: admission_server.py CERTIFICATE KEY PORT-FILE [ADDRESS].

/label adds the label seen=yes, /deny refuses what is labelled deny=yes, /hang never answers. Standard library only."""
import base64
import http.server
import json
import os
import ssl
import sys
import threading


class Hook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        labels = ((request.get("object") or {}).get("metadata") or {}).get("labels")
        response = {"uid": request["uid"], "allowed": True}
        path = self.path.split("?")[0]
        if path == "/hang":
            threading.Event().wait()
        if path == "/label":
            step = {"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}
            if labels:
                step = {"op": "add", "path": "/metadata/labels/seen", "value": "yes"}
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(json.dumps([step]).encode()).decode()
        if path == "/deny" and (labels or {}).get("deny") == "yes":
            response.update(allowed=False, status={"code": 403, "message": "not here"})
        body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}).encode()
        self.send_response(200)
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
