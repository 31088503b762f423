"""Two state folders that do not know of each other, and folders that somebody prepared."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

from target import LeftOut, shared, sublet


def second_of_a_name(_short):
    """A second state folder makes a virtual cluster of the same name in the same namespace: refused, and told whose it is; the first one's objects stay."""
    target = shared()
    other = tempfile.mkdtemp(prefix="sublet-attacks-other-")
    host = os.path.join(target.state, "host", "admin.kubeconfig")
    try:
        os.environ["SUBLET_STATE_DIR"] = other
        refused = sublet("create", "rag", "-n", "team", "--host-kubeconfig", host, check=False)
        assert refused.returncode != 0, refused.stdout
        for part in ("is another's", target.state, "sublet-owner-rag"):
            assert part in refused.stderr, refused.stderr
        sublet("create", "second", "-n", "team", "--host-kubeconfig", host)  # another name may be there
        sublet("delete", "second", "-n", "team", "--yes")
    finally:
        os.environ["SUBLET_STATE_DIR"] = target.state
        shutil.rmtree(other, ignore_errors=True)
    found = target.api("host").request("GET", "/api/v1/namespaces/team/serviceaccounts/sublet-workload-rag")
    assert found.code == 200, found.body
    assert target.api("admin").request("GET", "/api/v1/pods").code == 200


def namespace_with_more(_short):
    """delete, when the platform has a Deployment and a claim in the namespace that sublet made: both stay, and are named."""
    target = shared()
    host = target.api("host")
    made = host.request("POST", "/api/v1/namespaces/team/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "platforms"}})
    assert made.code == 201, made.body
    told = sublet("delete", "rag", "-n", "team", "--yes")
    assert "configmaps platforms" in told.stderr + told.stdout, told.stderr
    assert host.request("GET", "/api/v1/namespaces/team/configmaps/platforms").code == 200
    assert host.request("GET", "/api/v1/namespaces/team").json["status"]["phase"] == "Active"
    # Where nothing else is, the namespace goes.
    host.request("DELETE", "/api/v1/namespaces/team/configmaps/platforms")
    sublet("create", "rag", "-n", "team")
    sublet("delete", "rag", "-n", "team", "--yes")
    assert host.request("GET", "/api/v1/namespaces/team").code == 404


def foreign_account(_short):
    """A ServiceAccount of the name that the workloads' account would have: not adopted, not deleted."""
    target = shared()
    host = target.api("host")
    made = host.request("POST", "/api/v1/namespaces/elsewhere/serviceaccounts",
                        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sublet-workload-third"}})
    assert made.code == 201, made.body
    refused = sublet("create", "third", "-n", "elsewhere", check=False)
    assert refused.returncode != 0 and "is not of virtual cluster third" in refused.stderr, refused.stderr
    assert host.request("GET", "/api/v1/namespaces/elsewhere/serviceaccounts/sublet-workload-third").code == 200
    sublet("create", "fourth", "-n", "elsewhere")
    sublet("delete", "fourth", "-n", "elsewhere", "--yes")


def the_hosts_own(_short):
    """Namespaces that are the host's own."""
    shared()
    for namespace in ("default", "kube-system", "kube-public", "kube-node-lease"):
        refused = sublet("create", "x1", "-n", namespace, check=False)
        assert refused.returncode != 0 and "it is the host's own" in refused.stderr, refused.stderr


def planted_links(_short):
    """Symbolic links where a lock or a log would be written: refused by name, and what they point at stays as it is."""
    target = shared()
    victim = os.path.join(target.state, "victim")
    with open(victim, "w", encoding="utf-8") as file:
        file.write("precious")
    for name in ("create.lock", "daemon.lock", "run.log"):
        folder = os.path.join(target.state, "clusters", "trap", name.replace(".", "-"))
        os.makedirs(folder, 0o700)
        os.symlink(victim, os.path.join(folder, name))
        refused = sublet("create", name.replace(".", "-"), "-n", "trap", check=False)
        assert refused.returncode != 0, f"{name}: {refused.stdout}"
        assert name in refused.stderr, f"{name}: {refused.stderr}"
        assert open(victim, encoding="utf-8").read() == "precious", name


def behind_a_link(_short):
    """A state folder behind a symbolic link works."""
    real, before = tempfile.mkdtemp(prefix="sublet-attacks-real-"), os.environ.get("SUBLET_STATE_DIR")
    link = real + "-link"
    os.symlink(real, link)
    try:
        os.environ["SUBLET_STATE_DIR"] = link
        sublet("create", "rag", "-n", "team")
        assert "Running" in sublet("list").stdout
        sublet("delete", "rag", "-n", "team", "--yes")
    finally:
        os.environ.pop("SUBLET_STATE_DIR") if before is None else os.environ.__setitem__("SUBLET_STATE_DIR", before)
        os.unlink(link)
        shutil.rmtree(real, ignore_errors=True)


def killed_connect(_short):
    """The kubeconfig of a `connect -- COMMAND` that was killed goes with the next one."""
    shared()
    runtime, before = tempfile.mkdtemp(prefix="sublet-attacks-run-"), os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    try:
        kill_connect(os.path.join(runtime, f"sublet-{os.geteuid()}"))
    finally:
        os.environ.pop("XDG_RUNTIME_DIR") if before is None else os.environ.__setitem__("XDG_RUNTIME_DIR", before)
        shutil.rmtree(runtime, ignore_errors=True)


def kill_connect(folder):
    process = subprocess.Popen(["sublet", "connect", "rag", "-n", "team", "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    def left():
        return [name for name in os.listdir(folder) if name.startswith("connect-")]
    process.stdin.write(b"x\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"x\n"  # the command runs
    assert len(left()) == 1
    sublet("connect", "rag", "-n", "team", "--", "true")
    assert len(left()) == 1, "one whose command runs is left alone"
    process.kill()
    process.stdin.close()
    assert process.stdout.read() == b""  # the command has ended too
    process.wait()
    sublet("connect", "rag", "-n", "team", "--", "true")
    assert not left()


def of_another_user(_short):
    """A state folder that belongs to another user: nothing is put into it, and it is said whose it is."""
    if os.geteuid() != 0:
        raise LeftOut("only root can make a folder of another user's")
    folder = tempfile.mkdtemp(prefix="sublet-attacks-theirs-")
    before = os.environ.get("SUBLET_STATE_DIR")
    os.environ["SUBLET_STATE_DIR"] = folder
    try:
        os.chown(folder, 65534, 65534)
        refused = sublet("create", "rag", "-n", "team", check=False)
        assert refused.returncode != 0 and f"{folder} belongs to user 65534, not to user 0" in refused.stderr, refused.stderr
        assert os.listdir(folder) == [], os.listdir(folder)
        os.chown(folder, 0, 0)
        sublet("create", "rag", "-n", "team")
        sublet("delete", "rag", "-n", "team", "--yes")
    finally:
        os.environ.pop("SUBLET_STATE_DIR") if before is None else os.environ.__setitem__("SUBLET_STATE_DIR", before)
        shutil.rmtree(folder, ignore_errors=True)


def unverified_host(_short):
    """A host's kubeconfig that verifies nobody: taken, and told what that means; one that verifies is taken without a word."""
    target = shared()
    said = {}
    for name, change in (("unverified", lambda cluster: (cluster.pop("certificate-authority-data"), cluster.update({"insecure-skip-tls-verify": True}))),
                         ("verified", lambda cluster: None)):
        host = kubeconfig_of(target.host)
        change(host["clusters"][0]["cluster"])
        path = os.path.join(target.state, name + ".kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(host, file)
        os.chmod(path, 0o600)
        said[name] = sublet("create", name, "-n", name, "--host-kubeconfig", path).stderr
        sublet("delete", name, "-n", name, "--yes", "--host-kubeconfig", path)
    assert "is not verified (insecure-skip-tls-verify in its kubeconfig)" in said["unverified"], said["unverified"]
    assert "not verified" not in said["verified"], said["verified"]


def kubeconfig_of(access):
    """An administrator's kubeconfig as a document."""
    data = {key: base64.b64encode(value).decode() for key, value in access.parts.items()}
    return {"apiVersion": "v1", "kind": "Config", "current-context": "host",
            "clusters": [{"name": "host", "cluster": {"server": access.server.geturl(), "certificate-authority-data": data["certificate-authority"]}}],
            "contexts": [{"name": "host", "context": {"cluster": "host", "user": "admin"}}],
            "users": [{"name": "admin", "user": {"client-certificate-data": data["client-certificate"], "client-key-data": data["client-key"]}}]}


# The last one takes the virtual cluster away.
CASES = {"of-another-user": of_another_user, "behind-a-link": behind_a_link, "unverified-host": unverified_host, "second-of-a-name": second_of_a_name,
         "foreign-account": foreign_account, "the-hosts-own": the_hosts_own, "planted-links": planted_links, "killed-connect": killed_connect,
         "namespace-with-more": namespace_with_more}
