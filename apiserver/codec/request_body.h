// Request bodies: JSON, YAML or protobuf to a conformed Document of the expected kind, with field validation.
//
// Pure. Errors are the API's own: 415 for the media type, 400 for what cannot be decoded or is of another kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/codec/negotiation.h"
#include "sublet/schema/document.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/table.h"

namespace sublet::apiserver {

enum class FieldValidation : unsigned char { ignore, warn, strict };
/// Value of ?fieldValidation; nullopt: not one of the three. Empty is Warn.
std::optional<FieldValidation> parse_field_validation(std::string_view text);

/// The kind that an endpoint takes.
struct ExpectedKind {
  std::string_view group, version, kind;
  schema::Type type;
  bool any_group = false;  // DeleteOptions is accepted under every group
  bool protobuf = true;    // has a protobuf form
};

struct RequestBody {
  std::string_view content_type, bytes;
};

/// Decoded object with kind and apiVersion set to the expected ones. Complaints become warnings or a bad_request.
Result<schema::Document> decode_body(const RequestBody& body, const ExpectedKind& expected, FieldValidation validation,
                                     std::vector<std::string>& warnings);
/// `notes` as warnings (warn) or a strict decoding error (strict).
Outcome judge_notes(const schema::DecodeNotes& notes, FieldValidation validation, std::vector<std::string>& warnings);

}  // namespace sublet::apiserver
