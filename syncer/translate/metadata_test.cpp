// Metadata at the border: no key of a tenant crosses as it is, keys map injectively to valid ones, and a tenant's
// selectors find on the host exactly what they find in the tenant.
#include "syncer/translate/metadata.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <random>
#include <set>

#include "sublet/kube/selectors.h"
#include "sublet/schema/engine.h"
#include "sublet/syncer/border_facts.h"
#include "sublet/syncer/translate.h"
#include "syncer/translate/reserved_keys.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr int kKeys = 10'000;

TranslateContext metadata_context(const std::string& template_text = "") {
  TranslateContext context;
  context.virtual_cluster = "rag";
  context.virtual_cluster_uid = "vc-uid";
  context.host_namespace = "team";
  auto loaded = patches::Template::load(template_text, "test.yaml", border_facts());
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (loaded) context.resolved_template = loaded->resolve({}, "rag", "team").value();
  return context;
}

// Keys that a tenant can store: of every length, often made of the pieces that the mapping itself uses.
class Keys {
 public:
  std::string next() {
    if (one_in(3)) return limited(known());
    const std::string name = word("abcXYZ019-_.", 1 + pick(63));
    return one_in(2) ? name : prefix() + "/" + name;
  }
  bool one_in(std::uint32_t n) { return pick(n) == 0; }
  std::uint32_t pick(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random_); }

 private:
  std::string known() {
    static const std::vector<std::string> kKnown = {"app",
                                                    "x",
                                                    "app.kubernetes.io/name",
                                                    "app.kubernetes.io_name",
                                                    "a_b/c",
                                                    "a/b_c",
                                                    "a.b/c",
                                                    "a.b_c",
                                                    "sublet.dev/managed-by",
                                                    "sublet.dev/tenant-uid",
                                                    "t.sublet.dev/app",
                                                    "tp.sublet.dev/app.kubernetes.io_name",
                                                    "th.sublet.dev/x",
                                                    "kai.scheduler/queue",
                                                    "hami.io/gpu-scheduler-policy",
                                                    "kueue.x-k8s.io/queue-name",
                                                    "eks.amazonaws.com/role-arn",
                                                    "ovn.kubernetes.io/ip_address",
                                                    "cni.projectcalico.org/ipAddrs",
                                                    "io.katacontainers.config.hypervisor.kernel_params",
                                                    "vault.hashicorp.com/agent-inject",
                                                    "external-dns.alpha.kubernetes.io/hostname",
                                                    "meta.helm.sh/release-name",
                                                    "argocd.argoproj.io/instance",
                                                    "kubernetes.io/service-account.name",
                                                    "container.apparmor.security.beta.kubernetes.io/main"};
    return kKnown[pick(static_cast<std::uint32_t>(kKnown.size()))] + (one_in(2) ? "" : word("abc_.-", 1 + pick(20)));
  }
  static std::string limited(std::string key) {
    const auto slash = key.find('/');
    const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
    key = key.substr(0, name + 63);
    while (!std::isalnum(static_cast<unsigned char>(key.back()))) key.pop_back();
    return key;
  }
  std::string prefix() {
    std::string text = word("abcdxyz019-", 1 + pick(20));
    while (text.size() < 200 && one_in(2)) text += "." + word("abcdxyz019-", 1 + pick(60));
    return text;
  }
  // Begins and ends with a letter.
  std::string word(std::string_view alphabet, std::size_t size) {
    std::string text;
    while (text.size() < size)
      text += alphabet[pick(static_cast<std::uint32_t>(text.empty() || text.size() + 1 == size ? 3 : alphabet.size()))];
    return text;
  }

  std::mt19937 random_{20261122};
};

bool valid_key(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view prefix = key.substr(0, slash), name = key.substr(slash + 1);
  const auto alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto part = [&](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; };
  return prefix.size() <= 253 && !name.empty() && name.size() <= 63 && alnum(name.front()) && alnum(name.back()) &&
         std::ranges::all_of(name, part);
}

Document pod_with(const std::map<std::string, std::string>& labels, const std::string& annotation = "") {
  Document pod = schema::parse_yaml(
                     "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop, uid: u}\n"
                     "spec: {containers: [{name: c, image: i}]}\n")
                     .value();
  for (const auto& [key, value] : labels) pod["metadata"].object("labels").put(key, value);
  if (!annotation.empty()) pod["metadata"].object("annotations").put(annotation, "v");
  return pod;
}

Document host_pod(const Document& tenant, const TranslateContext& context) {
  auto out = translate(context, "Pod", tenant.root(), Operation::create);
  EXPECT_TRUE(out) << out.error().causes[0].message;
  return out ? std::move(out->host_object) : Document();
}

TEST(Metadata, TenThousandKeysMapInjectivelyToValidOnesAndNoneCrossesAsItIs) {
  Keys keys;
  const TranslateContext context = metadata_context();
  std::map<std::string, std::string> by_host_key;
  std::set<std::string> tried;
  while (tried.size() < kKeys) {
    const std::string key = keys.next();
    if (written_by_host(key) || !tried.insert(key).second) continue;
    const std::string host_key = host_label_key(key);
    ASSERT_TRUE(valid_key(host_key)) << key << " -> " << host_key;
    ASSERT_TRUE(carries_tenant_label(host_key)) << key << " -> " << host_key;
    const auto [there, fresh] = by_host_key.emplace(host_key, key);
    ASSERT_TRUE(fresh) << key << " and " << there->second << " -> " << host_key;
    const Document pod = host_pod(pod_with({{key, "v"}}, key), context);
    const Value metadata = pod["metadata"];
    ASSERT_EQ(metadata["labels"][host_key].text(), "v") << key;
    ASSERT_EQ(metadata["labels"].size(), 4u) << metadata["labels"].to_json();
    ASSERT_EQ(metadata["annotations"].size(), 3u) << metadata["annotations"].to_json();
    if (!of_sublet(key)) {
      ASSERT_FALSE(metadata["labels"].has(key) || metadata["annotations"].has(key)) << key;
    }
    ASSERT_NE(metadata["annotations"][key].text(), "v") << key;
  }
}

TEST(Metadata, ReadableWhereThereIsRoom) {
  EXPECT_EQ(host_label_key("app"), "t.sublet.dev/app");
  EXPECT_EQ(host_label_key("app.kubernetes.io/name"), "tp.sublet.dev/app.kubernetes.io_name");
  const std::string longest = std::string(40, 'p') + "/" + std::string(23, 'n');
  EXPECT_EQ(host_label_key(longest).substr(0, 38 + 15),
            "th.sublet.dev/" + std::string(23, 'n') + "." + host_label_key(longest).substr(38, 15));
}

// One of a few keys and values each, so that they meet.
class Selectors {
 public:
  std::map<std::string, std::string> labels() {
    std::map<std::string, std::string> map;
    for (const std::string& key : kFew)
      if (keys_.one_in(2)) map[key] = value();
    return map;
  }
  Document selector() {
    Document selector = Document::object();
    for (const std::string& key : kFew) {
      if (!keys_.one_in(4)) continue;
      if (keys_.one_in(2)) {
        selector.root().object("matchLabels").put(key, value());
        continue;
      }
      Value expression = selector.root().array("matchExpressions").push_object();
      expression.put("key", key);
      const std::string op = std::vector<std::string>{"In", "NotIn", "Exists", "DoesNotExist"}[keys_.pick(4)];
      expression.put("operator", op);
      if (op.ends_with("In"))
        for (std::uint32_t i = 0; i <= keys_.pick(2); ++i) expression.array("values").push(value());
    }
    return selector;
  }

 private:
  std::string value() { return std::string(1, static_cast<char>('a' + keys_.pick(2))); }
  static inline const std::vector<std::string> kFew = {"app",
                                                       "tier",
                                                       "app.kubernetes.io/name",
                                                       "kai.scheduler/queue",
                                                       "sublet.dev/managed-by",
                                                       std::string(60, 'p') + "/" + std::string(30, 'n')};
  Keys keys_;
};

bool selector_matches(const Value& selector, const Value& labels) {
  const auto parsed = kube::LabelSelector::from_object(selector);
  EXPECT_TRUE(parsed) << selector.to_json();
  return parsed && parsed->matches(labels);
}

// Whatever a template allows or forces.
TEST(Metadata, ASelectorFindsOnTheHostWhatItFindsInTheTenant) {
  const TranslateContext context = metadata_context(
      "allow: {pods: {labels: [kai.scheduler/*, tier]}}\npatches:\n- name: queue\n  target: Pod\n  effects:\n"
      "  - {set: 'metadata.labels[kai.scheduler/queue]', value: forced}\n  - {remove: 'metadata.labels[tier]'}\n");
  Selectors random;
  int found = 0;
  for (int i = 0; i < 2'000; ++i) {
    const Document selector = random.selector(), tenant = pod_with(random.labels());
    Document pod = pod_with({});
    Value constraint = pod["spec"].array("topologySpreadConstraints").push_object();
    constraint.put("labelSelector", selector.root());
    Value term = pod["spec"]
                     .object("affinity")
                     .object("podAffinity")
                     .array("requiredDuringSchedulingIgnoredDuringExecution")
                     .push_object();
    term.put("labelSelector", selector.root());
    term.put("topologyKey", "kubernetes.io/hostname");
    const Document asking = host_pod(pod, context), asked = host_pod(tenant, context);
    const bool wanted = selector_matches(selector.root(), tenant["metadata"]["labels"]);
    found += wanted ? 1 : 0;
    const Value spread = asking["spec"]["topologySpreadConstraints"].at(0)["labelSelector"];
    EXPECT_EQ(selector_matches(spread, asked["metadata"]["labels"]), wanted) << selector.to_json() << tenant.to_json();
    const Value affinity = asking["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    EXPECT_EQ(selector_matches(affinity.at(0)["labelSelector"], asked["metadata"]["labels"]), wanted)
        << selector.to_json();
    // Somebody else's pods are never found, whatever they are called.
    EXPECT_FALSE(selector_matches(spread, tenant["metadata"]["labels"]));
  }
  EXPECT_GT(found, 100);
  EXPECT_LT(found, 1'900);
}

TEST(Metadata, ATemplateLetsKeysCrossAsTheyAreButNoneOfTheHostsOrOfSublets) {
  const TranslateContext context =
      metadata_context("allow: {pods: {labels: ['kai.scheduler/*', '*'], annotations: [gpu-*, received-*, '*']}}\n");
  const Document pod = host_pod(pod_with({{"kai.scheduler/topology", "rack"},
                                          {"runai-gpu-group", "mine"},
                                          {"sublet.dev/virtual-cluster-uid", "x"},
                                          {"sublet.dev/of-a-later-version", "x"}},
                                         "gpu-fraction"),
                                context);
  const Value labels = pod["metadata"]["labels"];
  EXPECT_EQ(labels["kai.scheduler/topology"].text(), "rack");
  EXPECT_EQ(labels["tp.sublet.dev/kai.scheduler_topology"].text(), "rack");
  EXPECT_EQ(labels["sublet.dev/virtual-cluster-uid"].text(), "vc-uid");
  EXPECT_FALSE(labels.has("runai-gpu-group"));
  EXPECT_FALSE(labels.has("sublet.dev/of-a-later-version"));
  EXPECT_EQ(pod["metadata"]["annotations"]["gpu-fraction"].text(), "v");
  EXPECT_FALSE(host_pod(pod_with({}, "received-resource-type"), context)["metadata"]["annotations"].has(
      "received-resource-type"));
}

TEST(Metadata, PatchesCannotGetAroundCarriedLabels) {
  const TranslateContext context = metadata_context(
      "patches:\n- name: all\n  target: Pod\n  effects:\n  - {remove: 'metadata.labels[?true]'}\n"
      "  - {set: \"metadata.labels[${'t.sublet.' + 'dev/x'}]\", value: forged}\n");
  const Document pod = host_pod(pod_with({{"app", "web"}}), context);
  EXPECT_EQ(pod["metadata"]["labels"]["t.sublet.dev/app"].text(), "web");
  EXPECT_FALSE(pod["metadata"]["labels"].has("t.sublet.dev/x"));
}

}  // namespace
}  // namespace sublet::syncer
