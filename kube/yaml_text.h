// YAML text from yaml-cpp nodes, in the block style of kubectl, with strings kept strings.
//
// yaml-cpp's own emitter writes a quoted "true" or "123" without its quotes, which turns tokens into numbers; here what
// was quoted stays quoted. Internal: yaml-cpp is heavy, include this from .cpp files only.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>

#include "sublet/base/status.h"

namespace sublet::kube {

/// A string as a YAML scalar: plain when every reader takes it for this string, else in double quotes.
std::string yaml_scalar(std::string_view text);
/// Block style; every line starts with `indent` spaces and ends with '\n'.
std::string yaml_text(const YAML::Node& node, int indent = 0);
/// Same structure, scalars, order, and kinds of scalars (quoted or not).
bool yaml_equal(const YAML::Node& a, const YAML::Node& b);
/// The one document of the text; null when it is empty. bad_request with `path`:line: when malformed.
Result<YAML::Node> load_yaml(const std::string& text, const std::string& path);

}  // namespace sublet::kube
