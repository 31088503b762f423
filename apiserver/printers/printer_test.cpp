#include "apiserver/printers/printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "apiserver/printers/families.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;
using std::chrono::seconds;

const WallTime kNow = *parse_time("2026-11-21T12:00:00Z");

/// The cells of an object, as the JSON text of the row.
std::string cells(std::string_view group, std::string_view resource, std::string_view json) {
  auto object = Document::parse_json(json);
  if (!object) return "malformed test object";
  Document row;
  row.root().make_array();
  printer_for(group, resource).cells(object->root(), kNow, row.root());
  return row.to_json();
}

std::string pod_status(std::string_view spec, std::string_view status, std::string_view metadata = R"("name":"p")") {
  std::string json = R"({"metadata":{)" + std::string(metadata) + R"(},"spec":)" + std::string(spec) + R"(,"status":)" +
                     std::string(status) + "}";
  auto object = Document::parse_json(json);
  if (!object) return "malformed test object";
  Document row;
  row.root().make_array();
  printer_for("", "pods").cells(object->root(), kNow, row.root());
  return row.root().at(1).string() + " " + row.root().at(2).string() + " " + row.root().at(3).string();
}

struct DurationCase {
  std::int64_t seconds;
  const char* text;
};

TEST(HumanDuration, AsKubectlShowsIt) {
  constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86400, kYear = 365 * kDay;
  const DurationCase cases[] = {
      {-2, "<invalid>"},
      {-1, "0s"},
      {0, "0s"},
      {119, "119s"},
      {120, "2m"},
      {125, "2m5s"},
      {9 * kMinute + 59, "9m59s"},
      {10 * kMinute, "10m"},
      {179 * kMinute, "179m"},
      {3 * kHour, "3h"},
      {3 * kHour + kMinute, "3h1m"},
      {8 * kHour, "8h"},
      {47 * kHour, "47h"},
      {48 * kHour, "2d"},
      {49 * kHour, "2d1h"},
      {8 * kDay, "8d"},
      {729 * kDay, "729d"},
      {2 * kYear, "2y"},
      {2 * kYear + kDay, "2y1d"},
      {8 * kYear, "8y"},
      {20 * kYear + kDay, "20y"},
  };
  for (const DurationCase& one : cases) EXPECT_EQ(human_duration(seconds(one.seconds)), one.text) << one.seconds;
}

TEST(AgeOf, CountsFromATimestamp) {
  EXPECT_EQ(age_of("2026-11-21T11:58:30Z", kNow), "90s");
  EXPECT_EQ(age_of("2026-11-21T11:58:30.250000Z", kNow), "89s");
  EXPECT_EQ(age_of("", kNow), "<unknown>");
  EXPECT_EQ(age_of("yesterday", kNow), "<unknown>");
}

TEST(Printers, EveryRowHasACellForEachColumnEvenOfAnEmptyObject) {
  using Family = std::span<const Printer> (*)();
  std::set<std::string> seen;
  for (Family family : {pod_printers, cluster_printers, config_printers, network_printers, workload_printers,
                        storage_printers, access_printers, device_printers})
    for (const Printer& printer : family()) {
      std::string name = std::string(printer.group) + "/" + std::string(printer.resource);
      EXPECT_TRUE(seen.insert(name).second) << name << " twice";
      EXPECT_EQ(&printer_for(printer.group, printer.resource), &printer) << name;
      Document object = Document::object(), row;
      row.root().make_array();
      printer.cells(object.root(), kNow, row.root());
      EXPECT_EQ(row.root().size(), printer.columns.size()) << name;
      for (Value cell : row.root()) EXPECT_FALSE(cell.is_null()) << name;
    }
}

TEST(Printers, AreOfResourcesThatExist) {
  std::set<std::string> stored{"autoscaling/scales"};  // the subresource
  for (const schema::ResourceFacts& facts : schema::Registry::builtin()->resources())
    stored.insert(std::string(facts.storage_group) + "/" + std::string(facts.resource));
  using Family = std::span<const Printer> (*)();
  for (Family family : {pod_printers, cluster_printers, config_printers, network_printers, workload_printers,
                        storage_printers, access_printers, device_printers})
    for (const Printer& printer : family())
      EXPECT_TRUE(stored.contains(std::string(printer.group) + "/" + std::string(printer.resource)))
          << printer.group << " " << printer.resource;
}

TEST(Printers, KindsWithoutOneShowNameAndTime) {
  EXPECT_EQ(cells("rbac.authorization.k8s.io", "roles",
                  R"({"metadata":{"name":"r","creationTimestamp":"2026-11-21T11:00:00Z"}})"),
            R"(["r","2026-11-21T11:00:00Z"])");
  EXPECT_EQ(printer_for("", "limitranges").columns[1].name, "Created At");
  EXPECT_EQ(printer_for("example.com", "pods").columns[1].name, "Created At");
}

TEST(PodPrinter, AWholeRow) {
  EXPECT_EQ(cells("", "pods",
                  R"({"metadata":{"name":"web","creationTimestamp":"2026-11-21T11:00:00Z"},
                  "spec":{"nodeName":"n1","containers":[{"name":"a"},{"name":"b"}],
                          "readinessGates":[{"conditionType":"x"},{"conditionType":"y"}]},
                  "status":{"phase":"Running","podIPs":[{"ip":"10.0.0.1"},{"ip":"fd::1"}],
                    "conditions":[{"type":"x","status":"True"},{"type":"y","status":"False"}],
                    "containerStatuses":[
                      {"name":"a","ready":true,"restartCount":2,"state":{"running":{}},
                       "lastState":{"terminated":{"finishedAt":"2026-11-21T11:55:00Z"}}},
                      {"name":"b","ready":false,"restartCount":1,"state":{"running":{}}}]}})"),
            R"~(["web","1/2","Running","3 (5m ago)","60m","10.0.0.1","n1","\u003cnone\u003e","1/2"])~");
}

TEST(PodPrinter, PendingAndGated) {
  EXPECT_EQ(pod_status(R"({"containers":[{}]})", R"({"phase":"Pending"})"), "0/1 Pending 0");
  EXPECT_EQ(pod_status(R"({"containers":[{}]})",
                       R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
                           "reason":"SchedulingGated"}]})"),
            "0/1 SchedulingGated 0");
  EXPECT_EQ(pod_status(R"({"containers":[{}]})", R"({"phase":"Failed","reason":"Evicted"})"), "0/1 Evicted 0");
}

TEST(PodPrinter, ContainersGiveTheReason) {
  EXPECT_EQ(pod_status(R"({"containers":[{}]})",
                       R"({"phase":"Running","containerStatuses":[
                           {"restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})"),
            "0/1 CrashLoopBackOff 4");
  EXPECT_EQ(pod_status(R"({"containers":[{}]})",
                       R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]})"),
            "0/1 ExitCode:3 0");
  EXPECT_EQ(
      pod_status(R"({"containers":[{}]})",
                 R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":137,"signal":9}}}]})"),
      "0/1 Signal:9 0");
  EXPECT_EQ(pod_status(R"({"containers":[{}]})",
                       R"({"phase":"Succeeded","containerStatuses":[
                           {"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]})"),
            "0/1 Completed 0");
}

TEST(PodPrinter, OneCompletedContainerDoesNotCompleteThePod) {
  const char* spec = R"({"containers":[{},{}]})";
  std::string containers = R"("containerStatuses":[
      {"state":{"terminated":{"exitCode":0,"reason":"Completed"}}},{"ready":true,"state":{"running":{}}}])";
  EXPECT_EQ(pod_status(spec, R"({"phase":"Running",)" + containers + "}"), "1/2 NotReady 0");
  EXPECT_EQ(
      pod_status(spec, R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}],)" + containers + "}"),
      "1/2 Running 0");
  EXPECT_EQ(pod_status(spec, R"({"phase":"Failed","containerStatuses":[
      {"state":{"terminated":{"exitCode":0,"reason":"Completed"}}},
      {"state":{"terminated":{"exitCode":1,"reason":"Error"}}}]})"),
            "0/2 Error 0");
}

TEST(PodPrinter, InitContainers) {
  const char* spec = R"({"containers":[{}],"initContainers":[{"name":"i"},{"name":"j"}]})";
  EXPECT_EQ(pod_status(spec, R"({"phase":"Pending","initContainerStatuses":[
      {"name":"i","state":{"terminated":{"exitCode":0}}},{"name":"j","state":{"running":{}}}]})"),
            "0/1 Init:1/2 0");
  EXPECT_EQ(pod_status(spec, R"({"phase":"Pending","initContainerStatuses":[
      {"name":"i","restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})"),
            "0/1 Init:CrashLoopBackOff 2");
  EXPECT_EQ(pod_status(spec, R"({"phase":"Pending","initContainerStatuses":[
      {"name":"i","state":{"waiting":{"reason":"PodInitializing"}}}]})"),
            "0/1 Init:0/2 0");
  EXPECT_EQ(pod_status(spec, R"({"phase":"Pending","initContainerStatuses":[
      {"name":"i","state":{"terminated":{"exitCode":2}}}]})"),
            "0/1 Init:ExitCode:2 0");
  EXPECT_EQ(pod_status(spec, R"({"phase":"Pending","initContainerStatuses":[
      {"name":"i","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]})"),
            "0/1 Init:Error 0");
}

TEST(PodPrinter, SidecarsCountAsContainers) {
  EXPECT_EQ(pod_status(R"({"containers":[{}],"initContainers":[{"name":"s","restartPolicy":"Always"},{"name":"i"}]})",
                       R"({"phase":"Running","initContainerStatuses":[
                           {"name":"s","started":true,"ready":true,"restartCount":1,"state":{"running":{}}},
                           {"name":"i","restartCount":5,"state":{"terminated":{"exitCode":0}}}],
                           "containerStatuses":[{"ready":true,"restartCount":2,"state":{"running":{}}}]})"),
            "2/2 Running 3");  // the init container's own restarts do not count once it is through
}

TEST(PodPrinter, EndedPodsAreMarkedCompleted) {
  auto conditions = [](std::string_view json) {
    Document pod = std::move(*Document::parse_json(json)), row;
    row.root().make_array();
    printer_for("", "pods").conditions(pod.root(), row.root());
    return row.to_json();
  };
  EXPECT_EQ(conditions(R"({"status":{"phase":"Running"}})"), "[]");
  EXPECT_EQ(conditions(R"({"status":{"phase":"Failed"}})"),
            R"([{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}])");
}

TEST(PodPrinter, Deletion) {
  const char* deleted = R"("name":"p","deletionTimestamp":"2026-11-21T11:59:00Z")";
  EXPECT_EQ(pod_status(R"({"containers":[{}]})", R"({"phase":"Running"})", deleted), "0/1 Terminating 0");
  EXPECT_EQ(pod_status(R"({"containers":[{}]})", R"({"phase":"Succeeded"})", deleted), "0/1 Succeeded 0");
  EXPECT_EQ(pod_status(R"({"containers":[{}]})", R"({"phase":"Running","reason":"NodeLost"})", deleted),
            "0/1 Unknown 0");
}

TEST(NodePrinter, StatusRolesAndAddresses) {
  EXPECT_EQ(cells("", "nodes",
                  R"({"metadata":{"name":"n","creationTimestamp":"2026-11-20T12:00:00Z","labels":{
                      "node-role.kubernetes.io/worker":"","node-role.kubernetes.io/control-plane":"",
                      "kubernetes.io/role":"gpu"}},
                  "spec":{"unschedulable":true},
                  "status":{"conditions":[{"type":"Ready","status":"True"}],
                    "addresses":[{"type":"InternalIP","address":"10.1.1.1"}],
                    "nodeInfo":{"kubeletVersion":"v1.36.3","osImage":"Debian","kernelVersion":"6.1",
                                "architecture":"amd64","containerRuntimeVersion":"containerd://2"}}})"),
            R"(["n","Ready,SchedulingDisabled","control-plane,gpu,worker","24h","v1.36.3","10.1.1.1",)"
            R"~("\u003cnone\u003e","Debian","6.1 (amd64)","containerd://2"])~");
  EXPECT_EQ(cells("", "nodes", R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})"),
            R"(["","NotReady","\u003cnone\u003e","\u003cunknown\u003e","","\u003cnone\u003e","\u003cnone\u003e",)"
            R"("\u003cunknown\u003e","\u003cunknown\u003e","\u003cunknown\u003e"])");
}

TEST(EventPrinter, OldAndNewTimes) {
  EXPECT_EQ(cells("", "events",
                  R"({"metadata":{"name":"e"},"type":"Normal","reason":"Pulled","message":" ok \n","count":3,
                  "involvedObject":{"kind":"Pod","name":"p","fieldPath":"spec.containers{c}"},
                  "source":{"component":"kubelet","host":"n"},
                  "firstTimestamp":"2026-11-21T11:50:00Z","lastTimestamp":"2026-11-21T11:59:00Z"})"),
            R"(["60s","Normal","Pulled","pod/p","spec.containers{c}","kubelet, n","ok","10m",3,"e"])");
  EXPECT_EQ(cells("", "events",
                  R"({"metadata":{"name":"e"},"type":"Warning","reason":"R","message":"m","eventTime":
                  "2026-11-21T11:58:00.000000Z","firstTimestamp":null,"lastTimestamp":null,
                  "involvedObject":{"kind":"Node"},"reportingComponent":"c"})"),
            R"(["2m","Warning","R","node","","c","m","2m",1,"e"])");
  EXPECT_EQ(cells("", "events",
                  R"({"metadata":{"name":"e"},"eventTime":"2026-11-21T11:58:00.000000Z","involvedObject":{},
                  "series":{"count":7,"lastObservedTime":"2026-11-21T11:59:30.000000Z"}})"),
            R"(["30s","","","","","","","2m",7,"e"])");
}

TEST(ServicePrinter, Addresses) {
  EXPECT_EQ(cells("", "services",
                  R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","clusterIPs":["10.0.0.9"],
                  "ports":[{"port":80,"protocol":"TCP","nodePort":30080},{"port":53,"protocol":"UDP"}],
                  "selector":{"b":"2","a":"1"}}})"),
            R"(["s","NodePort","10.0.0.9","\u003cnone\u003e","80:30080/TCP,53/UDP","\u003cunknown\u003e","a=1,b=2"])");
  auto external = [](std::string_view spec, std::string_view status) {
    std::string json = R"({"spec":)" + std::string(spec) + R"(,"status":)" + std::string(status) + "}";
    return Document::parse_json(cells("", "services", json))->root().at(3).string();
  };
  EXPECT_EQ(external(R"({"type":"LoadBalancer"})", "{}"), "<pending>");
  EXPECT_EQ(external(R"({"type":"LoadBalancer","externalIPs":["9.9.9.9"]})",
                     R"({"loadBalancer":{"ingress":[{"ip":"5.5.5.5"},{"hostname":"a.example"}]}})"),
            "5.5.5.5,a.example,9.9.9.9");
  EXPECT_EQ(external(R"({"type":"ExternalName","externalName":"x.example"})", "{}"), "x.example");
  EXPECT_EQ(external("{}", "{}"), "<unknown>");
}

TEST(EndpointsPrinter, ClipsAfterThree) {
  EXPECT_EQ(cells("", "endpoints",
                  R"({"metadata":{"name":"k"},"subsets":[{"ports":[{"port":443},{"port":80}],
                  "addresses":[{"ip":"1.1.1.1"},{"ip":"fd::2"}]}]})"),
            R"(["k","1.1.1.1:443,[fd::2]:443,1.1.1.1:80 + 1 more...","\u003cunknown\u003e"])");
  EXPECT_EQ(cells("", "endpoints", R"({"metadata":{"name":"k"}})"),
            R"(["k","\u003cnone\u003e","\u003cunknown\u003e"])");
  EXPECT_EQ(cells("discovery.k8s.io", "endpointslices",
                  R"({"metadata":{"name":"k"},"addressType":"IPv4","ports":[{"port":443},{"name":"x"},{}],
                  "endpoints":[]})"),
            R"(["k","IPv4","443,x,*","\u003cunset\u003e","\u003cunknown\u003e"])");
}

TEST(WorkloadPrinters, DeploymentsAndSelectors) {
  EXPECT_EQ(cells("apps", "deployments",
                  R"({"metadata":{"name":"d"},"spec":{"replicas":3,"selector":{"matchLabels":{"b":"1"},
                  "matchExpressions":[{"key":"a","operator":"In","values":["y","x"]},{"key":"c","operator":"Exists"},
                                      {"key":"d","operator":"DoesNotExist"},
                                      {"key":"e","operator":"NotIn","values":["z"]}]},
                  "template":{"spec":{"containers":[{"name":"m","image":"i:1"},{"name":"n","image":"j"}]}}},
                  "status":{"readyReplicas":2,"updatedReplicas":1,"availableReplicas":2}})"),
            R"~(["d","2/3",1,2,"\u003cunknown\u003e","m,n","i:1,j","a in (x,y),b=1,c,!d,e notin (z)"])~");
}

TEST(WorkloadPrinters, Jobs) {
  auto job = [](std::string_view spec, std::string_view status) {
    std::string json =
        R"({"metadata":{"name":"j"},"spec":)" + std::string(spec) + R"(,"status":)" + std::string(status) + "}";
    Document row = std::move(*Document::parse_json(cells("batch", "jobs", json)));
    return row.root().at(1).string() + " " + row.root().at(2).string() + " " + row.root().at(3).string();
  };
  EXPECT_EQ(job(R"({"completions":5})", R"({"succeeded":2,"startTime":"2026-11-21T11:59:00Z"})"), "Running 2/5 60s");
  EXPECT_EQ(job(R"({"parallelism":3})", "{}"), "Running 0/1 of 3 ");
  EXPECT_EQ(job("{}", R"({"succeeded":1,"startTime":"2026-11-21T11:00:00Z","completionTime":"2026-11-21T11:00:09Z",
                         "conditions":[{"type":"SuccessCriteriaMet","status":"True"},
                                       {"type":"Complete","status":"True"}]})"),
            "Complete 1/1 9s");
  EXPECT_EQ(job("{}", R"({"conditions":[{"type":"Failed","status":"False"},{"type":"Suspended","status":"True"}]})"),
            "Suspended 0/1 ");
}

TEST(WorkloadPrinters, AutoscalerTargets) {
  EXPECT_EQ(cells("autoscaling", "horizontalpodautoscalers",
                  R"({"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},
                  "minReplicas":2,"maxReplicas":9,"metrics":[
                    {"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":80}}},
                    {"type":"Pods","pods":{"target":{"averageValue":"10"}}},
                    {"type":"External","external":{"target":{"averageValue":"4"}}}]},
                  "status":{"currentReplicas":3,"currentMetrics":[
                    {"type":"Resource","resource":{"current":{"averageUtilization":55}}}]}})"),
            R"(["h","Deployment/d","cpu: 55%/80%, \u003cunknown\u003e/10 + 1 more...","2",9,3,"\u003cunknown\u003e"])");
}

TEST(ConfigPrinters, CountsAndQuotas) {
  EXPECT_EQ(cells("", "configmaps", R"({"metadata":{"name":"c"},"data":{"a":"","b":""},"binaryData":{"c":""}})"),
            R"(["c",3,"\u003cunknown\u003e"])");
  EXPECT_EQ(cells("", "resourcequotas",
                  R"({"metadata":{"name":"q"},"status":{"hard":{"pods":"4","limits.cpu":"2","cpu":"1"},
                  "used":{"pods":"1"}}})"),
            R"(["q","cpu: 0/1, pods: 1/4","limits.cpu: 0/2","\u003cunknown\u003e"])");
}

TEST(StoragePrinters, ClaimsAndClasses) {
  EXPECT_EQ(
      cells("", "persistentvolumeclaims",
            R"({"metadata":{"name":"c"},"spec":{"volumeName":"v","storageClassName":"fast"},
                  "status":{"phase":"Bound","accessModes":["ReadWriteMany","ReadWriteOnce"],
                  "capacity":{"storage":"1Gi"}}})"),
      R"(["c","Bound","v","1Gi","RWO,RWX","fast","\u003cunset\u003e","\u003cunknown\u003e","\u003cunset\u003e"])");
  EXPECT_EQ(cells("storage.k8s.io", "storageclasses",
                  R"({"metadata":{"name":"s","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},
                  "provisioner":"p"})"),
            R"~(["s (default)","p","Delete","Immediate",false,"\u003cunknown\u003e"])~");
}

TEST(AccessPrinters, BindingsAndRequests) {
  EXPECT_EQ(cells("rbac.authorization.k8s.io", "rolebindings",
                  R"({"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"r"},"subjects":[
                  {"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s","namespace":"n"},
                  {"kind":"User","name":"v"}]})"),
            R"(["b","Role/r","\u003cunknown\u003e","u, v","","n/s"])");
  EXPECT_EQ(cells("certificates.k8s.io", "certificatesigningrequests",
                  R"({"metadata":{"name":"c"},"spec":{"signerName":"s","username":"u","expirationSeconds":3600},
                  "status":{"conditions":[{"type":"Approved"}],"certificate":"eA=="}})"),
            R"(["c","\u003cunknown\u003e","s","u","60m","Approved,Issued"])");
}

}  // namespace
}  // namespace sublet::apiserver
