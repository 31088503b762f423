// ObjectRef and OwnerRef: how controllers name an object that owns others or that an event is about, and how owned
// objects name their owners.
//
// Values; pure functions. What is read of stored objects is found in their text without parsing the rest, so handlers
// of changes may ask.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/kube/client.h"
#include "sublet/schema/document.h"
#include "sublet/store/store.h"

namespace sublet::controllers {

inline constexpr std::size_t kObjectNameMax = 253;

/// A kind whose objects own others, as owner references and events name it.
struct KindFacts {
  std::string api_version, kind;
  kube::Resource resource;
};

struct ObjectRef {
  std::string api_version, kind, namespace_name, name, uid, resource_version;
  /// "namespace/name", or "name" in cluster scope: the key under which its controller has it in line.
  std::string key() const;
};
ObjectRef ref_of(const KindFacts& kind, const store::Object& object);
std::string name_of(const schema::Value& object);

struct OwnerRef {
  std::string api_version, kind, name, uid;
  bool controller = false, block_owner_deletion = false;
};
std::vector<OwnerRef> owners_of(const store::Object& object);
/// The owner that controls the object; no more than one does.
std::optional<OwnerRef> controller_of(const store::Object& object);
bool is_controlled_by(const store::Object& object, std::string_view uid);

/// Makes `owner` the controller of an object that is about to be created.
void put_controller_ref(schema::Value metadata, const ObjectRef& owner);

/// The key of a namespaced object: "namespace/name"; and back.
std::string key_of(std::string_view namespace_name, std::string_view name);
std::string key_of(const store::Object& object);
struct KeyParts {
  std::string namespace_name, name;
};
KeyParts parts_of(const std::string& key);

}  // namespace sublet::controllers
