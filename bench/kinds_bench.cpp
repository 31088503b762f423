// What a kind's own rules cost per write: defaults, validation and admission of a Pod of 3 KB, and of a ConfigMap.
// Beside it stands `conform`, the generic pass that every write pays anyway.
#include <benchmark/benchmark.h>

#include <string>

#include "apiserver/admission/admission.h"
#include "apiserver/strategies/strategy.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"
#include "sublet/store/memory_log.h"

namespace {

using namespace sublet;
using namespace sublet::apiserver;

constexpr std::string_view kPod =
    R"({"metadata":{"name":"web-0","namespace":"default","labels":{"app":"web","tier":"front"}},"spec":{"volumes":[)"
    R"({"name":"data","emptyDir":{}},{"name":"conf","configMap":{"name":"conf"}}],"containers":[{"name":"app","image":)"
    R"("registry.example/team/app:1.2.3","command":["/bin/app","--serve"],"env":[{"name":"A","value":"1"},{"name":)"
    R"("NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}],"ports":[{"name":"web","containerPort":8080}],)"
    R"("resources":{"limits":{"cpu":"500m","memory":"128Mi","nvidia.com/gpu":"1"}},"volumeMounts":[{"name":"data",)"
    R"("mountPath":"/data"},{"name":"conf","mountPath":"/etc/app"}],"livenessProbe":{"httpGet":{"port":8080}}},)"
    R"({"name":"side","image":"busybox","args":["sleep","3600"]}],"nodeSelector":{"nvidia.com/gpu.present":"true"}}})";

struct World {
  World() : store(std::move(*store::Store::open(store::make_memory_log()))) {
    put("namespaces/default", R"({"metadata":{"name":"default"},"status":{"phase":"Active"}})",
        {{"status.phase", "Active"}});
    put("serviceaccounts/default/default", R"({"metadata":{"name":"default","namespace":"default"}})", {});
  }
  void put(std::string key, std::string bytes, std::vector<std::pair<std::string, std::string>> fields) {
    store::Op op;
    op.key = std::move(key);
    op.put.emplace();
    op.put->bytes = std::move(bytes);
    op.put->index.fields = std::move(fields);
    store::Txn txn;
    txn.ops.push_back(std::move(op));
    (void)store->commit(std::move(txn));
  }
  std::unique_ptr<store::Store> store;
  ServerOptions options;
  User user;
};

struct Write {
  explicit Write(World& world)
      : pending(world.store->pending()),
        context{.kinds = *schema::Registry::builtin(),
                .resource = *schema::Registry::builtin()->find_resource("", "v1", "pods"),
                .namespace_name = "default",
                .subresource = {},
                .user = world.user,
                .pending = pending,
                .options = world.options,
                .clock = Clock::system(),
                .random = Random::system(),
                .dry_run = false,
                .txn = txn,
                .warnings = warnings} {}
  store::Snapshot pending;
  store::Txn txn;
  std::vector<std::string> warnings;
  WriteContext context;
};

schema::Type pod_type() { return schema::Registry::builtin()->find_kind("", "v1", "Pod"); }

void conform(benchmark::State& state) {
  auto pod = schema::decode_json(kPod, pod_type());
  for (auto _ : state) benchmark::DoNotOptimize(schema::conform(pod->root(), pod_type()));
}
BENCHMARK(conform);

void decode_and_clone(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(schema::decode_json(kPod, pod_type()));
}
BENCHMARK(decode_and_clone);

void defaults(benchmark::State& state) {
  auto pod = schema::decode_json(kPod, pod_type());
  strategy_for("", "pods").defaults(pod->root());
  for (auto _ : state) strategy_for("", "pods").defaults(pod->root());
}
BENCHMARK(defaults);

void validate(benchmark::State& state) {
  auto pod = schema::decode_json(kPod, pod_type());
  strategy_for("", "pods").defaults(pod->root());
  for (auto _ : state) {
    std::vector<Cause> causes;
    validate_object_meta(pod->root()["metadata"], true, NameRule::dns_subdomain, causes);
    strategy_for("", "pods").validate(pod->root(), causes);
    if (!causes.empty()) state.SkipWithError("invalid");
  }
}
BENCHMARK(validate);

/// Decoding is in it, because admission changes the object; take decode_and_clone off.
void admit(benchmark::State& state) {
  World world;
  for (auto _ : state) {
    auto pod = schema::decode_json(kPod, pod_type());
    Write write(world);
    if (!admit_mutating(write.context, WriteVerb::create, pod->root(), {})) state.SkipWithError("refused");
  }
}
BENCHMARK(admit);

}  // namespace

BENCHMARK_MAIN();
