// Label and field selectors as they stand in a URL: whatever the text, parsing ends, and what was understood obeys the
// algebra of selectors.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sublet/kube/selectors.h"

namespace {

using namespace sublet::kube;

void check_labels(std::string_view text) {
  const auto selector = LabelSelector::parse(text);
  if (!selector) return;
  for (const SelectorRequirement& requirement : selector->requirements()) {
    if (!check_label_key(requirement.key).empty()) std::abort();
    for (const std::string& value : requirement.values) {
      if (!check_label_value(value).empty()) std::abort();
      SelectorRequirement opposite = requirement;
      if (requirement.op == SelectorOperator::in) opposite.op = SelectorOperator::not_in;
      if (requirement.op == SelectorOperator::in && requirement.matches(value) == opposite.matches(value)) std::abort();
    }
  }
  // Two selectors joined match only what each matches.
  const auto twice = LabelSelector::parse(std::string(text) + "," + std::string(text));
  if (!selector->everything() && (!twice || twice->requirements().size() != 2 * selector->requirements().size()))
    std::abort();
}

void check_fields(std::string_view text) {
  const auto selector = FieldSelector::parse(text);
  if (!selector) return;
  for (const FieldTerm& term : selector->terms())
    if (term.path.find('=') != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_labels(text);
  check_fields(text);
  return 0;
}
