"""What the HTTPS servers of these tests share: serve() and a handler that answers in JSON. Standard library only."""
import http.server
import json
import os
import ssl


class JsonHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, said, code=200):
        body = json.dumps(said).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def asked(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def log_message(self, *arguments):
        pass


def serve(handler, certificate, key, port_file, address="127.0.0.1", port="0"):
    """Never returns. `port_file` says where it listens, and is whole when it is there. A handler's threads end with the program."""
    server = http.server.ThreadingHTTPServer((address, int(port)), handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(f"{port_file}.new", "w", encoding="utf-8") as file:
        file.write(str(server.server_port))
    os.rename(f"{port_file}.new", port_file)
    server.serve_forever()
