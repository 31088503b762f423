#include <string_view>

#include "schema_targets.h"

using namespace sublet::schema;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Type type = fuzzed_type(data[0]);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto document = decode_protobuf(bytes, type);
  if (document) {
    check_conformed(*document, type);
    const auto again = decode_protobuf(encode_protobuf(document->root(), type), type);
    promise(again && again->to_json() == document->to_json());
  }
  (void)open_protobuf(bytes);
  return 0;
}
