// The shipped templates, run as users get them: the translation vectors of a GPU share (T1-T15 of the project's notes
// on KAI) and what stands around them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "sublet/base/files.h"
#include "sublet/patches/template.h"
#include "sublet/schema/engine.h"
#include "tests/support/source_path.h"

namespace sublet::patches {
namespace {

using schema::Document;
using schema::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PatchContext kLegalContext{
    .virtual_cluster = "rag-legal", .tenant_namespace = "default", .host_namespace = "team-legal"};

using Parameters = std::map<std::string, std::string>;

std::string shipped_file(const std::string& path) { return read_file(source_path(path)).value(); }

std::shared_ptr<const ResolvedTemplate> shipped(const std::string& name, const Parameters& parameters = {}) {
  const auto loaded = Template::load(shipped_file("templates/" + name), name);
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  if (!loaded) return nullptr;
  const auto resolved = loaded->resolve(parameters, "rag-legal", "team-legal");
  EXPECT_TRUE(resolved.has_value()) << (resolved ? "" : resolved.error().message);
  return resolved ? *resolved : nullptr;
}

// The demo pod of the book, T1's input; a list of JSON patches away from the others.
Document seed_pod() {
  auto pod = schema::parse_yaml(shipped_file("examples/gpu-sharing-pod.yaml"));
  EXPECT_TRUE(pod.has_value());
  return std::move(*pod);
}

Value limits(const Document& pod, std::size_t container = 0) {
  return pod["spec"]["containers"].at(container)["resources"].object("limits");
}

Value annotations(const Document& pod) { return Value(pod["metadata"]).object("annotations"); }

struct Result {
  Document tenant;
  Document host;
  PatchReport report;
};

Result translate(const std::string& name, const Document& tenant, const Parameters& parameters = {}) {
  Result result{tenant.clone(), tenant.clone(), {}};
  const auto resolved = shipped(name, parameters);
  if (resolved) result.report = resolved->apply("Pod", result.host.root(), result.tenant.root(), kLegalContext);
  EXPECT_EQ(result.tenant.to_json(), tenant.to_json()) << "the tenant's object must not change";
  return result;
}

Result fraction(const Document& tenant, const Parameters& parameters = {}) {
  Result result = translate("gpu-fraction.yaml", tenant, parameters);
  if (!result.report.denials.empty()) return result;
  // T15: applied again, to its own output and to a fresh copy, it gives the same.
  Document again = result.host.clone();
  shipped("gpu-fraction.yaml", parameters)->apply("Pod", again.root(), result.tenant.root(), kLegalContext);
  EXPECT_EQ(again.to_json(), result.host.to_json());
  return result;
}

// user-pain, demand 15: a share of a GPU reaches KAI as it wants it, and only so.
TEST(GpuFraction, T1SeedPod) {
  const Result result = fraction(seed_pod());
  EXPECT_THAT(result.report.denials, IsEmpty());
  EXPECT_EQ(result.host.to_json(),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"gpu-sharing-pod",)"
            R"("labels":{"kai.scheduler/queue":"rag-legal"},)"
            R"("annotations":{"gpu-fraction":"0.5","sublet.dev/requested-gpu":"1 x 0.5"}},)"
            R"("spec":{"schedulerName":"kai-scheduler","runtimeClassName":"nvidia",)"
            R"("nodeSelector":{"nvidia.com/gpu.present":"true"},"containers":[{"name":"ollama-rag",)"
            R"("image":"ollama/ollama:latest","command":["ollama","serve"],"resources":{}}]}})");
  EXPECT_THAT(result.report.applied, ElementsAre("queue", "keys-of-the-scheduler", "gpu-share", "frozen-share"));
  EXPECT_THAT(result.report.warnings,
              ElementsAre("label \"kai.scheduler/queue\" is set by the platform; \"rag-legal\" is "
                          "used instead of \"test\""));
}

TEST(GpuFraction, T1SchedulerRuntimeClassAndRequestsAreForced) {
  Document pod = seed_pod();
  pod["spec"].put("schedulerName", "mine");
  pod["spec"].erase("runtimeClassName");
  pod["spec"]["containers"].at(0)["resources"].object("requests").put("nvidia.com/gpu", "1");
  limits(pod).put("cpu", "2");
  const Result result = fraction(pod);
  EXPECT_EQ(result.host["spec"]["schedulerName"].text(), "kai-scheduler");
  EXPECT_EQ(result.host["spec"]["runtimeClassName"].text(), "nvidia");
  EXPECT_EQ(result.host["spec"]["containers"].at(0)["resources"].to_json(), R"({"limits":{"cpu":"2"}})");
  // A runtime class of the tenant's choice stays.
  pod["spec"].put("runtimeClassName", "nvidia-cdi");
  EXPECT_EQ(fraction(pod).host["spec"]["runtimeClassName"].text(), "nvidia-cdi");
}

TEST(GpuFraction, T2SeveralDevicesOrRefuse) {
  Document pod = seed_pod();
  limits(pod).put("nvidia.com/gpu", "2");
  const Result result = fraction(pod);
  EXPECT_EQ(annotations(result.host)["gpu-fraction-num-devices"].text(), "2");
  EXPECT_EQ(annotations(result.host)["gpu-fraction"].text(), "0.5");
  EXPECT_EQ(annotations(result.host)["sublet.dev/requested-gpu"].text(), "2 x 0.5");
  EXPECT_THAT(fraction(pod, {{"multipleGpus", "refuse"}}).report.denials,
              ElementsAre("a fraction of 2 GPUs is not offered here; set the limit nvidia.com/gpu to 1"));
}

void add_container(const Document& pod, const char* list, const char* name, const char* gpus) {
  Value container = Value(pod["spec"]).array(list).push_object();
  container.put("name", name);
  if (gpus) container.object("resources").object("limits").put("nvidia.com/gpu", gpus);
}

TEST(GpuFraction, T3SecondContainer) {
  Document pod = seed_pod();
  pod["spec"]["containers"].at(0).erase("resources");
  add_container(pod, "containers", "worker", "1");
  const Result result = fraction(pod);
  EXPECT_EQ(annotations(result.host)["gpu-fraction-container-name"].text(), "worker");
  EXPECT_EQ(result.host["spec"]["containers"].at(1).to_json(), R"({"name":"worker","resources":{}})");
}

TEST(GpuFraction, T4AliasAndNativeAgree) {
  Document pod = seed_pod();
  annotations(pod).put("gpu-fraction", "0.50");
  const Result result = fraction(pod);
  EXPECT_EQ(annotations(result.host).to_json(), R"({"gpu-fraction":"0.5","sublet.dev/requested-gpu":"1 x 0.5"})");
}

TEST(GpuFraction, T5AliasAndNativeContradict) {
  Document pod = seed_pod();
  annotations(pod).put("gpu-fraction", "0.3");
  EXPECT_THAT(
      fraction(pod).report.denials,
      ElementsAre("annotations \"nvidia.com/gpu-fraction\" (0.5) and \"gpu-fraction\" (0.3) contradict each other"));
}

TEST(GpuFraction, T6AliasOfOneIsAWholeGpu) {
  Document pod = seed_pod();
  for (const char* one : {"1", "1.0"}) {
    annotations(pod).put("nvidia.com/gpu-fraction", one);
    const Result result = fraction(pod);
    EXPECT_THAT(result.report.denials, IsEmpty());
    EXPECT_FALSE(result.host["metadata"].has("annotations")) << result.host.to_json();
    EXPECT_EQ(limits(result.host).to_json(), R"({"nvidia.com/gpu":1})");
  }
}

TEST(GpuFraction, T7NotAFraction) {
  for (const char* text :
       {"NaN", "0", "50%", "", " 0.5", "0.5 ", "-0.1", "1.01", "Inf", "0x1", "abc", "0,5", "1e", "."}) {
    Document pod = seed_pod();
    annotations(pod).put("nvidia.com/gpu-fraction", text);
    EXPECT_THAT(fraction(pod).report.denials,
                ElementsAre(HasSubstr("\"nvidia.com/gpu-fraction\" must be a decimal above 0")))
        << text;
  }
  for (const char* text : {"NaN", "0", "1", "1.0", ""}) {  // KAI's own key takes no whole GPU
    Document pod = seed_pod();
    annotations(pod).erase("nvidia.com/gpu-fraction");
    annotations(pod).put("gpu-fraction", text);
    EXPECT_THAT(fraction(pod).report.denials, ElementsAre(HasSubstr("\"gpu-fraction\" must be a decimal"))) << text;
  }
  for (const auto& [text, canonical] : {std::pair{"1e-1", "0.1"}, {".25", "0.25"}, {"0.50", "0.5"}, {"5e-1", "0.5"}}) {
    Document pod = seed_pod();
    annotations(pod).put("nvidia.com/gpu-fraction", text);
    EXPECT_EQ(annotations(fraction(pod).host)["gpu-fraction"].text(), canonical) << text;
  }
}

TEST(GpuFraction, T8GpuMemoryBesideALimit) {
  Document pod = seed_pod();
  annotations(pod).erase("nvidia.com/gpu-fraction");
  annotations(pod).put("gpu-memory", "2000");
  const Result result = fraction(pod);
  EXPECT_THAT(result.report.denials, IsEmpty());
  EXPECT_EQ(annotations(result.host).to_json(), R"({"gpu-memory":"2000","sublet.dev/requested-gpu":"1 x 2000MiB"})");
  EXPECT_EQ(result.host["spec"]["containers"].at(0)["resources"].to_json(), "{}");
  EXPECT_THAT(fraction(pod, {{"wholeGpuWithShare", "refuse"}}).report.denials,
              ElementsAre("a share of a GPU cannot stand beside a limit of 1 nvidia.com/gpu; leave the limit out"));
  for (const char* text : {"0", "-1", "2000.5", "2Gi", ""}) {
    annotations(pod).put("gpu-memory", text);
    EXPECT_THAT(fraction(pod).report.denials, ElementsAre(HasSubstr("\"gpu-memory\" must be a whole number"))) << text;
  }
  annotations(pod).put("gpu-memory", "2000");
  annotations(pod).put("gpu-fraction", "0.5");
  EXPECT_THAT(fraction(pod).report.denials, ElementsAre(HasSubstr("cannot stand beside a fraction")));
}

TEST(GpuFraction, T9WholeGpuIsUntouchedButGoesThroughTheQueue) {
  Document pod = seed_pod();
  pod["metadata"].erase("annotations");
  pod["metadata"].erase("labels");
  pod["spec"].erase("schedulerName");
  const Result result = fraction(pod);
  Document expected = pod.clone();
  expected["metadata"].object("labels").put("kai.scheduler/queue", "rag-legal");
  expected["spec"].put("schedulerName", "kai-scheduler");
  EXPECT_TRUE(result.host.root().equals(expected.root())) << result.host.to_json();
  EXPECT_THAT(result.report.warnings, IsEmpty());
  EXPECT_THAT(fraction(pod, {{"wholeGpus", "refuse"}}).report.denials, ElementsAre(HasSubstr("shares of GPUs only")));
}

TEST(GpuFraction, T10PodTemplatesAreNotTouched) {
  Document deployment = Document::object();
  Value pod = deployment.root().object("spec").put("template", seed_pod().root());
  ASSERT_TRUE(pod.has("spec"));
  const std::string before = deployment.to_json();
  const auto report =
      shipped("gpu-fraction.yaml")->apply("Deployment", deployment.root(), deployment.clone().root(), kLegalContext);
  EXPECT_EQ(deployment.to_json(), before);
  EXPECT_THAT(report.applied, IsEmpty());
}

TEST(GpuFraction, T11HostWithoutKai) {
  const Result result = fraction(seed_pod(), {{"kai", "false"}});
  EXPECT_THAT(result.report.denials, IsEmpty());
  EXPECT_EQ(limits(result.host).to_json(), R"({"nvidia.com/gpu":1})");
  EXPECT_FALSE(annotations(result.host).has("gpu-fraction"));
  EXPECT_THAT(result.report.warnings,
              ::testing::Contains(HasSubstr("annotation \"nvidia.com/gpu-fraction\" has no effect")));
}

TEST(GpuFraction, T12TheShareIsFrozen) {
  const auto resolved = shipped("gpu-fraction.yaml");
  const Document before = seed_pod();
  Document after = before.clone();
  EXPECT_THAT(resolved->check_update("Pod", before.root(), after.root(), kLegalContext), IsEmpty());
  annotations(after).put("other", "x");
  EXPECT_THAT(resolved->check_update("Pod", before.root(), after.root(), kLegalContext), IsEmpty());
  annotations(after).put("nvidia.com/gpu-fraction", "0.9");
  EXPECT_THAT(resolved->check_update("Pod", before.root(), after.root(), kLegalContext),
              ElementsAre(HasSubstr("cannot be changed after the pod's creation")));
  annotations(after).erase("nvidia.com/gpu-fraction");
  EXPECT_THAT(resolved->check_update("Pod", before.root(), after.root(), kLegalContext), ::testing::SizeIs(1));
  annotations(after).put("nvidia.com/gpu-fraction", "0.5");
  annotations(after).put("gpu-memory", "1");
  EXPECT_THAT(resolved->check_update("Pod", before.root(), after.root(), kLegalContext), ::testing::SizeIs(1));
}

TEST(GpuFraction, T13KeysOfTheSchedulerAreStripped) {
  for (const char* name : {"gpu-fraction.yaml", "gpu-whole.yaml"}) {
    Document pod = seed_pod();
    pod["metadata"]["labels"].put("runai-gpu-group", "x");
    pod["metadata"]["labels"].put("runai-gpu-group/g1", "y");
    annotations(pod).put("pod-group-name", "z");
    const Result result = translate(name, pod);
    EXPECT_EQ(result.host["metadata"]["labels"].to_json(), R"({"kai.scheduler/queue":"rag-legal"})") << name;
    EXPECT_FALSE(annotations(result.host).has("pod-group-name")) << name;
  }
}

TEST(GpuFraction, T14InitContainer) {
  Document pod = seed_pod();
  pod["spec"]["containers"].at(0).erase("resources");
  add_container(pod, "initContainers", "warm-up", "1");
  const Result result = fraction(pod);
  EXPECT_EQ(annotations(result.host)["gpu-fraction-container-name"].text(), "warm-up");
  EXPECT_EQ(result.host["spec"]["initContainers"].at(0)["resources"].to_json(), "{}");
}

TEST(GpuFraction, QueueIsAParameterForcedOnEveryPod) {
  Document pod = Document::parse_json(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"}]}})").value();
  EXPECT_EQ(fraction(pod).host["metadata"]["labels"].to_json(), R"({"kai.scheduler/queue":"rag-legal"})");
  EXPECT_EQ(fraction(pod, {{"queue", "legal"}}).host["metadata"]["labels"].to_json(),
            R"({"kai.scheduler/queue":"legal"})");
  EXPECT_EQ(translate("gpu-whole.yaml", pod, {{"queue", "legal"}}).host["metadata"]["labels"].to_json(),
            R"({"kai.scheduler/queue":"legal"})");
  const auto loaded = Template::load(shipped_file("templates/gpu-fraction.yaml"), "t");
  EXPECT_FALSE(loaded->resolve({{"queue", "not a name"}}, "rag-legal", "h").has_value());
}

TEST(GpuFraction, ContradictionsAreRefused) {
  const auto denial = [](auto change) {
    Document pod = seed_pod();
    change(pod);
    const auto denials = fraction(pod).report.denials;
    return denials.size() == 1 ? denials[0] : "denials: " + std::to_string(denials.size());
  };
  EXPECT_EQ(denial([](Document& pod) { add_container(pod, "containers", "b", "1"); }),
            "only one container can have a share of a GPU, but ollama-rag, b ask for nvidia.com/gpu");
  EXPECT_EQ(denial([](Document& pod) { annotations(pod).put("gpu-fraction-num-devices", "1.5"); }),
            "annotation \"gpu-fraction-num-devices\" must be a whole number above 0, not \"1.5\"");
  EXPECT_EQ(denial([](Document& pod) {
              annotations(pod).put("gpu-fraction-num-devices", "3");
              limits(pod).put("nvidia.com/gpu", "2");
            }),
            "annotation \"gpu-fraction-num-devices\" (3) and the limit nvidia.com/gpu (2) contradict each other");
  EXPECT_EQ(denial([](Document& pod) { annotations(pod).put("gpu-fraction-container-name", "zzz"); }),
            "annotation \"gpu-fraction-container-name\" names zzz, but the limit nvidia.com/gpu stands at container "
            "ollama-rag");
  EXPECT_EQ(denial([](Document& pod) {
              annotations(pod).put("gpu-fraction-container-name", "zzz");
              pod["spec"]["containers"].at(0).erase("resources");
            }),
            "annotation \"gpu-fraction-container-name\" names zzz, which is no container of the pod");
  EXPECT_EQ(denial([](Document& pod) { limits(pod).put("nvidia.com/mig-1g.5gb", "1"); }),
            "a share of a GPU cannot stand beside a MIG device");
}

TEST(GpuFraction, TheOtherDeadSpellingIsTranslatedToo) {
  Document pod = seed_pod();
  annotations(pod).put("gpu-fractions-num-devices", "2");
  EXPECT_EQ(annotations(fraction(pod).host).to_json(),
            R"({"gpu-fraction":"0.5","gpu-fraction-num-devices":"2","sublet.dev/requested-gpu":"1 x 0.5"})");
}

TEST(GpuWhole, WholeGpusGetSchedulerAndRuntime) {
  Document pod = seed_pod();
  pod["metadata"].erase("annotations");
  pod["spec"].erase("runtimeClassName");
  pod["spec"].put("schedulerName", "mine");
  const Result result = translate("gpu-whole.yaml", pod);
  EXPECT_EQ(result.host["spec"]["schedulerName"].text(), "kai-scheduler");
  EXPECT_EQ(result.host["spec"]["runtimeClassName"].text(), "nvidia");
  EXPECT_EQ(limits(result.host).to_json(), R"({"nvidia.com/gpu":1})");
  limits(pod).put("nvidia.com/gpu", "9");
  EXPECT_THAT(translate("gpu-whole.yaml", pod).report.denials,
              ElementsAre("the pod asks for 9 GPUs; at most 8 are offered to one pod"));
  limits(pod).erase("nvidia.com/gpu");
  const Result cpu = translate("gpu-whole.yaml", pod);
  EXPECT_EQ(cpu.host["spec"]["schedulerName"].text(), "mine");
  EXPECT_FALSE(cpu.host["spec"].has("runtimeClassName"));
}

TEST(GpuWhole, SharesAreNotOffered) {
  Document pod = seed_pod();
  const Result result = translate("gpu-whole.yaml", pod);
  EXPECT_THAT(result.report.denials, IsEmpty());
  EXPECT_THAT(result.report.warnings, ::testing::Contains(HasSubstr("offers whole GPUs only")));
  EXPECT_FALSE(result.host["metadata"].has("annotations"));
  EXPECT_EQ(limits(result.host).to_json(), R"({"nvidia.com/gpu":1})");
  annotations(pod).put("gpu-fraction", "0.5");
  EXPECT_THAT(translate("gpu-whole.yaml", pod).report.denials, ElementsAre(HasSubstr("offers whole GPUs only")));
}

// The syncer's workers and admission share one resolved template (meant for the thread sanitizer).
TEST(ShippedTemplates, AreSharedByThreads) {
  const auto resolved = shipped("gpu-fraction.yaml");
  const Document tenant = seed_pod();
  const std::string expected = translate("gpu-fraction.yaml", tenant).host.to_json();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        Document host = tenant.clone();
        resolved->apply("Pod", host.root(), tenant.root(), kLegalContext);
        if (host.to_json() != expected) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ShippedTemplates, ShowNodesAndRuntimeClasses) {
  for (const char* name : {"gpu-fraction.yaml", "gpu-whole.yaml"}) {
    const auto resolved = shipped(name);
    ASSERT_TRUE(resolved);
    EXPECT_TRUE(resolved->config().nodes_from_host);
    EXPECT_TRUE(resolved->config().runtime_classes_from_host);
  }
}

}  // namespace
}  // namespace sublet::patches
