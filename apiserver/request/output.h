// Output: the form of one answer, as negotiated from Accept and the query (codec/negotiation.h). A value.
#pragma once

namespace sublet::apiserver {

enum class Media : unsigned char { json, yaml, protobuf };
enum class Form : unsigned char { object, table, partial, partial_list };
/// What a Table row carries beside its cells (?includeObject=).
enum class RowObject : unsigned char { metadata, object, none };

struct Output {
  Media media = Media::json;
  Form form = Form::object;
  bool meta_v1beta1 = false;  // version of the meta form
  bool pretty = false;
  RowObject row_object = RowObject::metadata;
  bool operator==(const Output&) const = default;
};

}  // namespace sublet::apiserver
