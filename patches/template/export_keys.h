// ExportKeys: exportKubeConfig.additionalSecrets of vcluster.yaml, and the forms of the words in exportKubeConfig.
#pragma once

#include "patches/template/source.h"
#include "sublet/patches/exported_access.h"

namespace sublet::patches {

void read_exports(const YamlNode& node, const std::string& key, std::vector<ExportedKubeconfig>& exports,
                  Problems& problems);

/// Why a text is none of the form "host", "name", "url" or "role"; empty: it is one.
std::string word_problem(std::string_view text, std::string_view form);

}  // namespace sublet::patches
