#include "sublet/kube/resource_metrics.h"

#include <gtest/gtest.h>

namespace sublet::kube {
namespace {

using About = MetricsQuestion::About;
using schema::Document;

Document labels(const std::string& app) { return Document::parse_json(R"({"app":")" + app + "\"}").value(); }

std::string answered(const MetricsQuestion& question) {
  auto answer = MetricsAnswer::to(question);
  if (!answer) return answer.error().message;
  const std::pair<std::string, std::string> kAllPods[] = {{"b", "web-1"}, {"a", "web-2"}, {"a", "db-0"}};
  for (const auto& [space, name] : kAllPods) {
    const auto app = labels(name.substr(0, name.find('-')));
    if (answer->wants(space, name, app.root())) answer->add(space, name, app.root(), "2026-11-23T05:00:00Z");
  }
  const net::Response response = answer->response();
  std::string text = std::to_string(response.code);
  const auto said = Document::parse_json(response.body).value();
  if (response.code != 200) return text + " " + said["message"].string();
  text += " " + said["kind"].string();
  if (said.root().has("metadata") && said["metadata"].has("name"))
    return text + " " + said["metadata"]["name"].string();
  for (const auto item : said["items"])
    text += " " + item["metadata"]["namespace"].string() + "/" + item["metadata"]["name"].string();
  return text;
}

TEST(ResourceMetrics, AnswersHoldWhatIsAskedForInOrder) {
  EXPECT_EQ(answered({About::pods}), "200 PodMetricsList a/db-0 a/web-2 b/web-1");
  EXPECT_EQ(answered({About::pods, "a"}), "200 PodMetricsList a/db-0 a/web-2");
  EXPECT_EQ(answered({About::pods, "", "", "app=web"}), "200 PodMetricsList a/web-2 b/web-1");
  EXPECT_EQ(answered({About::pods, "", "", "app notin (web)"}), "200 PodMetricsList a/db-0");
  EXPECT_EQ(answered({About::pods, "", "", "", "metadata.name=web-1,metadata.namespace!=a"}),
            "200 PodMetricsList b/web-1");
  EXPECT_EQ(answered({About::pods, "a", "db-0"}), "200 PodMetrics db-0");
  EXPECT_EQ(answered({About::pods, "b", "db-0"}), "404 podmetrics.metrics.k8s.io \"b/db-0\" not found");
  EXPECT_EQ(answered({About::nodes, "", "n1"}), "404 nodemetrics.metrics.k8s.io \"n1\" not found");
}

TEST(ResourceMetrics, SelectorsThatNobodyUnderstandsAreRefused) {
  EXPECT_EQ(answered({About::pods, "", "", "", "spec.nodeName=n1"}), "field label not supported: spec.nodeName");
  EXPECT_EQ(answered({About::nodes, "", "", "", "metadata.namespace=a"}),
            "field label not supported: metadata.namespace");
  EXPECT_FALSE(MetricsAnswer::to({About::pods, "", "", "=="}));
}

TEST(ResourceMetrics, AQuestionCrossesTheTunnelAsItIs) {
  for (const About about : {About::pods, About::nodes, About::api}) {
    auto document = Document::object();
    MetricsQuestion{about, "a", "b", "c=d", "metadata.name=e"}.put(document.root());
    const auto read = MetricsQuestion::read(document.root());
    EXPECT_EQ(read.about, about);
    EXPECT_EQ(read.namespace_name + read.name + read.label_selector + read.field_selector, "abc=dmetadata.name=e");
  }
}

}  // namespace
}  // namespace sublet::kube
