#include "controllers/runtime/object_ref.h"

#include "sublet/controllers/stored_object.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

using schema::Value;

OwnerRef owner_of(std::string_view text) {
  OwnerRef owner;
  kube::JsonScanner members(text);
  for (std::string_view key, value; members.next(key, value);) {
    if (key == "apiVersion") owner.api_version = kube::json_unquote(value);
    if (key == "kind") owner.kind = kube::json_unquote(value);
    if (key == "name") owner.name = kube::json_unquote(value);
    if (key == "uid") owner.uid = kube::json_unquote(value);
    if (key == "controller") owner.controller = value == "true";
    if (key == "blockOwnerDeletion") owner.block_owner_deletion = value == "true";
  }
  return owner;
}

}  // namespace

std::string key_of(std::string_view namespace_name, std::string_view name) {
  std::string key(namespace_name);
  if (!key.empty()) key += '/';
  return key.append(name);
}

std::string key_of(const store::Object& object) { return key_of(namespace_of(object), name_of(object)); }

KeyParts parts_of(const std::string& key) {
  const auto slash = key.find('/');
  if (slash == std::string::npos) return {"", key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

std::string ObjectRef::key() const { return key_of(namespace_name, name); }

ObjectRef ref_of(const KindFacts& kind, const store::Object& object) {
  return {kind.api_version,
          kind.kind,
          std::string(namespace_of(object)),
          std::string(name_of(object)),
          object.index.uid,
          std::to_string(object.revision)};
}

std::string name_of(const Value& object) { return object["metadata"]["name"].string(); }

std::vector<OwnerRef> owners_of(const store::Object& object) {
  std::vector<OwnerRef> owners;
  if (object.index.owner_uids.empty()) return owners;
  kube::JsonScanner items(raw_of(object, {"metadata", "ownerReferences"}));
  for (std::string_view key, value; items.next(key, value);) owners.push_back(owner_of(value));
  return owners;
}

std::optional<OwnerRef> controller_of(const store::Object& object) {
  for (auto& owner : owners_of(object))
    if (owner.controller) return std::move(owner);
  return std::nullopt;
}

bool is_controlled_by(const store::Object& object, std::string_view uid) {
  const auto controller = controller_of(object);
  return controller && controller->uid == uid;
}

void put_controller_ref(Value metadata, const ObjectRef& owner) {
  auto reference = metadata.array("ownerReferences").push_object();
  reference.put("apiVersion", owner.api_version);
  reference.put("kind", owner.kind);
  reference.put("name", owner.name);
  reference.put("uid", owner.uid);
  reference.put("controller", true);
  reference.put("blockOwnerDeletion", true);
}

}  // namespace sublet::controllers
