// autoscaling/v1 beside v2: the texts are kube-apiserver's.
#include "apiserver/conversion/autoscaler.h"

#include <gtest/gtest.h>

namespace sublet::apiserver {
namespace {

using schema::Document;

const std::string kStored = R"json({"metadata":{"name":"full","annotations":{"own":"kept",
    "autoscaling.alpha.kubernetes.io/metrics":"stale"}},
  "spec":{"scaleTargetRef":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"},"minReplicas":2,"maxReplicas":9,"metrics":[
   {"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"512Mi"}}},
   {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":60}}},
   {"type":"ContainerResource","containerResource":{"name":"cpu","container":"app","target":{"type":"Utilization","averageUtilization":40}}},
   {"type":"Pods","pods":{"metric":{"name":"requests","selector":{"matchLabels":{"verb":"GET"}}},"target":{"type":"AverageValue","averageValue":"1k"}}},
   {"type":"Object","object":{"metric":{"name":"hits"},"describedObject":{"kind":"Ingress","name":"main","apiVersion":"networking.k8s.io/v1"},"target":{"type":"Value","value":"2k"}}},
   {"type":"Object","object":{"metric":{"name":"load"},"describedObject":{"kind":"Ingress","name":"main","apiVersion":"networking.k8s.io/v1"},"target":{"type":"AverageValue","averageValue":"3"}}},
   {"type":"External","external":{"metric":{"name":"queue","selector":{"matchLabels":{"q":"a"}}},"target":{"type":"AverageValue","averageValue":"30"}}}],
   "behavior":{"scaleUp":{"stabilizationWindowSeconds":0,"selectPolicy":"Max","policies":[{"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]},
     "scaleDown":{"stabilizationWindowSeconds":300,"selectPolicy":"Max","policies":[{"type":"Pods","value":1,"periodSeconds":60}]}}},
  "status":{"currentReplicas":2,"desiredReplicas":3,"observedGeneration":1,"currentMetrics":[
   {"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":33,"averageValue":"330m"}}},
   {"type":"ContainerResource","containerResource":{"name":"cpu","container":"app","current":{"averageUtilization":3}}},
   {"type":"Object","object":{"metric":{"name":"hits"},"describedObject":{"kind":"Service","name":"s","apiVersion":"v1"},"current":{"value":"4"}}},
   {"type":"Pods","pods":{"metric":{"name":"requests"},"current":{"averageValue":"7"}}},
   {"type":"External","external":{"metric":{"name":"queue"},"current":{"averageValue":"2"}}}],
   "conditions":[{"type":"ScalingActive","status":"True","reason":"ValidMetricFound","message":"a <metric> & more"}]}})json";

struct Annotation {
  const char *name, *text;
};
constexpr Annotation
    kAnnotations[] = {{"autoscaling.alpha.kubernetes.io/behavior",
                       R"({"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":300,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":60}],"Tolerance":null}})"},
                      {"autoscaling.alpha.kubernetes.io/conditions",
                       R"([{"type":"ScalingActive","status":"True","lastTransitionTime":null,"reason":"ValidMetricFound","message":"a \u003cmetric\u003e \u0026 more"}])"},
                      {"autoscaling.alpha.kubernetes.io/current-metrics",
                       R"([{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":33,"currentAverageValue":"330m"}},{"type":"ContainerResource","containerResource":{"name":"cpu","currentAverageUtilization":3,"currentAverageValue":"0","container":"app"}},{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"hits","currentValue":"4"}},{"type":"Pods","pods":{"metricName":"requests","currentAverageValue":"7"}},{"type":"External","external":{"metricName":"queue","currentValue":"0","currentAverageValue":"2"}}])"},
                      {"autoscaling.alpha.kubernetes.io/metrics", R"([{"type":"Resource","resource":{"name":"memory","targetAverageValue":"512Mi"}},{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":40,"container":"app"}},{"type":"Pods","pods":{"metricName":"requests","targetAverageValue":"1k","selector":{"matchLabels":{"verb":"GET"}}}},{"type":"Object","object":{"target":{"kind":"Ingress","name":"main","apiVersion":"networking.k8s.io/v1"},"metricName":"hits","targetValue":"2k"}},{"type":"Object","object":{"target":{"kind":"Ingress","name":"main","apiVersion":"networking.k8s.io/v1"},"metricName":"load","targetValue":"0","averageValue":"3"}},{"type":"External","external":{"metricName":"queue","metricSelector":{"matchLabels":{"q":"a"}},"targetAverageValue":"30"}}])"},
                      {"own", "kept"}};

TEST(Autoscaler, WhatV1HasNoFieldsForStandsInAnnotations) {
  auto object = *Document::parse_json(kStored);
  autoscaler_from_storage(object.root());
  for (const auto& [name, text] : kAnnotations) EXPECT_EQ(object["metadata"]["annotations"][name].text(), text) << name;
  EXPECT_EQ(object["metadata"]["annotations"].size(), std::size(kAnnotations));
  EXPECT_EQ(object["spec"]["targetCPUUtilizationPercentage"].integer(), 60);
  EXPECT_EQ(object["status"]["currentCPUUtilizationPercentage"].integer(), 33);
  for (const char* path : {"spec.metrics", "spec.behavior", "status.currentMetrics", "status.conditions"})
    EXPECT_TRUE(object.root().path(path).missing()) << path;
}

TEST(Autoscaler, AndComesBack) {
  const auto stored = *Document::parse_json(kStored);
  auto object = stored.clone();
  autoscaler_from_storage(object.root());
  autoscaler_to_storage(object.root());
  EXPECT_EQ(object["metadata"]["annotations"].to_json(), R"({"own":"kept"})");
  EXPECT_TRUE(object["spec"]["behavior"].equals(stored["spec"]["behavior"])) << object["spec"].to_json();
  const auto back = object["spec"]["metrics"], before = stored["spec"]["metrics"];
  ASSERT_EQ(back.size(), before.size());
  const std::size_t order[] = {0, 2, 3, 4, 5, 6, 1};  // the percentage of CPU comes last
  for (std::size_t i = 0; i < std::size(order); ++i)
    EXPECT_TRUE(back.at(i).equals(before.at(order[i]))) << back.at(i).to_json();
  EXPECT_EQ(object["status"]["currentMetrics"].size(), 5u);
  EXPECT_EQ(object["status"]["conditions"].at(0)["message"].text(), "a <metric> & more");
}

TEST(Autoscaler, NonsenseInAnnotationsIsPassedOver) {
  auto object = *Document::parse_json(R"({"metadata":{"annotations":{
    "autoscaling.alpha.kubernetes.io/metrics":"{","autoscaling.alpha.kubernetes.io/behavior":"[]",
    "autoscaling.alpha.kubernetes.io/current-metrics":"7","autoscaling.alpha.kubernetes.io/conditions":"x"}},
    "spec":{"maxReplicas":1},"status":{"currentCPUUtilizationPercentage":5}})");
  autoscaler_to_storage(object.root());
  EXPECT_EQ(object.root().to_json(),
            R"({"metadata":{},"spec":{"maxReplicas":1,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":)"
            R"({"type":"Utilization","averageUtilization":80}}}]},"status":{"currentMetrics":[{"type":"Resource",)"
            R"("resource":{"name":"cpu","current":{"averageUtilization":5}}}]}})");
}

}  // namespace
}  // namespace sublet::apiserver
