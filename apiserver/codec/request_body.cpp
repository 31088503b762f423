#include "apiserver/codec/request_body.h"

#include "apiserver/codec/object_bytes.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

struct ValidationFacts {
  std::string_view name;
  FieldValidation value;
};
constexpr ValidationFacts kValidations[] = {{"", FieldValidation::warn},
                                            {"Ignore", FieldValidation::ignore},
                                            {"Strict", FieldValidation::strict},
                                            {"Warn", FieldValidation::warn}};

// Kind and apiVersion of the body against the endpoint's; both may be absent.
Outcome check_kind(std::string_view body_version, std::string_view body_kind, const ExpectedKind& expected) {
  const std::string version = api_version(expected.group, expected.version);
  if (!body_version.empty() && body_version != version && !expected.any_group)
    return bad_request("the API version in the data (" + std::string(body_version) +
                       ") does not match the expected API version (" + version + ")");
  if (body_kind.empty() || body_kind == expected.kind) return {};
  if (expected.any_group)
    return bad_request("no kind \"" + std::string(body_kind) + "\" is registered for version \"" +
                       std::string(body_version) + "\"");
  return bad_request(std::string(body_kind) + " in version \"" + std::string(expected.version) +
                     "\" cannot be handled as a " + std::string(expected.kind));
}

Outcome check_kind(const Value& root, const ExpectedKind& expected) {
  if (!root.is_object()) return bad_request("the body of the request must be an object");
  return check_kind(root["apiVersion"].text(), root["kind"].text(), expected);
}

Status with_prefix(Status status, const ExpectedKind& expected) {
  if (status.is(Reason::bad_request) && !expected.any_group)  // upstream's options say nothing of their kind
    status.message = std::string(expected.kind) + " in version \"" + std::string(expected.version) +
                     "\" cannot be handled as a " + std::string(expected.kind) + ": " + status.message;
  return status;
}

Result<Document> decode_yaml(std::string_view bytes, const ExpectedKind& expected, schema::DecodeNotes& notes) {
  schema::ParseNotes parse_notes;
  auto document = schema::parse_yaml(bytes, &parse_notes);
  if (!document) return document;
  if (auto same = check_kind(document->root(), expected); !same) return fail(same.error());
  if (auto fits = schema::conform(document->root(), expected.type, &notes); !fits)
    return fail(with_prefix(fits.error(), expected));
  for (auto& field : parse_notes.duplicate_fields) notes.duplicate_fields.push_back(std::move(field));
  return document;
}

Result<Document> decode_json(std::string_view bytes, const ExpectedKind& expected, schema::DecodeNotes& notes) {
  auto document = schema::decode_json(bytes, expected.type, &notes);
  if (document) {
    if (auto same = check_kind(document->root(), expected); !same) return fail(same.error());
    return document;
  }
  // Another kind's fields may be what did not fit: then that is what to say.
  if (auto raw = Document::parse_json(bytes))
    if (auto same = check_kind(raw->root(), expected); !same) return fail(same.error());
  return fail(with_prefix(document.error(), expected));
}

Result<Document> decode_protobuf(std::string_view bytes, const ExpectedKind& expected) {
  const auto envelope = schema::open_protobuf(bytes);
  if (!envelope)
    return bad_request("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  if (auto same = check_kind(envelope->api_version, envelope->kind, expected); !same) return fail(same.error());
  return schema::decode_protobuf(envelope->raw, expected.type);
}

Result<Document> decode_media(Media media, std::string_view bytes, const ExpectedKind& expected,
                              schema::DecodeNotes& notes) {
  switch (media) {
    case Media::json:
      return decode_json(bytes, expected, notes);
    case Media::yaml:
      return decode_yaml(bytes, expected, notes);
    case Media::protobuf:
      return decode_protobuf(bytes, expected);
  }
  return fail(unsupported_media_status({}));
}

}  // namespace

std::optional<FieldValidation> parse_field_validation(std::string_view text) {
  for (const auto& facts : kValidations)
    if (facts.name == text) return facts.value;
  return std::nullopt;
}

Outcome judge_notes(const schema::DecodeNotes& notes, FieldValidation validation, std::vector<std::string>& warnings) {
  if (notes.clean() || validation == FieldValidation::ignore) return {};
  if (validation == FieldValidation::strict) return bad_request(notes.strict_message());
  for (const auto& field : notes.unknown_fields) warnings.push_back("unknown field \"" + field + "\"");
  for (const auto& field : notes.duplicate_fields) warnings.push_back("duplicate field \"" + field + "\"");
  return {};
}

Result<Document> decode_body(const RequestBody& body, const ExpectedKind& expected, FieldValidation validation,
                             std::vector<std::string>& warnings) {
  const auto media = body_media(body.content_type);
  if (!media) return fail(unsupported_media_status({}));
  if (*media == Media::protobuf && !expected.protobuf)
    return fail(unsupported_media_status("application/json, application/yaml"));
  schema::DecodeNotes notes;
  auto document = decode_media(*media, body.bytes, expected, notes);
  if (!document) return document;
  if (auto judged = judge_notes(notes, validation, warnings); !judged)
    return fail(with_prefix(judged.error(), expected));
  document->root().put("kind", expected.kind);
  document->root().put("apiVersion", api_version(expected.group, expected.version));
  return document;
}

}  // namespace sublet::apiserver
