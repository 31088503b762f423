#include <string_view>

#include "schema_targets.h"

using namespace sublet::schema;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ParseNotes notes;
  const auto document = parse_yaml(text, &notes);
  (void)parse_yaml_stream(text);
  if (!document) return 0;
  // What we print, we read back as the same.
  const std::string printed = to_yaml(document->root());
  const auto again = parse_yaml(printed);
  promise(again && again->root().equals(document->root()));
  return 0;
}
