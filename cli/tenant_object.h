// TenantObject: an object of a virtual cluster as a user names it ("pod/web", "svc/team/web"), and connections to
// tenant and host. Blocking.
#pragma once

#include <memory>
#include <string>

#include "sublet/cluster/driver.h"
#include "sublet/kube/client.h"
#include "sublet/net/loop.h"
#include "sublet/schema/table.h"

namespace sublet::cli {

struct ObjectName {
  const schema::ResourceFacts* facts = nullptr;
  std::string namespace_name = "default", name;
  kube::Resource resource() const;
  std::string text() const;  // "pod default/web"
};
/// KIND/NAME or KIND/NAMESPACE/NAME; kinds as in kubectl. bad_request names the mistake.
Result<ObjectName> parse_object_name(const std::string& word);

/// A connection to one of the two servers; owns its loop.
class Side {
 public:
  static Result<std::unique_ptr<Side>> connect(const kube::ClusterAccess& access);
  const kube::Client& client() const { return *client_; }

 private:
  explicit Side(const char* name) : loop_(name) {}
  net::LoopThread loop_;
  std::unique_ptr<kube::Client> client_;
};

/// Returns the object with its apiVersion and kind.
Result<schema::Document> get_object(const Side& side, const ObjectName& name);

}  // namespace sublet::cli
