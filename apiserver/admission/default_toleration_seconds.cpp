#include "apiserver/admission/plugins.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kTaints[] = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"};
constexpr int kSeconds = 300;

bool tolerates(const schema::Value& tolerations, std::string_view taint) {
  for (auto toleration : tolerations) {
    auto key = toleration["key"].text(), effect = toleration["effect"].text();
    if ((key.empty() || key == taint) && (effect.empty() || effect == "NoExecute")) return true;
  }
  return false;
}

}  // namespace

Outcome default_toleration_seconds(const Attempt& attempt) {
  auto spec = attempt.spec();
  for (auto taint : kTaints) {
    if (tolerates(spec["tolerations"], taint)) continue;
    auto toleration = spec.array("tolerations").push_object();
    toleration.put("key", taint);
    toleration.put("operator", "Exists");
    toleration.put("effect", "NoExecute");
    toleration.put("tolerationSeconds", kSeconds);
  }
  return {};
}

}  // namespace sublet::apiserver
