#include "syncer/from_host/tenant_words.h"

#include "syncer/translate/names.h"

namespace sublet::syncer {
namespace {

bool in_names(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; }

// A name in the joined form says what it stands for; one in the hashed form only the host's object.
TenantIdentity identity_of(const Border& border, std::string_view word) {
  if (auto joined = tenant_names(word, border.context().virtual_cluster))
    return {std::move(joined->namespace_name), std::move(joined->name), {}};
  if (!may_be_hashed_name(word)) return {};
  for (const Sides& one : border.kinds)
    if (one.host && one.kind.direction == Direction::to_host)
      if (const auto there = one.host->get(border.host_place(one.kind), word)) return tenant_identity(*there);
  return {};
}

}  // namespace

std::string in_tenant_words(const Border& border, std::string_view text) {
  const std::string host_prefix = border.host_namespace() + "/";
  std::string out;
  while (!text.empty()) {
    std::size_t size = 0;
    while (size < text.size() && in_names(text[size])) ++size;
    std::string_view word = text.substr(0, size);
    while (word.ends_with('.')) word.remove_suffix(1);  // the end of a sentence
    const TenantIdentity known = word.empty() ? TenantIdentity() : identity_of(border, word);
    if (known.name.empty()) {
      out += text.substr(0, std::max<std::size_t>(size, 1));
      text.remove_prefix(std::max<std::size_t>(size, 1));
      continue;
    }
    if (out.ends_with(host_prefix)) {
      out.resize(out.size() - host_prefix.size());
      out += known.namespace_name + "/";
    }
    out += known.name;
    text.remove_prefix(word.size());
  }
  return out;
}

}  // namespace sublet::syncer
