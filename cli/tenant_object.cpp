#include "cli/tenant_object.h"

#include <algorithm>

#include "sublet/base/text.h"
#include "sublet/schema/registry.h"

namespace sublet::cli {

kube::Resource ObjectName::resource() const {
  return {std::string(facts->group), std::string(facts->version), std::string(facts->resource)};
}

std::string ObjectName::text() const { return to_lower(facts->kind) + " " + namespace_name + "/" + name; }

Result<ObjectName> parse_object_name(const std::string& word) {
  const auto first = word.find('/'), last = word.rfind('/');
  if (first == std::string::npos || last + 1 == word.size())
    return bad_request(word + ": expected KIND/NAME or KIND/NAMESPACE/NAME, as in pod/web or pod/team/web");
  const std::string kind = to_lower(word.substr(0, first));
  ObjectName out;
  for (const auto& facts : schema::Registry::builtin()->resources())
    if (!out.facts && (facts.resource == kind || to_lower(facts.kind) == kind || facts.short_names.contains(kind)))
      out.facts = &facts;
  if (!out.facts) return bad_request(word + ": there is no kind " + kind);
  if (!out.facts->namespaced) return bad_request(word + ": " + kind + " is not a kind of objects in namespaces");
  if (first != last) out.namespace_name = word.substr(first + 1, last - first - 1);
  out.name = word.substr(last + 1);
  return out;
}

Result<std::unique_ptr<Side>> Side::connect(const kube::ClusterAccess& access) {
  std::unique_ptr<Side> side(new Side("cli"));
  auto transport = kube::connect(side->loop_.loop(), access);
  if (!transport) return fail(transport.error());
  side->client_ = std::make_unique<kube::Client>(
      *transport, kube::ClientOptions{.user_agent = "sublet", .bearer_token = access.bearer_token});
  return side;
}

Result<schema::Document> get_object(const Side& side, const ObjectName& name) {
  return side.client().get(name.resource(), name.namespace_name, name.name);
}

}  // namespace sublet::cli
