#include "controllers/controlled_server_testing.h"

namespace sublet::controllers {
namespace {

using namespace std::chrono_literals;

/// The server of the fixture with a metrics API before it, as an aggregated one is.
class AutoscalerTest : public ControlledServer {
 protected:
  static inline const kube::Resource kAutoscalers{"autoscaling", "v2", "horizontalpodautoscalers"},
      kDeployments{"apps", "v1", "deployments"};

  AutoscalerTest() {
    options_.client_as = clients_with_roles([this](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
      for (const auto& [prefix, body] : metrics_)
        if (request.target.starts_with(prefix)) return sink->respond(200, {}, body);
      server_.handler()(std::move(request), std::move(sink));
    });
    restart_controllers();
  }
  void make_deployment(int replicas) {
    create(kDeployments, "default",
           R"({"metadata":{"name":"web"},"spec":{"replicas":)" + std::to_string(replicas) +
               R"(,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
               "spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"100m"}}}]}}}})");
  }
  void make_autoscaler(const std::string& more, const std::string& name = "web") {
    create(kAutoscalers, "default",
           R"({"metadata":{"name":")" + name + R"("},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1",
             "kind":"Deployment","name":"web"},"minReplicas":1,"maxReplicas":10)" +
               more + "}}");
  }
  void run_pods() {
    for (const auto& name : names(kPods))
      say_status(name, R"({"phase":"Running","startTime":")" + format_time(clock_.now()) +
                           R"(","conditions":[{"type":"Ready","status":"True","lastTransitionTime":")" +
                           format_time(clock_.now()) + R"("}]})");
  }
  /// Every pod uses so much CPU, and so it will be measured from now on.
  void measure(int milli) {
    auto answer = schema::Document::object();
    auto items = answer.root().array("items");
    for (const auto& name : names(kPods)) {
      auto item = items.push_object();
      item.object("metadata").put("name", name);
      item.put("timestamp", format_time(clock_.now()));
      item.put("window", "30s");
      auto container = item.array("containers").push_object();
      container.put("name", "c");
      container.object("usage").put("cpu", std::to_string(milli) + "m");
    }
    metrics_["/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb"] = answer.to_json();
  }
  std::int64_t replicas() { return get(kDeployments, "web")["spec"]["replicas"].integer(); }
  std::string condition(std::string_view type, const std::string& name = "web") {
    const auto autoscaler = get(kAutoscalers, name);
    for (auto each : autoscaler["status"]["conditions"])
      if (each["type"].text() == type)
        return each["status"].string() + " " + each["reason"].string() + ": " + each["message"].string();
    return "";
  }

  std::map<std::string, std::string> metrics_;  // answers by the beginning of the target
};

TEST_F(AutoscalerTest, WithoutAMetricsApiItSaysSoAndDoesNothing) {
  make_deployment(2);
  run_pods();
  make_autoscaler("");
  EXPECT_EQ(condition("AbleToScale"),
            "True SucceededGetScale: the HPA controller was able to get the target's current scale");
  EXPECT_EQ(condition("ScalingActive"),
            "False FailedGetResourceMetric: the HPA was unable to compute the replica count: failed to get cpu "
            "utilization: unable to get metrics for resource cpu: unable to fetch "
            "metrics from resource metrics API: the server could not find the requested resource (get "
            "pods.metrics.k8s.io)");
  EXPECT_EQ(replicas(), 2);
  EXPECT_EQ(get(kAutoscalers, "web")["status"]["currentReplicas"].integer(), 2);
  const auto said = said_of("HorizontalPodAutoscaler", "web");
  ASSERT_EQ(said.size(), 2u);
  EXPECT_TRUE(said[0].starts_with("FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: "
                                  "failed to get cpu resource metric value") ||
              said[1].starts_with("FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: "
                                  "failed to get cpu resource metric value"));
  const auto version = get(kAutoscalers, "web")["metadata"]["resourceVersion"].string();
  advance(15s);
  EXPECT_EQ(get(kAutoscalers, "web")["metadata"]["resourceVersion"].text(), version) << "nothing new, nothing written";
}

TEST_F(AutoscalerTest, FollowsTheCpuUpAtOnceAndDownAfterFiveMinutes) {
  make_deployment(2);
  run_pods();
  advance(10min);
  measure(160);
  make_autoscaler("");
  EXPECT_EQ(replicas(), 4) << "160 of 100 requested, 80 wanted";
  EXPECT_EQ(condition("ScalingActive"),
            "True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu resource "
            "utilization (percentage of request)");
  EXPECT_EQ(condition("AbleToScale"),
            "True SucceededRescale: the HPA controller was able to update the target scale to 4");
  EXPECT_EQ(said_of("HorizontalPodAutoscaler", "web"),
            std::vector<std::string>{"SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of "
                                     "request) above target"});
  run_pods();
  advance(6min);
  measure(10);
  advance(15s);
  EXPECT_EQ(replicas(), 4) << "the four of a moment ago still count";
  EXPECT_TRUE(condition("AbleToScale").starts_with("True ScaleDownStabilized"));
  for (int i = 0; i < 21; ++i) advance(15s);
  EXPECT_EQ(replicas(), 1);
  const auto status = get(kAutoscalers, "web");
  EXPECT_EQ(status["status"]["currentMetrics"].at(0)["resource"]["current"]["averageUtilization"].integer(), 10)
      << status.to_json();
  EXPECT_EQ(status["status"]["currentMetrics"].at(0)["resource"]["current"]["averageValue"].text(), "10m");
}

TEST_F(AutoscalerTest, KeepsToItsBoundsWithoutAskingMetrics) {
  make_deployment(12);
  make_autoscaler("");
  EXPECT_EQ(replicas(), 10);
  EXPECT_EQ(said_of("HorizontalPodAutoscaler", "web"),
            std::vector<std::string>{
                "SuccessfulRescale: New size: 10; reason: Current number of replicas above Spec.MaxReplicas"});
  merge(kDeployments, "web", R"({"spec":{"replicas":0}})");
  advance(15s);
  EXPECT_EQ(replicas(), 0);
  EXPECT_EQ(condition("ScalingActive"),
            "False ScalingDisabled: scaling is disabled since the replica count of the target is zero");
}

TEST_F(AutoscalerTest, ATargetThatIsNotThere) {
  make_autoscaler("");
  EXPECT_EQ(condition("AbleToScale"),
            "False FailedGetScale: the HPA controller was unable to get the target's current "
            "scale: deployments.apps \"web\" not found");
  make_deployment(1);
  advance(15s);
  EXPECT_TRUE(condition("AbleToScale").starts_with("True SucceededGetScale"));
}

TEST_F(AutoscalerTest, TwoForTheSamePodsDoNothing) {
  make_deployment(2);
  run_pods();
  advance(10min);
  measure(80);
  make_autoscaler("");
  make_autoscaler("", "again");
  advance(15s);
  for (const auto* name : {"web", "again"})
    EXPECT_EQ(condition("ScalingActive", name),
              "False AmbiguousSelector: pods by selector app=web are controlled by multiple HPAs: [default/again "
              "default/web]");
  remove(kAutoscalers, "again");
  advance(15s);
  EXPECT_TRUE(condition("ScalingActive").starts_with("True ValidMetricFound"));
}

TEST_F(AutoscalerTest, OtherMetricsAndTheHighestCounts) {
  make_deployment(2);
  run_pods();
  advance(10min);
  measure(80);
  metrics_["/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue?labelSelector=q%3Da"] =
      R"({"items":[{"value":"20"},{"value":"10"}]})";
  metrics_["/apis/custom.metrics.k8s.io/v1beta1/namespaces/default/services/web/hits?"] =
      R"({"items":[{"value":"15"}]})";
  make_autoscaler(R"(,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",
    "averageUtilization":80}}},
    {"type":"External","external":{"metric":{"name":"queue","selector":{"matchLabels":{"q":"a"}}},
      "target":{"type":"AverageValue","averageValue":"10"}}},
    {"type":"Object","object":{"describedObject":{"apiVersion":"v1","kind":"Service","name":"web"},
      "metric":{"name":"hits"},"target":{"type":"Value","value":"10"}}}])");
  EXPECT_EQ(replicas(), 3);
  const auto status = get(kAutoscalers, "web");
  const auto seen = status["status"]["currentMetrics"];
  EXPECT_EQ(seen.at(1)["external"]["current"]["averageValue"].text(), "15") << status.to_json();
  EXPECT_EQ(seen.at(2)["object"]["current"]["value"].text(), "15");
}

}  // namespace
}  // namespace sublet::controllers
