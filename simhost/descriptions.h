// Descriptions: the texts of Kubernetes' own types and fields for `kubectl explain`, in the form of a host's OpenAPI
// v3. The program holds them compressed (150 KB) and unpacks them (0.7 MB) for each request, which is rare: a server
// caches the documents that it makes of them. Any thread.
#pragma once

#include <string>

#include "sublet/apiserver/options.h"

namespace sublet::simhost {

/// For "" the hash of each group version's document, for a group version a document with the texts of all.
Result<std::string> described_openapi(const std::string& path);

}  // namespace sublet::simhost
