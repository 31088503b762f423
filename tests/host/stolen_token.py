#!/usr/bin/env python3
# host: given, 15 s
"""A stolen token of the syncer on a real kube-apiserver ($HOST_KUBECONFIG): every case of tests/attacks/programs/stolen_token.py is
refused; and what `create` made for the syncer there goes with it."""
import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "attacks"), str(ROOT / "tests" / "attacks" / "programs")]
import stolen_token  # noqa: E402
from target import Api, Kubeconfig  # noqa: E402

MADE = ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        "/apis/rbac.authorization.k8s.io/v1/roles", "/apis/rbac.authorization.k8s.io/v1/rolebindings", "/api/v1/serviceaccounts",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings")


def main():
    kubeconfig, passed, failed = os.environ["HOST_KUBECONFIG"], 0, 0
    state = tempfile.mkdtemp(prefix="sublet-stolen-")
    os.environ.update(SUBLET_STATE_DIR=state, HOME=state)
    os.environ.pop("KUBECONFIG", None)
    host = Api(Kubeconfig(kubeconfig))
    try:
        passed = stolen_token.play(state, kubeconfig)
        print(f"ok: {passed} attacks with a stolen token are refused")
    except AssertionError as worked:
        failed += 1
        print(f"FAILED: {worked}", file=sys.stderr)
    finally:
        stolen_token.clean_up()
        shutil.rmtree(state, ignore_errors=True)
    for path in MADE:
        left = [item["metadata"]["name"] for item in host.request("GET", path + "?labelSelector=sublet.dev/managed-by").json["items"]
                if item["metadata"]["labels"]["sublet.dev/managed-by"] in (stolen_token.NAME, stolen_token.MATE, stolen_token.ELSEWHERE)]
        if left:
            failed += 1
            print(f"FAILED: {path.rsplit('/', 1)[1]} {left} are left on the host", file=sys.stderr)
        else:
            passed += 1
    for name in (stolen_token.NAMESPACE, stolen_token.ELSEWHERE):  # the platform's things keep the first one
        host.request("DELETE", f"/api/v1/namespaces/{name}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
