// What translation costs per pod, as admission and the syncer pay it: a pod of 3 KB with what most pods have, and the
// bare pod of bench/run's bursts.
#include <benchmark/benchmark.h>

#include <string_view>

#include "sublet/syncer/translate.h"

namespace {

using namespace sublet;

constexpr std::string_view kBarePod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p1","namespace":"default","uid":"u","creationTimestamp":)"
    R"("2026-11-21T09:41:37Z","labels":{"app":"bench"}},"spec":{"terminationGracePeriodSeconds":0,"containers":[)"
    R"({"name":"main","image":"busybox","resources":{},"terminationMessagePath":"/dev/termination-log",)"
    R"("terminationMessagePolicy":"File","imagePullPolicy":"Always"}],"restartPolicy":"Always","dnsPolicy":)"
    R"("ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"},"status":{"phase":"Pending"}})";

constexpr std::string_view kFullPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"default","uid":"u","creationTimestamp":)"
    R"("2026-11-21T09:41:37Z","labels":{"app":"web","tier":"front"},"annotations":{"note":"x"}},"spec":{"volumes":[)"
    R"({"name":"data","emptyDir":{"sizeLimit":"1Gi"}},{"name":"conf","configMap":{"name":"conf","defaultMode":420}},)"
    R"({"name":"token","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},)"
    R"({"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[)"
    R"({"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],)"
    R"("containers":[{"name":"app","image":"registry.example/team/app:1.2.3","command":["/bin/app","--serve"],"ports":)"
    R"([{"name":"web","containerPort":8080,"protocol":"TCP"}],"envFrom":[{"secretRef":{"name":"keys"}}],"env":[)"
    R"({"name":"A","value":"1"},{"name":"NODE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"spec.nodeName"}}})"
    R"(],"resources":{"limits":{"cpu":"500m","memory":"128Mi","ephemeral-storage":"1Gi"},"requests":{"cpu":"500m"}},)"
    R"("volumeMounts":[{"name":"data","mountPath":"/data"},{"name":"conf","mountPath":"/etc/app"},{"name":"token",)"
    R"("readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"livenessProbe":{"httpGet":)"
    R"({"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,)"
    R"("failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",)"
    R"("imagePullPolicy":"IfNotPresent","securityContext":{"capabilities":{"drop":["ALL"]},"seccompProfile":)"
    R"({"type":"RuntimeDefault"}}},{"name":"side","image":"busybox","args":["sleep","3600"],"resources":{}}],)"
    R"("restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","nodeSelector":)"
    R"({"kubernetes.io/arch":"amd64"},"serviceAccountName":"default","securityContext":{},"affinity":{)"
    R"("podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":)"
    R"({"app":"web"}},"topologyKey":"kubernetes.io/hostname"}]}},"schedulerName":"default-scheduler","tolerations":[)"
    R"({"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],)"
    R"("priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Pending"}})";

void translate_pod(benchmark::State& state, std::string_view json) {
  const auto pod = schema::Document::parse_json(json);
  syncer::TranslateContext context;
  context.virtual_cluster = "rag";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team";
  context.host_service_account = "workload";
  context.api_server_host = "10.1.2.3";
  context.api_server_port = "443";
  for (auto _ : state) {
    auto translated = syncer::translate(context, "Pod", pod->root(), syncer::Operation::create);
    if (!translated) state.SkipWithError("the pod was denied");
    benchmark::DoNotOptimize(translated);
  }
}

BENCHMARK_CAPTURE(translate_pod, bare, kBarePod);
BENCHMARK_CAPTURE(translate_pod, full, kFullPod);

}  // namespace

BENCHMARK_MAIN();
