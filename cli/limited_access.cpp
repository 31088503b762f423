#include "cli/limited_access.h"

#include <algorithm>
#include <charconv>

#include "sublet/net/loop.h"

namespace sublet::cli {
namespace {

using schema::Document;

constexpr std::string_view kNamespace = "kube-system", kRbac = "rbac.authorization.k8s.io";
constexpr std::chrono::minutes kLifetimeMin{10};
constexpr std::chrono::hours kLifetimeMax{365 * 24};

const kube::Resource kAccounts{"", "v1", "serviceaccounts"};
const kube::Resource kBindings{"rbac.authorization.k8s.io", "v1", "clusterrolebindings"};

struct Unit {
  char letter;
  std::int64_t seconds;
};
constexpr Unit kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
constexpr std::int64_t kCountMax = 1'000'000;

Document account_of(const std::string& name) {
  auto account = Document::object();
  account.root().object("metadata").put("name", name);
  return account;
}

Document binding_of(const std::string& account, const std::string& role) {
  auto binding = Document::object();
  binding.root().object("metadata").put("name", "sublet:" + role);
  auto ref = binding.root().object("roleRef");
  ref.put("apiGroup", kRbac);
  ref.put("kind", "ClusterRole");
  ref.put("name", role);
  auto subject = binding.root().array("subjects").push_object();
  subject.put("kind", "ServiceAccount");
  subject.put("name", account);
  subject.put("namespace", kNamespace);
  return binding;
}

Outcome make(kube::Client& client, const kube::Resource& resource, std::string_view namespace_name,
             const Document& object) {
  const auto made = client.create(resource, namespace_name, object.root());
  if (made || made.error().is(Reason::already_exists)) return {};
  return fail(made.error());
}

}  // namespace

Result<std::chrono::seconds> parse_lifetime(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  for (const Unit& unit : kUnits) {
    if (error != std::errc() || end + 1 != text.data() + text.size() || *end != unit.letter) continue;
    const std::chrono::seconds lifetime(std::clamp<std::int64_t>(count, 0, kCountMax) * unit.seconds);
    if (lifetime < kLifetimeMin)
      return bad_request("--expires " + std::string(text) + ": a token lives for ten minutes (10m) at least");
    if (lifetime > kLifetimeMax)
      return bad_request("--expires " + std::string(text) +
                         ": a token lives for a year (365d) at most; issue another one later");
    return lifetime;
  }
  return bad_request("--expires " + std::string(text) + ": expected a number and s, m, h or d, as in 8h");
}

Result<kube::ClusterAccess> limited_access(const kube::ClusterAccess& admin, const std::string& role,
                                           std::chrono::seconds lifetime) {
  net::LoopThread loop("limited-access");
  auto transport = kube::connect(loop.loop(), admin);
  if (!transport) return fail(transport.error());
  kube::Client client(*transport, {.user_agent = "sublet", .bearer_token = admin.bearer_token});
  const std::string account = "sublet-" + role;
  if (auto made = make(client, kAccounts, kNamespace, account_of(account)); !made) return fail(made.error());
  if (auto made = make(client, kBindings, {}, binding_of(account, role)); !made) return fail(made.error());
  auto request = Document::object();
  request.root().object("spec").put("expirationSeconds", static_cast<std::int64_t>(lifetime.count()));
  const auto issued = client.create(kAccounts, kNamespace, request.root(), account, "token");
  if (!issued) return fail(issued.error());
  kube::ClusterAccess access = admin;
  access.client_certificate_pem.clear();
  access.client_key_pem.clear();
  access.bearer_token = (*issued)["status"]["token"].string();
  return access;
}

}  // namespace sublet::cli
