#include "controllers/storage/protection.h"

#include "controllers/runtime/calls.h"
#include "sublet/kube/json_scan.h"

namespace sublet::controllers {
namespace {

Outcome patch(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
              std::string_view member, std::string_view finalizer) {
  auto patch = schema::Document::object();
  auto metadata = patch.root().object("metadata");
  metadata.put("uid", object.index.uid);
  metadata.array(member).push(finalizer);
  return settled(
      client.patch(resource, namespace_of(object), name_of(object), kube::PatchType::strategic_merge, patch.to_json()),
      {Reason::not_found, Reason::conflict});
}

}  // namespace

bool has_finalizer(const store::Object& object, std::string_view finalizer) {
  kube::JsonScanner scanner(raw_of(object, {"metadata", "finalizers"}));
  std::string_view key, value;
  while (scanner.next(key, value))
    if (kube::json_unquote(value) == finalizer) return true;
  return false;
}

Outcome protect(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                std::string_view finalizer) {
  return patch(client, resource, object, "finalizers", finalizer);
}

Outcome release(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                std::string_view finalizer) {
  return patch(client, resource, object, "$deleteFromPrimitiveList/finalizers", finalizer);
}

}  // namespace sublet::controllers
