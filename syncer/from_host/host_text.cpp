#include "syncer/from_host/host_text.h"

#include <algorithm>

#include "sublet/syncer/node_names.h"
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

// The word before, in its forms: "pod", "Pod", "pods".
bool says(std::string_view before, std::string_view word) {
  while (!before.empty() && (before.back() == ' ' || before.back() == '"' || before.back() == ':'))
    before.remove_suffix(1);
  if (before.ends_with('s')) before.remove_suffix(1);
  // Compared letter by letter: g++ 12 at -O2 makes an assertion that always fails of ends_with() twice and an index.
  if (before.size() < word.size()) return false;
  before.remove_prefix(before.size() - word.size());
  const char first = before.front();
  return (first == word.front() || first == static_cast<char>(word.front() - 'a' + 'A')) &&
         before.substr(1) == word.substr(1);
}

std::optional<TenantObjectName> object_of(const std::string& host_name, const HostTextNames& names) {
  if (!names.host_name.empty() && host_name == names.host_name) return names.about;
  return looks_translated(host_name) ? names.tenant_object(host_name) : std::nullopt;
}

std::string_view name_at(std::string_view text, std::size_t at) {
  auto end = at;
  while (end < text.size() && of_name(text[end]) && text[end] != '/') ++end;
  return text.substr(at, end - at);
}

bool is_uid(std::string_view text) {
  return text.size() >= 32 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-'; });
}

// A pod as a kubelet writes it, "name_namespace(uid)", or as it names the pod's sandbox, "name_namespace_uid".
struct KubeletName {
  std::string_view name, space;
  std::size_t end = 0;  // behind it in the text
  bool with_uid = false;
};

KubeletName kubelet_name_around(std::string_view text, std::size_t underscore) {
  auto start = underscore;
  while (start > 0 && of_name(text[start - 1]) && text[start - 1] != '/') --start;
  KubeletName found{text.substr(start, underscore - start), name_at(text, underscore + 1), 0, false};
  found.end = underscore + 1 + found.space.size();
  if (found.end >= text.size() || (text[found.end] != '(' && text[found.end] != '_')) return found;
  const bool closed = text[found.end] == '(';
  const std::string_view uid = name_at(text, found.end + 1);
  const auto behind = found.end + 1 + uid.size();
  if (!is_uid(uid) || (closed && (behind >= text.size() || text[behind] != ')'))) return found;
  found.end = behind + (closed ? 1 : 0);
  found.with_uid = true;
  return found;
}

std::string in_kubelets_form(std::string_view text, const HostTextNames& names) {
  std::string out;
  std::size_t done = 0;
  for (auto at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
    if (at < done) continue;
    const KubeletName found = kubelet_name_around(text, at);
    if (found.name.empty() || found.space.empty() || found.name.size() > at - done) continue;
    const auto own = found.space == names.host_namespace ? object_of(std::string(found.name), names) : std::nullopt;
    if (!own && !found.with_uid) continue;
    out += text.substr(done, at - found.name.size() - done);
    out += own ? own->name + "_" + own->namespace_name : std::string(kAnother);
    if (own && found.with_uid && !own->uid.empty()) out += "(" + own->uid + ")";
    done = found.end;
  }
  return out.append(text.substr(done));
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Who asked is the host's business: `User "..." cannot list ...`, and whatever else names an account of the host.
std::string without_accounts(std::string text) {
  constexpr std::string_view kUser = "User \"", kCannot = "\" cannot ", kAccount = "system:serviceaccount:";
  for (auto at = text.find(kUser); at != std::string::npos; at = text.find(kUser, at + 1)) {
    const auto name = at + kUser.size(), end = text.find('"', name);
    if (end == std::string::npos) break;
    if (std::string_view(text).substr(end).starts_with(kCannot)) text.replace(name, end - name, kNotYours);
  }
  for (auto at = text.find(kAccount); at != std::string::npos; at = text.find(kAccount, at)) {
    auto end = at + kAccount.size();
    while (end < text.size() && ((of_name(text[end]) && text[end] != '/') || text[end] == ':')) ++end;
    text.replace(at, end - at, kNotYours);
  }
  return text;
}

struct Word {
  std::string_view text, before;
  char next = 0;  // behind it
};

bool is_image(const Word& word) { return word.next == ':' || word.next == '@' || says(word.before, "image"); }

// What to say instead of one word of name characters; nullopt: the word.
std::optional<std::string> instead(const Word& word, const HostTextNames& names) {
  const auto slash = word.text.rfind('/');
  const bool behind_pod = says(word.before, "pod");
  const std::string_view space = slash == std::string_view::npos ? "" : word.text.substr(0, slash);
  const std::string name(slash == std::string_view::npos ? word.text : word.text.substr(slash + 1));
  const bool one_slash = slash != std::string_view::npos && space.find('/') == std::string_view::npos;
  if (slash != std::string_view::npos && !one_slash) return std::nullopt;  // an image, a path
  if (!one_slash && word.text == names.host_namespace && says(word.before, "namespace") &&
      !names.about.namespace_name.empty())
    return names.about.namespace_name;
  if (!one_slash || space == names.host_namespace)
    if (const auto own = object_of(name, names)) return own->namespace_name + "/" + own->name;
  if (behind_pod && one_slash) return std::string(kNotYours);
  if (looks_translated(name)) return std::string(behind_pod ? kNotYours : kAnother);
  // Something else that stands in the host's namespace.
  if (one_slash && space == names.host_namespace && space != names.about.namespace_name && !is_image(word))
    return std::string(kNotYours);
  return std::nullopt;
}

}  // namespace

std::string tenant_text(std::string_view said, const HostTextNames& names) {
  std::string message = in_kubelets_form(without_accounts(std::string(said)), names);
  replace_all(message, names.host_name.empty() ? "" : names.host_namespace + "/" + names.host_name,
              names.about.namespace_name + "/" + names.about.name);
  replace_all(message, names.host_name, names.about.name);
  std::string out;
  for (std::size_t at = 0; at < message.size();) {
    if (!of_name(message[at])) {
      out += message[at++];
      continue;
    }
    auto end = at;
    while (end < message.size() && of_name(message[end])) ++end;
    std::string_view word = std::string_view(message).substr(at, end - at);
    while (!word.empty() && (word.back() == '.' || word.back() == '-' || word.back() == '/')) word.remove_suffix(1);
    const auto behind = at + word.size();
    const Word here{word, std::string_view(message).substr(0, at), behind < message.size() ? message[behind] : '\0'};
    if (const auto other = instead(here, names))
      out += *other;
    else
      out += word;
    at += word.size();
    if (word.empty()) out += message[at++];
  }
  const TenantObjectName& about = names.about;
  return names.nodes ? names.nodes->in_text(out, about.namespace_name + "/" + about.name) : out;
}

}  // namespace sublet::syncer
