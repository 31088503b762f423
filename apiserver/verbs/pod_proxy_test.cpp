// pods/NAME/proxy and services/NAME/proxy up to where the request leaves the API server.
#include "sublet/kube/pod_proxy.h"

#include <gtest/gtest.h>

#include "apiserver/server_testing.h"

namespace sublet::apiserver {
namespace {

const std::string kPlace = "/api/v1/namespaces/test/";

class PodProxyVerb : public testing::Test {
 protected:
  PodProxyVerb() : rig({}, options()) {
    make_pod("web", "10.0.0.5");
    make_pod("other", "10.0.0.6");
    make_pod("young", "");
  }
  ServerOptions options() {
    ServerOptions made;
    made.pod_connections = [this](const kube::PodConnectRequest& request,
                                  const std::shared_ptr<net::ResponseSink>& sink) {
      asked = *kube::as_proxy(request);
      sink->respond(200, {{"Content-Type", "text/plain"}}, "of the pod");
    };
    return made;
  }
  void make_pod(const std::string& name, const std::string& ip) {
    EXPECT_EQ(rig.post(kPlace + "pods",
                       R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[{"name":"c","image":"i"}]}})")
                  .code,
              201);
    if (!ip.empty()) {
      EXPECT_EQ(
          rig.patch(kPlace + "pods/" + name + "/status", "merge-patch", R"({"status":{"podIP":")" + ip + R"("}})").code,
          200);
    }
  }
  void make_service(const std::string& subsets) {
    EXPECT_EQ(rig.post(kPlace + "services",
                       R"({"metadata":{"name":"front"},"spec":{"ports":[{"name":"http","port":80,"targetPort":8080},
                          {"name":"odd","port":81}]}})")
                  .code,
              201);
    EXPECT_EQ(rig.post(kPlace + "endpoints", R"({"metadata":{"name":"front"},"subsets":)" + subsets + "}").code, 201);
  }
  std::string target() const {
    return asked.pod_name + " " + asked.scheme + " " + asked.port + " " + asked.method + " " + asked.path + " " +
           asked.query;
  }
  kube::PodProxyRequest asked;
  Rig rig;
};

TEST_F(PodProxyVerb, EveryMethodWithPathQueryAndBody) {
  for (const char* method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    const auto answer = rig.call(method, kPlace + "pods/https:web:8443/proxy/a//b%20c/?x=%2F&watch=1", "the body",
                                 {{"X-Mine", "1"}, {"Audit-ID", "mine"}});
    EXPECT_EQ(answer.code, 200) << method;
    EXPECT_EQ(answer.headers.get("Content-Type"), "text/plain");
    EXPECT_EQ(target(), "web https 8443 " + std::string(method) + " /a/b%20c/ x=%2F&watch=1");
    EXPECT_EQ(asked.subresource, "proxy");
    EXPECT_EQ(asked.body, "the body");
    EXPECT_EQ(asked.prefix, kPlace + "pods/https:web:8443/proxy");
    EXPECT_FALSE(asked.headers.has("Audit-ID"));
    EXPECT_EQ(asked.headers.get("X-Mine"), "1");
    EXPECT_FALSE(asked.pod_uid.empty());
  }
  EXPECT_EQ(rig.call("TRACE", kPlace + "pods/web/proxy/").code, 405);
}

TEST_F(PodProxyVerb, WithoutASlashTheClientIsSentToTheOneWithIt) {
  const auto answer = rig.get(kPlace + "pods/web/proxy?a=b");
  EXPECT_EQ(answer.code, 301);
  EXPECT_EQ(answer.headers.get("Location"), kPlace + "pods/web/proxy/?a=b");
  EXPECT_EQ(asked.pod_name, "");
  EXPECT_EQ(rig.call("HEAD", kPlace + "pods/web/proxy").code, 301);
  EXPECT_EQ(asked.pod_name, "");
  rig.get(kPlace + "pods/web/proxy/");
  EXPECT_EQ(target(), "web   GET / ");
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    EXPECT_EQ(rig.call(method, kPlace + "pods/web/proxy?a=b", "{}").code, 200) << method;
    EXPECT_EQ(target(), "web   " + std::string(method) + " / a=b");
  }
}

TEST_F(PodProxyVerb, WhoIsNoPodIsSaidInUpstreamsWords) {
  EXPECT_EQ(rig.get(kPlace + "pods/nobody/proxy/").text("message"), "pods \"nobody\" not found");
  EXPECT_EQ(rig.get(kPlace + "pods/a:b:c:d/proxy/").text("message"), "invalid pod request \"a:b:c:d\"");
  EXPECT_EQ(rig.get(kPlace + "pods/young/proxy/").text("message"), "address not allowed");
  EXPECT_EQ(rig.get(kPlace + "services/ftp:front:1/proxy/").text("message"), "invalid service request \"ftp:front:1\"");
  EXPECT_EQ(rig.get("/api/v1/nodes/n/proxy/").code, 501);
}

TEST_F(PodProxyVerb, AServiceIsOneOfItsReadyPods) {
  make_service(
      R"([{"addresses":[{"ip":"10.0.0.5","targetRef":{"kind":"Pod","namespace":"test","name":"web"}}],
           "notReadyAddresses":[{"ip":"10.0.0.6","targetRef":{"kind":"Pod","namespace":"test","name":"other"}}],
           "ports":[{"name":"http","port":8080}]}])");
  for (const char* name : {"front:80", "front:http", "http:front:http"}) {
    EXPECT_EQ(rig.get(kPlace + "services/" + name + "/proxy/x").code, 200) << name;
    EXPECT_EQ(asked.pod_name + ":" + asked.port, "web:8080");
    EXPECT_EQ(asked.prefix, kPlace + "services/" + name + "/proxy");
  }
  for (const char* name : {"front", "front:odd", "front:81"}) {
    const auto none = rig.get(kPlace + "services/" + name + "/proxy/");
    EXPECT_EQ(none.code, 503);
    EXPECT_EQ(none.text("message"), "no endpoints available for service \"" + std::string(name) + "\"");
  }
  EXPECT_EQ(rig.get(kPlace + "services/front:82/proxy/").text("message"),
            "no service port 82 found for service \"front\"");
  EXPECT_EQ(rig.get(kPlace + "services/nobody/proxy/").text("message"), "services \"nobody\" not found");
}

TEST_F(PodProxyVerb, AnAddressThatIsNoPodsOfTheNamespaceIsNotAsked) {
  make_service(
      R"([{"addresses":[{"ip":"10.0.0.9"},
                        {"ip":"10.0.0.8","targetRef":{"kind":"Pod","namespace":"test","name":"web"}},
                        {"ip":"10.0.0.5","targetRef":{"kind":"Pod","namespace":"elsewhere","name":"web"}},
                        {"ip":"10.0.0.5","targetRef":{"kind":"Node","name":"web"}}],
           "ports":[{"name":"http","port":8080}]}])");
  EXPECT_EQ(rig.get(kPlace + "services/front:80/proxy/").code, 503);
  EXPECT_EQ(asked.pod_name, "");
}

TEST(PodProxyRights, ItTakesTheRightToTheProxyOfThatName) {
  ServerOptions options;
  options.pod_connections = [](const kube::PodConnectRequest&, const std::shared_ptr<net::ResponseSink>& sink) {
    sink->respond(200, {}, "");
  };
  Rig rig(std::move(options), Rig::WithRights());
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
  const std::string pod = "/api/v1/namespaces/default/pods/web:80/proxy/";
  EXPECT_EQ(rig.call_as("ann", "GET", pod).code, 403);
  EXPECT_EQ(rig.post(rbac + "roles", R"({"metadata":{"name":"look"},"rules":[{"apiGroups":[""],"verbs":["get"],
      "resources":["pods/proxy"],"resourceNames":["web:80"]},{"apiGroups":[""],"verbs":["*"],"resources":["pods"]}]})")
                .code,
            201);
  EXPECT_EQ(rig.post(rbac + "rolebindings", R"({"metadata":{"name":"ann"},"roleRef":{"kind":"Role","name":"look",
      "apiGroup":"rbac.authorization.k8s.io"},"subjects":[{"kind":"User","name":"ann"}]})")
                .code,
            201);
  EXPECT_EQ(rig.call_as("ann", "GET", pod).code, 404);
  EXPECT_EQ(rig.call_as("ann", "POST", pod).code, 403) << "that is create";
  EXPECT_EQ(rig.call_as("ann", "GET", "/api/v1/namespaces/default/pods/web:81/proxy/").code, 403);
}

}  // namespace
}  // namespace sublet::apiserver
