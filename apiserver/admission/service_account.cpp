#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr std::string_view kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kVolumePrefix = "kube-api-access-";
constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
// A little longer than an hour: so clients that watch the expiry can tell this token from one that was asked for.
constexpr int kTokenSeconds = 3607;
constexpr int kTokenFileMode = 0644;

bool mounts_token(const Value& pod, const Value& account) {
  if (auto wish = pod["spec"]["automountServiceAccountToken"]) return wish.boolean();
  return account["automountServiceAccountToken"].boolean(true);
}

void add_token_volume(Value spec, const std::string& name) {
  auto volume = spec.array("volumes").push_object();
  volume.put("name", name);
  auto sources = volume.object("projected").array("sources");
  auto token = sources.push_object().object("serviceAccountToken");
  token.put("expirationSeconds", kTokenSeconds);
  token.put("path", "token");
  auto ca = sources.push_object().object("configMap");
  ca.put("name", "kube-root-ca.crt");
  auto item = ca.array("items").push_object();
  item.put("key", "ca.crt");
  item.put("path", "ca.crt");
  auto file = sources.push_object().object("downwardAPI").array("items").push_object();
  file.put("path", "namespace");
  auto ref = file.object("fieldRef");
  ref.put("apiVersion", "v1");
  ref.put("fieldPath", "metadata.namespace");
  volume["projected"].put("defaultMode", kTokenFileMode);
}

bool is_mounted(const Value& container) {
  for (auto mount : container["volumeMounts"])
    if (mount["mountPath"].text() == kMountPath) return true;
  return false;
}

void mount_token(WriteContext& context, Value spec) {
  std::string name;
  for (auto volume : spec["volumes"])
    if (name.empty() && volume["name"].text().starts_with(kVolumePrefix)) name = volume["name"].string();
  bool has_volume = !name.empty(), used = false;
  if (!has_volume) name = std::string(kVolumePrefix) + name_suffix(context.random, 5);
  for (auto list : {"initContainers", "containers"}) {
    for (auto container : spec[list]) {
      if (is_mounted(container)) continue;
      auto mount = container.array("volumeMounts").push_object();
      mount.put("name", name);
      mount.put("readOnly", true);
      mount.put("mountPath", kMountPath);
      used = true;
    }
  }
  if (used && !has_volume) add_token_volume(spec, name);
}

void copy_pull_secrets(Value spec, const Value& account) {
  if (!spec["imagePullSecrets"].empty() || account["imagePullSecrets"].empty()) return;
  auto secrets = spec.array("imagePullSecrets");
  for (auto secret : account["imagePullSecrets"]) secrets.push_object().put("name", secret["name"].text());
}

Outcome check_mirror_pod(const Attempt& attempt) {
  auto spec = attempt.object["spec"];
  if (!spec["serviceAccountName"].text().empty())
    return attempt.forbid("a mirror pod may not reference service accounts");
  for (auto volume : spec["volumes"]) {
    if (volume.has("secret")) return attempt.forbid("a mirror pod may not reference secrets");
    for (auto source : volume["projected"]["sources"])
      if (source.has("serviceAccountToken"))
        return attempt.forbid("a mirror pod may not use ServiceAccountToken volume projections");
  }
  return {};
}

}  // namespace

Outcome service_account(const Attempt& attempt) {
  auto& context = attempt.context;
  auto spec = attempt.spec();
  if (attempt.object["metadata"]["annotations"].has(kMirrorAnnotation)) return check_mirror_pod(attempt);
  auto name = spec["serviceAccountName"].string();
  if (name.empty()) name = "default";
  spec.put("serviceAccountName", name);
  spec.put("serviceAccount", name);
  auto account = context.read("serviceaccounts", context.namespace_name, name);
  // Every namespace gets its `default` account within moments of its creation. kube-apiserver waits for it; a verb here
  // cannot wait, so a pod that comes first is taken as if the account were there already with nothing set.
  if (!account && name != "default")
    return attempt.forbid("error looking up service account " + std::string(context.namespace_name) + "/" + name +
                          ": serviceaccount \"" + name + "\" not found");
  auto facts = account ? account->root() : Value();
  if (mounts_token(attempt.object, facts)) mount_token(context, spec);
  copy_pull_secrets(spec, facts);
  return {};
}

}  // namespace sublet::apiserver
