"""The steps of the matrix with the official Python client (`kubernetes`)."""
import steps
from kubernetes import client, config, watch
from kubernetes.dynamic import DynamicClient
from kubernetes.stream import portforward, stream
from steps import NAME, NAMESPACE, POD, config_map, equal

config.load_kube_config()
core = client.CoreV1Api()


def list_objects():
    # With `watch=False` in the query, as the first example of the client's README sends it.
    names = [item.metadata.name for item in core.list_namespace(watch=False).items]
    equal("default in the namespaces", "default" in names, True)
    page = core.list_namespace(limit=1, watch=False, timeout_seconds=10)
    equal("one page", len(page.items), 1)
    equal("the rest", len(page.items) + len(core.list_namespace(_continue=page.metadata._continue).items), len(names))


def create_and_patch():
    try:
        core.delete_namespaced_config_map(NAME, NAMESPACE, propagation_policy="Background")
    except client.ApiException as error:
        equal("the status", error.status, 404)
    core.create_namespaced_config_map(NAMESPACE, config_map("one"), pretty="true", dry_run="All")
    core.create_namespaced_config_map(NAMESPACE, config_map("one"), field_validation="Strict")
    changed = core.patch_namespaced_config_map(NAME, NAMESPACE, {"data": {"k": "two"}})
    equal("a merge", changed.data, {"k": "two"})
    changed = core.patch_namespaced_config_map(NAME, NAMESPACE, [{"op": "add", "path": "/data/j", "value": "three"}])
    equal("a JSON patch", changed.data, {"k": "two", "j": "three"})
    maps = DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
    changed = maps.server_side_apply(config_map("applied"), NAME, NAMESPACE, field_manager="m", force_conflicts=True)
    equal("an apply", changed.data["k"], "applied")


def watch_objects():
    seen = []
    watcher = watch.Watch()
    for event in watcher.stream(core.list_namespaced_config_map, NAMESPACE, label_selector=f"client={NAME}",
                                allow_watch_bookmarks=True, timeout_seconds=30):
        seen.append((event["type"], event["object"].data["k"]))
        if len(seen) == 1:
            core.patch_namespaced_config_map(NAME, NAMESPACE, {"data": {"k": "watched"}})
        else:
            watcher.stop()
    equal("the events", seen, [("ADDED", "applied"), ("MODIFIED", "watched")])


def execute():
    out = stream(core.connect_get_namespaced_pod_exec, POD, NAMESPACE, command=["echo", "hi"], stderr=True, stdin=False,
                 stdout=True, tty=False)
    equal("the output", out, "hi\n")
    session = stream(core.connect_get_namespaced_pod_exec, POD, NAMESPACE, command=steps.SCRIPT, stderr=True, stdin=False,
                     stdout=True, tty=False, _preload_content=False)
    session.run_forever(timeout=30)
    equal("standard output", session.read_stdout(), "out\n")
    equal("standard error", session.read_stderr(), "err\n")
    equal("the exit code", session.returncode, 3)


def execute_with_input():
    session = stream(core.connect_get_namespaced_pod_exec, POD, NAMESPACE, command=["sh"], stderr=True, stdin=True,
                     stdout=True, tty=False, _preload_content=False)
    session.write_stdin("echo 1\n")
    equal("a line", session.readline_stdout(timeout=10), "1")
    session.write_stdin("echo 2 >&2\n")
    equal("a line of the errors", session.readline_stderr(timeout=10), "2")
    session.write_stdin("exit 5\n")
    session.run_forever(timeout=30)
    equal("the exit code", session.returncode, 5)
    session = stream(core.connect_get_namespaced_pod_exec, POD, NAMESPACE, command=["cat"], stderr=True, stdin=True,
                     stdout=True, tty=False, _preload_content=False)
    session.write_stdin("live\n")
    equal("what cat sends back", session.readline_stdout(timeout=10), "live")
    session.close()


def logs():
    text = core.read_namespaced_pod_log(POD, NAMESPACE, tail_lines=2, follow=False, previous=False)
    equal("the log", text.splitlines(), steps.LINES)
    stamped = core.read_namespaced_pod_log(POD, NAMESPACE, timestamps=True, tail_lines=1)
    equal("a time and a line", stamped.split()[1], "line-2")
    followed = core.read_namespaced_pod_log(POD, NAMESPACE, follow=True, tail_lines=2, _preload_content=False)
    equal("the log that is followed", next(iter(followed.stream())).split(b"\n")[0], b"line-1")
    followed.close()


def forward_port():
    forward = portforward(core.connect_get_namespaced_pod_portforward, POD, NAMESPACE, ports="80")
    socket = forward.socket(80)
    socket.settimeout(30)
    socket.sendall(b"GET /path HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    answer = b""
    while b"GET /path" not in answer:
        piece = socket.recv(4096)
        if not piece:
            break
        answer += piece
    equal("the status line", answer.split(b"\r\n")[0], b"HTTP/1.1 200 OK")
    equal("an error", forward.error(80), None)
    forward.close()


steps.run([(list_objects, False), (create_and_patch, False), (watch_objects, False), (execute, True),
           (execute_with_input, True), (logs, True), (forward_port, True)])
