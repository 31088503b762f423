#include "syncer/translate/custom.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <unordered_set>

#include "sublet/syncer/host_name.h"
#include "sublet/syncer/node_names.h"
#include "syncer/translate/metadata.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using patches::CustomReference;
using patches::CustomResource;
using patches::Place;
using schema::Document;
using schema::Value;

constexpr std::string_view kEach = "*", kAnyDepth = "**";

std::string below(const std::string& path, const Value& child, std::size_t index) {
  if (child.key().empty()) return path + "[" + std::to_string(index) + "]";
  return (path.empty() ? "" : path + ".") + std::string(child.key());
}

bool ends_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::ranges::equal(text.substr(text.size() - word.size()), word, [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
         });
}
bool is_meant(std::string_view member, std::string_view key) {
  return member == kEach || (member.starts_with(kEach) && ends_with_word(key, member.substr(1)));
}

// Calls `found` for what stands at a place, with its parent and its path as text.
using Found = std::function<void(Value parent, Value value, const std::string& path)>;
void visit(const Value& parent, const Place& place, std::size_t at, const std::string& path, const Found& found) {
  const bool any_depth = place[at] == kAnyDepth;
  if (any_depth) visit(parent, place, at + 1, path, found);
  std::vector<Value> children;
  if (!place[at].starts_with(kEach)) {
    if (const Value child = parent[place[at]]; child && !child.is_null()) children.push_back(child);
  } else if (parent.is_array() || parent.is_object()) {
    for (const Value child : parent)
      if (any_depth || is_meant(place[at], child.key())) children.push_back(child);
  }
  std::size_t index = 0;
  for (const Value child : children) {
    const std::string child_path = below(path, child, index++);
    if (any_depth)
      visit(child, place, at, child_path, found);
    else if (at + 1 == place.size())
      found(parent, child, child_path);
    else
      visit(child, place, at + 1, child_path, found);
  }
}

Value at_place(Value value, const Place& place) {
  for (const std::string& member : place) value = value[member];
  return value;
}

void put_at(Value value, const Place& place, std::string_view text) {
  for (std::size_t i = 0; i + 1 < place.size(); ++i) value = value.object(place[i]);
  value.put(place.back(), text);
}

std::string dotted(const std::string& path, const Place& place) {
  std::string text = path;
  for (const std::string& member : place) text.append(".").append(member);
  return text;
}

bool is_empty(const Value& value) {
  if (value.missing() || value.is_null()) return true;
  return value.is_string() ? value.text().empty() : (value.is_array() || value.is_object()) && value.empty();
}

/// One run over one object on its way to the host.
class Crossing {
 public:
  Crossing(Translation& translation, const CustomResource& resource, Value host)
      : translation_(translation), resource_(resource), host_(host) {}

  void run() {
    for (const Place& place : resource_.refused)
      visit(host_, place, 0, "", [&](Value, Value value, const std::string& path) {
        if (!is_empty(value)) deny(path, "this would mean something else on the host; leave it out");
      });
    for (const CustomResource::Fixed& fixed : resource_.fixed)
      visit(host_, fixed.path, 0, "", [&](Value, Value value, const std::string&) {
        if (const auto wanted = Document::parse_json(fixed.json)) value.set(wanted->root());
      });
    for (const CustomResource::Fixed& forced : resource_.forced)
      if (const auto wanted = Document::parse_json(forced.json)) force(forced.path, wanted->root());
    for (const Place& place : resource_.selectors)
      visit(host_, place, 0, "", [&](Value, Value value, const std::string&) { select(value); });
    for (std::size_t i = 0; i < resource_.references.size(); ++i) {
      const CustomReference& reference = resource_.references[i];
      const auto same = [&](const CustomReference& other) { return other.path == reference.path; };
      if (std::ranges::find_if(resource_.references, same) - resource_.references.begin() !=
          static_cast<std::ptrdiff_t>(i))
        continue;  // told with the first one of its path
      visit(host_, reference.path, 0, "", [&](Value, Value value, const std::string& path) { refer(value, path, i); });
    }
    for (const Place& place : resource_.closed)
      visit(host_, place, 0, "", [&](Value, Value value, const std::string& path) { refuse_other_names(value, path); });
    for (const Value member : host_)
      if (!is_envelope(member.key())) look_for_the_overlooked(member, std::string(member.key()));
    if (!resource_.made_metadata.empty()) mark_what_is_made();
  }

 private:
  static bool is_envelope(std::string_view member) {
    return member == "apiVersion" || member == "kind" || member == "metadata";
  }

  void force(const Place& place, const Value& wanted) {
    Value at = host_;
    for (std::size_t i = 0; i + 1 < place.size(); ++i) at = at.object(place[i]);
    at.put(place.back(), wanted);
  }

  void deny(const std::string& path, std::string message) {
    translation_.causes.push_back({"FieldValueForbidden", std::move(message), path});
  }

  // A selector of the API, or a map of labels.
  void select(Value value) {
    if (!value.is_object()) return;
    if (!value.has("matchLabels") && !value.has("matchExpressions")) {
      translate_label_map(value);
      value.put(kLabelTenantUid, translation_.context().virtual_cluster_uid);
      value.put(kLabelTenantNamespace, translation_.tenant_namespace());
      return;
    }
    translate_label_selector(value);
    narrow_to_own_namespace(translation_, value);
  }

  // Of the rows for this path, the one that is for the kind that the object says.
  const CustomReference* row_for(const Value& value, const std::string& path, std::size_t first) {
    std::string kinds;
    for (std::size_t i = first; i < resource_.references.size(); ++i) {
      const CustomReference& row = resource_.references[i];
      if (row.path != resource_.references[first].path) continue;
      const std::string_view said = row.kind_at.empty() ? "" : at_place(value, row.kind_at).text();
      if (said.empty() || said == row.kind) return &row;
      kinds += (kinds.empty() ? "" : ", ") + row.kind;
    }
    deny(path, "only a reference to " + kinds + " can cross to the host");
    return nullptr;
  }

  void refer(Value value, const std::string& path, std::size_t first) {
    const CustomReference* const row = row_for(value, path, first);
    if (row == nullptr) return;
    Value named = at_place(value, row->name);
    const std::string name = named.string();
    const std::string named_at = row->name.empty() ? path : dotted(path, row->name);
    if (!named.is_string() || name.empty() || is_translated(named_at)) return;
    // Where a reference says its namespace without a row for it, only the object's own can be meant.
    const Place namespace_at = row->namespace_at.empty() ? Place{"namespace"} : row->namespace_at;
    Value space = row->name.empty() ? Value() : at_place(value, namespace_at);
    const std::string own(translation_.tenant_namespace());
    const std::string meant = space.text().empty() ? own : space.string();
    const bool brought = row->kind == "Secret" || row->kind == "ConfigMap";
    translated_.insert(named_at);
    if (row->of_host) return;
    if (const patches::HostMapping* const shown = mapping_of(*row, meant, name)) {
      put_at(value, namespace_at,
             shown->host_namespace.empty() ? translation_.context().host_namespace : shown->host_namespace);
      translated_.insert(dotted(path, namespace_at));
      return named.set(shown->host_name_of(name));
    }
    if (meant != own && (row->namespace_at.empty() || brought))
      return deny(dotted(path, namespace_at), "a " + row->kind + " of another namespace cannot be named here");
    if (space) {
      put_at(value, namespace_at, translation_.context().host_namespace);
      translated_.insert(dotted(path, namespace_at));
    }
    if (row->made_there && made_name_.empty()) made_name_ = name;
    if (brought && !row->made_there) translation_.refer(row->kind, name, false);
    named.set(meant == own ? translation_.host_name_of(name)
                           : host_name(name, meant, translation_.context().virtual_cluster));
  }

  // The mapping by which the host shows the object that is named; null: the tenant's own is meant.
  const patches::HostMapping* mapping_of(const CustomReference& row, const std::string& space,
                                         const std::string& name) const {
    if (row.name.empty()) return nullptr;
    const patches::SyncConfig& config = translation_.config();
    for (const patches::HostMapping& one : config.mappings) {
      if (one.tenant_namespace != space || one.host_name_of(name).empty()) continue;
      const auto served = translation_.context().served_kinds.find(one.kind);
      if (served != translation_.context().served_kinds.end() && served->second.kind == row.kind) return &one;
    }
    return nullptr;
  }

  // Below a closed place: on the host the name is that of another object.
  void refuse_other_names(const Value& value, const std::string& path) {
    const bool names = value.key() == "name" || ends_with_word(value.key(), "secretName");
    if (names && value.is_string() && !value.text().empty() && !is_translated(path))
      return deny(path,
                  "sublet does not know what this names, and on the host it would be another object; leave it out");
    std::size_t index = 0;
    if (value.is_array() || value.is_object())
      for (const Value child : value) refuse_other_names(child, below(path, child, index++));
  }

  // The host's operator marks with these what it makes: the virtual cluster's, and which of the tenant's it stands for.
  void mark_what_is_made() {
    Value metadata = host_;
    for (const std::string& member : resource_.made_metadata) metadata = metadata.object(member);
    for (const char* map : {"labels", "annotations"}) metadata.erase(map);
    const std::string_view name = made_name_.empty() ? translation_.tenant_name() : std::string_view(made_name_);
    mark_as_ours(translation_.context(), {translation_.tenant_namespace(), name, "", kMadeSecret}, metadata);
  }

  // Whoever watches the kind on the host would follow these beyond the virtual cluster.
  void look_for_the_overlooked(const Value& value, const std::string& path) {
    const std::string_view key = value.key();
    const bool names_namespace = key == "namespace" || key == "namespaces" || key.ends_with("Namespace") ||
                                 key.ends_with("Namespaces") || key == "namespaceSelector";
    if (names_namespace && !is_empty(value) && !value.is_boolean() && !is_translated(path) && !is_fixed(path))
      return deny(path,
                  "a namespace means another one on the host: leave it out, or have the template name the reference "
                  "(sync.toHost.customResources." +
                      resource_.name + ".patches: reference with namespacePath)");
    if (key == "containers" && value.is_array() && !value.empty())
      return deny(path, "pods that the host would make of this are judged by nobody; make the pods in the tenant");
    std::size_t index = 0;
    if (value.is_array() || value.is_object())
      for (const Value child : value) look_for_the_overlooked(child, below(path, child, index++));
  }
  bool is_translated(const std::string& path) const { return translated_.contains(path); }
  bool is_fixed(const std::string& path) const {
    bool found = false;
    for (const CustomResource::Fixed& fixed : resource_.fixed)
      visit(host_, fixed.path, 0, "", [&](Value, Value, const std::string& at) { found = found || at == path; });
    return found;
  }

  Translation& translation_;
  const CustomResource& resource_;
  Value host_;
  std::unordered_set<std::string> translated_;  // paths of names and namespaces that references name
  std::string made_name_;
};

}  // namespace

const CustomResource* find_custom(const TranslateContext& context, std::string_view name) {
  for (const CustomResource& one : config_of(context).custom_resources)
    if (one.to_host && one.name == name) return &one;
  return nullptr;
}

bool has_status_endpoint(const CustomResource& resource, const TranslateContext& context) {
  const auto served = context.served_kinds.find(resource.name);
  return served != context.served_kinds.end() && served->second.has_status;
}

std::vector<HostName> host_names_in(const CustomResource& resource, const Value& tenant_object) {
  std::vector<HostName> names;
  for (const CustomReference& reference : resource.references) {
    if (!reference.of_host) continue;
    visit(tenant_object, reference.path, 0, "", [&](Value, Value value, const std::string& path) {
      const bool meant = reference.kind_at.empty() || at_place(value, reference.kind_at).text() == reference.kind;
      if (const Value name = at_place(value, reference.name); meant && !name.text().empty())
        names.push_back({reference.kind, name.string(), path});
    });
  }
  return names;
}

void name_in_pod(const Translation& translation, Value host_pod) {
  for (const CustomResource& resource : translation.config().custom_resources)
    for (const CustomResource::PodKey& one : resource.pod_keys) {
      const char* const map = one.label ? "labels" : "annotations";
      const std::string name = translation.tenant()["metadata"][map][one.key].string();
      if (!name.empty()) host_pod.object("metadata").object(map).put(one.key, translation.host_name_of(name));
    }
}

void translate_custom(Translation& translation, const CustomResource& resource, Value host) {
  host.erase("status");
  translation.walk(host.object("metadata"), "ObjectMeta");
  Crossing(translation, resource, host).run();
}

namespace {

// Of a kind that nobody here knows, any text may name a node.
void name_nodes_in(const NodeNames& nodes, const Value& value) {
  for (Value child : value)
    if (child.is_string())
      child.set(nodes.member_to_tenant(child.text()));
    else
      name_nodes_in(nodes, child);
}

}  // namespace

Document mirror_custom(const CustomResource& resource, const Value& host_object, const TranslateContext& context) {
  Document document = Document::copy_of(host_object);
  Value root = document.root();
  root.put("metadata", carry_back("MirrorMeta", host_object["metadata"], Value(), context).root());
  for (const Place& place : resource.left_out)
    visit(root, place, 0, "", [&](Value parent, Value, const std::string&) { parent.erase(place.back()); });
  if (const NodeNames& nodes = node_names_of(context); nodes.are_pseudo())
    for (const Value member : root)
      if (member.is_object() && member.key() != "metadata") name_nodes_in(nodes, member);
  return document;
}

Document mirror_definition(const Value& host_definition, std::string_view version) {
  Document document = Document::object();
  Value root = document.root();
  root.put("apiVersion", "apiextensions.k8s.io/v1");
  root.put("kind", "CustomResourceDefinition");
  root.object("metadata").put("name", host_definition["metadata"]["name"].text());
  // Without it no API server takes a definition of a group of Kubernetes' own (*.k8s.io).
  constexpr std::string_view kApproved = "api-approved.kubernetes.io";
  if (const Value approved = host_definition["metadata"]["annotations"][kApproved])
    root["metadata"].object("annotations").put(kApproved, approved);
  const Value theirs = host_definition["spec"];
  Value spec = root.object("spec");
  for (const char* member : {"group", "names", "scope", "preserveUnknownFields"})
    if (theirs.has(member)) spec.put(member, theirs[member]);
  Value versions = spec.array("versions");
  for (const Value one : theirs["versions"]) {
    if (one["name"].text() != version) continue;
    Value copy = versions.push_object();
    copy.set(one);
    copy.put("served", true);
    copy.put("storage", true);
  }
  return document;
}

}  // namespace sublet::syncer
