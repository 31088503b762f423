#include <string_view>

#include "schema_targets.h"

using namespace sublet::schema;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Type type = fuzzed_type(data[0]);
  DecodeNotes notes;
  const auto document = decode_json({reinterpret_cast<const char*>(data) + 1, size - 1}, type, &notes);
  if (document) check_conformed(*document, type);
  return 0;
}
