"""Builds the pinned components of a test host into a cache folder outside the tree, and finds them there.

A component's cache key is the SHA-256 of its pin, of what is built with it, of the flags and the Go version; the binary's own SHA-256 stands
beside it, so a damaged or foreign file is rebuilt, never run. Building is atomic: a killed build leaves files that the next one
overwrites. One build at a time in one go.mod (lock file), and in it any number of components at once.
"""

import fcntl
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What the linker drops (-s -w) need not be compiled.
GO_FLAGS = ["-gcflags", "all=-dwarf=false"]


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
    all_pins["newest"] = dict(all_pins["release"])
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


class Module:
    """The go.mod that components are built with: their own, or one of several (pins.toml)."""

    def __init__(self, name: str, all_pins: dict):
        component = all_pins["component"][name]
        of_release = component["kind"] in ("kubernetes", "e2e")
        self.name = "kubernetes" if of_release else component.get("with", name)
        self.release = None
        if self.name == "kubernetes":  # what is not of the release itself is built with the newest, whatever TESTHOST_RELEASE says
            self.release = all_pins["release"] if of_release else all_pins["newest"]
        with_others = self.release in (None, all_pins["newest"])
        self.requires = {c["module"]: c["version"] for n, c in all_pins["component"].items()
                         if "module" in c and (n == name or with_others and c.get("with") == self.name)}

    def facts(self) -> dict:
        return {"name": self.name, "release": self.release, "requires": self.requires}

    def folder(self) -> Path:
        version = (self.release or {}).get("kubernetes")
        return cache_dir() / "src" / f"{self.name}{'-' + version if version else ''}-{_digest(self.facts())}"

    def write(self) -> Path:
        """Its folder, with a go.mod. Go adds what these modules require in turn, and the sums."""
        folder = self.folder()
        if (folder / "go.mod").is_file():
            return folder
        folder.mkdir(parents=True, exist_ok=True)
        requires, replaced = dict(self.requires), {}
        if self.release:
            requires["k8s.io/kubernetes"] = self.release["kubernetes"]
            replaced = {m: v for m, v in _required_by("k8s.io/kubernetes", self.release["kubernetes"]).items() if m not in requires}
            replaced |= {f"k8s.io/{m}": self.release["staging"] for m in self.release["staging_modules"]}
        lines = ["module sublet.dev/testhost/build", "", "go 1.25", "", "require ("]
        lines += [f"\t{m} {v}" for m, v in sorted(requires.items())] + [")", "", "replace ("]
        lines += [f"\t{m} => {m} {v}" for m, v in sorted(replaced.items())] + [")"]
        temporary = folder / "go.mod.new"
        temporary.write_text("\n".join(lines) + "\n")
        temporary.rename(folder / "go.mod")
        return folder


def _required_by(module: str, version: str) -> dict[str, str]:
    """What a module's go.mod requires, but for what stands in its own tree."""
    text = subprocess.run(["go", "mod", "edit", "-json", str(module_dir(module, version) / "go.mod")], capture_output=True, text=True, check=True).stdout
    return {r["Path"]: r["Version"] for r in json.loads(text)["Require"] if r["Version"] != "v0.0.0"}


def _digest(facts: dict) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def key_of(name: str, all_pins: dict) -> str:
    component = all_pins["component"][name]
    facts = {"component": component, "go": go_version(), "flags": GO_FLAGS, "name": name, "module": Module(name, all_pins).facts(), "format": 2}
    if "source" in component:
        facts["source"] = (HERE / component["source"]).read_text()
    return _digest(facts)


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


def _processor_time() -> float:
    """Of all processes that this one has started and waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Progress:
    """A line with the elapsed time every ten seconds (on a terminal: one line, every second)."""

    def __init__(self, what: str):
        self.what, self.started, self.done, self.used = what, time.monotonic(), threading.Event(), _processor_time()

    def __enter__(self):
        self.tty = sys.stderr.isatty()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        return self

    def _say(self, text: str, end: str, more: str = ""):
        print(f"{text} {self.what} ({time.monotonic() - self.started:.0f} s{more})", end=end, file=sys.stderr, flush=True)

    def _run(self):
        while not self.done.wait(1 if self.tty else 10):
            self._say("\rtesthost: building" if self.tty else "testhost: building", "" if self.tty else "\n")

    def __exit__(self, kind, *_):
        self.done.set()
        self.thread.join()
        self._say(("\r" if self.tty else "") + ("testhost: built" if kind is None else "testhost: FAILED"), "\n",
                  f", {_processor_time() - self.used:.0f} s of processor time")


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
    # The compiler collects its garbage less often: a sixth less processor time, 366 instead of 253 MB for the largest package of the standard library.
    env = {"GOGC": "400", **os.environ, "CGO_ENABLED": "1" if cgo else "0", "GOFLAGS": "-mod=mod"}
    print("$ go " + " ".join(arguments), file=log, flush=True)
    subprocess.run(["go", *arguments], cwd=folder, env=env, stdout=log, stderr=log, check=True)


def _linker_flags(module: Module, component: dict) -> str:
    flags = "-s -w"
    if component.get("main_module"):
        flags += f" -X main.buildVersion={component['version']}"
    if module.release:
        version = module.release["kubernetes"]
        major, minor = version.lstrip("v").split(".")[:2]
        base = "k8s.io/component-base/version"
        flags += f" -X {base}.gitVersion={version} -X {base}.gitMajor={major} -X {base}.gitMinor={minor} -X {base}.gitTreeState=clean"
    return flags


def _package(name: str, component: dict, folder: Path) -> str:
    """What Go is to build."""
    if component["kind"] != "program":
        return component["package"]
    (folder / name).mkdir(exist_ok=True)
    shutil.copy(HERE / component["source"], folder / name / "main.go")
    return f"./{name}"


def _file_name(package: str) -> str:
    """As Go calls a program of that package."""
    last = package.split("/")
    return last[-2] if re.fullmatch(r"v[0-9]+", last[-1]) else last[-1]


def _compile(names: list[str], all_pins: dict, module: Module, log) -> dict[str, Path]:
    """Where the programs are, all of one module; one run of Go for all but the conformance suite."""
    components = {name: all_pins["component"][name] for name in names}
    cgo = any(c.get("cgo", False) for c in components.values())
    flags = ["-ldflags", _linker_flags(module, components[names[0]]), *GO_FLAGS]
    programs = {}
    if components[names[0]].get("main_module"):
        # Its go.mod has replace lines of its own, which only count in the main module: build a copy of it.
        folder = _own_copy(components[names[0]])
        flags += ["-mod=vendor"] if (folder / "vendor").is_dir() else []
        output = module.folder() / "out"
    else:
        folder = module.write()
        output = folder / "out"
    output.mkdir(parents=True, exist_ok=True)
    packages = {name: _package(name, c, folder) for name, c in components.items() if c["kind"] != "e2e"}
    programs = {name: output / _file_name(package) for name, package in packages.items()}
    if len(set(programs.values())) < len(programs):
        raise SystemExit(f"testhost: two of {', '.join(programs)} are called the same by Go; build them one by one")
    if packages:
        _go(["build", *flags, "-o", f"{output}/", *packages.values()], folder, log, cgo)
    for name in names:
        if name not in packages:
            programs[name] = output / name
            _go(["test", "-c", "-vet=off", *flags, "-o", str(programs[name]), components[name]["package"]], folder, log, cgo)
    return programs


def members(name: str) -> list[str]:
    """The components that a name stands for: those of a group, of its groups, or itself."""
    return [member for part in parts(name) for member in part]


def parts(name: str) -> list[list[str]]:
    """The same, by what is built at once."""
    groups, found = pins()["group"], []
    if name not in groups:
        return [[name]]
    if any(member in groups for member in groups[name]):
        return [part for member in groups[name] for part in parts(member)]
    return [groups[name]]


def build(name: str) -> Path:
    """The path of the component's binary, built when the cache has none."""
    return build_all([name])[name]


def build_all(names: list[str]) -> dict[str, Path]:
    """The paths of the components' binaries. Those that the cache does not have are built, all of one module at once."""
    all_pins = pins()
    found = {name: find(name, all_pins) for name in names}
    modules = {}
    for name in names:
        if not found[name]:
            module = Module(name, all_pins)
            modules.setdefault(module.folder(), (module, []))[1].append(name)
    for folder, (module, missing) in modules.items():
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found |= {name: find(name, all_pins) for name in missing}  # another process may have built them while we waited
            missing = [name for name in missing if not found[name]]
            if missing:
                found |= _build_missing(missing, all_pins, module)
    return found


def _build_missing(names: list[str], all_pins: dict, module: Module) -> dict[str, Path]:
    log_path = module.folder() / "build.log"
    try:
        with open(log_path, "w") as log, Progress(", ".join(names)):
            programs = _compile(names, all_pins, module, log)
    except subprocess.CalledProcessError:
        tail = "".join(log_path.read_text().splitlines(keepends=True)[-15:])
        raise SystemExit(f"testhost: building {', '.join(names)} failed; {log_path} ends with:\n{tail}")
    installed = {}
    for name, program in programs.items():
        folder = cache_dir() / "bin" / f"{name}-{key_of(name, all_pins)}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sha256").write_text(sha256_of(program) + "\n")
        program.rename(folder / name)
        (folder / "verified").unlink(missing_ok=True)
        installed[name] = folder / name
    return installed
