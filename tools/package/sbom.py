"""The software bill of materials of the package, as SPDX 2.3: what is linked or compiled in, with versions and licences."""
import functools
import hashlib
import pathlib
import re
import subprocess
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Debian source package -> licence of the library in it, as an SPDX expression. A library that is linked and not listed here fails
# the build of the package, so that a new dependency comes with its licence.
LICENCES = {
    "boost1.74": "BSL-1.0",
    "cli11": "BSD-3-Clause",
    "cpprest": "MIT",
    "fmtlib": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "nlohmann-json3": "MIT",
    "openssl": "Apache-2.0",
    "re2": "BSD-3-Clause",
    "simdjson": "Apache-2.0",
    "spdlog": "MIT",
    "sqlite3": "blessing",
    "tl-expected": "CC0-1.0",
    "yaml-cpp": "MIT",
    "zlib": "Zlib",
}
COMPILED_IN = ["libcli11-dev", "libexpected-dev", "nlohmann-json3-dev"]  # headers only


@functools.cache
def installed_packages():
    """{name: (name, version, source package)} of what is installed, also by the names that a package provides."""
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Version}\t${source:Package}\t${Provides}\n"],
                           capture_output=True, text=True, check=True).stdout
    found = {}
    for line in shown.splitlines():
        name, version, source, provides = line.split("\t")
        found[name] = (name, version, source)
        for provided in provides.split(",") if version else []:
            found.setdefault(provided.split("(")[0].strip(), (name, version, source))
    return found


def kubernetes_version():
    """Of the Go modules whose types the tables of schema/generated are made from."""
    return re.search(r'^staging = "v(.*)"', (ROOT / "tools/testhost/pins.toml").read_text(), re.M)[1]


def notices():
    """The copyright files of what is compiled in, for the package's own."""
    text = ""
    for name in COMPILED_IN:
        copyright_file = pathlib.Path(f"/usr/share/doc/{name}/copyright")
        if not copyright_file.exists():
            raise SystemExit(f"package: {copyright_file} is not there, whose licence has to be in the package")
        text += f"\n\n--- Compiled in: {name}; its copyright file follows ---\n\n{copyright_file.read_text()}"
    return text


def library(needed, architecture):
    name, version, source = installed_packages()[needed]
    if source not in LICENCES:
        raise SystemExit(f"package: {name} (source package {source}) has no licence in tools/package/sbom.py; add it")
    return {
        "SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}",
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": LICENCES[source],
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "LIBRARY",
        "sourceInfo": f"Debian source package {source}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"}],
    }


def own_package(edition):
    return {
        "SPDXID": "SPDXRef-sublet",
        "name": "sublet",
        "versionInfo": edition.version,
        "supplier": "Organization: sublet",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
    }


def kubernetes_package():
    return {
        "SPDXID": "SPDXRef-kubernetes-types",
        "name": "k8s.io/api",
        "versionInfo": kubernetes_version(),
        "supplier": "Organization: The Kubernetes Authors",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "SOURCE",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:golang/k8s.io/api@v{kubernetes_version()}"}],
    }


def document(edition, libraries, programs):
    """`libraries`: Debian packages that are linked dynamically; `programs`: the files of the package, which name the document."""
    digest = hashlib.sha256(b"".join(program.read_bytes() for program in programs)).hexdigest()
    name = f"sublet-{edition.version}-{edition.architecture}"
    linked = [library(each, edition.architecture) for each in sorted(libraries)]
    compiled = [library(each, edition.architecture) for each in COMPILED_IN]
    types = kubernetes_package()

    def relationship(kind, to):
        return {"spdxElementId": "SPDXRef-sublet", "relationshipType": kind, "relatedSpdxElement": to["SPDXID"]}

    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {digest}").urn,
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(edition.time)), "creators": ["Tool: sublet-package"]},
        "documentDescribes": ["SPDXRef-sublet"],
        "packages": [own_package(edition), *linked, *compiled, types],
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-sublet"},
                          *[relationship("DYNAMIC_LINK", each) for each in linked],
                          *[relationship("STATIC_LINK", each) for each in compiled],
                          relationship("GENERATED_FROM", types)],
    }
