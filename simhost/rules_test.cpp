// The pure rules of the simulated host: resources, node filters, KAI's annotations, container programs, node shapes.
#include <gtest/gtest.h>

#include <array>

#include "simhost/container_world.h"
#include "simhost/image.h"
#include "simhost/kai.h"
#include "simhost/node_filter.h"
#include "simhost/node_shape.h"
#include "simhost/pod_dependencies.h"
#include "simhost/pod_rules.h"
#include "simhost/pod_run.h"
#include "simhost/resources.h"
#include "tests/support/parse_json.h"

namespace sublet::simhost {
namespace {

using std::chrono::milliseconds;
using testing_support::parse_json;

TEST(Resources, PodsTakeTheirContainersOrTheirLargestInitContainer) {
  const auto of = [](std::string_view spec) { return pod_requests(parse_json(spec).root()); };
  const Resources two = of(R"({"containers":[{"resources":{"requests":{"cpu":"250m","memory":"1Ki"}}},
                              {"resources":{"requests":{"cpu":"1"},"limits":{"nvidia.com/gpu":"2","cpu":"4"}}}]})");
  EXPECT_EQ(amount(two, "cpu"), 1250);
  EXPECT_EQ(amount(two, "memory"), 1024 * kUnit);
  EXPECT_EQ(amount(two, kGpuResource), 2 * kUnit) << "a limit without a request counts as one";
  EXPECT_EQ(amount(two, kPodsResource), kUnit);
  const Resources init = of(R"({"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
      {"resources":{"requests":{"cpu":"5"}}}],"containers":[{"resources":{"requests":{"cpu":"2"}}}],"overhead":{"cpu":"100m"}})");
  EXPECT_EQ(amount(init, "cpu"), 6100) << "the init container runs beside the sidecar";
  EXPECT_EQ(amount(of(R"({"containers":[{"resources":{"requests":{"cpu":"junk"}}}]})"), "cpu"), 0);
}

TEST(NodeFilter, TaintsAndTolerations) {
  const auto node = parse_json(R"({"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"},
                                              {"key":"soft","effect":"PreferNoSchedule"}]}})");
  const auto refused = [&](std::string_view tolerations) {
    return refused_by_taints(parse_json(R"({"tolerations":)" + std::string(tolerations) + "}").root(), node.root());
  };
  EXPECT_EQ(refused("[]"), "node(s) had untolerated taint {k: v}");
  for (const char* good : {R"([{"key":"k","value":"v","effect":"NoSchedule"}])", R"([{"key":"k","operator":"Exists"}])",
                           R"([{"operator":"Exists"}])", R"([{"key":"k","value":"v"}])"})
    EXPECT_EQ(refused(good), "") << good;
  for (const char* bad : {R"([{"key":"k","value":"w"}])", R"([{"key":"k","value":"v","effect":"NoExecute"}])",
                          R"([{"key":"other","operator":"Exists"}])"})
    EXPECT_NE(refused(bad), "") << bad;
}

TEST(NodeFilter, SelectorsAffinityAndCordons) {
  const auto node = parse_json(R"({"metadata":{"name":"n1","labels":{"zone":"a","gpus":"4"}},"spec":{}})");
  const auto passes = [&](std::string_view spec) {
    return refused_by_node(parse_json(spec).root(), node.root()).empty();
  };
  const auto affinity = [](const std::string& terms) {
    return R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)" +
           terms + "}}}}";
  };
  EXPECT_TRUE(passes("{}"));
  EXPECT_TRUE(passes(R"({"nodeSelector":{"zone":"a"}})"));
  EXPECT_FALSE(passes(R"({"nodeSelector":{"zone":"b"}})"));
  EXPECT_TRUE(passes(affinity(R"([{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["3"]}]}])")));
  EXPECT_FALSE(passes(affinity(R"([{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["4"]}]}])")));
  EXPECT_TRUE(passes(affinity(R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]},
                                  {"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}])")))
      << "terms are alternatives";
  EXPECT_FALSE(passes(affinity("[{}]"))) << "an empty term matches nothing";
  const auto cordoned = parse_json(R"({"metadata":{"name":"n"},"spec":{"unschedulable":true}})");
  EXPECT_EQ(refused_by_node(parse_json("{}").root(), cordoned.root()), "node(s) were unschedulable");
  EXPECT_EQ(refused_by_node(parse_json(R"({"tolerations":[{"operator":"Exists"}]})").root(), cordoned.root()), "");
}

// What KAI's gpu_request_validator.go answers; V3 and V5 where simhost is stricter.
TEST(Kai, WebhookVectors) {
  struct Vector {
    const char* id;
    const char* annotations;
    const char* limits;
    bool refused;
  };
  const Vector vectors[] = {
      {"V1", R"({"gpu-fraction":"0.5"})", "{}", false},
      {"V2", R"({"gpu-fraction":"0.5"})", R"({"nvidia.com/gpu":"1"})", true},
      {"V2 zero", R"({"gpu-fraction":"0.5"})", R"({"nvidia.com/gpu":"0"})", true},
      {"V4 0", R"({"gpu-fraction":"0"})", "{}", true},
      {"V4 1", R"({"gpu-fraction":"1"})", "{}", true},
      {"V4 1.0", R"({"gpu-fraction":"1.0"})", "{}", true},
      {"V4 -0.1", R"({"gpu-fraction":"-0.1"})", "{}", true},
      {"V4 abc", R"({"gpu-fraction":"abc"})", "{}", true},
      {"V4 empty", R"({"gpu-fraction":""})", "{}", true},
      {"V5", R"({"gpu-fraction":"NaN"})", "{}", true},
      {"V6 exponent", R"({"gpu-fraction":"1e-1"})", "{}", false},
      {"V6 space", R"({"gpu-fraction":" 0.5"})", "{}", true},
      {"V7", R"({"gpu-memory":"2000"})", "{}", false},
      {"V8 0", R"({"gpu-memory":"0"})", "{}", true},
      {"V8 -1", R"({"gpu-memory":"-1"})", "{}", true},
      {"V8 fraction", R"({"gpu-memory":"2000.5"})", "{}", true},
      {"V8 unit", R"({"gpu-memory":"2Gi"})", "{}", true},
      {"V9 both", R"({"gpu-memory":"2000","gpu-fraction":"0.5"})", "{}", true},
      {"V9 whole", R"({"gpu-memory":"2000"})", R"({"nvidia.com/gpu":"1"})", true},
      {"V10", R"({"gpu-fraction-num-devices":"2"})", "{}", true},
      {"V11", R"({"gpu-fraction-num-devices":"2","gpu-fraction":"0.5"})", "{}", false},
      {"V11 memory", R"({"gpu-fraction-num-devices":"2","gpu-memory":"2000"})", "{}", false},
      {"V12 0", R"({"gpu-fraction-num-devices":"0","gpu-fraction":"0.5"})", "{}", true},
      {"V12 1.5", R"({"gpu-fraction-num-devices":"1.5","gpu-fraction":"0.5"})", "{}", true},
      {"V13", R"({"mps":"true"})", "{}", true},
      {"V13 other", R"({"mps":"yes"})", "{}", false},
      {"V15", R"({"gpu-fraction":"0.5","gpu-fraction-container-name":"nobody"})", "{}", true},
      {"V16", R"({"gpu-fraction":"0.5"})", R"({"nvidia.com/mig-1g.10gb":"1"})", true},
      {"V17", R"({"nvidia.com/gpu-fraction":"0.5"})", R"({"nvidia.com/gpu":"1"})", false},
  };
  for (const Vector& v : vectors) {
    const auto pod = [&](const char* scheduler) {
      return parse_json(R"({"metadata":{"annotations":)" + std::string(v.annotations) +
                        R"(},"spec":{"schedulerName":")" + scheduler +
                        R"(","containers":[{"name":"c","resources":{"limits":)" + v.limits + "}}]}}");
    };
    EXPECT_EQ(!kai_violations(pod("kai-scheduler").root()).empty(), v.refused) << v.id;
    EXPECT_TRUE(kai_violations(pod("default-scheduler").root()).empty()) << v.id << ": not KAI's business";
    EXPECT_EQ(SimHost::admission()("Pod", pod("kai-scheduler").root(), {}).denials.empty(), !v.refused) << v.id;
  }
}

TEST(Kai, SharesByMemoryRoundUpToAHundredth) {
  const auto request = gpu_share_request(parse_json(R"({"metadata":{"annotations":{"gpu-memory":"2000"}},
      "spec":{"schedulerName":"kai-scheduler"}})")
                                             .root());
  ASSERT_TRUE(request);
  EXPECT_EQ(request->share_of(40900), 50'000);
  EXPECT_EQ(request->share_of(8000), 250'000);
  EXPECT_GT(request->share_of(1000), kWholeGpu);
}

TEST(Kai, GroupsFillTheFullestDeviceFirst) {
  GpuGroups groups;
  EXPECT_TRUE(groups.join("a", 300'000));
  EXPECT_TRUE(groups.join("b", 500'000));
  const auto half = groups.pick(500'000, 1, 0);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->existing, std::vector<std::string>{"b"});
  EXPECT_FALSE(groups.join("b", 500'000));
  EXPECT_EQ(groups.pick(500'000, 1, 0)->existing, std::vector<std::string>{"a"});
  EXPECT_FALSE(groups.pick(800'000, 1, 0)) << "no device has so much left";
  EXPECT_EQ(groups.pick(800'000, 1, 1)->fresh, 1);
  const auto two = groups.pick(100'000, 2, 1);
  EXPECT_EQ(two->existing.size() + static_cast<std::size_t>(two->fresh), 2u) << "two devices are never the same one";
  EXPECT_FALSE(groups.leave("b", 500'000));
  EXPECT_TRUE(groups.leave("b", 500'000));
  EXPECT_TRUE(groups.leave("a", 300'000));
}

/// What a Container's command does.
shell::Trace run_container(const schema::Value& container) {
  SeededRandom random(1);
  shell::World world{.random = &random};
  return shell::run(command_line(container, {}), world);
}

TEST(ContainerCommand, RunsInTheSimulatedShell) {
  struct Case {
    const char* container;
    int exit_code;  // -1: runs for ever
    int milliseconds;
    std::size_t lines;
  };
  const Case cases[] = {
      {R"({})", -1, 0, 0},
      {R"({"args":["true"]})", -1, 0, 0},
      {R"({"command":["ollama","serve"]})", -1, 0, 0},
      {R"({"command":["true"]})", 0, 0, 0},
      {R"({"command":["/bin/false"]})", 1, 0, 0},
      {R"({"command":["sleep"],"args":["1.5"]})", 0, 1500, 0},
      {R"({"command":["sleep","2m"]})", 0, 120000, 0},
      {R"({"command":["sleep","infinity"]})", -1, 0, 0},
      {R"({"command":["sh","-c","exit 3"]})", 3, 0, 0},
      {R"({"command":["sh","-c"],"args":["echo hello world; sleep 1 && exit 0"]})", 0, 1000, 1},
      {R"({"command":["/bin/sh","-c","false && echo no || echo yes"]})", 0, 0, 1},
      {R"({"command":["sh","-c","false\nexit"]})", 1, 0, 0},
      {R"({"command":["sh","-c","echo one; while true; do sleep 1; done"]})", -1, 0, 1},
      {R"x({"command":["sh","-c","echo $(date)"]})x", 0, 0, 1},
      {R"x({"command":["sh","-c","cat <<END"]})x", -1, 0, 1},
      {R"({"command":["sh","-c","echo 'a;b' \"c\""]})", 0, 0, 1},
  };
  for (const Case& c : cases) {
    const shell::Trace program = run_container(parse_json(c.container).root());
    EXPECT_EQ(program.end ? program.end->exit_code : -1, c.exit_code) << c.container;
    EXPECT_EQ(program.end ? program.end->at : milliseconds(0), milliseconds(c.milliseconds)) << c.container;
    EXPECT_EQ(program.lines.size(), c.lines) << c.container;
  }
  EXPECT_EQ(run_container(parse_json(cases[15].container).root()).lines[0].text, "a;b c");
}

/// Pods on two nodes of two zones, and why each refuses a pod.
struct Cluster {
  std::vector<schema::Document> nodes;
  std::array<std::vector<PlacedPod>, 2> pods;
  Cluster() {
    for (const char* zone : {"a", "b"})
      nodes.push_back(parse_json(R"({"metadata":{"labels":{"zone":")" + std::string(zone) + R"("}}})"));
  }
  void put(std::size_t node, const std::string& pod) { pods[node].push_back(placed_pod(parse_json(pod).root())); }
  std::string refusals(const std::string& text) const {
    const schema::Document pod = parse_json(text);
    std::vector<NodeView> views;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      views.push_back({nodes[i].root(), {}});
      for (const PlacedPod& placed : pods[i]) views.back().pods.push_back(&placed);
    }
    const PodRules rules(pod.root(), views);
    return rules.refused_by(views[0]) + "|" + rules.refused_by(views[1]);
  }
};
std::string pod_of(const std::string& spec, const std::string& app = "web") {
  return R"({"metadata":{"namespace":"n","labels":{"app":")" + app + R"("}},"spec":)" + spec + "}";
}

TEST(PodRules, HostPortsAreTakenOnce) {
  const auto ports = [](const std::string& ip, const std::string& more = "") {
    return pod_of(R"({"containers":[{"ports":[{"containerPort":1,"hostPort":80,"hostIP":")" + ip + "\"" + more +
                  "}]}]}");
  };
  Cluster cluster;
  cluster.put(0, ports("127.0.0.1"));
  const std::string refused = "node(s) didn't have free ports for the requested pod ports";
  EXPECT_EQ(cluster.refusals(ports("0.0.0.0")), refused + "|");
  EXPECT_EQ(cluster.refusals(ports("127.0.0.1")), refused + "|");
  EXPECT_EQ(cluster.refusals(ports("127.0.0.2")), "|");
  EXPECT_EQ(cluster.refusals(ports("0.0.0.0", R"(,"protocol":"UDP")")), "|");
  EXPECT_EQ(cluster.refusals(pod_of("{}")), "|");
}

TEST(PodRules, AffinityBetweenPods) {
  const auto terms = [](const std::string& kind, const std::string& app) {
    return pod_of(R"({"affinity":{")" + kind +
                  R"(":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",)"
                  R"("labelSelector":{"matchLabels":{"app":")" +
                  app + R"("}}}]}}})");
  };
  Cluster cluster;
  EXPECT_EQ(cluster.refusals(terms("podAffinity", "web")), "|") << "the first of its kind";
  EXPECT_EQ(cluster.refusals(terms("podAffinity", "db")),
            "node(s) didn't match pod affinity rules|node(s) didn't match pod affinity rules");
  cluster.put(1, pod_of("{}", "db"));
  EXPECT_EQ(cluster.refusals(terms("podAffinity", "db")), "node(s) didn't match pod affinity rules|");
  EXPECT_EQ(cluster.refusals(terms("podAntiAffinity", "db")), "|node(s) didn't match pod anti-affinity rules");
  cluster.put(0, terms("podAntiAffinity", "web"));
  EXPECT_EQ(cluster.refusals(pod_of("{}")), "node(s) didn't satisfy existing pods anti-affinity rules|");
  EXPECT_EQ(cluster.refusals(pod_of("{}", "other")), "|");
}

TEST(PodRules, SpreadsOverDomains) {
  const std::string spread =
      pod_of(R"({"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule",)"
             R"("labelSelector":{"matchLabels":{"app":"web"}}}]})");
  Cluster cluster;
  EXPECT_EQ(cluster.refusals(spread), "|");
  cluster.put(0, pod_of("{}"));
  EXPECT_EQ(cluster.refusals(spread), "node(s) didn't match pod topology spread constraints|");
  cluster.put(1, pod_of("{}", "other"));
  EXPECT_EQ(cluster.refusals(spread), "node(s) didn't match pod topology spread constraints|");
  cluster.put(1, pod_of("{}"));
  EXPECT_EQ(cluster.refusals(spread), "|");
  cluster.nodes[1] = parse_json("{}");
  EXPECT_EQ(cluster.refusals(spread), "|node(s) didn't match pod topology spread constraints (missing required label)");
}

TEST(NodeShape, ShowsGpusAsFeatureDiscoveryDoes) {
  const auto node = [](SimHostOptions options) {
    const auto shapes = node_shapes(options);
    EXPECT_TRUE(shapes);
    return make_node(shapes->back(), options, WallTime());
  };
  const auto plain = node({.gpus_per_node = 2});
  EXPECT_EQ(plain["metadata"]["labels"]["nvidia.com/gpu.present"].text(), "true");
  EXPECT_EQ(plain["metadata"]["labels"]["nvidia.com/gpu.count"].text(), "2");
  EXPECT_EQ(plain["status"]["allocatable"]["nvidia.com/gpu"].text(), "2");
  const auto sliced = node({.gpus_per_node = 2, .time_slicing = 4});
  EXPECT_EQ(sliced["status"]["capacity"]["nvidia.com/gpu"].text(), "8");
  EXPECT_EQ(sliced["metadata"]["labels"]["nvidia.com/gpu.replicas"].text(), "4");
  EXPECT_EQ(sliced["metadata"]["labels"]["nvidia.com/gpu.product"].text(), "NVIDIA-A100-SXM4-40GB-SHARED");
  const auto mig = node({.gpus_per_node = 2, .mig_profile = "1g.5gb"});
  EXPECT_EQ(mig["status"]["capacity"]["nvidia.com/gpu"].text(), "0");
  EXPECT_EQ(mig["status"]["capacity"]["nvidia.com/mig-1g.5gb"].text(), "14");
  EXPECT_EQ(mig["metadata"]["labels"]["nvidia.com/mig.strategy"].text(), "mixed");
  EXPECT_FALSE(node_shapes({.mig_profile = "9g.99gb"}));
  EXPECT_FALSE(node_shapes({.time_slicing = 2, .mig_profile = "1g.5gb"}));
  EXPECT_FALSE(node_shapes({.nodes = -1}));
  EXPECT_EQ(node_shapes({.nodes = 3, .gpu_nodes = 2})->size(), 5u);
}

TEST(PodDependencies, AreTheNonOptionalOnes) {
  const auto pod = parse_json(
      R"({"spec":{"volumes":[{"name":"a","configMap":{"name":"c1"}},{"name":"b","secret":{"secretName":"s1","optional":true}},
      {"name":"p","projected":{"sources":[{"secret":{"name":"s2"}},{"configMap":{"name":"c2","optional":true}},{"serviceAccountToken":{}}]}}]}})");
  const auto volumes = volume_dependencies(pod.root());
  ASSERT_EQ(volumes.size(), 2u);
  EXPECT_EQ(volumes[0].not_found(), "configmap \"c1\" not found");
  EXPECT_EQ(volumes[1].not_found(), "secret \"s2\" not found");
  EXPECT_EQ(volumes[1].volume, "p");
  const auto container = parse_json(R"({"envFrom":[{"configMapRef":{"name":"c3"}}],"env":[{"name":"X","value":"1"},
      {"name":"Y","valueFrom":{"secretKeyRef":{"name":"s3","key":"k"}}},{"name":"Z","valueFrom":{"fieldRef":{}}}]})");
  const auto environment = container_dependencies(container.root());
  ASSERT_EQ(environment.size(), 2u);
  EXPECT_EQ(environment[1].key, "k");
}

TEST(PodRun, NamesImagesInFull) {
  EXPECT_EQ(full_image_name("nginx"), "docker.io/library/nginx:latest");
  EXPECT_EQ(full_image_name("ollama/ollama:latest"), "docker.io/ollama/ollama:latest");
  EXPECT_EQ(full_image_name("registry:5000/a/b"), "registry:5000/a/b:latest");
  EXPECT_EQ(full_image_name("quay.io/a@sha256:12"), "quay.io/a@sha256:12");
  EXPECT_EQ(pull_failure("nginx"), "");
  EXPECT_NE(pull_failure("nginx:does-not-exist"), "");
  EXPECT_NE(pull_failure("webserver:404"), "");
}

TEST(Image, UpstreamsTestImagesDoWhatTheyDo) {
  EXPECT_TRUE(entry_point("registry.k8s.io/e2e-test-images/busybox:1.37.0-1", {})->end);
  EXPECT_FALSE(entry_point("busybox", {}));
  EXPECT_EQ(entry_point("registry.k8s.io/e2e-test-images/agnhost:2.63.0", {})->lines.size(), 1u);
  EXPECT_TRUE(entry_point("registry.k8s.io/e2e-test-images/agnhost:2.63.0", {"netexec"})->lines.empty());
  EXPECT_FALSE(entry_point("registry.k8s.io/pause:3.10", {})->end) << "it runs for ever, in a Job too";
}

TEST(PodRun, SomeContainersAreExpectedToEnd) {
  const auto expected = [](const std::string& metadata, const std::string& policy, const std::string& container) {
    const auto pod = parse_json(R"({"metadata":)" + metadata + R"(,"spec":{"restartPolicy":")" + policy +
                                R"(","initContainers":[{"name":"i"},{"name":"side","restartPolicy":"Always"}],)"
                                R"("containers":[{"name":"c"}]}})");
    PodRun run = make_run(std::make_shared<kube::CachedObject>(), pod.root(), "");
    return is_expected_to_end(run, *run.find(container), pod.root());
  };
  EXPECT_TRUE(expected("{}", "Always", "i")) << "an init container";
  EXPECT_FALSE(expected("{}", "Always", "side"));
  EXPECT_FALSE(expected("{}", "Never", "c")) << "a plain pod";
  EXPECT_TRUE(expected(R"({"ownerReferences":[{"kind":"Job"}]})", "Never", "c"));
  EXPECT_TRUE(expected(R"({"annotations":{"helm.sh/hook":"test"}})", "Never", "c"));
  for (const char* label : {"batch.kubernetes.io/job-name", "tp.sublet.dev/batch.kubernetes.io_job-name"}) {
    const std::string metadata = R"({"labels":{")" + std::string(label) + R"(":"j"}})";
    EXPECT_TRUE(expected(metadata, "OnFailure", "c")) << label;
    EXPECT_FALSE(expected(metadata, "Always", "c")) << label;
    EXPECT_FALSE(expected(metadata, "OnFailure", "side")) << label;
  }
  for (const char* label : {"app.kubernetes.io/managed-by", "tp.sublet.dev/app.kubernetes.io_managed-by"})
    EXPECT_TRUE(expected(R"({"labels":{")" + std::string(label) + R"(":"Helm"}})", "Never", "c")) << label;
}

TEST(PodRun, HostNamesAreTheKubelets) {
  const auto name = [](const std::string& metadata_name, const std::string& spec = "{}") {
    return host_name(parse_json(R"({"metadata":{"name":")" + metadata_name + R"("},"spec":)" + spec + "}").root());
  };
  EXPECT_EQ(name("web-0"), "web-0");
  EXPECT_EQ(name("my.pod.name"), "my.pod.name");
  EXPECT_EQ(name(std::string(62, 'a') + ".bc"), std::string(62, 'a')) << "63 characters at most, no dot at the end";
  EXPECT_EQ(name("p", R"({"hostname":"h"})"), "h");
  EXPECT_EQ(name("p", R"({"hostname":"h","hostnameOverride":"my.pod"})"), "my.pod");
}

/// The world of the only container of a pod.
struct WorldOf {
  schema::Document pod{};
  Trees volumes{}, host_paths{};
  SeededRandom random{1};
  std::map<std::string, std::string> objects{};  // JSON by name
  Lookup lookup = [this](Dependency::Kind, std::string_view name) {
    const auto found = objects.find(std::string(name));
    if (found == objects.end()) return kube::CachedPtr();
    auto out = std::make_shared<kube::CachedObject>();
    out->json = found->second;
    return kube::CachedPtr(out);
  };
  schema::Document node = parse_json(R"({"cpu":"8","memory":"64Gi"})");

  template <class Use>
  auto with_source(Use use) {
    const schema::Value pod_value = pod.root(), container = pod_value["spec"]["containers"].at(0), have = node.root();
    return use(WorldSource{pod_value, container, have, "10.0.0.1", "10.9.0.1", volumes, host_paths, lookup});
  }
  shell::World world() {
    return with_source([&](const WorldSource& source) { return make_world(source, WallTime(), random); });
  }
};

TEST(ContainerWorld, ResourceFieldsAreNumbers) {
  WorldOf of{
      .pod = parse_json(R"({"spec":{"containers":[{"name":"c","resources":{"limits":{"memory":"128Mi","cpu":"1500m"},
      "requests":{"cpu":"100m"}},"env":[
      {"name":"MEMORY","valueFrom":{"resourceFieldRef":{"resource":"limits.memory"}}},
      {"name":"MEBIBYTES","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"1Mi"}}},
      {"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}},
      {"name":"MILLIS","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}},
      {"name":"REQUEST","valueFrom":{"resourceFieldRef":{"resource":"requests.cpu"}}},
      {"name":"NONE","valueFrom":{"resourceFieldRef":{"resource":"requests.memory","divisor":"0"}}}]}]}})")};
  const shell::Variables seen = of.world().variables;
  EXPECT_EQ(seen.at("MEMORY"), "134217728");
  EXPECT_EQ(seen.at("MEBIBYTES"), "128");
  EXPECT_EQ(seen.at("CPU"), "2") << "rounded up";
  EXPECT_EQ(seen.at("MILLIS"), "1500");
  EXPECT_EQ(seen.at("REQUEST"), "1");
  EXPECT_EQ(seen.at("NONE"), "0");
  of.pod = parse_json(R"({"spec":{"containers":[{"name":"c","env":[
      {"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]}]}})");
  EXPECT_EQ(of.world().variables.at("CPU"), "8") << "without a limit the node's";
}

TEST(ContainerWorld, VolumesShowTheDownwardApiAndFollowTheirObjects) {
  WorldOf of{.pod = parse_json(R"({"metadata":{"name":"p","labels":{"b":"2","a":"1 \"x\""}},"spec":{"volumes":[
      {"name":"info","downwardAPI":{"items":[{"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}},
        {"path":"memory","resourceFieldRef":{"containerName":"c","resource":"limits.memory","divisor":"1Mi"}}]}},
      {"name":"all","projected":{"sources":[{"configMap":{"name":"settings"}},
        {"downwardAPI":{"items":[{"path":"name","fieldRef":{"fieldPath":"metadata.name"}}]}}]}}],
      "containers":[{"name":"c","resources":{"limits":{"memory":"128Mi"}},"volumeMounts":[
        {"name":"info","mountPath":"/etc/info"},{"name":"all","mountPath":"/etc/all"}]}]}})")};
  of.objects["settings"] = R"({"data":{"k":"one","old":"x"}})";
  const shell::World world = of.world();
  const auto read = [&](const char* path, int second) {
    return world.files.read(path, WallTime() + std::chrono::seconds(second)).value_or("(none)");
  };
  EXPECT_EQ(read("/etc/info/labels", 0), "a=\"1 \\\"x\\\"\"\nb=\"2\"");
  EXPECT_EQ(read("/etc/info/memory", 0), "128");
  EXPECT_EQ(read("/etc/all/name", 0), "p");
  EXPECT_EQ(read("/etc/all/k", 0), "one");
  of.objects["settings"] = R"({"data":{"k":"two"}})";
  of.with_source([](const WorldSource& source) { refresh_volumes(source, WallTime() + std::chrono::seconds(5)); });
  EXPECT_EQ(read("/etc/all/k", 4), "one");
  EXPECT_EQ(read("/etc/all/k", 5), "two");
  EXPECT_EQ(read("/etc/all/old", 5), "(none)");
}

TEST(PodRun, TakesOverWhatRan) {
  const auto pod = parse_json(
      R"({"metadata":{"namespace":"n","name":"p","uid":"u"},"spec":{"nodeName":"cpu-1","restartPolicy":"Never",
      "initContainers":[{"name":"i"}],"containers":[{"name":"a","command":["sleep","5"]},{"name":"b"}]},
      "status":{"phase":"Running","podIP":"10.244.0.9","startTime":"2026-11-21T09:00:00Z",
      "initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":0}}}],
      "containerStatuses":[{"name":"a","restartCount":2,"containerID":"containerd://1","state":{"running":{"startedAt":"2026-11-21T09:00:01Z"}}},
      {"name":"b","state":{"terminated":{"exitCode":3,"reason":"Error"}}}]}})");
  const auto cached = std::make_shared<kube::CachedObject>();
  PodRun run = make_run(cached, pod.root(), "10.90.0.1");
  EXPECT_TRUE(run.initialized());
  EXPECT_EQ(run.ip, "10.244.0.9");
  EXPECT_EQ(run.find("a")->restarts, 2);
  EXPECT_EQ(run.find("a")->state, ContainerRun::State::running);
  EXPECT_EQ(run.find("b")->ended->exit_code, 3);
  settle_phase(run);
  EXPECT_EQ(run.phase, "Running");
  run.find("a")->state = ContainerRun::State::terminated;
  run.find("a")->ended = ContainerRun::Ended{};
  settle_phase(run);
  EXPECT_EQ(run.phase, "Failed");
  EXPECT_EQ(run.find("nobody"), nullptr);
}

}  // namespace
}  // namespace sublet::simhost
