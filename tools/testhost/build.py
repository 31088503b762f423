"""Builds the pinned components of a test host into a cache folder outside the tree, and finds them there.

A component's cache key is the SHA-256 of its pin, the release's pins and the Go version; the binary's own SHA-256 stands
beside it, so a damaged or foreign file is rebuilt, never run. Building is atomic: a killed build leaves a temporary file
that the next one overwrites. One build of a component at a time (lock file), any number of components at once.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def cache_dir() -> Path:
    """$SUBLET_CACHE, else the XDG cache folder."""
    explicit = os.environ.get("SUBLET_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "sublet"


def pins() -> dict:
    """What pins.toml says, its components of Kubernetes of the release that TESTHOST_RELEASE names, or the newest."""
    with open(HERE / "pins.toml", "rb") as file:
        all_pins = tomllib.load(file)
    wanted = os.environ.get("TESTHOST_RELEASE")
    if wanted:
        older = all_pins["older_release"]
        if wanted not in older:
            raise SystemExit(f"testhost: TESTHOST_RELEASE={wanted}: pins.toml has {', '.join(sorted(older))} beside {all_pins['release']['kubernetes']}")
        all_pins["release"].update(older[wanted])
    return all_pins


def go_version() -> str:
    try:
        return subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    except FileNotFoundError:
        raise SystemExit("testhost: no Go on PATH; the real host's components are built from Go modules: install golang 1.25 or newer")


def key_of(name: str, all_pins: dict) -> str:
    component = all_pins["component"][name]
    facts = {"component": component, "go": go_version(), "name": name, "format": 1}
    if "source" in component:
        facts["source"] = (HERE / component["source"]).read_text()
    if component["kind"] not in ("module", "program"):
        facts["release"] = all_pins["release"]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def find(name: str, all_pins: dict | None = None) -> Path | None:
    """The cached binary when it is there and intact."""
    all_pins = all_pins or pins()
    if name not in all_pins["component"]:
        raise SystemExit(f"testhost: no component {name}; there are: {', '.join(sorted(all_pins['component'] | all_pins['group']))}")
    folder = cache_dir() / "bin" / f"{name}-{key_of(name, all_pins)}"
    binary, recorded = folder / name, folder / "sha256"
    if not (binary.is_file() and recorded.is_file()):
        return None
    stat = binary.stat()
    verified = folder / "verified"  # size and mtime at the last full check: 100-MB files are not hashed at every up
    mark = f"{stat.st_size} {stat.st_mtime_ns}"
    if verified.is_file() and verified.read_text() == mark:
        return binary
    if sha256_of(binary) != recorded.read_text().strip():
        print(f"testhost: {binary} does not match its checksum; building it again", file=sys.stderr)
        return None
    verified.write_text(mark)
    return binary


class Progress:
    """A line with the elapsed time every ten seconds (on a terminal: one line, every second)."""

    def __init__(self, what: str):
        self.what, self.started, self.done = what, time.monotonic(), threading.Event()

    def __enter__(self):
        self.tty = sys.stderr.isatty()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        return self

    def _say(self, text: str, end: str):
        print(f"{text} {self.what} ({time.monotonic() - self.started:.0f} s)", end=end, file=sys.stderr, flush=True)

    def _run(self):
        while not self.done.wait(1 if self.tty else 10):
            self._say("\rtesthost: building" if self.tty else "testhost: building", "" if self.tty else "\n")

    def __exit__(self, kind, *_):
        self.done.set()
        self.thread.join()
        self._say(("\r" if self.tty else "") + ("testhost: built" if kind is None else "testhost: FAILED"), "\n")


def _write_module(folder: Path, name: str, all_pins: dict):
    """A go.mod that requires just this component's module."""
    component = all_pins["component"][name]
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["module sublet.dev/testhost/build", "", "go 1.25", ""]
    if component["kind"] in ("module", "program"):
        lines += [f"require {component['module']} {component['version']}"]
    else:
        release = all_pins["release"]
        lines += [f"require k8s.io/kubernetes {release['kubernetes']}", "", "replace ("]
        lines += [f"\tk8s.io/{m} => k8s.io/{m} {release['staging']}" for m in release["staging_modules"]] + [")"]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    if component["kind"] == "program":
        shutil.copy(HERE / component["source"], folder / "main.go")
        return
    (folder / "tools.go").write_text(f'//go:build tools\n\npackage tools\n\nimport _ "{component["package"]}"\n')


def module_dir(module: str, version: str) -> Path:
    """Where the Go module cache holds a module's source; fetched when it is not there."""
    result = subprocess.run(["go", "mod", "download", "-json", f"{module}@{version}"], capture_output=True, text=True,
                            cwd="/", env={**os.environ, "GOFLAGS": "-mod=mod"})
    try:
        return Path(json.loads(result.stdout)["Dir"])
    except (ValueError, KeyError):
        raise SystemExit(f"testhost: cannot fetch {module} {version}: {result.stdout}{result.stderr}")


def linked_kubernetes(work: Path, modules: list[str]):
    """In `work`: a module that requires k8s.io/kubernetes, with `modules` of it as folders of links, for Go lays nothing over its module
    cache."""
    release = pins()["release"]
    for module in modules:
        source = module_dir(f"k8s.io/{module}", release["kubernetes" if module == "kubernetes" else "staging"])
        subprocess.run(["cp", "-rl", str(source), str(work / module)], check=True)
        subprocess.run(["find", str(work / module), "-type", "d", "-exec", "chmod", "u+w", "{}", "+"], check=True)
    replaced = {m: f"k8s.io/{m} {release['staging']}" for m in release["staging_modules"]} | {m: f"./{m}" for m in modules}
    lines = ["module sublet.dev/extract", "", "go 1.26", "", f"require k8s.io/kubernetes {release['kubernetes']}", "", "replace ("]
    (work / "go.mod").write_text("\n".join(lines + [f"\tk8s.io/{m} => {to}" for m, to in replaced.items()] + [")"]) + "\n")


def _own_copy(component: dict) -> Path:
    """A writable copy of a module's source, one for all components of it, so that what they share is compiled once."""
    folder = cache_dir() / "src" / f"{component['module'].rsplit('/', 1)[1]}-{component['version']}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        copy, temporary = folder / "source", folder / "source.copying"
        if not copy.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
            shutil.copytree(module_dir(component["module"], component["version"]), temporary)
            subprocess.run(["chmod", "-R", "u+w", str(temporary)], check=True)
            temporary.rename(copy)
    return copy


def _go(arguments: list, folder: Path, log, cgo: bool):
    env = {**os.environ, "CGO_ENABLED": "1" if cgo else "0", "GOFLAGS": "-mod=mod"}
    print("$ go " + " ".join(arguments), file=log, flush=True)
    subprocess.run(["go", *arguments], cwd=folder, env=env, stdout=log, stderr=log, check=True)


def _compile(name: str, all_pins: dict, work: Path, output: Path, log):
    component = all_pins["component"][name]
    flags = "-s -w"
    cgo = component.get("cgo", False)
    if component["kind"] == "module":
        if component.get("main_module"):
            # Its go.mod has replace lines of its own, which only count in the main module: build a copy of it.
            copy = _own_copy(component)
            flags += f" -X main.buildVersion={component['version']}"
            vendored = ["-mod=vendor"] if (copy / "vendor").is_dir() else []
            _go(["build", *vendored, "-ldflags", flags, "-o", str(output), component["package"]], copy, log, cgo)
            return
        _write_module(work, name, all_pins)
        _go(["build", "-ldflags", flags, "-o", str(output), component["package"]], work, log, cgo)
        return
    _write_module(work, name, all_pins)
    if component["kind"] == "program":
        _go(["build", "-ldflags", flags, "-o", str(output), "main.go"], work, log, cgo)
        return
    version = all_pins["release"]["kubernetes"]
    major, minor = version.lstrip("v").split(".")[:2]
    base = "k8s.io/component-base/version"
    flags += f" -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor} -X {base}.gitTreeState=clean"
    if component["kind"] == "e2e":
        _go(["test", "-c", "-vet=off", "-ldflags", flags, "-o", str(output), component["package"]], work, log, cgo)
    else:
        _go(["build", "-ldflags", flags, "-o", str(output), component["package"]], work, log, cgo)


def members(name: str) -> list[str]:
    """The components that a name stands for: those of a group, or itself."""
    return pins()["group"].get(name, [name])


def build(name: str) -> Path:
    """The path of the component's binary, built when the cache has none."""
    all_pins = pins()
    found = find(name, all_pins)
    if found:
        return found
    cache = cache_dir()
    folder = cache / "bin" / f"{name}-{key_of(name, all_pins)}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = find(name, all_pins)  # another process may have built it while we waited
        if found:
            return found
        temporary = folder / f"{name}.building"
        log_path = folder / "build.log"
        try:
            with open(log_path, "w") as log, Progress(name):
                _compile(name, all_pins, cache / "src" / f"{name}-{folder.name[-16:]}", temporary, log)
        except subprocess.CalledProcessError:
            tail = "".join(log_path.read_text().splitlines(keepends=True)[-15:])
            raise SystemExit(f"testhost: building {name} failed; {log_path} ends with:\n{tail}")
        (folder / "sha256").write_text(sha256_of(temporary) + "\n")
        temporary.rename(folder / name)
        (folder / "verified").unlink(missing_ok=True)
    return folder / name
