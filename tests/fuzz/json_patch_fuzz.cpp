// JSON patch on any document: the tree stays sound, refused or not; a merge patch between before and after repeats it.
#include "patch_input.h"
#include "sublet/patches/patch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sublet;
  auto input = fuzz::split(fuzz::text_of(data, size));
  if (!input) return 0;
  auto& [document, patch] = *input;
  const schema::Document before = document.clone();
  const std::string patch_text = patch.to_json();
  const auto done = patches::apply_json_patch(document.root(), patch.root());
  if (!done && done.error().message.empty()) std::abort();
  if (patch.to_json() != patch_text) std::abort();
  fuzz::check_sound(document);
  schema::Document merged = before.clone();
  patches::apply_merge_patch(merged.root(), patch.root());
  fuzz::check_sound(merged);
  const schema::Document difference = patches::make_merge_patch(before.root(), document.root());
  fuzz::check_sound(difference);
  return 0;
}
