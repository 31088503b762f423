// What becomes of each kind beside pods on its way to the host, and of what the host shows on its way to the tenant: a
// table for each, in the order of the reference's own (vCluster's syncer), whose differences docs/synced-kinds.md
// tells.
#include <gtest/gtest.h>

#include <algorithm>

#include "sublet/schema/engine.h"
#include "sublet/syncer/translate.h"
#include "syncer/translate/translate_testing.h"
#include "syncer/translate/translation.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

class Kinds : public testing::Test {
 protected:
  TranslateContext context;

  Kinds() {
    context.virtual_cluster = "rag";
    context.virtual_cluster_uid = "vc-uid";
    context.host_namespace = "team";
    context.host_service_account = "workload";
  }

  void configure(const std::string& yaml) {
    const auto loaded = patches::Template::load(yaml, "t.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    context.resolved_template = loaded->resolve({}, "rag", "team").value();
  }

  static Document object(std::string_view api_version, std::string_view kind, const std::string& body,
                         const std::string& metadata = "") {
    return yaml_document("apiVersion: " + std::string(api_version) + "\nkind: " + std::string(kind) +
                         "\nmetadata: {name: a, namespace: ns, uid: u" + metadata + "}\n" + body);
  }

  /// The part of the host object, as JSON; or why it may not cross ("field: reason", one a line).
  std::string crossed(const Document& tenant, std::string_view part, Operation operation = Operation::create) {
    const auto result = translate(context, tenant["kind"].text(), tenant.root(), operation);
    if (result) return result->host_object.root().path(part).to_json();
    std::string why;
    for (const Cause& cause : result.error().causes) why += cause.field + ": " + cause.message + "\n";
    return why;
  }
  std::vector<Reference> references(const Document& tenant) {
    const auto result = translate(context, tenant["kind"].text(), tenant.root(), Operation::create);
    return result ? result->references : std::vector<Reference>();
  }
};

const char* kHostVolumes = "volumes are the host's: name a storage class, and the host binds one\n";

TEST_F(Kinds, ClaimsAskForSizeAndClassAndForNothingOfTheHostsByName) {
  const auto claim = [](const std::string& spec) {
    return object("v1", "PersistentVolumeClaim",
                  "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}" + spec + "}\n");
  };
  const std::string usual = R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}})";
  EXPECT_EQ(crossed(claim(""), "spec"), usual + "}");
  EXPECT_EQ(crossed(claim(", storageClassName: fast, volumeMode: Block, volumeAttributesClassName: gold"), "spec"),
            usual + R"(,"storageClassName":"fast","volumeMode":"Block","volumeAttributesClassName":"gold"})")
      << "classes keep the host's names";
  EXPECT_EQ(crossed(claim(", storageClassName: ''"), "spec.storageClassName"), "\"\"") << "no class is not no wish";
  EXPECT_EQ(crossed(claim(", volumeName: pv-1"), "spec"), std::string("spec.volumeName: ") + kHostVolumes);
  EXPECT_EQ(crossed(claim(", volumeName: pv-1"), "spec", Operation::update), usual + "}") << "the host has bound it";
  EXPECT_EQ(crossed(claim(", selector: {matchLabels: {a: b}}"), "spec"), std::string("spec.selector: ") + kHostVolumes);
  EXPECT_EQ(crossed(claim(", dataSource: {kind: PersistentVolumeClaim, name: old}"), "spec.dataSource"),
            R"({"kind":"PersistentVolumeClaim","name":"old-x-ns-x-rag"})");
  EXPECT_EQ(
      crossed(claim(", dataSourceRef: {kind: PersistentVolumeClaim, name: old, namespace: ns}"), "spec.dataSourceRef"),
      R"({"kind":"PersistentVolumeClaim","name":"old-x-ns-x-rag"})");
  EXPECT_EQ(crossed(claim(", dataSourceRef: {kind: PersistentVolumeClaim, name: old, namespace: other}"),
                    "spec.dataSourceRef"),
            "spec.dataSourceRef.namespace: the source of a claim must be of its namespace\n");
  EXPECT_EQ(crossed(claim(", dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}"), "spec"),
            "spec.dataSource.kind: only another PersistentVolumeClaim of the namespace can be the source of a claim\n");
}

TEST_F(Kinds, PodsNameTheirClaimsOnTheHost) {
  const auto pod = [](const std::string& volume) {
    return object("v1", "Pod",
                  "spec: {containers: [{name: c, image: i, volumeDevices: [{name: v, devicePath: /dev/x}]}], volumes: "
                  "[{name: v, " +
                      volume + "}]}\n");
  };
  EXPECT_EQ(crossed(pod("persistentVolumeClaim: {claimName: data, readOnly: true}"), "spec.volumes"),
            R"([{"name":"v","persistentVolumeClaim":{"claimName":"data-x-ns-x-rag","readOnly":true}}])");
  EXPECT_EQ(references(pod("persistentVolumeClaim: {claimName: data}")),
            (std::vector<Reference>{{"PersistentVolumeClaim", "data", false}}));
  EXPECT_EQ(crossed(pod("ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}"), "spec.volumes"),
            R"([{"name":"v","persistentVolumeClaim":{"claimName":"a-v-x-ns-x-rag"}}])")
      << "the claim is the one that the tenant's controller makes";
  configure("sync: {toHost: {persistentVolumeClaims: {enabled: false}}}\n");
  EXPECT_EQ(crossed(pod("persistentVolumeClaim: {claimName: data}"), "spec"),
            "spec.volumes[0].persistentVolumeClaim.claimName: this virtual cluster's template does not carry "
            "PersistentVolumeClaims to the host\n");
}

TEST_F(Kinds, IngressesNameServicesAndSecretsOnTheHost) {
  const auto ingress = [](const std::string& spec) {
    return object("networking.k8s.io/v1", "Ingress", "spec: {" + spec + "}\n");
  };
  const Document full = ingress(
      "ingressClassName: nginx, defaultBackend: {service: {name: web, port: {number: 80}}}, tls: [{hosts: [a.b], "
      "secretName: cert}], rules: [{host: a.b, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: "
      "api, "
      "port: {name: http}}}}]}}]");
  EXPECT_EQ(
      crossed(full, "spec"),
      R"({"ingressClassName":"nginx","defaultBackend":{"service":{"name":"web-x-ns-x-rag","port":{"number":80}}},)"
      R"("tls":[{"hosts":["a.b"],"secretName":"cert-x-ns-x-rag"}],)"
      R"("rules":[{"host":"a.b","http":{"paths":[{"path":"/","pathType":"Prefix","backend":)"
      R"({"service":{"name":"api-x-ns-x-rag","port":{"name":"http"}}}}]}}]})");
  EXPECT_EQ(references(full), (std::vector<Reference>{{"Secret", "cert", false}}))
      << "Services all cross by themselves";
  EXPECT_EQ(crossed(ingress("tls: [{hosts: [a.b]}]"), "spec.tls"), R"([{"hosts":["a.b"]}])");
  EXPECT_EQ(crossed(ingress("defaultBackend: {resource: {kind: Bucket, name: b}}"), "spec"),
            "spec.defaultBackend.resource: only Services can be the backend of an Ingress that crosses to the host\n");
  EXPECT_EQ(crossed(object("networking.k8s.io/v1", "Ingress", "status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}\n"),
                    "status"),
            "null");
}

// The selector of what is JSON: labels that must be equal, then those that are one of several.
std::string tenant_selector(std::string labels, std::string_view namespaces) {
  return R"({"matchLabels":{)" + labels + (labels.empty() ? "" : ",") + R"("sublet.dev/virtual-cluster-uid":"vc-uid")" +
         (namespaces.empty()
              ? R"(}})"
              : R"(},"matchExpressions":[{"key":"sublet.dev/tenant-namespace","operator":"In","values":[)" +
                    std::string(namespaces) + "]}]}");
}

TEST_F(Kinds, NetworkPoliciesSelectTheTenantsOwnPods) {
  std::string asked;
  context.namespaces_selected = [&](const Value& selector) {
    asked = selector.to_json();
    return selector.path("matchLabels.none").missing() ? std::vector<std::string>{"dev", "test"}
                                                       : std::vector<std::string>();
  };
  const auto policy = [](const std::string& spec) {
    return object("networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {}, " + spec + "}\n");
  };
  const auto peer = [&](const std::string& yaml) {
    return crossed(policy("ingress: [{from: [" + yaml + "]}]"), "spec.ingress");
  };
  const auto from = [](const std::string& selector) { return R"([{"from":[{"podSelector":)" + selector + "}]}]"; };
  EXPECT_EQ(
      crossed(policy("policyTypes: [Ingress]"), "spec"),
      R"({"podSelector":{"matchLabels":{"sublet.dev/virtual-cluster-uid":"vc-uid","sublet.dev/tenant-namespace":"ns"}},)"
      R"("policyTypes":["Ingress"]})");
  EXPECT_EQ(peer("{podSelector: {}}"), from(tenant_selector("", R"("ns")")))
      << "none named: the policy's own namespace";
  EXPECT_EQ(peer("{namespaceSelector: {}}"), from(tenant_selector("", ""))) << "every namespace of the tenant";
  EXPECT_EQ(peer("{namespaceSelector: {matchLabels: {team: x}}}"), from(tenant_selector("", R"("dev","test")")));
  EXPECT_EQ(asked, R"({"matchLabels":{"team":"x"}})");
  EXPECT_EQ(peer("{namespaceSelector: {matchLabels: {none: x}}}"), from(tenant_selector("", R"("")")))
      << "no namespace: a peer that nothing matches, for without peers a rule allows all";
  EXPECT_EQ(peer("{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}"),
            R"([{"from":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]}])");
  EXPECT_EQ(
      crossed(policy("egress: [{ports: [{protocol: UDP, port: 53}], to: [{podSelector: {}}]}]"), "spec.egress"),
      R"([{"ports":[{"protocol":"UDP","port":53}],"to":[{"podSelector":)" + tenant_selector("", R"("ns")") + "}]}]");
}

TEST_F(Kinds, BudgetsCountWhatTheTenantsControllersCounted) {
  const auto budget = [](const std::string& spec, const std::string& status = "") {
    return object("policy/v1", "PodDisruptionBudget", "spec: {selector: {}, " + spec + "}\n" + status);
  };
  const std::string counted = "status: {observedGeneration: 1, desiredHealthy: 4}\n";
  EXPECT_EQ(crossed(budget("minAvailable: 2", counted), "spec.minAvailable"), "2") << "a number is a number there too";
  EXPECT_EQ(crossed(budget("minAvailable: 50%", counted), "spec.minAvailable"), "4");
  EXPECT_EQ(
      crossed(budget("maxUnavailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow", counted), "spec"),
      R"({"selector":{"matchLabels":{"sublet.dev/virtual-cluster-uid":"vc-uid","sublet.dev/tenant-namespace":"ns"}},)"
      R"("unhealthyPodEvictionPolicy":"AlwaysAllow","minAvailable":4})");
  EXPECT_EQ(crossed(budget("maxUnavailable: 1"), "spec.maxUnavailable"), "1") << "not counted yet, or nobody counts";
  EXPECT_EQ(crossed(budget("minAvailable: 1", counted), "status"), "null");
}

TEST_F(Kinds, EndpointsCrossAsAddresses) {
  EXPECT_EQ(
      crossed(object("v1", "Endpoints",
                     "subsets: [{addresses: [{ip: 10.0.0.1, nodeName: n, targetRef: {kind: Pod, name: p}}], ports: "
                     "[{port: 80}]}]\n"),
              "subsets"),
      R"([{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}]}])");
  const Document slice =
      object("discovery.k8s.io/v1", "EndpointSlice",
             "addressType: IPv4\nendpoints: [{addresses: [10.0.0.1], conditions: {ready: true}, zone: z, nodeName: n, "
             "targetRef: "
             "{kind: Pod, name: p}, hints: {forZones: [{name: z}]}}]\nports: [{name: '', port: 80}]\n",
             ", labels: {kubernetes.io/service-name: web}");
  EXPECT_EQ(crossed(slice, "endpoints"), R"([{"addresses":["10.0.0.1"],"conditions":{"ready":true}}])");
  EXPECT_EQ(crossed(slice, "ports"), R"([{"name":"","port":80}])");
  const auto translated = translate(context, "EndpointSlice", slice.root(), Operation::create);
  EXPECT_EQ(translated->host_object["metadata"]["labels"]["kubernetes.io/service-name"].text(), "web-x-ns-x-rag");
}

TEST_F(Kinds, PriorityClassesComeWithinTheBandUnderANameThatIsTheNamespacesOwn) {
  configure("sync: {toHost: {priorityClasses: {enabled: true, minValue: 10, maxValue: 100}}}\n");
  const auto priority = [](const std::string& value) {
    return yaml_document(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high, uid: u}\nvalue: " + value +
        "\nglobalDefault: true\npreemptionPolicy: Never\ndescription: d\n");
  };
  EXPECT_EQ(crossed(priority("50"), "value"), "50");
  EXPECT_EQ(crossed(priority("5"), "value"), "10");
  EXPECT_EQ(crossed(priority("1000000"), "value"), "100");
  EXPECT_EQ(crossed(priority("50"), "globalDefault"), "null");
  EXPECT_EQ(crossed(priority("50"), "preemptionPolicy"), "\"Never\"");
  EXPECT_EQ(crossed(priority("50"), "metadata.name"), "\"high-x-team-x-rag\"");
  EXPECT_EQ(crossed(priority("50"), "metadata.namespace"), "null");
  const auto pod = [](const std::string& name) {
    return object("v1", "Pod",
                  "spec: {containers: [{name: c, image: i}], priority: 7, priorityClassName: " + name + "}\n");
  };
  EXPECT_EQ(crossed(pod("high"), "spec.priorityClassName"), "\"high-x-team-x-rag\"");
  EXPECT_EQ(crossed(pod("high"), "spec.priority"), "null") << "the host's class says it";
  EXPECT_EQ(crossed(pod("system-node-critical"), "spec.priorityClassName"), "null");
  configure("sync: {fromHost: {priorityClasses: {enabled: true}}}\n");
  EXPECT_EQ(crossed(pod("high"), "spec.priorityClassName"), "\"high\"");
  EXPECT_EQ(crossed(pod("system-cluster-critical"), "spec.priorityClassName"), "null");
  configure("{}");
  EXPECT_EQ(crossed(pod("high"), "spec.priorityClassName"), "null");
}

TEST_F(Kinds, StorageClassesNameWhatTheTemplateAllows) {
  const auto storage = [](const std::string& provisioner, const std::string& more) {
    return yaml_document(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast, uid: u, annotations: "
        "{storageclass.kubernetes.io/is-default-class: 'true'}}\nprovisioner: " +
        provisioner + "\n" + more);
  };
  const auto refusal = [&](const Document& made) {
    const auto translated = translate(context, "StorageClass", made.root(), Operation::create);
    return translated || translated.error().causes.empty()
               ? std::string()
               : translated.error().causes[0].field + ": " + translated.error().causes[0].message;
  };
  configure("{sync: {toHost: {storageClasses: {enabled: true}}}}\n");
  EXPECT_EQ(
      refusal(storage("csi.x", "")),
      "provisioner: \"csi.x\" may not make volumes for this virtual cluster; the platform's template can allow it "
      "(allow.storageClasses.provisioners)");
  configure(
      "{sync: {toHost: {storageClasses: {enabled: true}}}, allow: {storageClasses: {provisioners: [csi.x], parameters: "
      "[type]}}}\n");
  const Document good = storage("csi.x",
                                "parameters: {type: gp3}\nreclaimPolicy: Retain\nvolumeBindingMode: "
                                "WaitForFirstConsumer\nallowVolumeExpansion: true\n");
  EXPECT_EQ(crossed(good, "parameters"), R"({"type":"gp3"})");
  EXPECT_EQ(crossed(good, "reclaimPolicy") + crossed(good, "volumeBindingMode") + crossed(good, "allowVolumeExpansion"),
            "\"Retain\"\"WaitForFirstConsumer\"true");
  EXPECT_EQ(crossed(good, "metadata.name"), "\"fast-x-team-x-rag\"");
  EXPECT_EQ(crossed(good, "metadata.annotations").find("is-default-class"), std::string::npos)
      << "a tenant's default is none of the host's";
  EXPECT_EQ(refusal(storage("csi.y", "")).substr(0, 12), "provisioner:");
  EXPECT_EQ(refusal(storage("csi.x", "parameters: {csi.storage.k8s.io/provisioner-secret-name: x}\n")).substr(0, 58),
            "parameters.csi.storage.k8s.io/provisioner-secret-name: par");
  EXPECT_EQ(refusal(storage("csi.x", "mountOptions: [suid]\n")).substr(0, 13), "mountOptions:");
  const Document claim = object("v1", "PersistentVolumeClaim", "spec: {storageClassName: fast}\n");
  EXPECT_EQ(crossed(claim, "spec.storageClassName"), "\"fast-x-team-x-rag\"");
  configure("{}");
  EXPECT_EQ(crossed(claim, "spec.storageClassName"), "\"fast\"");
}

std::string volume_of(const std::string& source) {
  return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: data, uid: u}\nspec: {capacity: {storage: 5Gi}, "
         "accessModes: [ReadWriteMany], claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: ns, name: "
         "a, "
         "uid: u2, resourceVersion: '7'}, " +
         source + "}\n";
}

TEST_F(Kinds, VolumesAreOfWhatTheTemplateAllowsAndForOneClaim) {
  configure(
      "{sync: {toHost: {persistentVolumes: {enabled: true}, storageClasses: {enabled: true}}}, allow: "
      "{persistentVolumes: {csiVolumes: ['disk.x/a-*'], csiAttributes: ['disk.x/part=*'], nfsPaths: "
      "['files.x:/a/*']}}}\n");
  const Document nfs = yaml_document(volume_of(
      "storageClassName: slow, nfs: {server: files.x, path: /a/b, readOnly: true}, persistentVolumeReclaimPolicy: "
      "Delete, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, "
      "operator: In, values: [z1]}]}]}}"));
  EXPECT_EQ(crossed(nfs, "metadata.name"), "\"data-x-team-x-rag\"");
  EXPECT_EQ(crossed(nfs, "spec"),
            R"({"capacity":{"storage":"5Gi"},"accessModes":["ReadWriteMany"],"claimRef":{"apiVersion":"v1",)"
            R"("kind":"PersistentVolumeClaim","namespace":"team","name":"a-x-ns-x-rag"},)"
            R"("storageClassName":"slow-x-team-x-rag","nfs":{"server":"files.x","path":"/a/b","readOnly":true},)"
            R"("persistentVolumeReclaimPolicy":"Delete","nodeAffinity":{"required":{"nodeSelectorTerms":[)"
            R"({"matchExpressions":[{"key":"topology.kubernetes.io/zone","operator":"In","values":["z1"]}]}]}}})");
  EXPECT_EQ(
      crossed(yaml_document(volume_of("csi: {driver: disk.x, volumeHandle: a-1, fsType: xfs, volumeAttributes: {part: "
                                      "'2'}}")),
              "spec.csi"),
      R"({"driver":"disk.x","volumeHandle":"a-1","fsType":"xfs","volumeAttributes":{"part":"2"}})");
}

TEST_F(Kinds, OfVolumesNothingElseOfTheHostCrosses) {
  configure(
      "{sync: {toHost: {persistentVolumes: {enabled: true}}}, allow: {persistentVolumes: {csiVolumes: ['disk.x/a-*'], "
      "csiAttributes: ['disk.x/part=*'], nfsPaths: ['files.x:/a/*', 'files.x:/*/deep']}}}\n");
  const std::pair<const char*, const char*> refused[] = {
      {"csi: {driver: disk.x, volumeHandle: b-1}",
       "spec.csi.volumeHandle: \"disk.x/b-1\" may not be a volume of this virtual cluster; the platform's template can "
       "allow it (allow.persistentVolumes.csiVolumes)"},
      {"csi: {driver: disk.y, volumeHandle: a-1}", "spec.csi.volumeHandle: \"disk.y/a-1\" may not"},
      {"csi: {driver: disk.x, volumeHandle: a-/../b}", "spec.csi.volumeHandle: \"..\" could lead out"},
      {"csi: {driver: disk.x, volumeHandle: a-1, volumeAttributes: {share: /}}",
       "spec.csi.volumeAttributes.share: \"disk.x/share=/\" may not"},
      {"csi: {driver: disk.x, volumeHandle: a-1, volumeAttributes: {part: ../b}}",
       "spec.csi.volumeAttributes.part: \"..\" could"},
      {"csi: {driver: disk.x, volumeHandle: a-1, fsType: nfs}", "spec.csi.fsType: the nodes mount ext3"},
      {"csi: {driver: disk.x, volumeHandle: a-1, nodeStageSecretRef: {name: s, namespace: kube-system}}",
       "spec.csi.nodeStageSecretRef: it would be a Secret of the host"},
      {"csi: {driver: disk.x, volumeHandle: a-1, controllerExpandSecretRef: {name: s, namespace: kube-system}}",
       "spec.csi.controllerExpandSecretRef: it would"},
      {"nfs: {server: files.y, path: /a/b}", "spec.nfs.path: \"files.y:/a/b\" may not be"},
      {"nfs: {server: files.x, path: /b}", "spec.nfs.path: \"files.x:/b\" may not"},
      {"nfs: {server: files.x, path: /a/..}", "spec.nfs.path: \"..\" could lead"},
      {"nfs: {server: 'files.x:/z', path: /deep}", "spec.nfs.path: \"files.x:/z:/deep\" may not"},
      {"nfs: {server: files.x, path: /a/b/c}",
       "spec.nfs.path: \"files.x:/a/b/c\" may not"},  // a link in b leads anywhere
      {"nfs: {server: files.x, path: /a/}", "spec.nfs.path: \"files.x:/a/\" may not"},
      {"nfs: {server: files.x, path: /a/.}", "spec.nfs.path: \"files.x:/a/.\" may not"},
      {"nfs: {server: files.x, path: //a/b}", "spec.nfs.path: \"files.x://a/b\" may not"},
      {"nfs: {server: files.x, path: /a/b}, mountOptions: [suid]", "spec.mountOptions: how the nodes mount"},
      {"nfs: {server: files.x, path: /a/b}, persistentVolumeReclaimPolicy: Recycle",
       "spec.persistentVolumeReclaimPolicy: use Retain or Delete"},
      {"nfs: {server: files.x, path: /a/b}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
       "platform.x/pool, operator: Exists}]}]}}",
       "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: "},
      {"hostPath: {path: /}", "spec.hostPath: it would be a path of the host's nodes"},
      {"local: {path: /mnt}", "spec.local: it would be a path of the host's nodes"},
      {"iscsi: {targetPortal: t, iqn: i, lun: 1}", "spec.iscsi: of a tenant's volumes those of csi and nfs cross"},
  };
  for (const auto& [source, why] : refused)
    EXPECT_EQ(crossed(yaml_document(volume_of(source)), "spec").substr(0, std::string_view(why).size()), why) << source;
}

TEST_F(Kinds, NoAnnotationOfAVolumeSpeaksForWhatBindsAndMounts) {
  configure(
      "{sync: {toHost: {persistentVolumes: {enabled: true}}}, allow: {persistentVolumes: {annotations: ['*'], "
      "nfsPaths: "
      "['files.x:/a/*']}}}\n");
  const Document volume = yaml_document(
      "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: data, uid: u, annotations: {a: b, "
      "volume.beta.kubernetes.io/mount-options: suid, pv.kubernetes.io/bound-by-controller: 'yes', "
      "volume.kubernetes.io/provisioner-deletion-secret-name: s}}\nspec: {nfs: {server: files.x, path: /a/b}}\n");
  const std::string kept = crossed(volume, "metadata.annotations");
  EXPECT_NE(kept.find(R"("a":"b")"), std::string::npos);
  EXPECT_EQ(kept.find("kubernetes.io"), std::string::npos) << kept;
}

TEST_F(Kinds, WhereVolumesCrossAClaimNamesTheTenantsOwn) {
  const auto claim = [](const std::string& spec) {
    return object("v1", "PersistentVolumeClaim",
                  "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}" + spec + "}\n");
  };
  configure("sync: {toHost: {persistentVolumes: {enabled: true}}}\n");
  EXPECT_EQ(crossed(claim(", volumeName: pv-1"), "spec.volumeName"), "\"pv-1-x-team-x-rag\"") << "and never the host's";
  EXPECT_EQ(crossed(claim(", selector: {matchLabels: {a: b}}"), "spec.selector"), "null") << "chosen in the tenant";
  const auto hash = [&](const std::string& spec) {
    return translate(context, "PersistentVolumeClaim", claim(spec).root(), Operation::update)->desired_hash;
  };
  EXPECT_EQ(hash(", volumeName: told"), hash("")) << "what the host has given is no wish";
}

TEST_F(Kinds, ServiceAccountsCrossWithoutAnyRight) {
  const Document account =
      object("v1", "ServiceAccount",
             "secrets: [{name: s}]\nimagePullSecrets: [{name: p}]\nautomountServiceAccountToken: true\n");
  EXPECT_EQ(crossed(account, "secrets") + crossed(account, "imagePullSecrets"), "nullnull");
  EXPECT_EQ(crossed(account, "automountServiceAccountToken"), "false");
  const Document pod = object("v1", "Pod", "spec: {containers: [{name: c, image: i}], serviceAccountName: builder}\n");
  EXPECT_EQ(crossed(pod, "spec.serviceAccountName"), "\"workload\"");
  configure("sync: {toHost: {serviceAccounts: {enabled: true}}}\n");
  EXPECT_EQ(crossed(pod, "spec.serviceAccountName"), "\"builder-x-ns-x-rag\"");
  EXPECT_EQ(crossed(pod, "spec.automountServiceAccountToken"), "false");
}

TEST_F(Kinds, OfTheHostsClassesNoParametersCome) {
  const auto shown = [&](std::string_view rows, const std::string& yaml) {
    return carry_back(rows, yaml_document(yaml).root(), Value(), context).to_json();
  };
  EXPECT_EQ(
      shown("HostStorageClass",
            "metadata: {name: fast, uid: u, annotations: {storageclass.kubernetes.io/is-default-class: 'true', "
            "secret: x}}\nprovisioner: csi.x\nparameters: {secret-name: x}\nreclaimPolicy: Delete\n"),
      R"({"metadata":{"name":"fast","annotations":{"storageclass.kubernetes.io/is-default-class":"true"},"labels":{}},)"
      R"("provisioner":"csi.x","reclaimPolicy":"Delete"})");
  EXPECT_EQ(shown("IngressClass", "metadata: {name: nginx}\nspec: {controller: c, parameters: {kind: K, name: n}}\n"),
            R"({"metadata":{"name":"nginx","labels":{},"annotations":{}},"spec":{"controller":"c"}})");
  EXPECT_EQ(
      shown(
          "DeviceClass",
          "metadata: {name: gpu}\nspec: {selectors: [{cel: {expression: 'true'}}], config: [{opaque: {driver: d}}]}\n"),
      R"({"metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":"true"}}]}})");
}

TEST_F(Kinds, OfNodesTheLabelsComeThatPodsChooseBy) {
  configure("sync: {fromHost: {nodes: {selector: {labels: {team: legal}}, labels: [corp.io/*]}}}\n");
  const Document node =
      carry_back("Node",
                 yaml_document("metadata: {name: n, labels: {kubernetes.io/arch: amd64, "
                               "topology.kubernetes.io/zone: z, nvidia.com/gpu.count: '8', "
                               "team: legal, corp.io/rack: r, account: x, eks.amazonaws.com/nodegroup: "
                               "g}}\nspec: {providerID: 'aws:///i-1', taints: "
                               "[{key: a, effect: NoSchedule}]}\nstatus: {images: [{names: [secret]}], "
                               "volumesInUse: [v], capacity: {cpu: '4'}, nodeInfo: "
                               "{machineID: m, systemUUID: s, bootID: b, architecture: amd64}}\n")
                     .root(),
                 Value(), context);
  EXPECT_EQ(
      node["metadata"]["labels"].to_json(),
      R"({"kubernetes.io/arch":"amd64","topology.kubernetes.io/zone":"z","nvidia.com/gpu.count":"8","team":"legal","corp.io/rack":"r"})");
  EXPECT_EQ(node["spec"].to_json(), R"({"taints":[{"key":"a","effect":"NoSchedule"}]})");
  EXPECT_EQ(
      node["status"].to_json(),
      R"({"capacity":{"cpu":"4"},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","architecture":"amd64"}})");
}

TEST_F(Kinds, DeviceClaimsAskForClassesAndForNothingOfOtherTenants) {
  configure("sync: {toHost: {resourceClaims: {enabled: true}, resourceClaimTemplates: {enabled: true}}}");
  const auto claim = [](const std::string& devices) {
    return object("resource.k8s.io/v1", "ResourceClaim", "spec: {devices: " + devices + "}\nstatus: {reservedFor: []}");
  };
  const auto devices = [&](const std::string& yaml) { return crossed(claim(yaml), "spec.devices"); };
  const std::string asked =
      "{requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, allocationMode: ExactCount, count: 2, "
      "selectors: [{cel: {expression: 'true'}}], capacity: {requests: {memory: 10Gi}}}}, {name: any, firstAvailable: "
      "[{name: a, deviceClassName: b, allocationMode: All}]}], constraints: [{requests: [gpu], matchAttribute: a/b}]}";
  EXPECT_EQ(devices(asked), yaml_document(asked).to_json());
  EXPECT_EQ(crossed(claim(asked), "metadata.name"), "\"a-x-ns-x-rag\"");
  EXPECT_EQ(devices("{requests: [{name: g, exactly: {deviceClassName: c, adminAccess: true}}]}"),
            "spec.devices.requests[0].exactly.adminAccess: it reaches devices that other tenants use\n");
  EXPECT_EQ(devices("{requests: [{name: g, exactly: {deviceClassName: c, tolerations: [{operator: Exists}]}}]}"),
            "spec.devices.requests[0].exactly.tolerations: the platform taints devices to keep tenants off them\n");
  EXPECT_EQ(devices("{config: [{opaque: {driver: d, parameters: {a: b}}}]}"),
            "spec.devices.config: the host's drivers read it, with what it names there: a DeviceClass says it\n");
  const Document made = object("resource.k8s.io/v1", "ResourceClaimTemplate",
                               "spec: {metadata: {labels: {a: b}}, spec: {devices: {requests: [{name: g, exactly: "
                               "{deviceClassName: c}}]}}}");
  EXPECT_EQ(crossed(made, "spec"),
            R"({"spec":{"devices":{"requests":[{"name":"g","exactly":{"deviceClassName":"c"}}]}}})");

  const Document pod =
      object("v1", "Pod",
             "spec: {containers: [{name: c, image: i, resources: {claims: [{name: g, request: r}]}}], "
             "resourceClaims: [{name: g, resourceClaimName: one}, {name: h, resourceClaimTemplateName: "
             "many}]}");
  EXPECT_EQ(crossed(pod, "spec.resourceClaims"),
            R"([{"name":"g","resourceClaimName":"one-x-ns-x-rag"},{"name":"h","resourceClaimTemplateName":)"
            R"("many-x-ns-x-rag"}])");
  EXPECT_EQ(crossed(pod, "spec.containers").find(R"("claims":[{"name":"g","request":"r"}])") == std::string::npos,
            false);
  configure("sync: {toHost: {resourceClaims: {enabled: true}}}");
  EXPECT_EQ(crossed(pod, "spec"),
            "spec.resourceClaims[1].resourceClaimTemplateName: this virtual cluster's template does not carry "
            "ResourceClaimTemplates to the host\n");
  configure("{}");
  EXPECT_NE(crossed(pod, "spec").find("does not carry ResourceClaims to the host"), std::string::npos);
}

TEST_F(Kinds, GangsNameWhatIsTheirs) {
  configure(
      "sync: {toHost: {podGroups: {enabled: true}, workloads: {enabled: true}, resourceClaims: {enabled: true}}}");
  const auto group = [](const std::string& spec) {
    return object("scheduling.k8s.io/v1alpha2", "PodGroup", "spec: " + spec + "\nstatus: {conditions: []}");
  };
  const std::string spec =
      "{schedulingPolicy: {gang: {minCount: 3}}, schedulingConstraints: {topology: [{key: example.com/rack}]}, "
      "podGroupTemplateRef: {workload: {workloadName: job, podGroupTemplateName: w}}, resourceClaims: [{name: c, "
      "resourceClaimName: one}], disruptionMode: PodGroup, priorityClassName: high, priority: 9}";
  EXPECT_EQ(crossed(group(spec), "spec"),
            R"({"schedulingPolicy":{"gang":{"minCount":3}},"schedulingConstraints":{"topology":[{"key":)"
            R"("example.com/rack"}]},"podGroupTemplateRef":{"workload":{"workloadName":"job-x-ns-x-rag",)"
            R"("podGroupTemplateName":"w"}},"resourceClaims":[{"name":"c","resourceClaimName":"one-x-ns-x-rag"}],)"
            R"("disruptionMode":"PodGroup"})")
      << "a class that the template does not allow is left out";
  EXPECT_EQ(crossed(group("{resourceClaims: [{name: c, resourceClaimTemplateName: many}]}"), "spec"),
            "spec.resourceClaims[0].resourceClaimTemplateName: this virtual cluster's template does not carry "
            "ResourceClaimTemplates to the host\n");
  EXPECT_EQ(crossed(object("scheduling.k8s.io/v1alpha2", "Workload",
                           "spec: {controllerRef: {apiGroup: batch, kind: Job, name: a}, podGroupTemplates: [{name: w, "
                           "schedulingPolicy: {basic: {}}, priorityClassName: high, priority: 9}]}"),
                    "spec"),
            R"({"podGroupTemplates":[{"name":"w","schedulingPolicy":{"basic":{}}}]})");
  const Document pod = object(
      "v1", "Pod", "spec: {containers: [{name: c, image: i}], schedulingGroup: {podGroupName: other-x-ns-x-vc}}");
  EXPECT_EQ(crossed(pod, "spec.schedulingGroup"),
            "{\"podGroupName\":\"" + host_name("other-x-ns-x-vc", "ns", "rag") + "\"}")
      << "whatever it is called, it is the tenant's";

  configure("sync: {toHost: {podGroups: {enabled: true}, priorityClasses: {enabled: true}}}");
  EXPECT_EQ(crossed(group("{podGroupTemplateRef: {workload: {workloadName: job, podGroupTemplateName: w}}, "
                          "priorityClassName: high}"),
                    "spec"),
            R"({"priorityClassName":"high-x-team-x-rag"})");
  EXPECT_EQ(crossed(group("{priorityClassName: system-node-critical}"), "spec"), "{}");
  configure("{}");
  EXPECT_EQ(crossed(pod, "spec.schedulingGroup"),
            "spec.schedulingGroup.podGroupName: this virtual cluster's template does not carry PodGroups to the host "
            "(sync.toHost.podGroups.enabled)\n");
}

TEST_F(Kinds, AllocatedDevicesComeBack) {
  const Document host = yaml_document(
      "{allocation: {devices: {results: [{request: gpu, driver: d, pool: p, device: gpu-0, adminAccess: true}], "
      "config: "
      "[{source: FromClass}]}, nodeSelector: {nodeSelectorTerms: []}}, reservedFor: [{resource: pods, name: "
      "p-x-ns-x-rag, "
      "uid: u}], devices: [{driver: d, pool: p, device: gpu-0, data: {a: b}, conditions: [{type: Ready, status: "
      "'True', "
      "observedGeneration: 3}]}]}");
  EXPECT_EQ(
      carry_back("ResourceClaimStatus", host.root(), Value()).to_json(),
      R"({"allocation":{"devices":{"results":[{"request":"gpu","driver":"d","pool":"p","device":"gpu-0"}]}},)"
      R"("devices":[{"driver":"d","pool":"p","device":"gpu-0","conditions":[{"type":"Ready","status":"True"}]}]})");
}

}  // namespace
}  // namespace sublet::syncer
