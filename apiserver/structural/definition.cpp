#include "apiserver/structural/definition.h"

#include <algorithm>
#include <tuple>

#include "apiserver/request/members.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// What a deprecated version says of itself: which one to use, the newest that is served and not deprecated.
std::string deprecation(std::string_view version, const Value& spec) {
  const std::string group = spec["group"].string() + "/", kind = " " + spec["names"]["kind"].string();
  std::string_view newest = version;
  for (const Value other : spec["versions"])
    if (other["served"].boolean() && !other["deprecated"].boolean() && version_before(other["name"].text(), newest))
      newest = other["name"].text();
  const std::string text = group + std::string(version) + kind + " is deprecated";
  return newest == version ? text : text + "; use " + group + std::string(newest) + kind;
}

DefinitionVersion read_version(const Value& version, const Value& spec) {
  DefinitionVersion made;
  made.name = version["name"].string();
  made.served = version["served"].boolean();
  made.storage = version["storage"].boolean();
  const Value subresources = version["subresources"];
  made.has_status = subresources.has("status");
  if (const Value scale = subresources["scale"])
    made.scale = ScaleSpec{scale["specReplicasPath"].string(), scale["statusReplicasPath"].string(),
                           scale["labelSelectorPath"].string()};
  if (version["deprecated"].boolean())
    made.warning = version["deprecationWarning"].string(deprecation(made.name, spec));
  for (const Value column : version["additionalPrinterColumns"])
    made.columns.push_back({column["name"].string(), column["type"].string(), column["format"].string(),
                            column["description"].string(), column["jsonPath"].string(),
                            static_cast<int>(column["priority"].integer())});
  for (const Value field : version["selectableFields"]) made.selectable_paths.push_back(field["jsonPath"].string());
  return made;
}

/// "v1beta2" as (stability, major, minor), the first one highest; nullopt: another way of naming.
std::optional<std::tuple<int, long, long>> parsed(std::string_view version) {
  if (version.size() < 2 || version[0] != 'v') return std::nullopt;
  version.remove_prefix(1);
  const auto number = [&version]() -> long {
    const auto end = std::min(version.find_first_not_of("0123456789"), version.size());
    if (end == 0 || end > 9 || version[0] == '0') return -1;
    const long value = std::stol(std::string(version.substr(0, end)));
    version.remove_prefix(end);
    return value;
  };
  const long major = number();
  if (major < 0) return std::nullopt;
  if (version.empty()) return std::tuple(2, major, 0L);
  for (const auto& [word, stability] : {std::pair<std::string_view, int>{"beta", 1}, {"alpha", 0}}) {
    if (!version.starts_with(word)) continue;
    version.remove_prefix(word.size());
    const long minor = number();
    if (minor < 0 || !version.empty()) return std::nullopt;
    return std::tuple(stability, major, minor);
  }
  return std::nullopt;
}

}  // namespace

KindNames KindNames::read(const Value& names) {
  return {names["plural"].string(),   names["singular"].string(),    names["kind"].string(),
          names["listKind"].string(), texts_of(names["shortNames"]), texts_of(names["categories"])};
}

void KindNames::write(Value names) const {
  names.make_object();
  names.put("plural", plural);
  if (!singular.empty()) names.put("singular", singular);
  if (!short_names.empty()) {
    Value list = names.array("shortNames");
    for (const auto& name : short_names) list.push(name);
  }
  names.put("kind", kind);
  if (!list_kind.empty()) names.put("listKind", list_kind);
  if (!categories.empty()) {
    Value list = names.array("categories");
    for (const auto& name : categories) list.push(name);
  }
}

Definition Definition::read(const Value& object) {
  const Value meta = object["metadata"], spec = object["spec"];
  Definition made;
  made.name = meta["name"].string();
  made.uid = meta["uid"].string();
  made.generation = meta["generation"].integer();
  made.group = spec["group"].string();
  made.namespaced = spec["scope"].text() != "Cluster";
  made.names = KindNames::read(spec["names"]);
  for (const Value version : spec["versions"]) made.versions.push_back(read_version(version, spec));
  made.by_webhook = spec["conversion"]["strategy"].text() == "Webhook";
  return made;
}

const DefinitionVersion& Definition::stored() const {
  const auto found = std::ranges::find_if(versions, &DefinitionVersion::storage);
  return found == versions.end() ? versions.front() : *found;
}

Value schema_of(const Value& object, std::string_view version) {
  for (const Value candidate : object["spec"]["versions"])
    if (candidate["name"].text() == version) return candidate["schema"]["openAPIV3Schema"];
  return {};
}

bool version_before(std::string_view a, std::string_view b) {
  const auto left = parsed(a), right = parsed(b);
  if (left && right) return *left > *right;
  if (left || right) return left.has_value();
  return a < b;
}

}  // namespace sublet::apiserver
