// The syntax of label keys and values, and upstream's sentences about what is wrong with one.
#include <algorithm>

#include "sublet/kube/selectors.h"

namespace sublet::kube {
namespace {

constexpr std::size_t kNameMax = 63;
constexpr std::size_t kPrefixMax = 253;

bool alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool lower_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }

/// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9], never empty.
bool is_name(std::string_view text) {
  if (text.empty() || !alphanumeric(text.front()) || !alphanumeric(text.back())) return false;
  return std::ranges::all_of(text, [](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

/// Lower-case DNS labels joined by dots.
bool is_subdomain(std::string_view text) {
  char before = '.';
  for (const char c : text) {
    const bool edge = c == '.' || before == '.';
    if (c == '.' ? (before == '.' || before == '-')
        : edge   ? !lower_alphanumeric(c)
                 : !(lower_alphanumeric(c) || c == '-'))
      return false;
    before = c;
  }
  return !text.empty() && lower_alphanumeric(before);
}

constexpr std::string_view kNameRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kPrefixRule =
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kKeyRule =
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
    "'example.com/MyName')";
constexpr std::string_view kValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

}  // namespace

std::string check_label_key(std::string_view key) {
  const auto slash = key.find('/');
  std::string_view name = key;
  if (slash != std::string_view::npos) {
    if (key.find('/', slash + 1) != std::string_view::npos) return std::string(kKeyRule);
    const std::string_view prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (prefix.empty()) return "prefix part must be non-empty";
    if (prefix.size() > kPrefixMax) return "prefix part must be no more than 253 bytes";
    if (!is_subdomain(prefix)) return std::string(kPrefixRule);
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > kNameMax) return "name part must be no more than 63 bytes";
  return is_name(name) ? std::string() : std::string(kNameRule);
}

std::string check_label_value(std::string_view value) {
  if (value.empty()) return {};
  if (value.size() > kNameMax) return "must be no more than 63 bytes";
  return is_name(value) ? std::string() : std::string(kValueRule);
}

}  // namespace sublet::kube
