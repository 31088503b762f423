#include "apiserver/codec/object_writer.h"

#include "apiserver/codec/object_bytes.h"
#include "apiserver/codec/table_form.h"
#include "apiserver/conversion/conversion.h"
#include "sublet/base/status_json.h"
#include "sublet/base/varint.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/registry.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Type;
using schema::Value;

constexpr std::string_view kListMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
constexpr std::string_view kPartial = "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata";
constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

/// `whole`: an empty token is said, too, as upstream does for custom resources.
std::string list_meta_json(const ListMeta& meta, bool whole = false) {
  std::string out = "{\"resourceVersion\":\"" + std::to_string(meta.revision) + "\"";
  if (whole || !meta.continue_token.empty()) {
    out += ",\"continue\":";
    schema::append_json_string(out, meta.continue_token);
  }
  if (meta.remaining) out += ",\"remainingItemCount\":" + std::to_string(*meta.remaining);
  return out + "}";
}

std::string partial_json(std::string_view version, std::string_view metadata) {
  std::string out = "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/";
  out.append(version).append("\",\"metadata\":").append(metadata).append("}");
  return out;
}

// WatchEvent {1: type, 2: RawExtension {1: raw}} behind its big-endian length.
std::string protobuf_frame(std::string_view type, std::string_view sealed) {
  std::string raw, event, frame;
  append_protobuf_bytes(raw, 1, sealed);
  append_protobuf_bytes(event, 1, type);
  append_protobuf_bytes(event, 2, raw);
  const auto size = static_cast<std::uint32_t>(event.size());
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(size >> shift);
  return frame + event;
}

std::string json_frame(std::string_view type, std::string_view object) {
  std::string frame;
  frame.reserve(object.size() + 40);
  frame.append("{\"type\":\"").append(type).append("\",\"object\":").append(object).append("}\n");
  return frame;
}

// A JSON text of any known kind as sealed protobuf; nullopt when its kind has no protobuf form.
std::optional<std::string> json_to_protobuf(std::string_view json, const schema::Registry& kinds) {
  auto document = Document::parse_json(json);
  if (!document) return std::nullopt;
  const Value root = document->root();
  // The core group's APIResourceList has no apiVersion in its JSON.
  const std::string version = root["apiVersion"].string("v1"), kind = root["kind"].string();
  const auto slash = version.find('/');
  const auto group = slash == std::string::npos ? std::string() : version.substr(0, slash);
  const Type type = kinds.find_kind(group, slash == std::string::npos ? version : version.substr(slash + 1), kind);
  if (!type) return std::nullopt;
  return schema::seal_protobuf(version, kind, schema::encode_protobuf(root, type));
}

}  // namespace

std::string render_json(std::string json, const Output& output, const schema::Registry& kinds) {
  if (output.media == Media::json && !output.pretty) return std::move(json) + "\n";
  if (output.media == Media::protobuf) {
    if (auto sealed = json_to_protobuf(json, kinds)) return std::move(*sealed);
    return json + "\n";
  }
  auto document = Document::parse_json(json);
  if (!document) return json;
  return output.media == Media::yaml ? schema::to_yaml(document->root()) : document->root().to_pretty_json() + "\n";
}

std::string_view rendered_type(std::string_view body, const Output& output) {
  if (output.media == Media::protobuf && !body.starts_with(schema::kProtobufMagic)) return kJsonType;
  return content_type_of(output.media);
}

std::string_view ObjectWriter::stream_content_type() const {
  return output_.media == Media::protobuf ? "application/vnd.kubernetes.protobuf;stream=watch" : kJsonType;
}

Result<std::string> ObjectWriter::object_json(const store::Object& object) const {
  if (!conversion_of(route_)) {
    std::string text;
    text.reserve(route_.type_prefix.size() + object.bytes.size() + 24);
    append_typed_json(text, route_.type_prefix, object);
    return text;
  }
  auto document = served_document(object, route_);
  if (!document) return fail(document.error());
  return document->to_json();
}

// Who converts may have changed labels and annotations.
Result<std::string> ObjectWriter::metadata_of(const store::Object& object) const {
  if (!webhook_conversion_of(route_)) return metadata_json(object);
  auto document = served_document(object, route_);
  if (!document) return fail(document.error());
  return (*document)["metadata"].to_json();
}

Result<std::string> ObjectWriter::partial_of(const store::Object& object) const {
  auto metadata = metadata_of(object);
  if (!metadata) return metadata;
  return partial_json(meta_version(), *metadata);
}

Result<std::string> ObjectWriter::json_of(const store::Object& object, bool with_columns, WallTime now) const {
  switch (output_.form) {
    case Form::object:
      return object_json(object);
    case Form::partial:
    case Form::partial_list:
      return partial_of(object);
    case Form::table:
      break;
  }
  std::string out = table_head(meta_version(), "{\"resourceVersion\":\"" + std::to_string(object.revision) + "\"}");
  if (with_columns) append_table_columns(out, printer_of(route_));
  out += with_columns ? "\"rows\":[" : "\"columnDefinitions\":null,\"rows\":[";
  if (auto written = append_row(out, object, true, now); !written) return fail(written.error());
  return out + "]}";
}

std::string ObjectWriter::row_object(const store::Object& object) const {
  if (output_.row_object == RowObject::none) return "null";
  if (output_.row_object == RowObject::object) return object_json(object).value_or("null");
  return partial_of(object).value_or("null");
}

Outcome ObjectWriter::append_row(std::string& out, const store::Object& object, bool first, WallTime now) const {
  const Printer& printer = printer_of(route_);
  // Built-in kinds' printers know the stored shape; a custom kind's columns are of the version that is asked for.
  const auto document = route_.served->custom ? served_document(object, route_) : stored_document(object);
  if (!document) return fail(document.error());
  if (!first) out += ',';
  append_table_row(out, printer, document->root(), row_object(object), now);
  return {};
}

Result<std::string> ObjectWriter::protobuf_of(const store::Object& object) const {
  auto document = served_document(object, route_);
  if (!document) return fail(document.error());
  if (output_.form == Form::object)
    return schema::seal_protobuf(api_version(route_.served->group, route_.served->version), route_.served->kind,
                                 schema::encode_protobuf(document->root(), route_.type()));
  Document partial = Document::object();
  partial.root().put("metadata", (*document)["metadata"]);
  return schema::seal_protobuf("meta.k8s.io/" + std::string(meta_version()), "PartialObjectMetadata",
                               schema::encode_protobuf(partial.root(), route_.kinds->find_type(kPartial)));
}

Result<std::string> ObjectWriter::object(const store::Object& object, WallTime now) const {
  if (output_.form == Form::partial_list)
    return fail(Reason::not_acceptable,
                "you requested PartialObjectMetadataList, but the requested object is not a list");
  if (output_.media == Media::protobuf) return protobuf_of(object);
  auto json = json_of(object, true, now);
  if (!json) return json;
  return render_json(std::move(*json), output_, *route_.kinds);
}

Outcome ObjectWriter::check_list() const {
  if (output_.form != Form::partial) return {};
  return fail(Reason::not_acceptable, "you requested PartialObjectMetadata, but the requested object is a list");
}

std::string ObjectWriter::list_head(const ListMeta& meta, std::size_t items_bytes) const {
  const bool partial = output_.form == Form::partial_list;
  if (output_.media == Media::protobuf) return protobuf_list_head(meta, items_bytes);
  std::string out;
  if (output_.form == Form::table) {
    out = table_head(meta_version(), list_meta_json(meta));
    append_table_columns(out, printer_of(route_));
    return out += "\"rows\":[";
  }
  out = partial ? type_meta_prefix("meta.k8s.io", meta_version(), "PartialObjectMetadataList")
                : type_meta_prefix(route_.served->group, route_.served->version, route_.served->list_kind);
  return out += "\"metadata\":" + list_meta_json(meta, route_.served->custom && !partial) + ",\"items\":[";
}

// Every list message is {1: ListMeta, 2: repeated item}.
std::string ObjectWriter::protobuf_list_head(const ListMeta& meta, std::size_t items_bytes) const {
  const auto document = Document::parse_json(list_meta_json(meta));
  std::string first;
  append_protobuf_bytes(first, 1, schema::encode_protobuf(document->root(), route_.kinds->find_type(kListMeta)));
  const auto size = first.size() + items_bytes;
  if (output_.form == Form::partial_list)
    return schema::protobuf_seal_head("meta.k8s.io/" + std::string(meta_version()), "PartialObjectMetadataList", size) +
           first;
  return schema::protobuf_seal_head(api_version(route_.served->group, route_.served->version), route_.served->list_kind,
                                    size) +
         first;
}

Outcome ObjectWriter::append_item(std::string& out, const store::Object& object, bool first, WallTime now) const {
  if (output_.media == Media::protobuf) {
    const auto message = item_message(object);
    if (!message) return fail(message.error());
    out += *message;
    return {};
  }
  if (output_.form == Form::table) return append_row(out, object, first, now);
  if (!first) out += ',';
  if (output_.form == Form::partial_list) {
    auto partial = partial_of(object);
    if (!partial) return fail(partial.error());
    out += *partial;
  } else if (route_.served->custom) {  // whose items say what they are, as upstream's do
    auto json = object_json(object);
    if (!json) return fail(json.error());
    out += *json;
  } else if (!conversion_of(route_)) {
    object.append_json(out);
  } else {
    auto document = served_document(object, route_);
    if (!document) return fail(document.error());
    document->root().erase("kind");
    document->root().erase("apiVersion");
    document->root().append_json(out);
  }
  return {};
}

std::string_view ObjectWriter::list_tail() const {
  if (output_.media == Media::protobuf) return schema::protobuf_seal_tail();
  return is_rendered_whole() ? "]}" : "]}\n";
}

Result<std::string> ObjectWriter::item_message(const store::Object& object) const {
  auto document = served_document(object, route_);
  if (!document) return fail(document.error());
  const bool partial = output_.form == Form::partial_list;
  const Type type = partial ? route_.kinds->find_type(kPartial) : route_.type();
  std::string message;
  append_protobuf_bytes(message, 2, schema::encode_protobuf(document->root(), type));
  return message;
}

bool ObjectWriter::splices_items() const {
  return !is_protobuf() && output_.form == Form::object && !conversion_of(route_);
}

std::string ObjectWriter::render(std::string json) const {
  return render_json(std::move(json), output_, *route_.kinds);
}

Result<std::string> ObjectWriter::frame(std::string_view type, const store::Object& object, bool with_columns,
                                        WallTime now) const {
  if (output_.media == Media::protobuf) {
    auto sealed = protobuf_of(object);
    if (!sealed) return sealed;
    return protobuf_frame(type, *sealed);
  }
  auto json = json_of(object, with_columns, now);
  if (!json) return json;
  return json_frame(type, *json);
}

std::string ObjectWriter::bookmark_json(store::Revision revision, bool initial_events_end) const {
  std::string metadata = "{\"resourceVersion\":\"" + std::to_string(revision) + "\"";
  if (initial_events_end) {
    metadata += ",\"annotations\":{\"";
    metadata.append(kInitialEventsEnd).append("\":\"true\"}");
  }
  metadata += "}";
  if (output_.form == Form::table)
    return table_head(meta_version(), "{\"resourceVersion\":\"" + std::to_string(revision) + "\"}") +
           "\"columnDefinitions\":null,\"rows\":[{\"cells\":[],\"object\":" + partial_json(meta_version(), metadata) +
           "}]}";
  if (output_.form != Form::object) return partial_json(meta_version(), metadata);
  return route_.type_prefix + "\"metadata\":" + metadata + "}";
}

std::string ObjectWriter::bookmark(store::Revision revision, bool initial_events_end) const {
  const std::string json = bookmark_json(revision, initial_events_end);
  if (output_.media != Media::protobuf) return json_frame("BOOKMARK", json);
  return protobuf_frame("BOOKMARK", json_to_protobuf(json, *route_.kinds).value_or(std::string()));
}

std::string ObjectWriter::error_frame(const Status& status) const {
  const std::string json = status_json(status);
  if (output_.media != Media::protobuf) return json_frame("ERROR", json);
  return protobuf_frame("ERROR", json_to_protobuf(json, *route_.kinds).value_or(std::string()));
}

}  // namespace sublet::apiserver
