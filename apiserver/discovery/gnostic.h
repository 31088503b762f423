// gnostic's openapi.v2 messages, written from OpenAPI v2 JSON. The mapping of JSON members to protobuf fields is in
// one table; members that the table does not know are a programming error (asserted in tests by a round over all).
#pragma once

#include <string>
#include <string_view>

namespace sublet::apiserver::gnostic {

/// An openapi.v2 Document, added to piece by piece: begin, then paths, then definitions.
class DocumentWriter {
 public:
  void begin(std::string_view swagger, std::string_view info_json);
  void add_path(std::string_view path, std::string_view path_item_json);
  void add_definition(std::string_view name, std::string_view schema_json);
  std::string take();

 private:
  std::string head_, paths_, definitions_;
};

}  // namespace sublet::apiserver::gnostic
