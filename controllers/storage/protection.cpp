#include "controllers/storage/protection.h"

#include "controllers/runtime/calls.h"

namespace sublet::controllers {
namespace {

/// By update, not by patch: the roles of these controllers allow no more.
Outcome write_finalizers(const kube::Client& client, const kube::Resource& resource, const store::Object& stored,
                         schema::Document changed) {
  changed["metadata"].put("resourceVersion", std::to_string(stored.revision));
  return settled(client.update(resource, namespace_of(stored), name_of(stored), changed.root()),
                 {Reason::not_found, Reason::conflict});
}

}  // namespace

Outcome add_finalizer(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                      std::string_view finalizer) {
  auto changed = document_of(object);
  changed["metadata"].array("finalizers").push(finalizer);
  return write_finalizers(client, resource, object, std::move(changed));
}

Outcome remove_finalizer(const kube::Client& client, const kube::Resource& resource, const store::Object& object,
                         std::string_view finalizer) {
  auto changed = document_of(object);
  changed["metadata"]["finalizers"].retain([&](const schema::Value& each) { return each.text() != finalizer; });
  return write_finalizers(client, resource, object, std::move(changed));
}

}  // namespace sublet::controllers
