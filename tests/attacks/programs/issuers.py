"""Tokens that an OpenID Connect issuer did not sign, or not so: an API server with --authentication-config, a real issuer beside it, and a
second one that is the attacker's."""
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import sys
import tempfile

from servers import ApiServer, Peer, Trap, in_seconds, make_certificate, openssl
from target import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from issuer_server import base64url, key_set  # noqa: E402

REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
CONFIGURATION = """
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: URL
    audiences: [sublet]
    certificateAuthority: |
CERTIFICATE
  claimMappings:
    username: {claim: sub, prefix: "idp:"}
    groups: {claim: groups, prefix: "idp:"}
"""


class Issuer:
    """Signs with the RSA keys of its folder, and tells them."""

    def __init__(self, folder, tls, keys):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        for key in keys:
            openssl("genrsa", "-out", str(self.folder / f"{key}.pem"), "2048")
        told = key_set(self.folder)

        def answer(handler):
            said = {"/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": self.url + "/keys"}, "/keys": told}.get(handler.path)
            return (200, {}, said) if said else (404, {}, b"")

        self.peer = Peer("127.0.0.1", *tls, answer)
        self.url = f"https://127.0.0.1:{self.peer.port}"

    def path(self, key):
        return str(self.folder / f"{key}.pem")

    def sign(self, header, claims, key="first"):
        text = (b64(header) + "." + b64(claims)).encode()
        return text.decode() + "." + base64url(openssl("dgst", "-sha256", "-sign", self.path(key), data=text))


def b64(part):
    return base64url(part if isinstance(part, bytes) else json.dumps(part).encode())


def changed(token, part, value):
    parts = token.split(".")
    parts[part] = value
    return ".".join(parts)


def attacks(good, real, theirs, trap, claims):
    """(name, token): each would make somebody of a stranger."""
    token = good()
    def say(header=None, **more):
        return real.sign({"alg": "RS256", "kid": "first", **(header or {})}, {**claims, **more})
    def of_theirs(header=None, **more):
        return theirs.sign({"alg": "RS256", "kid": "first", **(header or {})}, {**claims, **more})

    # Another algorithm, or none.
    for none in ("none", "None", "NONE", "nOnE", ""):
        unsigned = b64({"alg": none, "kid": "first"}) + "." + b64({**claims, "sub": "eve"}) + "."
        yield f"alg {none or 'empty'}", unsigned
        yield f"alg {none or 'empty'} with a signature", unsigned + token.split(".")[2]
    yield "no alg", b64({"kid": "first"}) + "." + token.split(".", 1)[1]
    public = openssl("rsa", "-in", real.path("first"), "-pubout")
    der = openssl("rsa", "-in", real.path("first"), "-pubout", "-outform", "DER")
    for algorithm, digest in (("HS256", hashlib.sha256), ("HS384", hashlib.sha384), ("HS512", hashlib.sha512)):
        for what, secret in (("PEM", public), ("PEM without its end", public.rstrip()), ("DER", der), ("nothing", b"")):
            text = b64({"alg": algorithm, "kid": "first"}) + "." + b64({**claims, "sub": "eve"})
            yield f"{algorithm} with the public key as {what}", text + "." + base64url(hmac.new(secret, text.encode(), digest).digest())
    for algorithm in ("RS512", "PS256", "ES256", "EdDSA"):
        yield f"says {algorithm}", changed(token, 0, b64({"alg": algorithm, "kid": "first"}))

    # Keys that are somebody else's.
    yield "another's key under its name", of_theirs(sub="eve")
    yield "another's key under no name", theirs.sign({"alg": "RS256"}, claims)
    for kid in ("../../../../etc/passwd", "/dev/null", "../first", "first\u0000", "first\u0000second", "second", "' OR 1=1 --", "first/../first", "FIRST",
                "file:///dev/null", ["first"], {"a": "first"}, 1):
        yield f"kid {kid!r} of another's key", theirs.sign({"alg": "RS256", "kid": kid}, claims)
    for header in ("jku", "x5u"):
        yield f"{header} of another's", of_theirs({header: theirs.url + "/keys"})
        yield f"{header} of an inner address", of_theirs({header: f"http://127.0.0.1:{trap.port}/keys"})
    yield "jwk of another's", of_theirs({"jwk": key_set(theirs.folder)["keys"][0]})
    yield "x5c of another's", of_theirs({"x5c": [base64url(theirs.peer.certificate)]})

    # Issuers that are not this one, though their names are like it.
    yield "another issuer's own", theirs.sign({"alg": "RS256", "kid": "first"}, {**claims, "iss": theirs.url})
    for what, url in (("slash", real.url + "/"), ("path", real.url + "/.."), ("user", real.url.replace("https://", "https://a@")), ("http", real.url.replace("https", "http")),
                      ("space", real.url + " "), ("null", real.url + "\u0000"), ("beside", real.url + "@" + theirs.url[8:]), ("upper", real.url.replace("https", "HTTPS")),
                      ("list", [real.url]), ("empty", ""), ("nothing", None)):
        yield f"issuer with {what}", say(iss=url)
        yield f"issuer with {what}, another's key", of_theirs(iss=url)
    twice = json.dumps({**claims, "iss": theirs.url})[:-1] + ', "iss": ' + json.dumps(real.url) + "}"
    yield "two issuers, another's key", theirs.sign({"alg": "RS256", "kid": "first"}, twice.encode())
    yield "two issuers the other way, another's key", theirs.sign({"alg": "RS256", "kid": "first"}, (json.dumps(claims)[:-1] + ', "iss": "x"}').encode())
    own = "https://kubernetes.default.svc.cluster.local"
    yield "our own issuer", say(iss=own, sub="system:serviceaccount:kube-system:default")
    yield "our own issuer, our audience", say(iss=own, aud=[own], sub="system:serviceaccount:kube-system:default")

    # For somebody else, or for another time.
    for what, more in (("another audience", {"aud": "other"}), ("a list of others", {"aud": ["a", "b"]}), ("no audience", {"aud": None}), ("an empty audience", {"aud": ""}),
                       ("an empty list", {"aud": []}), ("an audience as a part", {"aud": "sublet-other"}), ("an audience in a map", {"aud": {"sublet": True}}),
                       ("a time that is over", {"exp": in_seconds(-60)}), ("no time", {"exp": None}), ("a time in words", {"exp": "tomorrow"}),
                       ("a time that is no number", {"exp": True}), ("a negative time", {"exp": -1}), ("a time to come", {"nbf": in_seconds(3600)}),
                       ("a list of subjects", {"sub": ["ann"]}), ("a number as subject", {"sub": 0})):
        yield what, say(**more)

    yield "no subject", real.sign({"alg": "RS256", "kid": "first"}, {key: value for key, value in claims.items() if key != "sub"})

    # What was signed is not what is said.
    yield "another payload", changed(token, 1, b64({**claims, "sub": "eve"}))
    yield "no signature", changed(token, 2, "")
    yield "half a signature", changed(token, 2, token.split(".")[2][:100])
    yield "a signature of zeros", changed(token, 2, base64url(bytes(256)))
    yield "a signature of one", changed(token, 2, base64url(bytes(255) + b"\x01"))
    yield "a critical header", say({"crit": ["exp2"], "exp2": 1})
    yield "four parts", token + ".x"
    yield "two parts", token.rsplit(".", 1)[0]
    yield "two tokens", token[:-4] + "AAAA" + "," + token


def forged(_short):
    """Tokens that nobody signed so; those that the issuer signed are good before and after."""
    folder = tempfile.mkdtemp(prefix="sublet-attacks-issuers-")
    trap = Trap()
    try:
        tls = make_certificate(folder, ["IP:127.0.0.1"])
        real, theirs = Issuer(os.path.join(folder, "real"), tls, ["first"]), Issuer(os.path.join(folder, "theirs"), tls, ["first", "second"])
        path = os.path.join(folder, "authentication.yaml")
        certificate = "\n".join("      " + line for line in pathlib.Path(tls[0]).read_text(encoding="utf-8").splitlines())
        pathlib.Path(path).write_text(CONFIGURATION.replace("URL", real.url).replace("CERTIFICATE", certificate), encoding="utf-8")
        with ApiServer("--authentication-config", path, "--outbound-allow", "127.0.0.0/8") as server:
            claims = {"iss": real.url, "aud": "sublet", "exp": in_seconds(600), "sub": "ann", "groups": ["dev"]}

            def good():
                return real.sign({"alg": "RS256", "kid": "first"}, claims)

            def who(token):
                answer = server.bearer(token).request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", REVIEW)
                return (answer.json["status"]["userInfo"]["username"], answer.json["status"]["userInfo"].get("groups")) if answer.code == 201 else answer.code

            def control():
                assert who(good()) == ("idp:ann", ["idp:dev", "system:authenticated"]), who(good())
                assert who(real.sign({"alg": "RS256"}, {**claims, "aud": ["x", "sublet"]}))[0] == "idp:ann"  # no kid, and one audience of several
                # Whoever it says to be, it is that of the issuer.
                named = who(real.sign({"alg": "RS256", "kid": "first"}, {**claims, "sub": "system:admin", "groups": ["system:masters"]}))
                assert named == ("idp:system:admin", ["idp:system:masters", "system:authenticated"]), named

            eventually(lambda: who(good()) != 401, "the issuer's keys are there")
            control()
            worked, made = [], 0
            for name, token in attacks(good, real, theirs, trap, claims):
                made += 1
                if (came := who(token)) not in (400, 401):
                    worked.append(f"{name}: {came}")
            control()
            assert not worked, f"{len(worked)} of {made} worked: " + "; ".join(worked[:10])
            assert trap.knocks == 0, f"a token made the API server call an address of its own choice {trap.knocks} times"
            assert not theirs.peer.requests, f"a token made the API server ask {theirs.peer.requests}"
            assert len(real.peer.requests) < 20, f"{made} tokens made the API server ask the issuer {len(real.peer.requests)} times"
            return made
    finally:
        trap.close()
        shutil.rmtree(folder, ignore_errors=True)


CASES = {"forged": forged}
