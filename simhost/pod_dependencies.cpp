#include "simhost/pod_dependencies.h"

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

std::string Dependency::not_found() const {
  return std::string(kind == Kind::config_map ? "configmap" : "secret") + " \"" + name + "\" not found";
}

std::vector<Dependency> volume_dependencies(const schema::Value& pod_spec) {
  std::vector<Dependency> out;
  for (const schema::Value volume : pod_spec["volumes"]) {
    const std::string_view name = volume["name"].text();
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

bool has_dependencies(const schema::Value& pod_spec) {
  if (!volume_dependencies(pod_spec).empty()) return true;
  for (const char* list : {"initContainers", "containers"})
    for (const schema::Value container : pod_spec[list])
      if (!container_dependencies(container).empty()) return true;
  return false;
}

}  // namespace sublet::simhost
