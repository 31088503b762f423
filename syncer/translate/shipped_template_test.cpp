// The shipped template through the whole translation: what the host gets of the demo pod.
#include <gtest/gtest.h>

#include "sublet/base/files.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"
#include "sublet/syncer/border_facts.h"
#include "sublet/syncer/translate.h"
#include "tests/support/source_path.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Registry;
using schema::Value;

std::string shipped_file(const std::string& path) { return read_file(source_path(path)).value(); }

TranslateContext legal_context(const std::string& file) {
  TranslateContext context;
  context.virtual_cluster = "rag-legal";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team-legal";
  context.host_service_account = "sublet-workload-rag-legal";
  context.api_server_host = "10.1.2.3";
  context.api_server_port = "443";
  auto loaded = patches::Template::load(file.empty() ? "" : shipped_file(file), file);
  EXPECT_TRUE(loaded) << loaded.error().message;
  auto resolved = loaded->resolve({}, "rag-legal", "team-legal");
  EXPECT_TRUE(resolved) << resolved.error().message;
  context.resolved_template = *resolved;
  return context;
}

// As the tenant's API server stores it.
Document stored_demo_pod() {
  Document pod = schema::parse_yaml(shipped_file("examples/gpu-sharing-pod.yaml")).value();
  pod["metadata"].put("namespace", "default");
  pod["metadata"].put("uid", "pod-uid");
  EXPECT_TRUE(schema::conform(pod.root(), Registry::builtin()->find_kind("", "v1", "Pod")));
  return pod;
}

// As `sublet create` loads them.
TEST(ShippedTemplate, AllAreAcceptedWithWhatTheBorderOverrules) {
  for (const char* file : {"templates/gpu-fraction.yaml", "templates/gpu-whole.yaml"}) {
    const auto loaded = patches::Template::load(shipped_file(file), file, border_facts());
    EXPECT_TRUE(loaded) << loaded.error().message;
  }
}

TEST(ShippedTemplate, DemoPodReachesTheHostAsKaiWantsIt) {
  const Document pod = stored_demo_pod();
  const auto out = translate(legal_context("templates/gpu-fraction.yaml"), "Pod", pod.root(), Operation::create);
  ASSERT_TRUE(out) << out.error().causes[0].message;
  const Value host = out->host_object.root();
  EXPECT_EQ(host["metadata"]["name"].text(), "gpu-sharing-pod-x-default-x-rag-legal");
  EXPECT_EQ(host["metadata"]["labels"]["kai.scheduler/queue"].text(), "rag-legal");
  EXPECT_EQ(host["metadata"]["annotations"]["gpu-fraction"].text(), "0.5");
  EXPECT_FALSE(host["metadata"]["annotations"].has("nvidia.com/gpu-fraction"));
  EXPECT_FALSE(host["spec"]["containers"].at(0)["resources"]["limits"].has("nvidia.com/gpu"));
  EXPECT_FALSE(host["spec"]["containers"].at(0)["resources"]["requests"].has("nvidia.com/gpu"));
  EXPECT_EQ(host["spec"]["schedulerName"].text(), "kai-scheduler");
  EXPECT_EQ(host["spec"]["runtimeClassName"].text(), "nvidia");
  EXPECT_EQ(host["spec"]["nodeSelector"]["nvidia.com/gpu.present"].text(), "true");
  EXPECT_EQ(host["metadata"]["annotations"]["sublet.dev/requested-gpu"].text(), "1 x 0.5");
  EXPECT_EQ(out->warnings.size(), 1u) << "the queue that the tenant named";
  // The same again, to the last byte: a resync writes nothing.
  const auto again = translate(legal_context("templates/gpu-fraction.yaml"), "Pod", pod.root(), Operation::update);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->host_object.to_json(), out->host_object.to_json());
}

TEST(ShippedTemplate, ARefusalCarriesThePatchsReason) {
  Document pod = stored_demo_pod();
  pod["metadata"]["annotations"].put("nvidia.com/gpu-fraction", "NaN");
  const auto out = translate(legal_context("templates/gpu-fraction.yaml"), "Pod", pod.root(), Operation::create);
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().causes[0].message.find("must be a decimal"), std::string::npos)
      << out.error().causes[0].message;
}

// GPUs, their nodes and their scheduler are the platform's, which has said nothing of them.
TEST(ShippedTemplate, WithoutATemplateNothingOfTheDemoPodsGpuCrosses) {
  const Document pod = stored_demo_pod();
  const auto out = translate(legal_context(""), "Pod", pod.root(), Operation::create);
  ASSERT_FALSE(out);
  std::vector<std::string> fields;
  for (const Cause& cause : out.error().causes) fields.push_back(cause.field);
  EXPECT_EQ(fields, (std::vector<std::string>{"spec.containers[0].resources.limits.nvidia.com/gpu",
                                              "spec.nodeSelector.nvidia.com/gpu.present", "spec.schedulerName"}));
}

TEST(ShippedTemplate, AnAliasThatNoPatchReadsIsWarnedOf) {
  Document pod = stored_demo_pod();
  pod["spec"].erase("nodeSelector");
  pod["spec"].erase("schedulerName");
  pod["spec"]["containers"].at(0).erase("resources");
  for (const bool lets_it_cross : {false, true}) {
    TranslateContext context = legal_context("");
    const auto loaded = patches::Template::load(
        lets_it_cross ? "allow: {pods: {annotations: [nvidia.com/gpu-fraction]}}" : "", "t.yaml");
    context.resolved_template = loaded->resolve({}, "rag-legal", "team-legal").value();
    const auto out = translate(context, "Pod", pod.root(), Operation::create);
    ASSERT_TRUE(out) << out.error().causes[0].message;
    ASSERT_EQ(out->warnings.size(), 1u);
    EXPECT_NE(out->warnings[0].find("\"nvidia.com/gpu-fraction\" has no effect"), std::string::npos);
  }
}

// Under a template of shares, whole devices are no way around the queue whose quota counts them.
TEST(ShippedTemplate, WholeDevicesGoThroughTheQueueToo) {
  for (const char* resource : {"nvidia.com/gpu", "nvidia.com/mig-1g.10gb"}) {
    for (const char* alias : {"", "1.0"}) {
      Document pod = stored_demo_pod();
      pod["metadata"].object("annotations").clear();
      if (*alias && resource == std::string("nvidia.com/gpu"))
        pod["metadata"]["annotations"].put("nvidia.com/gpu-fraction", alias);
      pod["spec"].put("schedulerName", "default-scheduler");
      Value resources = pod["spec"]["containers"].at(0)["resources"];
      resources.clear();
      resources.object("limits").put(resource, "1");
      const auto out = translate(legal_context("templates/gpu-fraction.yaml"), "Pod", pod.root(), Operation::create);
      ASSERT_TRUE(out) << out.error().causes[0].message;
      const Value host = out->host_object.root();
      EXPECT_EQ(host["spec"]["schedulerName"].text(), "kai-scheduler") << resource << alias;
      EXPECT_EQ(host["spec"]["runtimeClassName"].text(), "nvidia");
      EXPECT_EQ(host["metadata"]["labels"]["kai.scheduler/queue"].text(), "rag-legal");
    }
  }
}

}  // namespace
}  // namespace sublet::syncer
