#include "apiserver/endpoints/endpoint.h"
#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {
namespace {

bool is_store_healthy(const ServerCore& core) { return !core.store.stats().poisoned; }

struct HealthCheck {
  std::string_view name;
  bool ready_only;  // part of /readyz, not of /livez
  bool (*passes)(const ServerCore& core);
};
constexpr HealthCheck kChecks[] = {
    {"ping", false, [](const ServerCore&) { return true; }},
    {"log", false, [](const ServerCore&) { return true; }},
    // By upstream's name too: tools ask for it, or exclude it.
    {"etcd", false, is_store_healthy},
    {"store", false, is_store_healthy},
    {"etcd-readiness", true, is_store_healthy},
    {"informer-sync", true, [](const ServerCore& core) { return core.ready.load(); }},
    {"poststarthook/start-system-namespaces", true, [](const ServerCore& core) { return core.ready.load(); }},
    {"shutdown", true, [](const ServerCore& core) { return !core.stopping.load(); }},
};

bool is_excluded(const Query& query, std::string_view name) {
  for (const auto excluded : query.all("exclude"))
    if (excluded == name) return true;
  return false;
}

void serve_one(const ContextPtr& context, std::string_view endpoint, std::string_view name) {
  for (const auto& check : kChecks) {
    if (check.name != name || (check.ready_only && endpoint == "livez")) continue;
    const bool passed = check.passes(*context->core);
    return reply_text(*context, passed ? 200 : 500, "text/plain; charset=utf-8",
                      passed ? "ok" : "internal server error: " + std::string(name) + " failed\n");
  }
  reply_text(*context, 404, "text/plain; charset=utf-8", "404 page not found\n");
}

}  // namespace

void serve_health(const ContextPtr& context) {
  std::string_view path = context->info.path;
  path.remove_prefix(1);
  const auto slash = path.find('/');
  const auto endpoint = path.substr(0, slash);
  if (slash != std::string_view::npos && slash + 1 < path.size())
    return serve_one(context, endpoint, path.substr(slash + 1));
  std::string report;
  bool all = true;
  for (const auto& check : kChecks) {
    if (check.ready_only && endpoint == "livez") continue;
    const bool excluded = is_excluded(context->query, check.name);
    const bool passed = excluded || check.passes(*context->core);
    all = all && passed;
    report += passed ? "[+]" : "[-]";
    report += check.name;
    report += excluded ? " excluded: ok\n" : passed ? " ok\n" : " failed: reason withheld\n";
  }
  report += std::string(endpoint) + " check " + (all ? "passed\n" : "failed\n");
  const bool verbose = context->query.find("verbose").has_value() || !all;
  reply_text(*context, all ? 200 : 500, "text/plain; charset=utf-8", verbose ? report : "ok");
}

}  // namespace sublet::apiserver
