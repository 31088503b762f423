"""What attacks are made on: a virtual cluster of real processes on the embedded host, and ways to speak to it."""
import base64
import glob
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.parse

WAIT_SECONDS = 60


class LeftOut(Exception):
    """A case that cannot be made here."""


class Kubeconfig:
    """YAML as sublet writes it, or JSON."""

    def __init__(self, path):
        text = open(path, encoding="utf-8").read()
        self.server = urllib.parse.urlparse(re.search(r'"?server"?:\s*"?([^"\s]+)', text).group(1))
        self.parts = {key: base64.b64decode(data) for key, data in re.findall(r'([a-z-]+)-data"?:\s*"?([^"\s,}]+)', text)}

    @property
    def address(self):
        return self.server.hostname, self.server.port

    def tls(self, with_certificate=True):
        context = ssl.create_default_context(cadata=self.parts["certificate-authority"].decode())
        if with_certificate:
            with tempfile.NamedTemporaryFile() as pem:
                pem.write(self.parts["client-certificate"] + b"\n" + self.parts["client-key"])
                pem.flush()
                context.load_cert_chain(pem.name)
        return context


class Answer:
    def __init__(self, code, headers, body):
        self.code, self.headers, self.body = code, headers, body

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return {}

    @property
    def message(self):
        parsed = self.json
        return parsed.get("message", "") if isinstance(parsed, dict) else ""


class Api:
    """One API server, as somebody. A connection is kept between requests."""

    def __init__(self, kubeconfig, with_certificate=True, headers=None, context=None):
        self.kubeconfig, self.headers, self.connection = kubeconfig, headers or {}, None
        self.context = context or kubeconfig.tls(with_certificate)

    def request(self, method, target, body=None, headers=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        sent = {"Accept": "application/json", **({"Content-Type": "application/json"} if body is not None else {}),
                **self.headers, **(headers or {})}
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(*self.kubeconfig.address, context=self.context, timeout=WAIT_SECONDS)
            try:
                self.connection.request(method, target, body, sent)
                answer = self.connection.getresponse()
                data = answer.read()
                if answer.will_close:
                    self.close()
                return Answer(answer.status, dict(answer.getheaders()), data)
            except (http.client.HTTPException, OSError):
                self.close()
                if attempt == 2:
                    raise
        raise AssertionError("not reached")

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def sublet(*arguments, check=True):
    done = subprocess.run(["sublet", *arguments], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"sublet {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Target:
    """The virtual cluster "rag" of namespace "team", with a neighbour "other" in "elsewhere". Ended with this object."""

    NAME, NAMESPACE = "rag", "team"

    def __init__(self, template="", neighbour=True):
        self.template, self.neighbour = template, neighbour

    def __enter__(self):
        self.state = tempfile.mkdtemp(prefix="sublet-attacks-")
        self.before = {key: os.environ.get(key) for key in ("SUBLET_STATE_DIR", "KUBECONFIG")}
        os.environ["SUBLET_STATE_DIR"] = self.state
        os.environ["KUBECONFIG"] = os.path.join(self.state, "kubeconfig")
        flags = []
        if self.template:
            path = os.path.join(self.state, "template.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.template)
            flags = ["-f", path]
        try:
            self.create(self.NAME, self.NAMESPACE, *flags)
            if self.neighbour:
                self.create("other", "elsewhere")
        except BaseException:
            self.__exit__()
            raise
        self.admin = self.access(self.NAME, self.NAMESPACE)
        self.host = Kubeconfig(os.path.join(self.state, "host", "admin.kubeconfig"))
        return self

    def __exit__(self, *_):
        for name, namespace in ((self.NAME, self.NAMESPACE), ("other", "elsewhere")):
            sublet("delete", name, "-n", namespace, "--yes", check=False)
        for key, value in self.before.items():
            os.environ.pop(key, None) if value is None else os.environ.__setitem__(key, value)
        shutil.rmtree(self.state, ignore_errors=True)

    @staticmethod
    def create(name, namespace, *flags):
        sublet("create", name, "-n", namespace, *flags)

    def folder(self, name=NAME, namespace=NAMESPACE):
        return os.path.join(self.state, "clusters", namespace, name)

    def access(self, name, namespace):
        found = glob.glob(os.path.join(self.folder(name, namespace), "**", "admin.kubeconfig"), recursive=True)
        return Kubeconfig(found[0])

    def api(self, who):
        if who == "admin":
            return Api(self.admin)
        if who == "nobody":
            return Api(self.admin, with_certificate=False)
        if who == "neighbour":
            return Api(self.access("other", "elsewhere"))
        if who == "neighbour-here":  # the neighbour's certificate, shown to this one
            api = Api(self.admin)
            api.context = self.access("other", "elsewhere").tls()
            api.context.check_hostname, api.context.verify_mode = False, ssl.CERT_NONE
            return api
        if who == "host":
            return Api(self.host)
        raise KeyError(f"nobody is called {who}: admin, nobody, neighbour, host")

    def pid(self, role):
        """Of the daemon of that role of this virtual cluster."""
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                words = open(path, "rb").read().split(b"\0")
            except OSError:
                continue
            if len(words) > 2 and words[0].endswith(b"subletd") and words[1] == role.encode() and self.folder().encode() in words:
                return int(path.split("/")[2])
        raise RuntimeError(f"no subletd {role} runs for {self.folder()}")


_shared = {}


def shared(neighbour=True):
    """The target of all cases of a program that leave it as they found it: made when the first one asks, ended after the last case."""
    if neighbour not in _shared:
        _shared[neighbour] = Target(neighbour=neighbour).__enter__()
    return _shared[neighbour]


def end_shared():
    while _shared:
        _shared.popitem()[1].__exit__()


def eventually(condition, what, seconds=WAIT_SECONDS):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"did not come to pass: {what}")
        time.sleep(0.02)  # between two looks at a condition
    return value


def sanitized(target):
    """A build whose memory says nothing."""
    said = open(os.path.join(target.folder(), "apiserver.log"), encoding="utf-8").read()
    return "SUBLET_CONFINE_SANITIZED" in os.environ or "process.not_confined" in said


def memory_kib(pid):
    text = open(f"/proc/{pid}/smaps_rollup", encoding="utf-8").read()
    return int(re.search(r"^Rss:\s+(\d+)", text, re.M).group(1))


