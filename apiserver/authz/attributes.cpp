#include "apiserver/authz/attributes.h"

#include <algorithm>

#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

// Upstream's answer must not look like HTML.
std::string without_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string words_of(const Attributes& attributes) {
  std::string text = "User " + go_quoted(attributes.user->name) + " cannot " + std::string(attributes.verb);
  if (!attributes.is_resource) return text + " path " + go_quoted(attributes.path);
  std::string resource(attributes.resource);
  if (!attributes.subresource.empty()) resource.append("/").append(attributes.subresource);
  text += " resource " + go_quoted(resource) + " in API group " + go_quoted(attributes.group);
  if (attributes.namespace_name.empty()) return text + " at the cluster scope";
  return text + " in the namespace " + go_quoted(attributes.namespace_name);
}

}  // namespace

bool is_in_group(const User& user, std::string_view group) {
  return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

Status forbidden_status(const Attributes& attributes, std::string_view reason) {
  std::string why = without_html(words_of(attributes));
  if (!reason.empty()) why.append(": ").append(reason);
  return sublet::forbidden_status(attributes.group, attributes.resource, attributes.name, why);
}

}  // namespace sublet::apiserver
