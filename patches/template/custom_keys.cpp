#include "patches/template/custom_keys.h"

#include <algorithm>

#include "patches/template/mapping_keys.h"
#include "patches/template/reader.h"

namespace sublet::patches {
namespace {

bool is_version(std::string_view text) {
  return text.size() > 1 && text[0] == 'v' && text[1] >= '0' && text[1] <= '9' &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

// The text behind a '[': a quoted key or "*", and what stands behind the ']'.
bool take_bracket(std::string_view& rest, Place& place) {
  rest.remove_prefix(1);
  if (rest.starts_with("*]")) {
    place.emplace_back("*");
    rest.remove_prefix(2);
    return true;
  }
  if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return false;
  const std::size_t end = rest.find(rest[0], 1);
  if (end == std::string_view::npos || end == 1 || !rest.substr(end + 1).starts_with("]")) return false;
  place.emplace_back(rest.substr(1, end - 1));
  rest.remove_prefix(end + 2);
  return true;
}

// One custom resource of the file.
class ResourceReader {
 public:
  ResourceReader(CustomResource& resource, std::vector<HostMapping>& mappings, Problems& problems, Problems& refused)
      : resource_(resource), mappings_(mappings), problems_(problems), refused_(refused) {}

  /// False: it is switched off.
  bool read(const YamlNode& node, const std::string& key) {
    node_ = &node;
    MapReader reader(node, key, problems_);
    const YamlNode* const enabled = reader.take("enabled");
    if (enabled != nullptr && !enabled->is_null() && !enabled->is_boolean())
      problems_.add(enabled->mark, reader.path("enabled"),
                    "must be true or false, not " + std::string(enabled->kind_text()));
    const bool on = enabled != nullptr && enabled->is_boolean() && enabled->boolean;
    check_scope(reader);
    if (const YamlNode* patches = reader.take("patches")) {
      if (resource_.to_host)
        for (std::size_t i = 0; i < patches->children.size(); ++i)
          patch(patches->children[i], reader.path("patches") + '[' + std::to_string(i) + ']');
      else if (!patches->children.empty())
        refused_.add(patches->mark, reader.path("patches"),
                     "not supported: what comes from the host is shown as it is");
    }
    if (resource_.to_host) {
      read_pod_keys(reader);
      read_forced(reader);
    } else {
      from_host(reader);
    }
    reader.finish();
    return on;
  }

 private:
  void check_scope(MapReader& reader) {
    const YamlNode* const node = reader.take("scope");
    const std::string_view said = node ? node->text : std::string_view();
    if (node != nullptr && said != "Namespaced" && said != "Cluster")
      return problems_.add(node->mark, reader.path("scope"), "must be Namespaced or Cluster");
    if (resource_.to_host && said == "Cluster")
      refused_.add(node->mark, reader.path("scope"),
                   "cannot be Cluster: what has no namespace is the host's; only resources with a namespace go there");
    if (!resource_.to_host) resource_.namespaced = said == "Namespaced";
  }

  void from_host(MapReader& reader) {
    read_mappings_of(reader);
    const YamlNode* const selector = reader.take("selector");
    if (selector == nullptr) return;
    MapReader terms(*selector, reader.path("selector"), problems_);
    if (const YamlNode* labels = terms.take("matchLabels"))
      for (const YamlNode& label : labels->children) {
        if (!label.is_string())
          problems_.add(label.mark, terms.path("matchLabels") + '.' + label.key, "a label's value is a string");
        resource_.selector += (resource_.selector.empty() ? "" : ",") + label.key + "=" + label.text;
      }
    terms.finish();
  }

  void read_mappings_of(MapReader& reader) {
    const std::size_t before = mappings_.size();
    if (const YamlNode* node = reader.take("mappings")) {
      MapReader below(*node, reader.path("mappings"), problems_);
      if (const YamlNode* by_name = below.take("byName")) {
        if (!resource_.namespaced && !by_name->children.empty())
          refused_.add(node->mark, reader.path("mappings"),
                       "not supported: what has no namespace is shown under its own name");
        else
          read_mappings(*by_name, below.path("byName"), resource_.name, mappings_, problems_);
      }
      below.finish();
    }
    if (resource_.namespaced && mappings_.size() == before)
      problems_.add(node_->mark, reader.path("mappings.byName"),
                    "is missing: which of the host's tenants see, and where");
  }

  // sublet's own keys.
  void read_pod_keys(MapReader& reader) {
    const YamlNode* const pods = reader.take("namedByPods");
    if (pods == nullptr) return;
    for (std::size_t i = 0; i < pods->children.size(); ++i) {
      const YamlNode& child = pods->children[i];
      MapReader one(child, reader.path("namedByPods") + '[' + std::to_string(i) + ']', problems_);
      const std::string label = one.text("label"), annotation = one.text("annotation");
      if (label.empty() == annotation.empty())
        problems_.add(child.mark, one.path("label"), "say a label or an annotation by which pods name one");
      else if ((label + annotation).find("sublet.dev/") != std::string::npos)
        problems_.add(child.mark, one.path("label"), "keys of sublet.dev are sublet's own");
      else
        resource_.pod_keys.push_back({annotation.empty(), label + annotation});
      one.finish();
    }
  }

  void read_forced(MapReader& reader) {
    const YamlNode* const force = reader.take("force");
    if (force == nullptr) return;
    for (const YamlNode& child : force->children) {
      Place at = parse_place(child.key);
      const bool open = std::ranges::any_of(at, [](const std::string& member) { return member.starts_with("*"); });
      if (open || at.size() < 2 || at[0] == "metadata" || at[0] == "status" || !child.is_scalar())
        problems_.add(
            child.key_mark, reader.path("force") + '.' + child.key,
            "must be a place such as spec.queue, outside of metadata and status, and a text, number or switch");
      else
        resource_.forced.push_back({std::move(at), document_of(child).to_json()});
    }
  }

  void patch(const YamlNode& node, const std::string& key) {
    MapReader reader(node, key, problems_);
    const Place path = place(reader, "path", true);
    for (const char* script : {"expression", "reverseExpression"})
      if (const YamlNode* found = reader.take(script))
        refused_.add(found->key_mark, reader.path(script),
                     "not supported: sublet runs no JavaScript; it translates what \"reference\" and \"labels\" name");
    const YamlNode* const reference = reader.take("reference");
    const YamlNode* const labels = reader.take("labels");
    if (reference) refer(*reference, reader.path("reference"), path);
    if (labels && !path.empty()) resource_.selectors.push_back(path);
    reader.finish();
  }

  void refer(const YamlNode& node, const std::string& key, const Place& path) {
    MapReader reader(node, key, problems_);
    CustomReference made;
    made.path = path;
    (void)reader.text("apiVersion");  // kinds are told apart by their names
    made.kind = reader.text("kind");
    if (made.kind.empty())
      problems_.add(node.mark, key, "\"kind\" is missing: which kind of object is named, such as Secret");
    made.name = place(reader, "namePath", false);
    made.kind_at = place(reader, "kindPath", false);
    made.namespace_at = place(reader, "namespacePath", false);
    made.of_host = reader.flag("ofHost");
    read_made_on_host(reader, node, made);
    if (made.name.empty() && !(made.kind_at.empty() && made.namespace_at.empty()))
      problems_.add(node.mark, key, "\"namePath\" is missing: where the name stands below the path");
    if (!path.empty()) resource_.references.push_back(std::move(made));
    reader.finish();
  }

  // A Secret that an operator of the host makes for the object, and where the object says which labels it gets.
  void read_made_on_host(MapReader& reader, const YamlNode& node, CustomReference& made) {
    made.made_there = reader.flag("madeOnHost");
    Place metadata = place(reader, "metadataPath", false);
    if (!made.made_there && metadata.empty()) return;
    if (!made.made_there || metadata.empty() || made.kind != "Secret")
      return problems_.add(node.mark, reader.path("madeOnHost"),
                           "needs kind: Secret and metadataPath: the place below which the object has the labels and "
                           "annotations of the Secret, such as spec.destination");
    resource_.made_metadata = std::move(metadata);
  }

  Place place(MapReader& reader, std::string_view name, bool needed) {
    const YamlNode* const found = needed ? reader.require(name) : reader.take(name);
    if (found == nullptr) return {};
    Place read = parse_place(found->is_string() ? found->text : "");
    if (read.empty() ||
        (needed && (read[0] == "metadata" || read[0] == "status" || read[0] == "kind" || read[0] == "apiVersion"))) {
      problems_.add(found->mark, reader.path(name),
                    "must be a place in the object such as spec.secretRef.name or spec.rules[*].backendRefs[*], "
                    "outside of metadata and status");
      return {};
    }
    return read;
  }

  CustomResource& resource_;
  std::vector<HostMapping>& mappings_;
  const YamlNode* node_ = nullptr;
  Problems& problems_;
  Problems& refused_;
};

}  // namespace

bool is_dns_name(std::string_view text) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !text.empty() && std::ranges::all_of(text, good) && text.front() != '.' && text.back() != '.' &&
         text.front() != '-' && text.back() != '-' && text.find("..") == std::string_view::npos;
}

Place parse_place(std::string_view text) {
  Place place;
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest[0] == '[') {
      if (!take_bracket(rest, place)) return {};
    } else {
      const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
      if (end == 0) return {};
      place.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    if (rest == ".") return {};
    if (rest.starts_with(".")) rest.remove_prefix(1);
  }
  return place;
}

bool name_custom_resource(std::string_view text, CustomResource& resource) {
  const std::size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  const std::string_view version = slash == std::string_view::npos ? "" : text.substr(slash + 1);
  const std::size_t dot = name.find('.');
  if (!is_dns_name(name) || dot == std::string_view::npos || name.find('.', dot + 1) == std::string_view::npos ||
      (slash != std::string_view::npos && !is_version(version)))
    return false;
  resource.name = name;
  resource.plural = name.substr(0, dot);
  resource.group = name.substr(dot + 1);
  resource.version = version;
  resource.definition_key = "CustomResourceDefinition." + resource.name;
  return true;
}

std::vector<CustomKey> read_custom_resources(const YamlNode& node, const std::string& key, bool to_host,
                                             std::vector<CustomResource>& resources, std::vector<HostMapping>& mappings,
                                             Problems& problems, Problems& refused) {
  std::vector<CustomKey> off;
  if (!node.is_map() && !node.is_null())
    problems.add(node.mark, key, "must be a map of custom resources, not " + std::string(node.kind_text()));
  for (const YamlNode& child : node.children) {
    CustomResource resource;
    resource.to_host = to_host;
    const std::string child_key = key + '.' + child.key;
    if (!name_custom_resource(child.key, resource)) {
      problems.add(child.key_mark, child_key,
                   "must be the name of a definition, such as certificates.cert-manager.io, perhaps with a version: "
                   "certificates.cert-manager.io/v1");
      continue;
    }
    std::vector<HostMapping> mapped;
    const bool on = ResourceReader(resource, mapped, problems, refused).read(child, child_key);
    const auto same = [&](const CustomResource& one) { return one.name == resource.name && one.to_host == to_host; };
    if (std::ranges::any_of(resources, same))
      problems.add(child.key_mark, child_key, "is here twice");
    else if (on)
      resources.push_back(std::move(resource));
    if (on) mappings.insert(mappings.end(), mapped.begin(), mapped.end());
    if (on) continue;
    if (const YamlNode* enabled = child.find("enabled"); enabled != nullptr && !enabled->is_null())
      off.push_back({enabled, child_key + ".enabled", resource.name});
  }
  return off;
}

}  // namespace sublet::patches
