#include "apiserver/authz/attributes.h"

#include <algorithm>
#include <cstdio>

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

std::string go_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out.append(1, '\\').append(1, c);
    else if (byte >= 7 && byte <= 13)
      out.append(1, '\\').append(1, "abtnvfr"[byte - 7]);
    else if (byte < 0x20 || byte == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      out += escaped;
    } else
      out += c;
  }
  return out + "\"";
}

}  // namespace sublet::apiserver
