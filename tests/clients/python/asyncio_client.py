"""The steps of the matrix with `kubernetes_asyncio`. It has no port-forward."""
import asyncio
import sys

import steps
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.stream import WsApiClient
from kubernetes_asyncio.stream.ws_client import ERROR_CHANNEL, STDERR_CHANNEL, STDIN_CHANNEL, STDOUT_CHANNEL
from steps import NAME, NAMESPACE, POD, config_map, equal


async def main():
    await config.load_kube_config()
    async with client.ApiClient() as api, WsApiClient() as socket_api:
        core, sockets = client.CoreV1Api(api), client.CoreV1Api(socket_api)

        async def list_objects():
            names = [item.metadata.name for item in (await core.list_namespace(watch=False)).items]
            equal("default in the namespaces", "default" in names, True)

        async def create_and_patch():
            try:
                await core.delete_namespaced_config_map(NAME, NAMESPACE)
            except client.ApiException as error:
                equal("the status", error.status, 404)
            await core.create_namespaced_config_map(NAMESPACE, config_map("one"))
            changed = await core.patch_namespaced_config_map(NAME, NAMESPACE, {"data": {"k": "two"}},
                                                             _content_type="application/merge-patch+json")
            equal("a merge", changed.data, {"k": "two"})
            changed = await core.patch_namespaced_config_map(
                NAME, NAMESPACE, config_map("applied"), _content_type="application/apply-patch+yaml", field_manager="m",
                force=True)
            equal("an apply", changed.data["k"], "applied")

        async def watch_objects():
            seen = []
            async with watch.Watch().stream(core.list_namespaced_config_map, NAMESPACE, label_selector=f"client={NAME}",
                                            timeout_seconds=30) as events:
                async for event in events:
                    seen.append((event["type"], event["object"].data["k"]))
                    if len(seen) == 2:
                        break
                    await core.patch_namespaced_config_map(NAME, NAMESPACE, {"data": {"k": "watched"}},
                                                           _content_type="application/merge-patch+json")
            equal("the events", seen, [("ADDED", "applied"), ("MODIFIED", "watched")])

        async def execute():
            out = await sockets.connect_get_namespaced_pod_exec(POD, NAMESPACE, command=["echo", "hi"], stderr=True,
                                                                stdin=False, stdout=True, tty=False)
            equal("the output", out, "hi\n")
            session = await sockets.connect_get_namespaced_pod_exec(
                POD, NAMESPACE, command=steps.SCRIPT, stderr=True, stdin=False, stdout=True, tty=False,
                _preload_content=False)
            channels = {}
            async with session as socket:
                async for message in socket:
                    channels[message.data[0]] = channels.get(message.data[0], b"") + message.data[1:]
            equal("standard output", channels.get(STDOUT_CHANNEL), b"out\n")
            equal("standard error", channels.get(STDERR_CHANNEL), b"err\n")
            equal("the exit code", b'"3"' in channels.get(ERROR_CHANNEL), True)

        async def execute_with_input():
            session = await sockets.connect_get_namespaced_pod_exec(
                POD, NAMESPACE, command=["cat"], stderr=True, stdin=True, stdout=True, tty=False, _preload_content=False)
            async with session as socket:
                await socket.send_bytes(bytes([STDIN_CHANNEL]) + b"live\n")
                out = b""
                while not out.endswith(b"\n"):
                    message = await socket.receive(timeout=30)
                    if message.data[0] == STDOUT_CHANNEL:
                        out += message.data[1:]
                equal("what cat sends back", out, b"live\n")

        async def logs():
            text = await core.read_namespaced_pod_log(POD, NAMESPACE, tail_lines=2)
            equal("the log", text.splitlines(), steps.LINES)
            stamped = await core.read_namespaced_pod_log(POD, NAMESPACE, timestamps=True, tail_lines=1)
            equal("a time and a line", stamped.split()[1], "line-2")
            followed = await core.read_namespaced_pod_log(POD, NAMESPACE, follow=True, tail_lines=2,
                                                          _preload_content=False)
            equal("the log that is followed", (await followed.content.readline()).strip(), b"line-1")
            followed.close()

        return await steps.run_async([(list_objects, False), (create_and_patch, False), (watch_objects, False),
                                      (execute, True), (execute_with_input, True), (logs, True)])


sys.exit(1 if asyncio.run(main()) else 0)
