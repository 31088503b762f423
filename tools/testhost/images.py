"""Container images of static binaries (and dig with its libraries), as archives that `ctr images import` reads; kept in the cache by their content's key.

No registry is reachable from where this runs: what upstream's manifests name is packed under the same name.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

import build

BUSYBOX = Path("/bin/busybox")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
TOOLS = ("sh sleep cat echo ls wget nslookup env id ps tail head grep sed awk touch mkdir rm cp mv true false nc httpd hostname date "
         "test tar vi stat printf seq expr basename chmod ip dd sha256sum md5sum sort wc tr cut xargs find kill mount df du tee yes").split()
PAUSE = "registry.k8s.io/pause:3.10"
COREDNS = "registry.k8s.io/coredns/coredns:v1"
SHELL = "sublet.test/busybox:1"
KUBECTL = "sublet.test/kubectl:1"
ACCOUNTS = {"etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nuser:x:65532:65532::/tmp:/bin/false\nnobody:x:65534:65534::/:/bin/false\n",
            "etc/group": b"root:x:0:\nuser:x:65532:\n", "etc/nsswitch.conf": b"hosts: files dns\n"}
FORMAT = "4"


REGISTRIES = {"PromoterE2eRegistry": "registry.k8s.io/e2e-test-images", "GcRegistry": "registry.k8s.io", "GcEtcdRegistry": "registry.k8s.io"}


def _of_upstreams_tests(constant: str) -> str:
    """The name and version of an image that the pinned release's tests want, by upstream's constant for it."""
    folder = build.module_dir("k8s.io/kubernetes", build.pins()["release"]["kubernetes"])
    source = (folder / "test/utils/image/manifest.go").read_text()
    found = re.search(rf'configs\[{constant}\] *= Config{{list\.(\w+), "([^"]+)", "([^"]+)"}}', source)
    if not found:
        raise SystemExit(f"testhost: upstream's manifest.go names no image {constant}")
    registry, name, version = found.groups()
    return f"{REGISTRIES[registry]}/{name}:{version}"


def _layer(binaries: dict[str, Path], shell: bool) -> bytes:
    buffer = io.BytesIO()
    made = set()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        def folder(name: str, mode: int = 0o755):
            if not name or name in made:
                return
            folder(os.path.dirname(name))
            made.add(name)
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, mode
            tar.addfile(info)

        def put(name: str, data: bytes, mode: int = 0o644):
            folder(os.path.dirname(name))
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))

        for name in ("proc", "sys", "dev", "var", "root", "bin"):
            folder(name)
        folder("tmp", 0o1777)
        for name, data in ACCOUNTS.items():
            put(name, data)
        if CERTIFICATES.is_file():
            put("etc/ssl/certs/ca-certificates.crt", CERTIFICATES.read_bytes())
        for name, path in binaries.items():
            put(name, path.read_bytes(), 0o755)
        if shell:
            put("bin/busybox", BUSYBOX.read_bytes(), 0o755)
            for tool in TOOLS:
                if f"bin/{tool}" in binaries:
                    continue
                info = tarfile.TarInfo(f"bin/{tool}")
                info.type, info.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(info)
    return buffer.getvalue()


def _archive(tag: str, entry: list[str], binaries: dict[str, Path], shell: bool, command: list[str] | None = None) -> Path:
    """The archive of one image, packed when the cache has none of these bytes."""
    facts = [FORMAT, tag, *entry, str(shell), *(command or [])] + [f"{n}={p}:{p.stat().st_size}:{p.stat().st_mtime_ns}" for n, p in binaries.items()]
    key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    path = build.cache_dir() / "images" / f"{tag.rsplit('/', 1)[1].replace(':', '-')}-{key}.tar"
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    layer = _layer(binaries, shell)
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "history": [{}],
        "config": {"Env": ["PATH=/bin:/usr/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"], 
                   **({"Entrypoint": entry} if entry else {"Cmd": ["sh"]}), **({"Cmd": command} if command else {})},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
    name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": name, "RepoTags": [tag], "Layers": ["layer.tar"]}]).encode()
    temporary = path.with_suffix(f".{os.getpid()}")
    with tarfile.open(temporary, "w") as tar:
        for member, data in (("layer.tar", layer), (name, config), ("manifest.json", manifest)):
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    temporary.rename(path)
    return path


def _with_libraries(*programs: Path) -> dict[str, Path]:
    """Dynamic programs of this machine, each with the libraries that its loader would take, by their places in an image."""
    files = {}
    for program in programs:
        if not program.is_file():
            raise SystemExit(f"testhost: {program} is not there; run tools/install-deps")
        files[str(program).lstrip("/")] = program
        # Of a static one ldd says so, and fails.
        for line in subprocess.run(["ldd", program], capture_output=True, text=True).stdout.splitlines():
            found = re.search(r"(/\S+) \(0x", line)
            if found:
                files[found.group(1).lstrip("/")] = Path(found.group(1)).resolve()
    return files


def of_programs(tag: str, programs: list[Path]) -> Path:
    """An image of programs of this machine, in /bin with their libraries beside a shell: what pods of a test run."""
    files = {}
    for program in programs:
        found = _with_libraries(program)
        found[f"bin/{program.name}"] = found.pop(str(program).lstrip("/"))
        files |= found
    return _archive(tag, [], files, True)


def archives(binaries: dict[str, Path]) -> list[Path]:
    """What every node has, the smallest first: pods wait for pause before all."""
    if not BUSYBOX.is_file():
        raise SystemExit("testhost: /bin/busybox is not there; install busybox-static")
    resolvers = _with_libraries(Path("/usr/bin/dig"), Path("/usr/bin/getent"))
    # As upstream packs it: a second name of the program, what its tests call beside it, and the certificate of `agnhost porter`.
    # Busybox's own shell takes its nc before what PATH has, so the shell is another.
    callers = _with_libraries(Path("/usr/bin/dig"), Path("/usr/bin/getent"), Path("/usr/bin/curl"), Path("/usr/bin/nc.openbsd"), Path("/usr/bin/dash"))
    callers["bin/nc"] = callers.pop("usr/bin/nc.openbsd")
    callers["bin/sh"] = callers.pop("usr/bin/dash")
    porter = build.module_dir("k8s.io/kubernetes", build.pins()["release"]["kubernetes"]) / "test/images/agnhost/porter"
    callers |= {name: porter / name for name in ("localhost.crt", "localhost.key")}
    return [
        _archive(PAUSE, ["/bin/busybox", "sleep", "2147483647"], {}, True),
        _archive(COREDNS, ["/coredns"], {"coredns": binaries["coredns"]}, False),
        _archive(SHELL, [], {}, True),
        _archive(KUBECTL, ["/bin/kubectl"], {"bin/kubectl": binaries["kubectl"]}, True),
        _archive(_of_upstreams_tests("Agnhost"), ["/agnhost"], {"agnhost": binaries["agnhost"], "agnhost-2": binaries["agnhost"], **callers}, True, ["pause"]),
        _archive(_of_upstreams_tests("GlibcDnsTesting"), [], resolvers, True),
        _archive(_of_upstreams_tests("BusyBox"), [], {}, True),
        _archive(_of_upstreams_tests("Pause"), ["/bin/busybox", "sleep", "2147483647"], {}, True),
        _archive(_of_upstreams_tests("APIServer"), ["/sample-apiserver"], {"sample-apiserver": binaries["sample-apiserver"]}, False),
        *([_archive(_of_upstreams_tests("Etcd"), [], {"usr/local/bin/etcd": binaries["etcd"]}, True)] if "etcd" in binaries else []),
    ]
