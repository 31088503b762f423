// decode_protobuf(): message bytes, which may be hostile, to a conformed document.
//
// The shapes follow gogo-proto's Unmarshal: unknown fields are skipped, a scalar that comes twice is overwritten, a
// message that comes twice is merged, packed and unpacked repeated numbers are both read.
#include <bit>
#include <limits>
#include <string>

#include "schema/builtin_table.h"
#include "schema/object_shaper.h"
#include "schema/protobuf_wire.h"
#include "schema/quantity.h"
#include "schema/type_plan.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/go_time.h"
#include "sublet/schema/utf8.h"

namespace sublet::schema {

using detail::Node;

namespace {

constexpr int kEnvelopeDepthMax = 4;        // objects in a RawExtension of objects in a RawExtension ...
constexpr std::size_t kGrowthPerByte = 32;  // a Pod's nodes and texts take about 8 bytes for each byte on the wire

Result<Document> decode(std::string_view message, Type type, int envelope_depth);

class Decoder {
 public:
  Decoder(Arena& arena, std::size_t message_size, int envelope_depth)
      : shaper_(arena, message_size * kGrowthPerByte), envelope_depth_(envelope_depth) {}

  bool message(Node* node, std::string_view bytes, const TypePlan& plan, int depth) {
    if (depth > kDepthMax) return complain("proto: message nested too deep");
    if (shaper_.over_budget()) return complain("the object is too large");
    const std::size_t frame = shaper_.open(plan);
    reopen(node, plan, frame);
    if (!fields(bytes, plan, frame, depth)) return false;
    for (std::size_t i = 0; i < plan.fields.size(); ++i) {
      Node* const member = shaper_.slot(frame, i);
      const Shape shape = plan.fields[i].shape;
      if (member && (shape == Shape::map || shape == Shape::map_of_lists)) shaper_.sort_members(member);
    }
    shaper_.close(node, plan, frame);
    return true;
  }

  std::string problem() && { return std::move(problem_); }

 private:
  /// Puts what an earlier occurrence of the same message left back into the slots, so that the two are merged.
  void reopen(Node* node, const TypePlan& plan, std::size_t frame) {
    std::size_t expected = 0;
    for (Node* member = node->first; member;) {
      Node* const next = member->next;
      const std::size_t index = plan.find(key_of(member), expected);
      if (index != TypePlan::npos) shaper_.slot(frame, index) = member;
      expected = index + 1;
      member = next;
    }
  }

  /// The fields of a message whose first member stands in slot `first`: of the object itself, or of a struct inlined
  /// into it.
  bool fields(std::string_view bytes, const TypePlan& plan, std::size_t first, int depth) {
    if (depth > kDepthMax) return complain("proto: message nested too deep");
    WireReader reader(bytes);
    while (!reader.done()) {
      WireTag tag;
      if (!reader.tag(tag) || tag.type == WireType::group_end) return malformed(plan);
      const ProtoField* entry = plan.find_proto(tag.number);
      if (!entry) {
        if (!reader.skip(tag.type)) return malformed(plan);
      } else if (entry->inlined) {
        std::string_view nested;
        if (tag.type != WireType::bytes || !reader.bytes(nested)) return malformed(plan);
        if (!fields(nested, *entry->inlined, first + entry->index, depth + 1)) return false;
      } else if (!field(reader, tag.type, plan.fields[entry->index], first + entry->index, depth)) {
        return problem_.empty() ? malformed(plan) : false;
      }
    }
    return true;
  }

  bool field(WireReader& reader, WireType wire, const FieldPlan& plan, std::size_t slot, int depth) {
    Node*& member = shaper_.slot(slot, 0);
    if (!member) {
      member = shaper_.arena().new_node();
      name_node(member, plan.name);
    }
    // `member` may move when nested frames open: from here on only its node is used.
    Node* const node = member;
    switch (plan.shape) {
      case Shape::single:
        return single(reader, wire, plan, node, depth);
      case Shape::list:
        if (node->kind != NodeKind::array) clear_node(node, NodeKind::array);
        if (plan.list_message) return items_message(reader, wire, plan, node, depth);
        return wire == WireType::bytes && is_varint(plan.scalar) ? packed(reader, plan, node)
                                                                 : item(reader, wire, plan, node, depth);
      case Shape::map:
      case Shape::map_of_lists:
        if (node->kind != NodeKind::object) clear_node(node, NodeKind::object);
        return wire == WireType::bytes && entry(reader, plan, node, depth);
    }
    return false;
  }

  static bool is_varint(Scalar scalar) {
    return scalar == Scalar::int32 || scalar == Scalar::int64 || scalar == Scalar::boolean;
  }

  bool item(WireReader& reader, WireType wire, const FieldPlan& plan, Node* list, int depth) {
    Node* child = shaper_.arena().new_node();
    detail::link_last(list, child);
    return single(reader, wire, plan, child, depth);
  }

  bool packed(WireReader& reader, const FieldPlan& plan, Node* list) {
    std::string_view bytes;
    if (!reader.bytes(bytes)) return false;
    for (WireReader values(bytes); !values.done();)
      if (shaper_.over_budget() || !item(values, WireType::varint, plan, list, 0)) return false;
    return true;
  }

  bool entry(WireReader& reader, const FieldPlan& plan, Node* map, int depth) {
    std::string_view bytes;
    if (!reader.bytes(bytes)) return false;
    Node* node = shaper_.arena().new_node();
    const bool of_lists = plan.shape == Shape::map_of_lists;
    // Without a value gogo-proto gives empty bytes and empty lists, not nil ones.
    if (of_lists)
      clear_node(node, NodeKind::array);
    else if (plan.scalar == Scalar::bytes)
      set_static_text(node, "");
    else
      shaper_.make_zero(node, plan);
    std::string_view key;
    for (WireReader parts(bytes); !parts.done();) {
      WireTag tag;
      if (!parts.tag(tag)) return false;
      bool read = true;
      if (tag.number == 1)
        read = tag.type == WireType::bytes && parts.bytes(key);
      else if (tag.number == 2)
        read =
            of_lists ? items_message(parts, tag.type, plan, node, depth) : single(parts, tag.type, plan, node, depth);
      else
        read = parts.skip(tag.type);
      if (!read) return false;
    }
    name_node(node, store_text(key));
    detail::link_last(map, node);
    if (shaper_.over_budget()) return complain("the object is too large");
    return true;
  }

  bool items_message(WireReader& reader, WireType wire, const FieldPlan& plan, Node* list, int depth) {
    std::string_view bytes;
    if (wire != WireType::bytes || !reader.bytes(bytes)) return false;
    if (list->kind != NodeKind::array) clear_node(list, NodeKind::array);
    for (WireReader items(bytes); !items.done();) {
      WireTag tag;
      if (!items.tag(tag)) return false;
      if (!(tag.number == 1 ? item(items, tag.type, plan, list, depth) : items.skip(tag.type))) return false;
    }
    return true;
  }

  bool single(WireReader& reader, WireType wire, const FieldPlan& plan, Node* node, int depth) {
    if (is_varint(plan.scalar)) return number(reader, wire, plan.scalar, node);
    if (plan.scalar == Scalar::floating) return floating(reader, wire, node);
    std::string_view bytes;
    if (wire != WireType::bytes || !reader.bytes(bytes)) return false;
    switch (plan.scalar) {
      case Scalar::string:
        set_static_text(node, store_text(bytes));
        return true;
      case Scalar::bytes:
        return set_text(node, base64_encode(bytes));
      case Scalar::message:
        return message(node, bytes, plan_of(plan), depth + 1);
      case Scalar::schema_or_array:
      case Scalar::schema_or_bool:
      case Scalar::schema_or_strings:
        return schema_or_other(node, bytes, plan, depth + 1);
      default:
        return wrapped(bytes, plan.scalar, node);
    }
  }

  bool schema_or_other(Node* node, std::string_view bytes, const FieldPlan& plan, int depth) {
    const bool or_bool = plan.scalar == Scalar::schema_or_bool;
    clear_node(node, or_bool ? NodeKind::boolean : NodeKind::null);
    for (WireReader reader(bytes); !reader.done();) {
      WireTag tag;
      if (!reader.tag(tag)) return false;
      std::string_view nested;
      if (or_bool && tag.number == 1) {
        std::uint64_t allows = 0;
        if (tag.type != WireType::varint || !reader.varint(allows)) return false;
        if (node->kind == NodeKind::boolean) node->boolean = allows != 0;
      } else if (tag.number != 1 && tag.number != 2) {
        if (!reader.skip(tag.type)) return false;
      } else if (tag.type != WireType::bytes || !reader.bytes(nested)) {
        return false;
      } else if (or_bool || tag.number == 1) {
        if (node->kind == NodeKind::array) continue;  // a list wins over the one schema
        if (!message(node, nested, plan_of(plan), depth)) return false;
      } else {
        if (!other_item(node, nested, plan, depth)) return false;
      }
    }
    return true;
  }

  /// One more item of the list that stands in place of a schema.
  bool other_item(Node* node, std::string_view bytes, const FieldPlan& plan, int depth) {
    const bool schemas = plan.scalar == Scalar::schema_or_array;
    if (node->kind != NodeKind::array) clear_node(node, NodeKind::array);
    Node* child = shaper_.arena().new_node();
    detail::link_last(node, child);
    if (schemas) return message(child, bytes, plan_of(plan), depth);
    set_static_text(child, store_text(bytes));
    return true;
  }

  static bool number(WireReader& reader, WireType wire, Scalar scalar, Node* node) {
    std::uint64_t value = 0;
    if (wire != WireType::varint || !reader.varint(value)) return false;
    clear_node(node, scalar == Scalar::boolean ? NodeKind::boolean : NodeKind::integer);
    if (scalar == Scalar::boolean)
      node->boolean = value != 0;
    else
      node->integer = scalar == Scalar::int32 ? static_cast<std::int32_t>(value) : static_cast<std::int64_t>(value);
    return true;
  }

  static bool floating(WireReader& reader, WireType wire, Node* node) {
    std::uint64_t value = 0;
    if (wire != WireType::fixed64 || !reader.fixed64(value)) return false;
    clear_node(node, NodeKind::floating);
    node->floating = std::bit_cast<double>(value);
    return true;
  }

  /// The small messages behind scalars with rules of their own: at most one text and two numbers.
  struct Parts {
    std::string_view text;  // of the field with bytes
    bool has_text = false;
    std::int64_t numbers[2] = {0, 0};  // of fields 1 and 2
  };

  static bool read_parts(std::string_view bytes, Parts& parts) {
    WireReader reader(bytes);
    while (!reader.done()) {
      WireTag tag;
      std::uint64_t value = 0;
      if (!reader.tag(tag)) return false;
      if (tag.type == WireType::varint && tag.number <= 2) {
        if (!reader.varint(value)) return false;
        parts.numbers[tag.number - 1] = static_cast<std::int64_t>(value);
      } else if (tag.type == WireType::bytes && (tag.number == 1 || tag.number == 3)) {
        if (!reader.bytes(parts.text)) return false;
        parts.has_text = true;
      } else if (!reader.skip(tag.type)) {
        return false;
      }
    }
    return true;
  }

  bool wrapped(std::string_view bytes, Scalar scalar, Node* node) {
    Parts parts;
    if (!read_parts(bytes, parts)) return false;
    switch (scalar) {
      case Scalar::quantity:
        return quantity(parts, node);
      case Scalar::int_or_string:
        if (parts.numbers[0] == 0) {
          clear_node(node, NodeKind::integer);
          node->integer = static_cast<std::int32_t>(parts.numbers[1]);
        } else {
          set_static_text(node, store_text(parts.text));
        }
        return true;
      case Scalar::time:
      case Scalar::micro_time:
        return time(parts, bytes.empty(), scalar, node);
      case Scalar::duration:
        return set_text(node, format_go_duration(parts.numbers[0]));
      default:
        return raw(parts, node);
    }
  }

  bool quantity(const Parts& parts, Node* node) {
    if (!parts.has_text) return set_text(node, "0");
    std::string canonical;
    bool changed = false;
    const QuantityFault fault = canonicalize_quantity(parts.text, canonical, changed);
    if (fault != QuantityFault::none) return complain(std::string(quantity_fault_message(fault)));
    return set_text(node, changed ? std::string_view(canonical) : parts.text);
  }

  bool time(const Parts& parts, bool empty, Scalar scalar, Node* node) {
    const auto layout = scalar == Scalar::time ? TimeLayout::seconds : TimeLayout::micros;
    GoTime value{parts.numbers[0], 0};
    if (layout == TimeLayout::micros) {
      const auto nanos = static_cast<std::int32_t>(parts.numbers[1]);
      if (nanos < 0 || nanos >= 1'000'000'000) return complain("proto: illegal nanoseconds in a time");
      value.nanos = nanos / 1000 * 1000;
    }
    if (empty || value == kZeroGoTime) {
      clear_node(node, NodeKind::null);
      return true;
    }
    if (!in_wire_range(value)) return complain("proto: time beyond year 9999");
    char buffer[kTimeTextMax];
    return set_text(node, format_go_time(value, layout, buffer));
  }

  /// JSON, or (in a RawExtension) a whole object in its own envelope.
  bool raw(const Parts& parts, Node* node) {
    if (!parts.has_text) {
      clear_node(node, NodeKind::null);
      return true;
    }
    auto document = parts.text.starts_with(kProtobufMagic) ? enveloped(parts.text) : Document::parse_json(parts.text);
    if (!document) return complain(document.error().message);
    Value::of(&shaper_.arena(), node).set(document->root());
    return true;
  }

  Result<Document> enveloped(std::string_view bytes) {
    const auto envelope = open_protobuf(bytes);
    if (!envelope || envelope_depth_ >= kEnvelopeDepthMax) return bad_request("proto: malformed nested object");
    const auto slash = envelope->api_version.find('/');
    const bool core = slash == std::string_view::npos;
    const Type type =
        builtin_kind(core ? std::string_view() : envelope->api_version.substr(0, slash),
                     core ? envelope->api_version : envelope->api_version.substr(slash + 1), envelope->kind);
    if (!type) return bad_request("proto: no kind \"" + std::string(envelope->kind) + "\" is registered");
    auto document = decode(envelope->raw, type, envelope_depth_ + 1);
    if (!document) return document;
    document->root().put("kind", envelope->kind);
    document->root().put("apiVersion", envelope->api_version);
    if (auto outcome = conform(document->root(), type); !outcome) return fail(outcome.error());
    return document;
  }

  /// Text as Go's JSON encoder would show it: each byte that is no UTF-8 becomes U+FFFD.
  std::string_view store_text(std::string_view text) {
    if (is_utf8(text)) return shaper_.arena().store(text);
    return shaper_.arena().store(repair_utf8(text, [](unsigned char) { return "\xef\xbf\xbd"; }));
  }

  bool set_text(Node* node, std::string_view text) {
    set_static_text(node, shaper_.arena().store(text));
    return true;
  }

  bool malformed(const TypePlan& plan) { return complain("proto: malformed " + std::string(plan.type.short_name())); }

  bool complain(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  ObjectShaper shaper_;
  int envelope_depth_;
  std::string problem_;
};

Result<Document> decode(std::string_view message, Type type, int envelope_depth) {
  Document document = Document::object();
  Decoder decoder(*document.root().arena(), message.size(), envelope_depth);
  if (!decoder.message(document.root().node(), message, plan_of(type), 0))
    return bad_request(std::move(decoder).problem());
  return document;
}

}  // namespace

Result<Document> decode_protobuf(std::string_view message, Type type) { return decode(message, type, 0); }

}  // namespace sublet::schema
