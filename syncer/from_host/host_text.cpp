#include "syncer/from_host/host_text.h"

#include <algorithm>
#include <initializer_list>

#include "sublet/base/text.h"
#include "sublet/syncer/node_names.h"
#include "syncer/translate/names.h"

namespace sublet::syncer {
namespace {

constexpr std::string_view kAnother = "another pod", kNotYours = "(not yours)";  // the second behind "pod"
constexpr std::string_view kSeparator = "-x-";
// Around text that is final: what comes after does not look at it again. Texts of the host lose these characters.
constexpr char kFinalBegin = '\x01', kFinalEnd = '\x02';

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

std::string final_text(std::string_view text) { return kFinalBegin + std::string(text) + kFinalEnd; }

// "name_namespace" as kubelets write it, or "namespace_name" as log folders and some schedulers do. nullopt: neither.
std::optional<std::string> joined_name(const KubeletName& found, const HostTextNames& names) {
  const bool name_first = found.space == names.host_namespace, space_first = found.name == names.host_namespace;
  const auto own = name_first    ? object_of(std::string(found.name), names)
                   : space_first ? object_of(std::string(found.space), names)
                                 : std::nullopt;
  if (!own) return found.with_uid || space_first ? std::optional(std::string(kAnother)) : std::nullopt;
  std::string text = space_first ? own->namespace_name + "_" + own->name : own->name + "_" + own->namespace_name;
  if (found.with_uid && !own->uid.empty()) text += "(" + own->uid + ")";
  return text;
}

std::string in_kubelets_form(std::string_view text, const HostTextNames& names) {
  std::string out;
  std::size_t done = 0;
  for (auto at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
    if (at < done) continue;
    const KubeletName found = kubelet_name_around(text, at);
    if (found.name.empty() || found.space.empty() || found.name.size() > at - done) continue;
    const auto joined = joined_name(found, names);
    if (!joined) continue;
    out += text.substr(done, at - found.name.size() - done);
    out += final_text(*joined);
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
    if (std::string_view(text).substr(end).starts_with(kCannot)) text.replace(name, end - name, final_text(kNotYours));
  }
  for (auto at = text.find(kAccount); at != std::string::npos; at = text.find(kAccount, at)) {
    auto end = at + kAccount.size();
    while (end < text.size() && ((of_name(text[end]) && text[end] != '/') || text[end] == ':')) ++end;
    text.replace(at, end - at, final_text(kNotYours));
  }
  return text;
}

struct Word {
  std::string_view text, before;
  char next = 0;  // behind it
};

bool says_any(std::string_view before, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return says(before, word); });
}

bool is_number(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_image(const Word& word) {
  return word.next == ':' || word.next == '@' ||
         says_any(word.before, {"image", "reference", "repository", "denied for", "pull", "pulling", "pulled"});
}

// A name with one slash that is no NAMESPACE/NAME: a namespace is a DNS label, so a domain ("nvidia.com/gpu") is none.
bool is_other_pair(const Word& word, std::string_view space, std::string_view name) {
  if (space.empty() || name.empty() || space.find('.') != std::string_view::npos) return true;
  if (is_number(space) && is_number(name)) return true;                                    // "0/3 nodes"
  if (name.size() > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9') return true;  // "apps/v1"
  if (space == "text" || space == "application") return true;                              // a media type
  if (says_any(word.before, {"resource", "subresource", "verb"})) return true;             // "pods/log"
  return is_image(word) || says_any(word.before, {"exec", "stat", "file", "path", "open", "directory", "mkdir",
                                                  "executable", "command", "mount", "link", "chdir to cwd"});
}

// "pod/", "Workload/": a kind before NAMESPACE/NAME. "": there is none.
std::string_view kind_prefix(std::string_view word) {
  constexpr std::string_view kKinds[] = {"pod",        "workload",    "podgroup",      "job",
                                         "queue",      "claim",       "resourceclaim", "persistentvolumeclaim",
                                         "pvc",        "service",     "secret",        "configmap",
                                         "deployment", "statefulset", "daemonset",     "replicaset",
                                         "node",       "ingress",     "jobset",        "localqueue",
                                         "cronjob",    "event"};
  const auto slash = word.find('/');
  if (slash == std::string_view::npos || word.find('/', slash + 1) == std::string_view::npos) return {};
  std::string kind = to_lower(word.substr(0, slash));
  if (kind.ends_with('s')) kind.pop_back();
  return std::ranges::find(kKinds, kind) != std::end(kKinds) ? word.substr(0, slash + 1) : std::string_view();
}

// Parts of a longer word: the host's name of what the text is about, as in names of its volumes and of files.
std::string with_own_name(std::string text, const HostTextNames& names) {
  if (names.host_name.empty()) return text;
  replace_all(text, names.host_namespace + "/" + names.host_name, names.about.namespace_name + "/" + names.about.name);
  replace_all(text, names.host_name, names.about.name);
  return text;
}

// Returns what the tenant reads instead of one word. First the tenant's own objects are recognised; of what remains no
// other namespace of the host is named.
std::string word_for_tenant(const Word& word, const HostTextNames& names) {
  const auto slash = word.text.rfind('/');
  const std::string_view space = slash == std::string_view::npos ? "" : word.text.substr(0, slash);
  const std::string name(slash == std::string_view::npos ? word.text : word.text.substr(slash + 1));
  const bool has_slash = slash != std::string_view::npos, pair = has_slash && space.find('/') == std::string_view::npos;
  const bool behind_pod = says(word.before, "pod"), in_our_namespace = !has_slash || space == names.host_namespace;
  if (has_slash && !pair) return with_own_name(std::string(word.text), names);  // an image, a path
  if (!pair && word.text == names.host_namespace && says(word.before, "namespace") &&
      !names.about.namespace_name.empty())
    return names.about.namespace_name;
  if (in_our_namespace) {
    if (!pair && !names.host_name.empty() && name == names.host_name) return names.about.name;
    if (const auto own = object_of(name, names)) return own->namespace_name + "/" + own->name;
    if (!names.host_name.empty() && name.find(names.host_name) != std::string::npos)
      return with_own_name(std::string(word.text), names);
  }
  if (pair && space == names.about.namespace_name && name == names.about.name) return std::string(word.text);
  if (behind_pod && pair) return std::string(kNotYours);
  if (looks_translated(name)) return std::string(behind_pod ? kNotYours : kAnother);
  return pair && !is_other_pair(word, space, name) ? std::string(kNotYours) : std::string(word.text);
}

std::string without_marks(std::string text) {
  std::erase_if(text, [](char c) { return c == kFinalBegin || c == kFinalEnd; });
  return text;
}

// Also as control groups and units have it, with '_' in the place of '-'.
std::string with_own_uid(std::string text, const HostTextNames& names) {
  std::string host_uid = names.host_uid, uid = names.about.uid;
  if (host_uid.empty() || uid.empty()) return text;
  replace_all(text, host_uid, uid);
  std::ranges::replace(host_uid, '-', '_');
  std::ranges::replace(uid, '-', '_');
  replace_all(text, host_uid, uid);
  return text;
}

bool of_word(char c) { return of_name(c) || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::string tenant_text(std::string_view host_text, const HostTextNames& names) {
  const std::string message =
      in_kubelets_form(without_accounts(with_own_uid(without_marks(std::string(host_text)), names)), names);
  std::string out;
  for (std::size_t at = 0; at < message.size();) {
    if (message[at] == kFinalBegin) {
      const auto end = message.find(kFinalEnd, at);
      out.append(message, at + 1, end - at - 1);
      at = end + 1;
      continue;
    }
    if (!of_word(message[at])) {
      out += message[at++];
      continue;
    }
    auto end = at;
    while (end < message.size() && of_word(message[end])) ++end;
    std::string_view word = std::string_view(message).substr(at, end - at);
    while (!word.empty() && (word.back() == '.' || word.back() == '-' || word.back() == '/')) word.remove_suffix(1);
    if (word.empty()) {
      out += message[at++];
      continue;
    }
    const std::string_view kind = kind_prefix(word);
    out += kind;
    at += kind.size();
    word.remove_prefix(kind.size());
    const auto behind = at + word.size();
    out += word_for_tenant(
        {word, std::string_view(message).substr(0, at), behind < message.size() ? message[behind] : '\0'}, names);
    at = behind;
  }
  const TenantObjectName& about = names.about;
  return names.nodes ? names.nodes->in_text(out, about.namespace_name + "/" + about.name) : out;
}

}  // namespace sublet::syncer
