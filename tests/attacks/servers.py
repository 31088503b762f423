"""Servers for attacks: an API server alone, and peers of it that note who comes to them."""
import datetime
import http.server
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading

from target import Api, Kubeconfig, eventually


def openssl(*arguments, data=b""):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout


def make_certificate(folder, names):
    """A certificate of its own authority for those names (DNS:x, IP:x): paths of it and of its key."""
    certificate, key = os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=peer",
            "-addext", "subjectAltName=" + ",".join(names), "-keyout", key, "-out", certificate)
    return certificate, key


def in_seconds(seconds):
    return int((datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).timestamp())


class ApiServer:
    """`subletd apiserver`, no virtual cluster around it. Ended with this object."""

    def __init__(self, *flags):
        self.flags, self.process = flags, None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="sublet-attacks-bare-")
        path = os.path.join(self.folder, "admin.kubeconfig")
        self.log = open(os.path.join(self.folder, "log"), "w", encoding="utf-8")
        self.process = subprocess.Popen(["subletd", "apiserver", "--data", os.path.join(self.folder, "data"), "--listen", "127.0.0.1:0",
                                         "--admin-kubeconfig", path, *self.flags], stdout=self.log, stderr=self.log)

        def up():
            assert self.process.poll() is None, f"subletd apiserver {' '.join(self.flags)} ended: " + self.said()[-500:]
            return os.path.exists(path) and os.path.getsize(path) > 0

        eventually(up, "subletd apiserver is up")
        self.kubeconfig = Kubeconfig(path)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def said(self):
        return open(os.path.join(self.folder, "log"), encoding="utf-8").read()

    def admin(self):
        return Api(self.kubeconfig)

    def bearer(self, token, **headers):
        return Api(self.kubeconfig, with_certificate=False, headers={"Authorization": f"Bearer {token}", **headers})


class Trap:
    """A port on which nobody should ever knock, and how often somebody did."""

    def __init__(self, address="127.0.0.1"):
        self.listener = socket.create_server((address, 0))
        self.port, self.knocks, self.ending = self.listener.getsockname()[1], 0, False
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self):
        while not self.ending:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.knocks += not self.ending
            peer.close()

    def close(self):
        self.ending = True
        try:  # so that accept() returns
            socket.create_connection(self.listener.getsockname(), timeout=5).close()
        except OSError:
            pass
        self.thread.join()
        self.listener.close()


class Peer:
    """An HTTPS server at that address: `answer(handler)` gives (code, headers, body) of each request, which are kept in `requests`."""

    def __init__(self, address, certificate, key, answer):
        peer = self
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                peer.requests.append((self.command, self.path, self.headers.items()))
                code, headers, body = answer(self)
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(code)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.certificate = pathlib.Path(certificate).read_bytes()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
