// DefaultStorageClass and DefaultIngressClass: an object without a class gets the default class; of several the newest.
#include <optional>

#include "apiserver/admission/plugins.h"
#include "apiserver/codec/object_bytes.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

template <class... Marks>
std::string default_class_name(const WriteContext& context, std::string_view resource, Marks... marks) {
  std::string name, made;
  context.pending.scan(std::string(resource) + "/", {}, [&](const store::ObjectPtr& stored) {
    const auto document = stored_document(*stored);
    if (!document) return true;
    const Value metadata = (*document)["metadata"], annotations = metadata["annotations"];
    if (!((annotations[marks].text() == "true") || ...)) return true;
    // Times of one form compare as texts, and keys come in the order of names: of one age the first counts.
    if (const auto time = metadata["creationTimestamp"].text(); name.empty() || time > made) {
      name = metadata["name"].string();
      made = time;
    }
    return true;
  });
  return name;
}

}  // namespace

Outcome default_storage_class(const Attempt& attempt) {
  // An empty name is an answer too: no class.
  if (attempt.object["spec"].has("storageClassName") ||
      attempt.object["metadata"]["annotations"].has("volume.beta.kubernetes.io/storage-class"))
    return {};
  const auto name = default_class_name(attempt.context, "storageclasses.storage.k8s.io",
                                       "storageclass.kubernetes.io/is-default-class",
                                       "storageclass.beta.kubernetes.io/is-default-class");
  if (!name.empty()) attempt.spec().put("storageClassName", name);
  return {};
}

Outcome default_ingress_class(const Attempt& attempt) {
  if (attempt.object["spec"].has("ingressClassName") ||
      attempt.object["metadata"]["annotations"].has("kubernetes.io/ingress.class"))
    return {};
  const auto name = default_class_name(attempt.context, "ingressclasses.networking.k8s.io",
                                       "ingressclass.kubernetes.io/is-default-class");
  if (!name.empty()) attempt.spec().put("ingressClassName", name);
  return {};
}

}  // namespace sublet::apiserver
