#!/usr/bin/env python3
"""A conversion webhook to test with: conversion_server.py CERTIFICATE KEY PORT-FILE [ADDRESS].

Between v1 of a Link (spec.hostPort: "a:1") and v2 (spec.host, spec.port). /convert does it; /wrong renames what it converts, /fail says
no, /few gives nothing back, /hang never answers. Standard library only."""
import sys
import threading

from https_server import JsonHandler, serve


def convert(item, wanted):
    spec = item.get("spec", {})
    if wanted.endswith("/v2") and "hostPort" in spec:
        spec["host"], _, spec["port"] = spec.pop("hostPort").partition(":")
    elif wanted.endswith("/v1") and "host" in spec:
        spec["hostPort"] = f"{spec.pop('host')}:{spec.pop('port', '')}"
    item["apiVersion"] = wanted
    return item


class Hook(JsonHandler):
    def do_POST(self):
        review = self.asked()
        request, path = review["request"], self.path.split("?")[0]
        objects = [convert(item, request["desiredAPIVersion"]) for item in request["objects"]]
        result = {"status": "Success"}
        if path == "/hang":
            threading.Event().wait()
        if path == "/wrong":
            for item in objects:
                item["metadata"]["name"] = "other"
        if path == "/few":
            objects = []
        if path == "/fail":
            objects, result = [], {"status": "Failed", "message": "not this one"}
        if path == "/label":
            for item in objects:
                item["metadata"].setdefault("labels", {})["by"] = "hook"
        response = {"uid": request["uid"], "result": result, "convertedObjects": objects}
        self.answer({"kind": "ConversionReview", "apiVersion": review["apiVersion"], "response": response}, 404 if path == "/none" else 200)


serve(Hook, *sys.argv[1:])
