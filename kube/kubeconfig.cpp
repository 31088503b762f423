// The public operations on kubeconfig files: which files there are, what a context means, who writes where.
#include "sublet/kube/kubeconfig.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "kube/file_edit.h"
#include "kube/kubeconfig_text.h"
#include "sublet/base/files.h"
#include "sublet/schema/engine.h"

namespace sublet::kube {
namespace {

constexpr const char* kClusters = "clusters";
constexpr const char* kContexts = "contexts";
constexpr const char* kUsers = "users";

struct File {
  std::string path;
  bool exists = false;
  std::string text;
  YAML::Node root;
};

/// An entry and the file that defines it: relative file names in it start there.
struct Found {
  YAML::Node node;
  const File* file = nullptr;
};

std::vector<std::string> split_path_list(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(':', start), list.size());
    std::string part = list.substr(start, end - start);
    if (!part.empty() && std::ranges::find(out, part) == out.end()) out.push_back(std::move(part));
    start = end + 1;
  }
  return out;
}

Result<File> load_file(const std::string& path) {
  File out;
  out.path = path;
  auto text = read_file(path);
  if (!text) {
    if (!text.error().is(Reason::not_found)) return fail(text.error());
    return out;
  }
  auto root = load_yaml(*text, path);
  if (!root) return fail(root.error());
  if (!root->IsMap() && !root->IsNull()) return bad_request(path + " is no kubeconfig: a mapping is expected");
  out.exists = true;
  out.text = std::move(*text);
  out.root = *root;
  return out;
}

/// The merged view over a list of files; the first file that says something wins.
class Kubeconfig {
 public:
  static Result<Kubeconfig> load(const std::string& path_list) {
    Kubeconfig out;
    out.path_list_ = path_list;
    for (const std::string& path : split_path_list(path_list)) {
      auto file = load_file(path);
      if (!file) return fail(file.error());
      out.files_.push_back(std::move(*file));
    }
    if (out.files_.empty()) return bad_request("no kubeconfig file is named");
    return out;
  }

  bool any_file() const {
    return std::ranges::any_of(files_, [](const File& f) { return f.exists; });
  }
  const std::string& path_list() const { return path_list_; }

  Found find(const std::string& section, const std::string& name) const {
    for (const File& file : files_)
      if (YAML::Node node = kubeconfig_entry(file.root, section, name); node.IsDefined()) return {node, &file};
    return {YAML::Node(YAML::NodeType::Undefined), nullptr};
  }

  std::vector<std::string> names(const std::string& section) const {
    std::vector<std::string> out;
    for (const File& file : files_) {
      if (!file.root.IsMap()) continue;
      const YAML::Node list = file.root[section];
      if (!list.IsDefined() || !list.IsSequence()) continue;
      for (const auto& item : list)
        if (std::string name = yaml_member(item, "name"); std::ranges::find(out, name) == out.end())
          out.push_back(std::move(name));
    }
    return out;
  }

  std::string current_context() const {
    const File* file = file_of_current();
    return file ? yaml_member(file->root, kCurrentContext) : std::string();
  }
  const File* file_of_current() const {
    for (const File& file : files_)
      if (!yaml_member(file.root, kCurrentContext).empty()) return &file;
    return nullptr;
  }

  /// Where new entries go: the first file that exists, else the last of the list, which is then made.
  const File& file_for_new() const {
    const auto first = std::ranges::find_if(files_, [](const File& f) { return f.exists; });
    return first == files_.end() ? files_.back() : *first;
  }
  const File& file_for(const std::string& section, const std::string& name) const {
    const Found found = find(section, name);
    return found.file ? *found.file : file_for_new();
  }

 private:
  std::string path_list_;
  std::vector<File> files_;
};

std::string list_of_known(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "there are none" : "there are: " + out;
}

tl::unexpected<Status> no_such(const Kubeconfig& config, std::string_view what, const std::string& section,
                               const std::string& name) {
  if (!config.any_file()) return fail(Reason::not_found, config.path_list() + ": no such file");
  return fail(Reason::not_found, config.path_list() + ": no " + std::string(what) + " \"" + name + "\"; " +
                                     list_of_known(config.names(section)));
}

// --- reading one context ---

/// Data that stands in the file itself (`<key>-data`, base64) or in another file (`<key>`).
Result<std::string> inline_or_file(const Found& entry, const YAML::Node& body, const std::string& key) {
  const std::string data = yaml_member(body, key + "-data");
  if (!data.empty()) {
    auto decoded = schema::base64_decode(data);
    if (!decoded) return bad_request(entry.file->path + ": " + key + "-data is not valid base64");
    return std::move(*decoded);
  }
  const std::string name = yaml_member(body, key);
  if (name.empty()) return std::string();
  const auto folder = std::filesystem::path(entry.file->path).parent_path();
  auto text = read_file((folder / name).string());  // an absolute name stays itself
  if (!text) return fail(text.error().reason, entry.file->path + ": " + key + ": " + text.error().message);
  return text;
}

/// Ways to authenticate or connect that are refused by name rather than ignored.
struct Unsupported {
  const char* key;
  const char* instead;
};
constexpr Unsupported kUnsupportedUser[] = {
    {"exec", "credential plugins are not run; use a client certificate or a token"},
    {"auth-provider", "auth providers are not supported; use a client certificate or a token"},
    {"username", "basic authentication is not supported by Kubernetes any more"},
    {"as", "impersonation is not supported"},
};
constexpr Unsupported kUnsupportedCluster[] = {{"proxy-url", "proxies are not supported"}};

template <std::size_t N>
Outcome refuse_unsupported(const Found& entry, const YAML::Node& body, const std::string& what,
                           const Unsupported (&keys)[N]) {
  if (!body.IsMap()) return {};
  for (const Unsupported& unsupported : keys)
    if (body[unsupported.key].IsDefined())
      return bad_request(entry.file->path + ": " + what + ": " + unsupported.key + ": " + unsupported.instead);
  return {};
}

Outcome read_cluster(const Kubeconfig& config, ClusterAccess& out) {
  const Found entry = config.find(kClusters, out.cluster_name);
  if (!entry.file) return no_such(config, "cluster", kClusters, out.cluster_name);
  const YAML::Node body = entry.node["cluster"];
  if (auto checked = refuse_unsupported(entry, body, "cluster \"" + out.cluster_name + "\"", kUnsupportedCluster);
      !checked)
    return checked;
  out.server = yaml_member(body, "server");
  if (out.server.empty()) return bad_request(entry.file->path + ": cluster \"" + out.cluster_name + "\" has no server");
  out.tls_server_name = yaml_member(body, "tls-server-name");
  out.insecure_skip_tls_verify = yaml_member(body, "insecure-skip-tls-verify") == "true";
  auto ca = inline_or_file(entry, body, "certificate-authority");
  if (!ca) return fail(ca.error());
  out.ca_pem = std::move(*ca);
  return {};
}

Outcome read_user(const Kubeconfig& config, ClusterAccess& out) {
  if (out.user_name.empty()) return {};
  const Found entry = config.find(kUsers, out.user_name);
  if (!entry.file) return no_such(config, "user", kUsers, out.user_name);
  const YAML::Node body = entry.node["user"];
  if (auto checked = refuse_unsupported(entry, body, "user \"" + out.user_name + "\"", kUnsupportedUser); !checked)
    return checked;
  auto certificate = inline_or_file(entry, body, "client-certificate");
  if (!certificate) return fail(certificate.error());
  auto key = inline_or_file(entry, body, "client-key");
  if (!key) return fail(key.error());
  out.client_certificate_pem = std::move(*certificate);
  out.client_key_pem = std::move(*key);
  out.bearer_token = yaml_member(body, "token");
  if (const std::string name = yaml_member(body, "tokenFile"); !name.empty()) {  // wins over `token`, as in kubectl
    auto token = read_file((std::filesystem::path(entry.file->path).parent_path() / name).string());
    if (!token) return fail(token.error().reason, entry.file->path + ": tokenFile: " + token.error().message);
    while (!token->empty() && (token->back() == '\n' || token->back() == ' ')) token->pop_back();
    out.bearer_token = std::move(*token);
  }
  return {};
}

// --- writing ---

YAML::Node named(const std::string& key, const YAML::Node& body, const std::string& name) {
  YAML::Node out(YAML::NodeType::Map);
  out[key] = body;
  out["name"] = text_node(name);
  return out;
}

void put_text(YAML::Node& body, const char* key, const std::string& text) {
  if (!text.empty()) body[key] = text_node(text);
}
void put_data(YAML::Node& body, const char* key, const std::string& bytes) {
  if (!bytes.empty()) body[key] = text_node(schema::base64_encode(bytes));
}

std::vector<KubeconfigEdit::Entry> entries_of(const ClusterAccess& access) {
  YAML::Node cluster(YAML::NodeType::Map), context(YAML::NodeType::Map), user(YAML::NodeType::Map);
  put_data(cluster, "certificate-authority-data", access.ca_pem);
  if (access.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = YAML::Node("true");
  put_text(cluster, "server", access.server);
  put_text(cluster, "tls-server-name", access.tls_server_name);
  put_text(context, "cluster", access.cluster_name);
  put_text(context, "namespace", access.namespace_name);
  put_text(context, "user", access.user_name);
  put_data(user, "client-certificate-data", access.client_certificate_pem);
  put_data(user, "client-key-data", access.client_key_pem);
  put_text(user, "token", access.bearer_token);
  return {{kClusters, access.cluster_name, named("cluster", cluster, access.cluster_name)},
          {kContexts, access.context_name, named("context", context, access.context_name)},
          {kUsers, access.user_name, named("user", user, access.user_name)}};
}

using Edits = std::map<std::string, KubeconfigEdit>;  // by path
using Planner = std::function<Result<Edits>(const Kubeconfig&)>;

std::set<std::string> paths_of(const Edits& edits) {
  std::set<std::string> out;
  for (const auto& [path, edit] : edits) out.insert(path);
  return out;
}

Outcome write_edits(const Edits& edits) {
  for (const auto& [path, edit] : edits) {
    const auto file = load_file(path);
    if (!file) return fail(file.error());
    auto text = edit_kubeconfig(file->text, edit, path);
    if (!text) return fail(text.error());
    if (file->exists && *text == file->text) continue;
    if (auto written = replace_user_file(path, *text); !written) return written;
  }
  return {};
}

/// Plans on what is there, locks the files that the plan changes (in one order for all), and plans again on what is
/// there then, for someone may have written in between.
Outcome change(const std::string& path_list, const Planner& plan) {
  std::set<std::string> locked;
  std::vector<FileLock> locks;
  for (;;) {
    auto config = Kubeconfig::load(path_list);
    if (!config) return fail(config.error());
    auto edits = plan(*config);
    if (!edits) return fail(edits.error());
    const std::set<std::string> wanted = paths_of(*edits);
    if (std::ranges::includes(locked, wanted)) return write_edits(*edits);
    locks.clear();
    for (const std::string& path : wanted) {
      auto lock = FileLock::take(path);
      if (!lock) return fail(lock.error());
      locks.push_back(std::move(*lock));
    }
    locked = wanted;
  }
}

void plan_current(const Kubeconfig& config, const std::string& name, Edits& edits) {
  const File* file = config.file_of_current();
  edits[file ? file->path : config.file_for_new().path].current_context = name;
}

bool used_by_another(const Kubeconfig& config, const std::string& context, const char* key, const std::string& name) {
  return std::ranges::any_of(config.names(kContexts), [&](const std::string& other) {
    return other != context && yaml_member(config.find(kContexts, other).node["context"], key) == name;
  });
}

void plan_erase(const Kubeconfig& config, const std::string& section, const std::string& name, Edits& edits) {
  if (const Found found = config.find(section, name); found.file)
    edits[found.file->path].erase.push_back({section, name, {}});
}

}  // namespace

std::string default_kubeconfig_path() {
  if (const char* list = std::getenv("KUBECONFIG"); list && *list) {
    std::string out;
    for (const std::string& path : split_path_list(list)) out += (out.empty() ? "" : ":") + path;
    if (!out.empty()) return out;
  }
  const char* home = std::getenv("HOME");
  if (!home || !*home) {
    const passwd* user = ::getpwuid(::getuid());
    home = user ? user->pw_dir : ".";
  }
  return std::string(home) + "/.kube/config";
}

Result<ClusterAccess> load_kubeconfig(const std::string& path, const std::string& context) {
  const auto config = Kubeconfig::load(path);
  if (!config) return fail(config.error());
  ClusterAccess out;
  out.context_name = context.empty() ? config->current_context() : context;
  if (out.context_name.empty()) {
    if (!config->any_file()) return fail(Reason::not_found, path + ": no such file");
    return fail(Reason::not_found, path + ": current-context is not set; " + list_of_known(config->names(kContexts)));
  }
  const Found entry = config->find(kContexts, out.context_name);
  if (!entry.file) return no_such(*config, "context", kContexts, out.context_name);
  const YAML::Node body = entry.node["context"];
  out.cluster_name = yaml_member(body, "cluster");
  out.user_name = yaml_member(body, "user");
  out.namespace_name = yaml_member(body, "namespace");
  if (auto read = read_cluster(*config, out); !read) return fail(read.error());
  if (auto read = read_user(*config, out); !read) return fail(read.error());
  return out;
}

Result<std::vector<std::string>> kubeconfig_contexts(const std::string& path) {
  const auto config = Kubeconfig::load(path);
  if (!config) return fail(config.error());
  return config->names(kContexts);
}

Result<std::string> kubeconfig_current_context(const std::string& path) {
  const auto config = Kubeconfig::load(path);
  if (!config) return fail(config.error());
  return config->current_context();
}

Result<std::string> kubeconfig_file_of(const std::string& path, const std::string& context) {
  const auto config = Kubeconfig::load(path);
  if (!config) return fail(config.error());
  return config->file_for(kContexts, context).path;
}

std::string render_kubeconfig(const ClusterAccess& access) {
  YAML::Node root(YAML::NodeType::Map);
  root["apiVersion"] = YAML::Node("v1");
  const auto entries = entries_of(access);
  root[kClusters].push_back(entries[0].node);
  root[kContexts].push_back(entries[1].node);
  root[kCurrentContext] = text_node(access.context_name);
  root["kind"] = YAML::Node("Config");
  root["preferences"] = YAML::Node(YAML::NodeType::Map);
  root[kUsers].push_back(entries[2].node);
  return yaml_text(root);
}

Outcome merge_context(const std::string& path, const ClusterAccess& access, bool make_current) {
  return change(path, [&](const Kubeconfig& config) -> Result<Edits> {
    Edits edits;
    for (auto& entry : entries_of(access))
      edits[config.file_for(entry.section, entry.name).path].put.push_back(std::move(entry));
    if (make_current) plan_current(config, access.context_name, edits);
    return edits;
  });
}

Outcome remove_context(const std::string& path, const std::string& context, const std::string& next_current) {
  return change(path, [&](const Kubeconfig& config) -> Result<Edits> {
    Edits edits;
    const Found entry = config.find(kContexts, context);
    if (!entry.file) return edits;  // gone already
    const YAML::Node body = entry.node["context"];
    const std::string cluster = yaml_member(body, "cluster"), user = yaml_member(body, "user");
    plan_erase(config, kContexts, context, edits);
    if (!used_by_another(config, context, "cluster", cluster)) plan_erase(config, kClusters, cluster, edits);
    if (!used_by_another(config, context, "user", user)) plan_erase(config, kUsers, user, edits);
    if (config.current_context() == context) plan_current(config, next_current, edits);
    return edits;
  });
}

Outcome set_current_context(const std::string& path, const std::string& context) {
  return change(path, [&](const Kubeconfig& config) -> Result<Edits> {
    Edits edits;
    if (!context.empty() && !config.find(kContexts, context).file)
      return no_such(config, "context", kContexts, context);
    if (config.current_context() != context) plan_current(config, context, edits);
    return edits;
  });
}

}  // namespace sublet::kube
