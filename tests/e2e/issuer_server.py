#!/usr/bin/env python3
"""An OpenID Connect issuer to test with: issuer_server.py CERTIFICATE TLS-KEY FOLDER. FOLDER/*.pem are its RSA keys, looked at for every
request; FOLDER/port says where it listens. `issuer_server.py token FOLDER KEY CLAIMS` prints a token (RS256) instead.
Standard library and openssl only."""
import base64
import json
import pathlib
import subprocess
import sys

from https_server import JsonHandler, serve


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=b""):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout


def key_set(folder):
    keys = []
    for pem in sorted(folder.glob("*.pem")):
        modulus = openssl("rsa", "-in", str(pem), "-noout", "-modulus").decode().strip().split("=")[1]
        keys.append({"kty": "RSA", "kid": pem.stem, "alg": "RS256", "use": "sig", "n": base64url(bytes.fromhex(modulus)), "e": "AQAB"})
    return {"keys": keys}


def issuer(folder):
    class Issuer(JsonHandler):
        def do_GET(self):
            url = f"https://127.0.0.1:{self.server.server_port}"
            said = {"/.well-known/openid-configuration": lambda: {"issuer": url, "jwks_uri": url + "/keys"},
                    "/keys": lambda: key_set(folder)}.get(self.path)
            self.answer(*((said(),) if said else ({}, 404)))

    return Issuer


def token(folder, key, claims):
    text = base64url(json.dumps({"alg": "RS256", "kid": key}).encode()) + "." + base64url(claims.encode())
    return text + "." + base64url(openssl("dgst", "-sha256", "-sign", str(folder / f"{key}.pem"), data=text.encode()))


def main():
    if sys.argv[1] == "token":
        print(token(pathlib.Path(sys.argv[2]), *sys.argv[3:]))
        return
    certificate, key, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    serve(issuer(folder), certificate, key, folder / "port")


if __name__ == "__main__":
    main()
