// Any text as a template: it is refused with places, or it resolves and applies, and the pod stays a sound tree.
#include "patch_input.h"
#include "sublet/patches/template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sublet;
  const auto loaded = patches::Template::load(fuzz::text_of(data, size), "t");
  if (!loaded) {
    if (!loaded.error().message.starts_with("t:")) std::abort();
    return 0;
  }
  const auto resolved = loaded->resolve({}, "rag", "team");
  if (!resolved) return 0;
  schema::Document pod =
      schema::Document::parse_json(
          R"({"metadata":{"name":"p","labels":{"a":"1"},"annotations":{"nvidia.com/gpu-fraction":"0.5"}},)"
          R"("spec":{"containers":[{"name":"x","image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}})")
          .value();
  const schema::Document tenant = pod.clone();
  const patches::PatchContext context{.virtual_cluster = "rag", .tenant_namespace = "ns", .host_namespace = "team"};
  (void)(*resolved)->apply("Pod", pod.root(), tenant.root(), context);
  (void)(*resolved)->check_update("Pod", tenant.root(), pod.root(), context);
  fuzz::check_sound(pod);
  return 0;
}
