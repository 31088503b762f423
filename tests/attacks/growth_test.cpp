// Requests whose cost grows faster than they do: each shape is sent small and four times as large, and the processor
// time of the whole server (filters, verbs, border, store) compared. Linear is four times as much, n log n a little
// more, quadratic sixteen.
//
// A figure is the least of several runs, so that what else the machine does counts little; what takes no time at all is
// not compared. ctest label: growth.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/attacks/growth_cluster.h"

namespace sublet {
namespace {

constexpr int kGrowth = 4;
constexpr double kRatioMax = 9;        // far from 4 as from 16
constexpr double kSecondsMin = 0.020;  // what takes less when it is large is not worth a comparison
constexpr int kTries = 5;

/// A request made of n parts.
struct Shape {
  std::string name;
  int parts;  // of the small one
  std::function<Sent(int)> request;
  std::function<Sent(int)> before = nullptr;  // makes what it changes
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

/// `part(i)` n times with commas.
std::string each(int n, const std::function<std::string(const std::string&)>& part) {
  std::string out;
  for (int i = 0; i < n; ++i) {
    if (i > 0) out += ',';
    out += part(std::to_string(i));
  }
  return out;
}

using Part = std::function<std::string(const std::string&)>;

Sent post(const std::string& path, const std::string& kind, const std::string& rest, const std::string& version = "v1",
          const std::string& metadata = "") {
  return {"POST", path, "application/json",
          R"({"apiVersion":")" + version + R"(","kind":")" + kind + R"(","metadata":{"name":"x")" + metadata + "}" +
              rest + "}"};
}

const std::string kDefault = "/api/v1/namespaces/default/";

Shape config_map(std::string name, int parts, Part part, std::string member, char close) {
  return {std::move(name), parts, [part, member, close](int n) {
            return post(kDefault + "configmaps", "ConfigMap", "", "v1", ',' + member + each(n, part) + close);
          }};
}

Sent pod(const std::string& in_container, const std::string& in_spec) {
  return post(kDefault + "pods", "Pod",
              R"(,"spec":{"containers":[{"name":"c","image":"i")" + in_container + "}]" + in_spec + "}");
}
Shape in_container(std::string name, int parts, std::string member, Part part) {
  return {std::move(name), parts,
          [member, part](int n) { return pod(",\"" + member + "\":[" + each(n, part) + "]", ""); }};
}
Shape in_spec(std::string name, int parts, std::string member, Part part) {
  return {std::move(name), parts,
          [member, part](int n) { return pod("", ",\"" + member + "\":[" + each(n, part) + "]"); }};
}

Part text(std::string before, std::string behind) {
  return [before = std::move(before), behind = std::move(behind)](const std::string& i) { return before + i + behind; };
}

Sent capacity_with(int labels) {
  return post("/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities", "CSIStorageCapacity",
              R"(,"storageClassName":"c","nodeTopology":{"matchLabels":{)" +
                  each(labels, [](const std::string& i) { return "\"l" + i + "\":\"v\""; }) + "}}",
              "storage.k8s.io/v1");
}

Sent patch_of(std::string type, std::string body) {
  return {"PATCH", kDefault + "configmaps/x", std::move(type), std::move(body)};
}

std::vector<Shape> metadata_shapes() {
  return {
      config_map(
          "labels", 4000, [](const std::string& i) { return "\"l" + i + "\":\"v\""; }, R"("labels":{)", '}'),
      config_map(
          "annotations", 4000, [](const std::string& i) { return "\"a" + i + "\":\"v\""; }, R"("annotations":{)", '}'),
      config_map("finalizers", 4000, text("\"x.io/f", "\""), R"("finalizers":[)", ']'),
      config_map(
          "owners", 2000,
          [](const std::string& i) {
            return R"({"apiVersion":"v1","kind":"ConfigMap","name":"o)" + i + R"(","uid":"u)" + i + "\"}";
          },
          R"("ownerReferences":[)", ']'),
      config_map(
          "unknown-fields", 4000, [](const std::string& i) { return "\"u" + i + "\":1"; }, R"("nested":{"a":1},)", ' '),
      config_map("duplicate-fields", 4000, text("\"name\":\"x\",\"generateName\":\"", "\""), "", ' '),
      config_map(
          "managed-fields", 500,
          [](const std::string& i) {
            return R"({"manager":"m)" + i +
                   R"(","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z",)" +
                   R"("fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k)" + i + R"(":{}}}})";
          },
          R"("managedFields":[)", ']'),
      {"data", 4000,
       [](int n) {
         return post(kDefault + "configmaps", "ConfigMap",
                     ",\"data\":{" + each(n, [](const std::string& i) { return "\"k" + i + "\":\"v\""; }) + "}");
       }},
      {"secret-stringData", 4000,
       [](int n) {
         return post(kDefault + "secrets", "Secret",
                     ",\"stringData\":{" + each(n, [](const std::string& i) { return "\"k" + i + "\":\"v\""; }) + "}");
       }},
      {"secret-data", 4000,
       [](int n) {
         return post(kDefault + "secrets", "Secret",
                     ",\"data\":{" + each(n, [](const std::string& i) { return "\"k" + i + "\":\"dg==\""; }) + "}");
       }},
  };
}

std::vector<Shape> pod_shapes() {
  return {
      in_spec("imagePullSecrets", 2500, "imagePullSecrets", text(R"({"name":"s)", "\"}")),
      in_spec("tolerations", 2500, "tolerations", text(R"({"operator":"Exists","key":"k)", "\"}")),
      in_spec("volumes", 1500, "volumes",
              [](const std::string& i) { return R"({"name":"v)" + i + R"(","secret":{"secretName":"s)" + i + "\"}}"; }),
      in_spec("hostAliases", 2500, "hostAliases", text(R"({"ip":"10.0.0.1","hostnames":["h)", "\"]}")),
      in_spec("initContainers", 800, "initContainers",
              [](const std::string& i) { return R"({"name":"c)" + i + R"(","image":"i"})"; }),
      in_spec("schedulingGates", 2500, "schedulingGates", text(R"({"name":"g)", "\"}")),
      in_spec("readinessGates", 2500, "readinessGates", text(R"({"conditionType":"g)", "\"}")),
      in_spec("resourceClaims", 1500, "resourceClaims",
              [](const std::string& i) { return R"({"name":"r)" + i + R"(","resourceClaimName":"c)" + i + "\"}"; }),
      in_spec("topologySpreadConstraints", 1500, "topologySpreadConstraints",
              text(R"({"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule","topologyKey":"k)", "\"}")),
      in_container("env", 2500, "env", text(R"({"value":"v","name":"E)", "\"}")),
      in_container("secretKeyRefs", 2000, "env",
                   [](const std::string& i) {
                     return R"({"name":"E)" + i + R"(","valueFrom":{"secretKeyRef":{"name":"s)" + i +
                            R"(","key":"k"}}})";
                   }),
      // The rules and the table of types both call each of them wrong (growth_hunt 1795633602, shape 16: five minutes).
      in_container("nameless", 2500, "env", text(R"({"value":"v)", "\"}")),
      in_container("envFrom", 2500, "envFrom", text(R"({"configMapRef":{"name":"m)", "\"}}")),
      in_container("ports", 2500, "ports", text(R"({"containerPort":80,"name":"p)", "\"}")),
      in_container("args", 4000, "args", text("\"$(A", ")\"")),
      in_container("volumeMounts", 2000, "volumeMounts",
                   [](const std::string& i) { return R"({"name":"v)" + i + R"(","mountPath":"/m)" + i + "\"}"; }),
      {"projected", 1500,
       [](int n) {
         return pod("", R"(,"volumes":[{"name":"v","projected":{"sources":[)" +
                            each(n, text(R"({"secret":{"name":"s)", "\"}}")) + "]}}]");
       }},
      {"nodeSelector", 2500,
       [](int n) {
         return pod("",
                    ",\"nodeSelector\":{" + each(n, [](const std::string& i) { return "\"l" + i + "\":\"v\""; }) + "}");
       }},
      {"affinity", 1000,
       [](int n) {
         return pod("", R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
                            each(n, text(R"({"labelSelector":{"matchLabels":{"a":"b"}},"topologyKey":"k)", "\"}")) +
                            "]}}");
       }},
      {"resources", 2500,
       [](int n) {
         return pod(",\"resources\":{\"limits\":{" +
                        each(n, [](const std::string& i) { return "\"x.io/r" + i + "\":\"1\""; }) + "}}",
                    "");
       }},
  };
}

std::vector<Shape> other_kinds() {
  const std::string rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
  return {
      {"service-ports", 1000,
       [](int n) {
         return post(kDefault + "services", "Service", R"(,"spec":{"ports":[)" + each(n, [](const std::string& i) {
                                                         return R"({"name":"p)" + i + R"(","port":)" +
                                                                std::to_string(1 + std::atoi(i.c_str())) + "}";
                                                       }) + "]}");
       }},
      {"endpoints", 2000,
       [](int n) {
         return post(kDefault + "endpoints", "Endpoints",
                     R"(,"subsets":[{"addresses":[)" + each(n, [](const std::string& i) {
                       const int at = std::atoi(i.c_str());
                       return R"({"ip":"10.1.)" + std::to_string(at / 250) + "." + std::to_string(1 + at % 250) + "\"}";
                     }) + R"(],"ports":[{"port":80}]}])");
       }},
      {"role-rules", 2000,
       [rights](int n) {
         return post(
             rights + "roles", "Role",
             ",\"rules\":[" + each(n, text(R"({"apiGroups":[""],"verbs":["get"],"resources":["r)", "\"]}")) + "]",
             "rbac.authorization.k8s.io/v1");
       }},
      {"subjects", 2000,
       [rights](int n) {
         return post(
             rights + "rolebindings", "RoleBinding",
             R"(,"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[)" +
                 each(n, text(R"({"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u)", "\"}")) + "]",
             "rbac.authorization.k8s.io/v1");
       }},
      {"definition", 1000,
       [](int n) {
         return Sent{
             "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", "application/json",
             R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.x.io"},)"
             R"("spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"as","singular":"a","kind":"A","listKind":"AList"},)"
             R"("versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{)" +
                 each(n, [](const std::string& i) { return "\"p" + i + R"(":{"type":"string"})"; }) + "}}}}]}}"};
       }},
      {"definition-versions", 1000,
       [](int n) {
         return Sent{
             "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", "application/json",
             R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.x.io"},)"
             R"("spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"as","singular":"a","kind":"A","listKind":"AList"},)"
             R"("versions":[)" +
                 each(
                     n,
                     [](const std::string& i) {
                       return R"({"name":"v)" + i + R"(","served":true,"storage":)" + (i == "0" ? "true" : "false") +
                              R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"p":{"type":"string"}}}}})";
                     }) +
                 "]}}"};
       }},
      {"quota-scopes", 4000,
       [](int n) {
         return post(kDefault + "resourcequotas", "ResourceQuota",
                     R"(,"spec":{"hard":{"pods":"1"},"scopes":[)" + each(n, text("\"s", "\"")) + "]}");
       }},
      {"yaml", 8000,
       [](int n) {
         std::string body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n";
         for (int i = 0; i < n; ++i) body += "  k" + std::to_string(i) + ": v\n";
         return Sent{"POST", kDefault + "configmaps", "application/yaml", std::move(body)};
       }},
      {"yaml-text", 8000,
       [](int n) {
         std::string body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  k: |\n";
         for (int i = 0; i < n; ++i) body += "    line\n";
         return Sent{"POST", kDefault + "configmaps", "application/yaml", std::move(body)};
       }},
      {"yaml-flow", 8000,
       [](int n) {
         return Sent{"POST", kDefault + "configmaps", "application/yaml",
                     "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {" +
                         each(n, [](const std::string& i) { return "k" + i + ": v"; }) + "}}"};
       }},
      {"long-text", 100'000,
       [](int n) {
         return post(kDefault + "configmaps", "ConfigMap",
                     R"(,"data":{"k":")" + std::string(static_cast<std::size_t>(n), 'x') + "\"}");
       }},
  };
}

std::vector<Shape> patch_shapes() {
  const auto empty = [](int) { return post(kDefault + "configmaps", "ConfigMap", R"(,"data":{"k":"v"})"); };
  const auto full = [](int n) {
    return post(kDefault + "configmaps", "ConfigMap",
                ",\"data\":{" + each(n, [](const std::string& i) { return "\"k" + i + "\":\"v\""; }) + "}");
  };
  const Part member = [](const std::string& i) { return "\"k" + i + "\":\"w\""; };
  return {
      {"json-patch", 1000,
       [](int n) {
         return patch_of("application/json-patch+json", "[" + each(n, [](const std::string& i) {
                                                          return R"({"op":"add","path":"/data/k)" + i +
                                                                 R"(","value":"v"})";
                                                        }) + "]");
       },
       empty},
      {"merge-patch", 4000,
       [member](int n) { return patch_of("application/merge-patch+json", "{\"data\":{" + each(n, member) + "}}"); },
       full},
      {"strategic-patch", 4000,
       [member](int n) {
         return patch_of("application/strategic-merge-patch+json", "{\"data\":{" + each(n, member) + "}}");
       },
       full},
      {"apply", 4000,
       [member](int n) {
         auto sent = patch_of(
             "application/apply-patch+yaml",
             R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{)" + each(n, member) + "}}");
         sent.target += "?fieldManager=m&force=true";
         return sent;
       },
       full},
      {"update", 4000,
       [member](int n) {
         auto sent = post(kDefault + "configmaps/x", "ConfigMap", ",\"data\":{" + each(n, member) + "}");
         sent.method = "PUT";
         return sent;
       },
       full},
      {"small-patch-of-large", 4000,
       [](int) { return patch_of("application/merge-patch+json", R"({"metadata":{"labels":{"a":"b"}}})"); }, full},
      {"strategic-env", 1000,
       [](int n) {
         auto sent = patch_of("application/strategic-merge-patch+json",
                              R"({"spec":{"template":{"spec":{"containers":[{"name":"c","env":[)" +
                                  each(n, text(R"({"value":"w","name":"E)", "\"}")) + "]}]}}}}");
         sent.target = "/apis/apps/v1/namespaces/default/deployments/x";
         return sent;
       },
       [](int n) {
         return post(
             "/apis/apps/v1/namespaces/default/deployments", "Deployment",
             R"(,"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":)"
             R"({"containers":[{"name":"c","image":"i","env":[)" +
                 each(n, text(R"({"value":"v","name":"E)", "\"}")) + "]}]}}}",
             "apps/v1");
       }},
      // A map that may not change, in another order than it is kept in (growth_hunt found it).
      {"order", 4000,
       [](int n) {
         Sent sent = capacity_with(n);
         sent.method = "PATCH";
         sent.target += "/x?fieldManager=m&force=true";
         sent.type = "application/apply-patch+yaml";
         return sent;
       },
       capacity_with},
      {"selector", 500,
       [](int n) {
         return Sent{"GET", kDefault + "configmaps?labelSelector=" + each(n, text("a", "")), "", ""};
       }},
  };
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (auto* make : {metadata_shapes, pod_shapes, other_kinds, patch_shapes})
    for (auto& shape : make()) all.push_back(std::move(shape));
  return all;
}

struct Cost {
  double seconds;
  int code;
};

Cost cost_of(const Shape& shape, int parts) {
  Cluster cluster;
  if (shape.before) {
    const auto made = cluster.send(shape.before(parts));
    EXPECT_EQ(made.code, 201) << made.body.substr(0, 500);
  }
  const Sent sent = shape.request(parts);
  const double begun = processor_seconds();
  const auto answer = cluster.send(sent);
  return {processor_seconds() - begun, answer.code};
}

class Growth : public ::testing::TestWithParam<Shape> {};

TEST_P(Growth, IsNotFasterThanTheInput) {
  const Shape& shape = GetParam();
  double small = 1e9, large = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const Cost of_small = cost_of(shape, shape.parts), of_large = cost_of(shape, kGrowth * shape.parts);
    ASSERT_LT(of_small.code, 500);
    small = std::min(small, of_small.seconds);
    large = std::min(large, of_large.seconds);
    RecordProperty("small_us", static_cast<int>(small * 1e6));
    RecordProperty("large_us", static_cast<int>(large * 1e6));
    RecordProperty("code", of_large.code);
    if (large < kSecondsMin || large <= kRatioMax * small) break;
  }
  std::printf("%-28s %8.2f ms %8.2f ms  x%.1f\n", shape.name.c_str(), small * 1e3, large * 1e3, large / small);
  std::fflush(stdout);
  EXPECT_TRUE(large < kSecondsMin || large <= kRatioMax * small)
      << shape.name << ": four times the input costs " << large / small << " times the time";
}

std::string name_of(const ::testing::TestParamInfo<Shape>& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

// --- the loop --------------------------------------------------------------------------------------------------------

#ifdef __OPTIMIZE__
constexpr double kHeldMax = 0.050;
#else  // the sanitizers' builds, which are some twenty times slower
constexpr double kHeldMax = 1.0;
#endif
constexpr std::size_t kBodyBytes = 2'900'000;  // what is taken at all is 3 MiB

TEST_P(Growth, HoldsNoLoopAtThreeMegabytes) {
  const Shape& shape = GetParam();
  int parts = shape.parts;
  Sent sent = shape.request(parts);
  if (sent.body.size() >= 2000) {  // the others do not grow by their bodies
    const auto towards = [&](double size) {
      parts = static_cast<int>(size / static_cast<double>(sent.body.size()) * parts);
      sent = shape.request(parts);
    };
    towards(kBodyBytes);
    while (sent.body.size() > kBodyBytes) towards(0.99 * kBodyBytes);  // names of many digits are longer
    ASSERT_GT(sent.body.size(), kBodyBytes * 9 / 10);
  }
  Cluster cluster;
  if (shape.before) cluster.send(shape.before(std::min(parts, 4 * shape.parts)));
  Watchman watchman(cluster.loop());
  const auto answer = cluster.send(sent);
  const double held = watchman.most();
  // But for the limit of a JSON patch's operations, which is upstream's.
  EXPECT_TRUE(answer.code != 413 || answer.body.find("operations in a JSON patch") != std::string::npos)
      << "nobody has looked at it: " << answer.body.substr(0, 300);
  std::printf("%-28s %8zu bytes, %d, %8.2f ms held\n", shape.name.c_str(), sent.body.size(), answer.code, held * 1e3);
  std::fflush(stdout);
  EXPECT_LT(held, kHeldMax) << shape.name;
}

// What upstream's etcd takes, and its words for what it does not.
TEST(StoredSize, IsLimitedAsUpstreams) {
  const auto role = [](int groups) {
    return post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "Role",
                R"(,"rules":[{"resources":["a"],"verbs":["get"],"apiGroups":[)" +
                    each(groups, [](const std::string&) { return '"' + std::string(10'000, 'x') + '"'; }) + "]}]",
                "rbac.authorization.k8s.io/v1");
  };
  for (const auto& [groups, code] :
       {std::pair(140, 201), std::pair(156, 201), std::pair(160, 500), std::pair(290, 500)}) {
    Cluster cluster;
    const auto answer = cluster.send(role(groups));
    EXPECT_EQ(answer.code, code) << groups << ": " << answer.body.substr(0, 300);
    if (code == 500) {
      EXPECT_EQ(answer.body,
                R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"etcdserver: request )"
                R"(is too large","code":500})"
                "\n");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Growth, ::testing::ValuesIn(shapes()), name_of);

}  // namespace
}  // namespace sublet
