// ObjectWriter: writes stored objects in the form that one client asked for: whole, as metadata only, or as Table rows;
// in JSON, YAML or protobuf; single, as list, or as watch frames.
//
// The common case (JSON, whole, stored shape) splices bytes; everything else is derived on demand. Pure; a writer is
// cheap to make and serves one request or one watch. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/codec/negotiation.h"
#include "apiserver/request/route.h"
#include "sublet/base/clock.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

struct ListMeta {
  store::Revision revision = 0;
  std::string continue_token;
  std::optional<std::int64_t> remaining;
};

class ObjectWriter {
 public:
  ObjectWriter(const Route& route, Output output) : route_(route), output_(output) {}

  /// One object as a complete body.
  Result<std::string> object(const store::Object& object, WallTime now) const;
  /// A watch frame: a JSON line or a protobuf frame. `with_columns`: a Table's first.
  Result<std::string> frame(std::string_view type, const store::Object& object, bool with_columns, WallTime now) const;
  /// BOOKMARK; `initial_events_end` marks the end of a WatchList's initial events.
  std::string bookmark(store::Revision revision, bool initial_events_end) const;
  std::string error_frame(const Status& status) const;
  /// Content-Type of bodies, and of watch streams.
  std::string_view content_type() const { return content_type_of(output_.media); }
  std::string_view stream_content_type() const;

  // A list in pieces: head, items in order, tail. Every form but protobuf is JSON text; is_rendered_whole() says that
  // the whole text is then to be given to render().
  /// not_acceptable when a list was asked for in a form that only an object has.
  Outcome check_list() const;
  /// `items_bytes`: for protobuf the size of all item_message()s, which its envelope says first.
  std::string list_head(const ListMeta& meta, std::size_t items_bytes) const;
  Outcome append_item(std::string& out, const store::Object& object, bool first, WallTime now) const;
  std::string_view list_tail() const;
  /// An item as protobuf, with its field number and size.
  Result<std::string> item_message(const store::Object& object) const;
  std::string render(std::string json) const;
  bool is_protobuf() const { return output_.media == Media::protobuf; }
  bool is_rendered_whole() const { return output_.media == Media::yaml || output_.pretty; }
  /// Items cost next to nothing but their bytes.
  bool splices_items() const;

  const Output& output() const { return output_; }
  const Route& route() const { return route_; }

 private:
  Result<std::string> object_json(const store::Object& object) const;
  Result<std::string> metadata_of(const store::Object& object) const;
  Result<std::string> partial_of(const store::Object& object) const;
  Result<std::string> json_of(const store::Object& object, bool with_columns, WallTime now) const;
  Result<std::string> protobuf_of(const store::Object& object) const;
  std::string protobuf_list_head(const ListMeta& meta, std::size_t items_bytes) const;
  Outcome append_row(std::string& out, const store::Object& object, bool first, WallTime now) const;
  std::string row_object(const store::Object& object) const;
  std::string bookmark_json(store::Revision revision, bool initial_events_end) const;
  std::string_view meta_version() const { return output_.meta_v1beta1 ? "v1beta1" : "v1"; }

  const Route& route_;
  Output output_;
};

/// A JSON body in the asked media: as it is, indented, YAML, or protobuf of its kind (JSON when that kind has none).
std::string render_json(std::string json, const Output& output, const schema::Registry& kinds);
/// The content type that render_json() gave.
std::string_view rendered_type(std::string_view body, const Output& output);

}  // namespace sublet::apiserver
