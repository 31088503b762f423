#include "syncer/translate/names.h"

#include <algorithm>
#include <array>

#include "sublet/net/digest.h"
#include "sublet/syncer/host_name.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kJoint = "-x-";
constexpr std::size_t kHostNameMax = 63;
constexpr std::size_t kNameDigestChars = 26;  // 130 bits
constexpr std::size_t kPrefixMax = kHostNameMax - kNameDigestChars - 1;

// A part that can stand between joints without making two different triples look alike.
bool unambiguous(std::string_view part) {
  return !part.empty() && part.find(kJoint) == std::string_view::npos && !part.starts_with("x-") &&
         !part.ends_with("-x") && part != "x";
}

void append_length_prefixed(std::string& out, std::string_view part) {
  const auto size = static_cast<std::uint32_t>(part.size());
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xff);
  out += part;
}

// 5 bits a character, alphabet of DNS labels without look-alikes of upper case; not RFC 4648, never decoded.
std::string base32(const std::array<unsigned char, 32>& digest, std::size_t chars) {
  static constexpr char kAlphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const unsigned char byte : digest) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 5 && text.size() < chars; count -= 5) text += kAlphabet[bits >> (count - 5) & 31];
  }
  return text;
}

std::string hashed_name(std::string_view prefix, std::initializer_list<std::string_view> parts) {
  std::string bytes;
  for (const auto part : parts) append_length_prefixed(bytes, part);
  std::string readable(prefix.substr(0, kPrefixMax));
  // A cut must not leave a name that ends a DNS label in '-' or '.'.
  while (!readable.empty() && (readable.back() == '-' || readable.back() == '.')) readable.pop_back();
  if (readable.empty()) readable = "o";
  return readable + "-" + base32(net::sha256(bytes), kNameDigestChars);
}

}  // namespace

std::string host_name(std::string_view tenant_name, std::string_view tenant_namespace,
                      std::string_view virtual_cluster) {
  const std::size_t joined = tenant_name.size() + tenant_namespace.size() + virtual_cluster.size() + 2 * kJoint.size();
  if (joined <= kHostNameMax && unambiguous(tenant_name) && unambiguous(tenant_namespace) &&
      unambiguous(virtual_cluster)) {
    std::string name;
    name.reserve(joined);
    return name.append(tenant_name).append(kJoint).append(tenant_namespace).append(kJoint).append(virtual_cluster);
  }
  return hashed_name(tenant_name, {tenant_name, tenant_namespace, virtual_cluster});
}

std::string key_digest(std::string_view text) { return name_digest(net::sha256(text)); }

std::string name_digest(const std::array<unsigned char, 32>& digest) { return base32(digest, kNameDigestChars); }

std::optional<TenantNames> tenant_names(std::string_view host_name, std::string_view virtual_cluster) {
  // A sentence that ends in a name is none.
  if (!std::ranges::all_of(
          host_name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; }))
    return std::nullopt;
  const auto first = host_name.find(kJoint);
  if (first == std::string_view::npos) return std::nullopt;
  const auto second = host_name.find(kJoint, first + kJoint.size());
  if (second == std::string_view::npos || host_name.substr(second + kJoint.size()) != virtual_cluster)
    return std::nullopt;
  TenantNames names{std::string(host_name.substr(0, first)),
                    std::string(host_name.substr(first + kJoint.size(), second - first - kJoint.size()))};
  if (syncer::host_name(names.name, names.namespace_name, virtual_cluster) != host_name) return std::nullopt;
  return names;
}

bool may_be_hashed_name(std::string_view host_name) {
  return host_name.size() > kNameDigestChars + 1 && host_name[host_name.size() - kNameDigestChars - 1] == '-' &&
         std::ranges::all_of(host_name.substr(host_name.size() - kNameDigestChars),
                             [](char c) { return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7'); });
}

std::string token_batch(std::string_view creation_timestamp, std::string_view pod_uid) {
  std::string batch;
  for (const char c : creation_timestamp)
    if (c != '-' && c != ':') batch += c;
  return batch + "." + std::to_string(net::sha256(pod_uid)[0] % kTokenShards);
}

std::string host_token_secret_name(std::string_view batch, std::string_view tenant_namespace,
                                   std::string_view virtual_cluster) {
  // Four parts: no object of the tenant, whose names hash three, can have this name.
  return hashed_name("sublet-token", {"token", batch, tenant_namespace, virtual_cluster});
}

std::string host_environment_name(std::string_view virtual_cluster) {
  return hashed_name("sublet-environment", {"environment", virtual_cluster});  // two parts
}

}  // namespace sublet::syncer
