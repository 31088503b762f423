// What a tenant sends in large numbers costs the border time in proportion to it, not to its square.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <functional>

#include "sublet/syncer/translate.h"
#include "syncer/to_host/content_patch.h"
#include "syncer/to_host/host_patch.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr int kFew = 2500, kTimes = 8, kMeasurements = 3;
// A square costs kTimes times as much per member; noise and hashing far less than half of that.
constexpr double kGrowthMax = kTimes * kTimes / 2.0;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

double least_seconds(const std::function<void()>& work) {
  double least = 1e9;
  for (int i = 0; i < kMeasurements; ++i) {
    const double begun = thread_seconds();
    work();
    least = std::min(least, thread_seconds() - begun);
  }
  return least;
}

TranslateContext growth_context() {
  TranslateContext context;
  context.virtual_cluster = "rag";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team";
  const auto loaded = patches::Template::load("allow: {pods: {annotations: ['*'], labels: ['*']}}", "t.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (loaded) context.resolved_template = loaded->resolve({}, "rag", "team").value();
  return context;
}

struct Case {
  const char* name;
  const char* kind;
  const char* json;
  const char* map;  // the path of the map that grows
  PatchContent patch_content;
};

constexpr const char* kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default","uid":"u"},)"
    R"("spec":{"containers":[{"name":"c","image":"i"}]}})";
constexpr const char* kService =
    R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"default","uid":"u"},)"
    R"("spec":{"type":"ClusterIP","ports":[{"port":80}]}})";
constexpr const char* kConfigMap =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"u"},"data":{}})";
constexpr const char* kSecret =
    R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"default","uid":"u"},"data":{}})";
constexpr const char* kIngress =
    R"({"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"a","namespace":"default","uid":"u"},)"
    R"("spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}})";
constexpr const char* kPolicy =
    R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"a","namespace":"default",)"
    R"("uid":"u"},"spec":{"podSelector":{"matchLabels":{}}}})";

const Case kCases[] = {
    {"PodLabels", "Pod", kPod, "metadata.labels", patch_pod_spec},
    {"PodAnnotations", "Pod", kPod, "metadata.annotations", patch_pod_spec},
    {"PodNodeSelector", "Pod", kPod, "spec.nodeSelector", patch_pod_spec},
    {"ServiceLabels", "Service", kService, "metadata.labels", patch_service_spec},
    {"ServiceSelector", "Service", kService, "spec.selector", patch_service_spec},
    {"ConfigMapData", "ConfigMap", kConfigMap, "data", patch_data},
    {"ConfigMapLabels", "ConfigMap", kConfigMap, "metadata.labels", patch_data},
    {"SecretData", "Secret", kSecret, "data", patch_data},
    {"IngressLabels", "Ingress", kIngress, "metadata.labels", patch_ingress},
    {"PolicySelector", "NetworkPolicy", kPolicy, "spec.podSelector.matchLabels", patch_all_of_it},
};

Document large_object(const Case& one, int members) {
  auto document = Document::parse_json(one.json);
  Value map = document->root();
  for (std::string_view path = one.map; !path.empty();) {
    const auto dot = path.find('.');
    map = map.object(path.substr(0, dot));
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  for (int i = 0; i < members; ++i) map.add_member("example.com/key-" + std::to_string(i)).set("dmFsdWU=");
  return std::move(*document);
}

class Growth : public testing::TestWithParam<Case> {};

// Crosses once, then again with every value changed, so comparisons and look-ups that are linear per member show.
TEST_P(Growth, CostOfCrossingIsLinear) {
  const TranslateContext context = growth_context();
  const auto cost = [&](int members) {
    const Document object = large_object(GetParam(), members);
    return least_seconds([&] {
      auto translated = translate(context, GetParam().kind, object.root(), Operation::create);
      if (!translated) return;  // as node selectors that no template allows: refused, which is to be linear too
      note_written(translated->host_object.root());
      const Document host = Document::copy_of(translated->host_object.root());
      Document reversed = Document::copy_of(translated->host_object.root());
      for (const char* map : {"labels", "annotations"}) {
        std::vector<Value> entries;
        for (const Value entry : reversed["metadata"][map]) entries.push_back(entry);
        std::ranges::reverse(entries);
        if (Value whole = reversed["metadata"][map]) whole.reorder(entries);
      }
      const Document patch = make_host_patch(GetParam().patch_content, host.root(), reversed.root());
      EXPECT_TRUE(patch.root().empty()) << patch.to_json().substr(0, 300);
    });
  };
  (void)cost(kFew);
  const double few = cost(kFew), many = cost(kFew * kTimes);
  EXPECT_LT(many, few * kGrowthMax + 0.02)
      << few << " s for " << kFew << " members, " << many << " s for " << kFew * kTimes;
}

INSTANTIATE_TEST_SUITE_P(Maps, Growth, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace sublet::syncer
