#include "sublet/controllers/controller.h"

namespace sublet::controllers {

Outcome ensure_created(const kube::Client& client, const kube::Resource& resource, const std::string& namespace_name,
                       const schema::Value& object) {
  auto created = client.create(resource, namespace_name, object);
  if (created) return {};
  for (auto reason : {Reason::already_exists, Reason::not_found, Reason::forbidden})
    if (created.error().is(reason)) return {};
  return fail(created.error());
}

}  // namespace sublet::controllers
