#include "apiserver/admission/plugins.h"
#include "apiserver/codec/object_bytes.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kPlatformNamespace = "kube-system";

std::string prefix_of(std::string_view resource) {
  return std::string(resource).append("/").append(kPlatformNamespace) + "/";
}

}  // namespace

// In their own namespace they are found as any other.
bool has_platform_limits(const WriteContext& context, std::string_view resource) {
  return context.namespace_name != kPlatformNamespace && find_mirrored(context.options, "", resource) != nullptr &&
         context.pending.count(prefix_of(resource)) > 0;
}

void each_platform_limit(const WriteContext& context, std::string_view resource,
                         const std::function<bool(const store::ObjectPtr&, schema::Document)>& visit) {
  if (!has_platform_limits(context, resource)) return;
  const std::string& label = find_mirrored(context.options, "", resource)->label;
  context.pending.scan(prefix_of(resource), {}, [&](const store::ObjectPtr& stored) {
    auto document = stored_document(*stored);
    if (!document || !(*document)["metadata"]["labels"].has(label)) return true;
    return visit(stored, std::move(*document));
  });
}

}  // namespace sublet::apiserver
