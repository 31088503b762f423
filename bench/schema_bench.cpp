// What the schema engine costs per object: parsing, conforming, protobuf both ways, on a ConfigMap of 1.3 KB and a Pod
// of 3 KB as kubectl sends them. `parse` alone is the bare work beside which the rest stands.
#include <benchmark/benchmark.h>

#include <string>

#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace {

using namespace sublet::schema;

Type type_of(std::string_view kind) { return Registry::builtin()->find_kind("", "v1", kind); }

std::string config_map_json() {
  std::string json =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"default"},"data":{)";
  for (int i = 0; i < 12; ++i) {
    if (i) json += ',';
    json += "\"key-" + std::to_string(10 + i) + "\":\"" + std::string(90, static_cast<char>('a' + i)) + "\"";
  }
  return json + "}}";
}

std::string container_json(int i) {
  return R"({"name":"c)" + std::to_string(i) +
         R"(","image":"registry.example/team/app:1.2.3","command":["/bin/app","--serve"],"env":[{"name":"A","value":"1"},)"
         R"({"name":"NODE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"spec.nodeName"}}}],"ports":[)"
         R"({"name":"web","containerPort":8080,"protocol":"TCP"}],"resources":{"limits":{"cpu":"500m","memory":"128Mi",)"
         R"("nvidia.com/gpu":"1"},"requests":{"cpu":"100m","memory":"64Mi"}},"volumeMounts":[{"name":"data","mountPath":)"
         R"("/data"},{"name":"token","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],)"
         R"("livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"periodSeconds":10},)"
         R"("terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"})";
}

std::string pod_json() {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"team","labels":{"app":"web",)"
         R"("tier":"front"},"annotations":{"example.com/a":"b"},"ownerReferences":[{"apiVersion":"apps/v1","kind":)"
         R"("ReplicaSet","name":"web","uid":"3b4f9f1e-97f6-4a6c-8f57-c3a6a3f0b111","controller":true}]},"spec":{)"
         R"("volumes":[{"name":"data","emptyDir":{}},{"name":"token","projected":{"sources":[{"serviceAccountToken":)"
         R"({"expirationSeconds":3607,"path":"token"}}],"defaultMode":420}}],"containers":[)" +
         container_json(0) + "," + container_json(1) +
         R"(],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":)"
         R"("default","nodeName":"node-1","schedulerName":"default-scheduler","tolerations":[{"key":)"
         R"("node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]},"status":{)"
         R"("phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-11-21T09:41:37Z"},)"
         R"({"type":"Initialized","status":"True","lastTransitionTime":"2026-11-21T09:41:37Z"}],"hostIP":"10.0.0.1",)"
         R"("podIP":"10.1.0.7","startTime":"2026-11-21T09:41:36Z"}})";
}

struct Sample {
  Type type;
  std::string json;
};

const Sample& sample(int which) {
  static const Sample samples[] = {{type_of("ConfigMap"), config_map_json()}, {type_of("Pod"), pod_json()}};
  return samples[which];
}

void name_it(benchmark::State& state, const Sample& of) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * of.json.size()));
  state.SetLabel(std::string(of.type.short_name()) + " " + std::to_string(of.json.size()) + " B");
}

void parse(benchmark::State& state) {
  const Sample& of = sample(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Document::parse_json(of.json));
  name_it(state, of);
}

void parse_and_conform(benchmark::State& state) {
  const Sample& of = sample(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(decode_json(of.json, of.type));
  name_it(state, of);
}

// A conformed document again: what a patched object pays.
void conform_again(benchmark::State& state) {
  const Sample& of = sample(static_cast<int>(state.range(0)));
  auto document = decode_json(of.json, of.type);
  for (auto _ : state) benchmark::DoNotOptimize(conform(document->root(), of.type));
  name_it(state, of);
}

void print_json(benchmark::State& state) {
  const Sample& of = sample(static_cast<int>(state.range(0)));
  const auto document = decode_json(of.json, of.type);
  for (auto _ : state) benchmark::DoNotOptimize(document->to_json());
  name_it(state, of);
}

void to_protobuf(benchmark::State& state) {
  const Sample& of = sample(static_cast<int>(state.range(0)));
  const auto document = decode_json(of.json, of.type);
  for (auto _ : state) benchmark::DoNotOptimize(encode_protobuf(document->root(), of.type));
  name_it(state, of);
}

void from_protobuf(benchmark::State& state) {
  const Sample& of = sample(static_cast<int>(state.range(0)));
  const auto document = decode_json(of.json, of.type);
  const std::string bytes = encode_protobuf(document->root(), of.type);
  for (auto _ : state) benchmark::DoNotOptimize(decode_protobuf(bytes, of.type));
  name_it(state, of);
}

void validate(benchmark::State& state) {
  const Sample& of = sample(static_cast<int>(state.range(0)));
  const auto document = decode_json(of.json, of.type);
  for (auto _ : state) {
    std::vector<sublet::Cause> causes;
    validate_structure(document->root(), of.type, "", causes);
    benchmark::DoNotOptimize(causes);
  }
  name_it(state, of);
}

BENCHMARK(parse)->DenseRange(0, 1);
BENCHMARK(parse_and_conform)->DenseRange(0, 1);
BENCHMARK(conform_again)->DenseRange(0, 1);
BENCHMARK(print_json)->DenseRange(0, 1);
BENCHMARK(to_protobuf)->DenseRange(0, 1);
BENCHMARK(from_protobuf)->DenseRange(0, 1);
BENCHMARK(validate)->DenseRange(0, 1);

}  // namespace

BENCHMARK_MAIN();
