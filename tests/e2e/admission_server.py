#!/usr/bin/env python3
"""An admission webhook to test with: admission_server.py CERTIFICATE KEY PORT-FILE [ADDRESS [PORT]].

/label adds the label seen=yes, /deny refuses what is labelled deny=yes, /hang never answers. Standard library only."""
import base64
import json
import sys
import threading

from https_server import JsonHandler, serve


class Hook(JsonHandler):
    def do_POST(self):
        request = self.asked()["request"]
        labels = ((request.get("object") or {}).get("metadata") or {}).get("labels")
        response = {"uid": request["uid"], "allowed": True}
        path = self.path.split("?")[0]
        if path == "/hang":
            threading.Event().wait()
        if path == "/label":
            step = {"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}
            if labels:
                step = {"op": "add", "path": "/metadata/labels/seen", "value": "yes"}
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(json.dumps([step]).encode()).decode()
        if path == "/deny" and (labels or {}).get("deny") == "yes":
            response.update(allowed=False, status={"code": 403, "message": "not here"})
        self.answer({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response})


serve(Hook, *sys.argv[1:])
