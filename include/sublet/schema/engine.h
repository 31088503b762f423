// Engine: the type-directed passes over documents that serve every kind alike.
//
// Request bytes become a Document in upstream's shape by decode(): parse, drop or report unknown fields, check the JSON
// type of every value, canonicalise (quantities, times, base64), drop nulls, bring fields into upstream's order. Then
// defaults and validation run on it. All functions are pure; documents are changed in place.
// Errors carry upstream's words and field paths.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"
#include "sublet/schema/table.h"

namespace sublet::schema {

/// What strict field validation complains about; ignored or turned into warnings in the other modes.
struct DecodeNotes {
  std::vector<std::string> unknown_fields;    // `spec.foo`
  std::vector<std::string> duplicate_fields;  // `spec.paused`
  bool clean() const { return unknown_fields.empty() && duplicate_fields.empty(); }
  /// `strict decoding error: unknown field "spec.foo", duplicate field "spec.paused"`.
  std::string strict_message() const;
};

/// What a kind that was made at run time says of the members that are no fields of its table (TableBuilder). Held by
/// the table; any thread.
class ObjectForm {
 public:
  virtual ~ObjectForm() = default;
  /// Drops what the kind does not know, and notes it. The object's metadata has its form already.
  virtual void shape(Value object, DecodeNotes* notes) const = 0;
};

/// Members that the type does not know. `kept`: those of kinds made at run time stay (another version may know them).
enum class Strangers : unsigned char { dropped, kept };

/// Brings `value` into the form of `type` in place: unknown fields removed (and noted), JSON kinds checked, quantities,
/// times and int-or-strings canonical, nulls dropped, fields in upstream's order, map keys sorted. Empty values are
/// dropped or kept (`{}`, `[]`, `""`, 0, false) exactly as Go's struct marshalling would, so that the JSON text equals
/// kube-apiserver's. bad_request with upstream's words when a value has the wrong type.
Outcome conform(Value value, Type type, DecodeNotes* notes = nullptr, Strangers strangers = Strangers::dropped);

/// JSON body to a conformed Document. `type` is the expected kind's type.
Result<Document> decode_json(std::string_view text, Type type, DecodeNotes* notes = nullptr);
/// YAML (one document, kubectl's scalar rules, duplicate keys noted, alias and depth budget) to a Document, untyped.
Result<Document> parse_yaml(std::string_view text, ParseNotes* notes = nullptr);
/// All documents of a YAML stream that hold anything; parse_yaml refuses a second one.
Result<std::vector<Document>> parse_yaml_stream(std::string_view text, ParseNotes* notes = nullptr);
/// YAML body to a conformed Document.
Result<Document> decode_yaml(std::string_view text, Type type, DecodeNotes* notes = nullptr);
/// Block-style YAML as sigs.k8s.io/yaml writes it.
std::string to_yaml(const Value& value);

/// Constant defaults of the table (declared with +default in upstream). Hand-written ones: apiserver/strategies.
void apply_table_defaults(Value value, Type type);

/// What the table alone can say of a conformed, defaulted object: enums, required texts and pointers, unique set and
/// map items; not required lists and numbers, whose zero upstream may allow. Status is not looked at. Paths start at
/// `path`
/// ("" for the root).
void validate_structure(const Value& value, Type type, const std::string& path, std::vector<Cause>& causes);

// Protobuf, as k8s.io/apimachinery's runtime writes it (magic "k8s\0" + runtime.Unknown around the message).
inline constexpr std::string_view kProtobufMagic{"k8s\0", 4};
/// The envelope's apiVersion and kind, without decoding the object; nullopt when it is no such envelope.
struct ProtobufEnvelope {
  std::string_view api_version, kind, raw;
};
std::optional<ProtobufEnvelope> open_protobuf(std::string_view bytes);
/// Message bytes (without envelope) to a conformed Document (apiVersion and kind not set).
Result<Document> decode_protobuf(std::string_view message, Type type);
/// Message bytes of a conformed value, byte-identical to gogo-proto's.
std::string encode_protobuf(const Value& value, Type type);
/// With envelope.
std::string seal_protobuf(std::string_view api_version, std::string_view kind, std::string_view message);
/// What stands before and behind a message of that size, for one that is written in pieces.
std::string protobuf_seal_head(std::string_view api_version, std::string_view kind, std::size_t message_size);
std::string_view protobuf_seal_tail();

// Scalars with rules of their own.
/// resource.Quantity's canonical text ("1000m" -> "1"); nullopt when malformed.
std::optional<std::string> canonical_quantity(std::string_view text);
/// The value in nano units rounded up, for comparing and adding; saturates. nullopt when malformed.
std::optional<__int128> quantity_nanos(std::string_view text);
/// Canonical text of nano units in the suffix family of `like` (decimal SI when empty).
std::string quantity_from_nanos(__int128 nanos, std::string_view like = {});
std::optional<std::string> base64_decode(std::string_view text);
std::string base64_encode(std::string_view bytes);
/// Base64 for URLs and tokens (RFC 4648, section 5), without padding.
std::optional<std::string> base64url_decode(std::string_view text);
std::string base64url_encode(std::string_view bytes);

}  // namespace sublet::schema
