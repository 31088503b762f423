// Strategic merge of anything into a pod or a deployment: the tree stays sound, the patch is not changed.
#include "patch_input.h"
#include "sublet/patches/patch.h"
#include "sublet/schema/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sublet;
  auto input = fuzz::split(fuzz::text_of(data, size));
  if (!input) return 0;
  auto& [document, patch] = *input;
  const schema::Registry& table = *schema::Registry::builtin();
  const std::string patch_text = patch.to_json();
  for (const schema::Type type :
       {table.find_kind("", "v1", "Pod"), table.find_kind("apps", "v1", "Deployment"), schema::Type()}) {
    schema::Document target = document.clone();
    const auto done = patches::apply_strategic_merge(target.root(), patch.root(), type);
    if (!done && done.error().message.empty()) std::abort();
    if (patch.to_json() != patch_text) std::abort();
    fuzz::check_sound(target);
  }
  return 0;
}
