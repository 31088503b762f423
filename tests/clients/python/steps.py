"""What every Python client of the matrix shares: the names, the list of steps, and how a result is printed."""
import os
import sys
import traceback

NAMESPACE = "default"
POD = "client-pod"
HAS_PODS = os.environ.get("CLIENTS_API_ONLY", "") == ""
NAME = "client-" + os.environ.get("CLIENTS_NAME", "python")
LINES = ["line-1", "line-2"]
SCRIPT = ["sh", "-c", "echo out; echo err >&2; exit 3"]


def config_map(value):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "labels": {"client": NAME}}, "data": {"k": value}}


def equal(what, actual, wanted):
    if actual != wanted:
        raise AssertionError(f"{what} is {actual!r}, wanted {wanted!r}")


class Report:
    """Prints a line for each step; the exit code is that of the process."""

    failed = 0

    def passed(self, step):
        print(f"ok: {step}", flush=True)

    def failure(self, step):
        self.failed += 1
        print(f"FAILED: {step}: {traceback.format_exc().strip().splitlines()[-1]}", flush=True)
        if os.environ.get("CLIENTS_VERBOSE"):
            traceback.print_exc()

    def end(self):
        sys.exit(1 if self.failed else 0)


def run(steps):
    """Runs functions named after their steps: those about pods only where there are pods."""
    report = Report()
    for step, needs_pods in steps:
        if needs_pods and not HAS_PODS:
            continue
        try:
            step()
            report.passed(step.__name__)
        except Exception:  # pylint: disable=broad-except
            report.failure(step.__name__)
    report.end()


async def run_async(steps):
    report = Report()
    for step, needs_pods in steps:
        if needs_pods and not HAS_PODS:
            continue
        try:
            await step()
            report.passed(step.__name__)
        except Exception:  # pylint: disable=broad-except
            report.failure(step.__name__)
    return report.failed
