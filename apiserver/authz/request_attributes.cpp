#include "apiserver/authz/request_attributes.h"

#include <algorithm>

namespace sublet::apiserver {
namespace {

struct MethodVerb {
  std::string_view method, verb;
};
constexpr MethodVerb kPathVerbs[] = {{"GET", "get"},         {"HEAD", "head"},   {"POST", "post"},
                                     {"PUT", "put"},         {"PATCH", "patch"}, {"DELETE", "delete"},
                                     {"OPTIONS", "options"}, {"TRACE", "trace"}, {"CONNECT", "connect"}};

std::string_view verb_of_path(std::string_view method) {
  for (const auto& row : kPathVerbs)
    if (row.method == method) return row.verb;
  return method;
}

// Methods that collections do not have are authorized all the same, so that the answer is 403 without the right.
std::string_view verb_of_resource(const RequestContext& context) {
  if (context.info.verb != Verb::other) return verb_name(context.info.verb);
  if (context.request.method == "PUT") return "update";
  if (context.request.method == "PATCH") return "patch";
  return {};
}

bool is_path_segment(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/%") == std::string_view::npos;
}

// A list of one object by its name is asked for like that object.
std::string_view selected_name(std::string_view selector) {
  constexpr std::string_view kField = "metadata.name=";
  while (!selector.empty()) {
    const auto comma = std::min(selector.find(','), selector.size());
    std::string_view term = selector.substr(0, comma);
    selector.remove_prefix(std::min(comma + 1, selector.size()));
    if (!term.starts_with(kField)) continue;
    term.remove_prefix(kField.size());
    if (term.starts_with('=')) term.remove_prefix(1);
    if (term.find('\\') == std::string_view::npos && is_path_segment(term)) return term;
  }
  return {};
}

}  // namespace

Attributes attributes_of(const RequestContext& context) {
  const RequestInfo& info = context.info;
  Attributes attributes;
  attributes.user = &context.user;
  attributes.is_resource = info.is_resource;
  if (!info.is_resource) {
    attributes.verb = verb_of_path(context.request.method);
    attributes.path = info.path;
    return attributes;
  }
  attributes.verb = verb_of_resource(context);
  attributes.group = info.group;
  attributes.resource = info.resource;
  attributes.subresource = info.subresource;
  attributes.namespace_name = info.namespace_name;
  attributes.name = info.name;
  // A namespace is asked for within itself, so that a Role in it can be about it.
  if (!info.has_namespace && info.resource == "namespaces") attributes.namespace_name = info.name;
  if (info.name.empty() && (info.verb == Verb::list || info.verb == Verb::watch))
    attributes.name = selected_name(context.query.get("fieldSelector"));
  return attributes;
}

}  // namespace sublet::apiserver
