#include "simhost/pod_dependencies.h"

#include "simhost/pod_claims.h"

namespace sublet::simhost {
namespace {

using Kind = Dependency::Kind;

/// `reference` has the object's name under `name_key`, and maybe a key.
void add_reference(std::vector<Dependency>& out, Kind kind, const schema::Value& reference, const char* name_key,
                   std::string_view volume) {
  if (!reference || reference["optional"].boolean() || reference[name_key].text().empty()) return;
  out.push_back({kind, reference[name_key].string(), reference["key"].string(), std::string(volume)});
}

}  // namespace

std::string Dependency::not_found() const { return std::string(kind_name(kind)) + " \"" + name + "\" not found"; }

const char* kind_name(Dependency::Kind kind) {
  switch (kind) {
    case Kind::config_map:
      return "configmap";
    case Kind::secret:
      return "secret";
    case Kind::volume_claim:
      return "persistentvolumeclaim";
  }
  return "";
}

std::vector<Dependency> volume_dependencies(const schema::Value& pod) {
  std::vector<Dependency> out;
  for (const schema::Value volume : pod["spec"]["volumes"]) {
    const std::string_view name = volume["name"].text();
    if (auto claim = volume_claim_name(pod, volume))
      out.push_back({Kind::volume_claim, std::move(*claim), "", std::string(name)});
    add_reference(out, Kind::config_map, volume["configMap"], "name", name);
    add_reference(out, Kind::secret, volume["secret"], "secretName", name);
    for (const schema::Value source : volume["projected"]["sources"]) {
      add_reference(out, Kind::config_map, source["configMap"], "name", name);
      add_reference(out, Kind::secret, source["secret"], "name", name);
    }
  }
  return out;
}

std::vector<Dependency> container_dependencies(const schema::Value& container) {
  std::vector<Dependency> out;
  for (const schema::Value source : container["envFrom"]) {
    add_reference(out, Kind::config_map, source["configMapRef"], "name", {});
    add_reference(out, Kind::secret, source["secretRef"], "name", {});
  }
  for (const schema::Value variable : container["env"]) {
    add_reference(out, Kind::config_map, variable["valueFrom"]["configMapKeyRef"], "name", {});
    add_reference(out, Kind::secret, variable["valueFrom"]["secretKeyRef"], "name", {});
  }
  return out;
}

}  // namespace sublet::simhost
