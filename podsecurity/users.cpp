// Who a container runs as.
#include "podsecurity/findings.h"

namespace sublet::podsecurity {

using schema::Value;

namespace {

bool refuses_non_root(const Value& security) { return !security["runAsNonRoot"].boolean(true); }

bool is_root(const Value& security) {
  const Value user = security["runAsUser"];
  return user.is_integer() && user.integer() == 0;
}

}  // namespace

Finding run_as_non_root(const Pod& pod) {
  constexpr const char* kReason = "runAsNonRoot != true";
  Setters refusing{refuses_non_root(pod.security())};
  const bool pod_says_so = pod.security()["runAsNonRoot"].boolean();
  Names silent;
  pod.each_container([&](const Value& container) {
    const Value security = container["securityContext"];
    if (refuses_non_root(security))
      refusing.containers.push_back(container["name"].text());
    else if (!given(security["runAsNonRoot"]) && !pod_says_so)
      silent.push_back(container["name"].text());
  });
  if (refusing.any()) return Violation{kReason, refusing.text() + " must not set securityContext.runAsNonRoot=false"};
  if (silent.empty()) return {};
  return Violation{kReason, "pod or " + named("container", silent) + " must set securityContext.runAsNonRoot=true"};
}

Finding run_as_non_root_but_own_users(const Pod& pod) { return pod.has_own_users() ? Finding() : run_as_non_root(pod); }

Finding run_as_user(const Pod& pod) {
  Setters setters{is_root(pod.security())};
  pod.each_container([&](const Value& container) {
    if (is_root(container["securityContext"])) setters.containers.push_back(container["name"].text());
  });
  if (!setters.any()) return {};
  return Violation{"runAsUser=0", setters.text() + " must not set runAsUser=0"};
}

Finding run_as_user_but_own_users(const Pod& pod) { return pod.has_own_users() ? Finding() : run_as_user(pod); }

}  // namespace sublet::podsecurity
