#include "sublet/patches/pod_settings.h"

#include <algorithm>
#include <array>

#include "patches/template/custom_keys.h"

namespace sublet::patches {
namespace {

constexpr std::array<std::string_view, 3> kEffects{"NoSchedule", "PreferNoSchedule", "NoExecute"};

// "name" or "prefix/name", as keys of taints are.
bool is_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view name = slash == text.npos ? text : text.substr(slash + 1);
  if (slash != text.npos && !is_dns_name(text.substr(0, slash))) return false;
  return !name.empty() && name.size() <= 63 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

}  // namespace

bool parse_toleration(std::string_view text, TolerationSetting& toleration) {
  const std::size_t colon = text.rfind(':');
  if (colon != text.npos) {
    toleration.effect = text.substr(colon + 1);
    if (std::ranges::find(kEffects, toleration.effect) == kEffects.end()) return false;
  }
  const std::string_view taint = text.substr(0, colon);
  const std::size_t equals = taint.find('=');
  toleration.key = taint.substr(0, equals);
  toleration.any_value = equals == taint.npos;
  if (!toleration.any_value) toleration.value = taint.substr(equals + 1);
  return is_key(toleration.key) && (toleration.value.empty() || is_key(toleration.value));
}

}  // namespace sublet::patches
