// ObjectRef and OwnerRef: references to an object that owns others or that an event is about, and owner references.
//
// Values; pure functions. They read stored objects without parsing the rest, so change handlers may call them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/kube/client.h"
#include "sublet/schema/document.h"
#include "sublet/store/object.h"

namespace sublet::controllers {

inline constexpr std::size_t kObjectNameMax = 253;

/// A kind as owner references and events name it.
struct KindFacts {
  std::string api_version, kind;
  kube::Resource resource;
};

struct ObjectRef {
  std::string api_version, kind, namespace_name, name, uid, resource_version;
  /// Returns "namespace/name", or "name" in cluster scope: the key in its controller's work queue.
  std::string key() const;
};
ObjectRef ref_of(const KindFacts& kind, const store::Object& object);
std::string name_of(const schema::Value& object);

struct OwnerRef {
  std::string api_version, kind, name, uid;
  bool controller = false, block_owner_deletion = false;
};
std::vector<OwnerRef> owners_of(const store::Object& object);
/// Returns the owner that controls the object; there is one at most.
std::optional<OwnerRef> controller_of(const store::Object& object);
bool is_controlled_by(const store::Object& object, std::string_view uid);

/// Adds the controller reference to the metadata of an object before it is created.
void put_controller_ref(schema::Value metadata, const ObjectRef& owner);

/// Returns the key of a namespaced object, "namespace/name"; parts_of() is the inverse.
std::string key_of(std::string_view namespace_name, std::string_view name);
std::string key_of(const store::Object& object);
struct KeyParts {
  std::string namespace_name, name;
};
KeyParts parts_of(const std::string& key);

}  // namespace sublet::controllers
