"""Upstream's sources as folders of the Go module cache."""

import json
import os
import shutil
import subprocess
import tempfile

ROOT_MODULE = "k8s.io/kubernetes"
STAGING_MODULES = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator")


class ModulesUnavailable(Exception):
    """The modules are not in the cache and cannot be fetched (no Go, no network)."""


def staging_version(release):
    """Kubernetes v1.36.3 publishes its staging modules as v0.36.3."""
    if not release.startswith("v1."):
        raise ValueError(f"release {release!r}: expected v1.MINOR.PATCH")
    return "v0." + release[len("v1."):]


def _download(go, wanted):
    # A folder without go.mod: the modules are named one by one, so that no dependency of theirs is resolved.
    with tempfile.TemporaryDirectory() as folder:
        command = [go, "mod", "download", "-json", *wanted]
        environment = dict(os.environ, GOFLAGS="-mod=mod", GOWORK="off")
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _json_stream(text):
    decoder, position = json.JSONDecoder(), 0
    while position < len(text):
        while position < len(text) and text[position].isspace():
            position += 1
        if position == len(text):
            return
        value, position = decoder.raw_decode(text, position)
        yield value


def locate(release):
    """Module path -> folder, for the root module and the staging modules that the table is made from."""
    go = shutil.which("go")
    if go is None:
        raise ModulesUnavailable("no go command")
    staging = staging_version(release)
    wanted = [f"{ROOT_MODULE}@{release}"] + [f"{module}@{staging}" for module in STAGING_MODULES]
    result = _download(go, wanted)
    folders = {}
    for entry in _json_stream(result.stdout):
        if entry.get("Error"):
            raise ModulesUnavailable(f"{entry['Path']}: {entry['Error']}")
        folders[entry["Path"]] = entry["Dir"]
    missing = [module for module in (ROOT_MODULE, *STAGING_MODULES) if module not in folders]
    if missing:
        raise ModulesUnavailable(f"go mod download did not bring {', '.join(missing)}: {result.stderr.strip()}")
    return folders
