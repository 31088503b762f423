#include "syncer/from_host/host_text.h"

#include "syncer/translate/names.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kAnother = "another pod", kNotYours = "(not yours)";  // the second behind "pod"
constexpr std::string_view kSeparator = "-x-";

bool of_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/'; }

// As host_name() makes them.
bool looks_translated(std::string_view name) {
  const auto first = name.find(kSeparator);
  const bool joined = first != std::string_view::npos && first > 0 &&
                      name.find(kSeparator, first + kSeparator.size()) != std::string_view::npos;
  return joined || may_be_hashed_name(name);
}

bool says_pod(std::string_view before) {
  while (!before.empty() && (before.back() == ' ' || before.back() == '"' || before.back() == ':'))
    before.remove_suffix(1);
  return before.ends_with("pod") || before.ends_with("Pod") || before.ends_with("pods") || before.ends_with("Pods");
}

// What to say instead of one word of name characters; nullopt: the word.
std::optional<std::string> instead(std::string_view word, bool behind_pod, const HostTextNames& names) {
  const auto slash = word.rfind('/');
  const std::string_view space = slash == std::string_view::npos ? "" : word.substr(0, slash);
  const std::string name(slash == std::string_view::npos ? word : word.substr(slash + 1));
  const bool one_slash = slash != std::string_view::npos && space.find('/') == std::string_view::npos;
  if (slash != std::string_view::npos && !one_slash) return std::nullopt;  // an image, a path
  if (!one_slash || space == names.host_namespace)
    if (auto own = names.tenant_pod(name)) return own;
  if (looks_translated(name) || (behind_pod && one_slash)) return std::string(behind_pod ? kNotYours : kAnother);
  return std::nullopt;
}

}  // namespace

std::string tenant_text(std::string_view message, const HostTextNames& names) {
  std::string out;
  for (std::size_t at = 0; at < message.size();) {
    if (!of_name(message[at])) {
      out += message[at++];
      continue;
    }
    auto end = at;
    while (end < message.size() && of_name(message[end])) ++end;
    std::string_view word = message.substr(at, end - at);
    while (!word.empty() && (word.back() == '.' || word.back() == '-' || word.back() == '/')) word.remove_suffix(1);
    if (const auto said = instead(word, says_pod(message.substr(0, at)), names))
      out += *said;
    else
      out += word;
    at += word.size();
    if (word.empty()) out += message[at++];
  }
  return out;
}

}  // namespace sublet::syncer
