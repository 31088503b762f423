#include "sublet/syncer/node_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "sublet/base/text.h"
#include "sublet/net/digest.h"
#include "syncer/translate/names.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kNameField = "metadata.name";
constexpr std::size_t kGoneMax = 4096;  // nodes that have gone and are still known
// Before a tenant's own word.
constexpr std::array<std::string_view, 5> kTenantsNouns{"image", "container", "pod", "exec", "stat"};

constexpr std::array<std::string_view, 5> kNobodys{"", "localhost", "127.0.0.1", "::1", "0.0.0.0"};
constexpr std::size_t kMetMax = 65'536;

using Called = std::map<std::string, std::string, std::less<>>;

bool alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool of_word(char c) { return alphanumeric(c) || c == '-' || c == '.' || c == '/' || c == '_'; }

// The longest of the names that the text begins with, as a word of its own: `a-1` is not in `a-12`.
Called::const_iterator name_at_front(const Called& called, std::string_view text) {
  std::string_view shared = text;
  while (!shared.empty()) {
    auto found = called.upper_bound(shared);
    if (found == called.begin()) return called.end();
    --found;
    const std::string_view name = found->first;
    const bool whole = text.starts_with(name) && (name.size() == text.size() || !alphanumeric(text[name.size()]));
    if (whole) return found;
    // No name in between can be at the front: those that are, are at the front of what both share, too.
    const auto differs = std::ranges::mismatch(shared, name).in1;
    const auto same = static_cast<std::size_t>(differs - shared.begin());
    shared = shared.substr(0, std::min(same, same == name.size() ? name.size() - 1 : same));
  }
  return called.end();
}

// All that says which node it is, in lower case. Of a long name its first label alone, too, where that is no mere word.
std::vector<std::string> words_for(const HostNode& node) {
  std::vector<std::string> words{to_lower(node.name)};
  const std::string label = words.front().substr(0, words.front().find('.'));
  if (label.size() < node.name.size() && std::ranges::any_of(label, [](char c) { return c >= '0' && c <= '9'; }))
    words.push_back(label);
  for (const std::string& called : node.addresses)
    if (std::ranges::find(kNobodys, called) == kNobodys.end()) words.push_back(to_lower(called));
  if (!node.hostname_label.empty()) words.push_back(to_lower(node.hostname_label));
  return words;
}

std::string_view word_around(std::string_view text, std::size_t at) {
  auto begin = at, end = at;
  while (begin > 0 && of_word(text[begin - 1])) --begin;
  while (end < text.size() && of_word(text[end])) ++end;
  return text.substr(begin, end - begin);
}

// Behind one of the nouns: `image "gpu-1"`, `pod gpu-1`.
bool is_tenants_word(std::string_view text, std::size_t at) {
  while (at > 0 && of_word(text[at - 1])) --at;
  auto before = text.substr(0, at);
  while (!before.empty() && (before.back() == ' ' || before.back() == '"' || before.back() == ':'))
    before.remove_suffix(1);
  return before.size() < at && std::ranges::any_of(kTenantsNouns, [&](std::string_view noun) {
           return before.ends_with(noun) &&
                  (before.size() == noun.size() || !of_word(before[before.size() - noun.size() - 1]));
         });
}

}  // namespace

std::string NodeNames::new_key(Random& random) {
  std::array<std::uint8_t, 32> bytes{};
  random.fill(bytes);
  return net::hex(bytes);
}

// --- to the tenant ---------------------------------------------------------------------------------------------------

// The purpose ends where no purpose has a character: no two of them share a digest.
std::string NodeNames::digest(std::string_view purpose, std::string_view text) const {
  return name_digest(net::hmac_sha256(key_, std::string(purpose).append("\n").append(text)));
}

std::string NodeNames::to_tenant(std::string_view host_node) const {
  return are_pseudo() && !host_node.empty() ? pseudo(host_node) : std::string(host_node);
}

std::string NodeNames::object_to_tenant(std::string_view host_name) const {
  return are_pseudo() ? "object-" + digest("object", host_name) : std::string(host_name);
}

bool NodeNames::holds_name(std::string_view value) const {
  const std::string text = to_lower(value);
  const MutexLock lock(mutex_);
  for (std::size_t at = 0; at < text.size(); ++at)
    if ((at == 0 || !alphanumeric(text[at - 1])) && alphanumeric(text[at]) &&
        name_at_front(called_, std::string_view(text).substr(at)) != called_.end())
      return true;
  return false;
}

std::string NodeNames::value_to_tenant(std::string_view value) const {
  if (!are_pseudo() || is_known(value)) return std::string(value);
  {
    const MutexLock lock(mutex_);
    if (const auto found = called_.find(to_lower(value)); found != called_.end()) return found->second;
  }
  return holds_name(value) ? "hidden-" + digest("value", value) : std::string(value);
}

std::string NodeNames::in_text(std::string_view text, std::string_view own) const {
  if (!are_pseudo()) return std::string(text);
  const std::string lowered = to_lower(text);
  std::string out;
  const MutexLock lock(mutex_);
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = alphanumeric(text[at]) && (at == 0 || !alphanumeric(text[at - 1]));
    const std::string_view rest = std::string_view(lowered).substr(at);
    const auto end = static_cast<std::size_t>(
        std::ranges::find_if_not(rest, [](char c) { return alphanumeric(c) || c == '-'; }) - rest.begin());
    std::size_t stays = 1;
    if (begins && nodes_.contains(rest.substr(0, end))) {
      stays = end;  // said in the tenant's names already
    } else if (const auto found = begins ? name_at_front(called_, rest) : called_.end(); found != called_.end()) {
      stays = found->first.size();
      if ((own.empty() || word_around(text, at) != own) && !is_tenants_word(text, at)) {
        out += found->second;
        at += stays;
        continue;
      }
    }
    out += text.substr(at, stays);
    at += stays;
  }
  return out;
}

std::string NodeNames::member_to_tenant(std::string_view text) const {
  const bool v4 = !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
  const bool v6 = text.find(':') != std::string_view::npos &&
                  text.find_first_not_of("0123456789abcdefABCDEF:") == std::string_view::npos;
  if (are_pseudo() && (v4 || v6)) {
    const MutexLock lock(mutex_);
    if (called_.contains(to_lower(text))) return v4 ? "0.0.0.0" : "::";
  }
  return in_text(text);
}

// --- to the host -----------------------------------------------------------------------------------------------------

std::string NodeNames::to_host(std::string_view tenant_node) const {
  if (!are_pseudo()) return std::string(tenant_node);
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(tenant_node);
  return found != nodes_.end() ? found->second.name : "none-" + digest("none", tenant_node);
}

bool NodeNames::names_nodes(std::string_view key) { return key == kHostnameLabel || key == kNameField; }

std::string NodeNames::value_to_host(std::string_view key, std::string_view value) const {
  if (!are_pseudo()) return std::string(value);
  std::optional<HostNode> meant;
  {
    const MutexLock lock(mutex_);
    if (const auto found = nodes_.find(value); found != nodes_.end()) meant = found->second;
  }
  if (meant) return key == kHostnameLabel && !meant->hostname_label.empty() ? meant->hostname_label : meant->name;
  return names_nodes(key) || holds_name(value) ? "none-" + digest("none", value) : std::string(value);
}

bool NodeNames::is_known(std::string_view tenant_node) const {
  if (!are_pseudo()) return true;
  const MutexLock lock(mutex_);
  return nodes_.contains(tenant_node);
}

// --- what is known ---------------------------------------------------------------------------------------------------

void NodeNames::know(const HostNode& node) {
  if (!are_pseudo()) return;
  const std::string name = pseudo(node.name);
  const MutexLock lock(mutex_);
  if (const auto before = nodes_.find(name); before != nodes_.end()) forget_called(before->second);
  std::erase(gone_, name);
  for (const std::string& called : words_for(node)) called_[called] = name;
  nodes_[name] = node;
}

void NodeNames::meet(std::string_view host_node) {
  if (!are_pseudo() || host_node.empty() || is_known(pseudo(host_node))) return;
  {
    const MutexLock lock(mutex_);
    if (nodes_.size() >= kMetMax) return;
  }
  know({std::string(host_node)});
}

void NodeNames::note_gone(std::string_view host_node) {
  if (!are_pseudo()) return;
  const MutexLock lock(mutex_);
  gone_.push_back(pseudo(host_node));
  if (gone_.size() <= kGoneMax) return;
  const auto oldest = nodes_.find(gone_.front());
  gone_.pop_front();
  if (oldest == nodes_.end()) return;
  forget_called(oldest->second);
  nodes_.erase(oldest);
}

// An address may be another node's by now.
void NodeNames::forget_called(const HostNode& node) {
  const std::string name = pseudo(node.name);
  for (const std::string& called : words_for(node))
    if (const auto found = called_.find(called); found != called_.end() && found->second == name) called_.erase(found);
}

}  // namespace sublet::syncer
