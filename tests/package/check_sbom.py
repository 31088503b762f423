#!/usr/bin/env python3
"""Is a bill of materials valid SPDX 2.3, and does it have every package that the Debian package depends on?

    tests/package/check_sbom.py FILE DEPENDS     # prints what is wrong, and as the last line "valid" or "N findings"

Checks the fields that SPDX 2.3 requires, their forms, licences against the identifiers of SPDX's licence list that are known
here, and that relationships name elements of the document. With PyPI's spdx-tools at hand its validator is asked too.
"""
import json
import re
import sys

IDENTIFIER = re.compile(r"^SPDXRef-[A-Za-z0-9.-]+$")
LICENCES = {"Apache-2.0", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "GPL-3.0-or-later", "LGPL-2.1-or-later", "MIT", "Zlib", "blessing"}
EXCEPTIONS = {"GCC-exception-3.1"}
RELATIONSHIPS = {"DESCRIBES", "DYNAMIC_LINK", "STATIC_LINK", "GENERATED_FROM"}
PURPOSES = {"APPLICATION", "LIBRARY", "SOURCE"}
PURL = re.compile(r"^pkg:[a-z]+/[^@\s]+@[^@\s]+$")


def is_licence(text):
    if text in ("NOASSERTION", "NONE"):
        return True
    for part in re.split(r" AND | OR ", text.replace("(", "").replace(")", "")):
        licence, _, exception = part.partition(" WITH ")
        if licence not in LICENCES or (exception and exception not in EXCEPTIONS):
            return False
    return True


def check_package(package, say):
    name = package.get("name", "?")
    for field in ["SPDXID", "name", "downloadLocation"]:
        if not package.get(field):
            say(f"package {name} has no {field}")
    if not IDENTIFIER.match(package.get("SPDXID", "")):
        say(f"package {name}: {package.get('SPDXID')} is no identifier")
    for field in ["versionInfo", "supplier", "copyrightText"]:
        if not package.get(field):
            say(f"package {name} has no {field}")
    for field in ["licenseDeclared", "licenseConcluded"]:
        if not is_licence(package.get(field, "")):
            say(f"package {name}: {field} {package.get(field)} is no licence expression")
    if package.get("licenseDeclared") in (None, "NOASSERTION"):
        say(f"package {name} has no licence")
    if package.get("filesAnalyzed") is not False:
        say(f"package {name}: filesAnalyzed without the files")
    if package.get("primaryPackagePurpose") not in PURPOSES:
        say(f"package {name} has no purpose")
    if not re.match(r"^(Organization|Person): .+", package.get("supplier", "")):
        say(f"package {name}: {package.get('supplier')} is no supplier")
    for reference in package.get("externalRefs", []):
        if reference.get("referenceType") != "purl" or not PURL.match(reference.get("referenceLocator", "")):
            say(f"package {name}: {reference} is no package URL")


def check_document(document, say):
    for field, form in {"spdxVersion": r"SPDX-2\.3", "dataLicense": r"CC0-1\.0", "SPDXID": "SPDXRef-DOCUMENT", "name": ".+",
                        "documentNamespace": r"[a-z][a-z0-9+.-]*:[^#\s]+"}.items():
        if not re.fullmatch(form, document.get(field, "")):
            say(f"{field} is {document.get(field)}")
    created = document.get("creationInfo", {})
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created.get("created", "")):
        say(f"created is {created.get('created')}")
    if not created.get("creators") or not all(re.match(r"^(Tool|Organization|Person): .+", each) for each in created["creators"]):
        say(f"creators are {created.get('creators')}")
    identifiers = [package.get("SPDXID") for package in document.get("packages", [])]
    if len(set(identifiers)) != len(identifiers):
        say("two packages have one identifier")
    described = False
    for each in document.get("relationships", []):
        if each.get("relationshipType") not in RELATIONSHIPS:
            say(f"relationship {each}")
        for end in ["spdxElementId", "relatedSpdxElement"]:
            if each.get(end) not in [*identifiers, "SPDXRef-DOCUMENT"]:
                say(f"a relationship names {each.get(end)}, which is not there")
        described = described or each.get("relationshipType") == "DESCRIBES"
    if not described:
        say("the document describes nothing")


def check_by_spdx_tools(path, say):
    try:
        from spdx_tools.spdx.parser.parse_anything import parse_file
        from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    except ImportError:
        print("spdx-tools is not installed; its validator was not asked")
        return
    for message in validate_full_spdx_document(parse_file(path)):
        say(f"spdx-tools: {message.validation_message}")


def main():
    path, depends = sys.argv[1:]
    findings = []
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    check_document(document, findings.append)
    for package in document.get("packages", []):
        check_package(package, findings.append)
    if "sublet" not in [package.get("name") for package in document.get("packages", [])]:
        findings.append("sublet is not among the packages")
    linked = sum(each["relationshipType"] == "DYNAMIC_LINK" for each in document["relationships"])
    if linked != len(depends.split(", ")):
        findings.append(f"{linked} libraries are linked, the package depends on {depends}")
    check_by_spdx_tools(path, findings.append)
    print("\n".join([*findings, f"{len(findings)} findings" if findings else "valid"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
