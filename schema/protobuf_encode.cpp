// encode_protobuf(): a conformed document to the bytes of gogo-proto's generated code.
//
// Everything is written back to front: fields by descending number, items and map entries from the last to the first.
// What is absent follows Go: a non-pointer scalar or struct is always on the wire, a nil pointer, slice or map never.
#include <bit>
#include <vector>

#include "schema/object_shaper.h"
#include "schema/protobuf_wire.h"
#include "schema/type_plan.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/go_time.h"

namespace sublet::schema {

using detail::Node;

namespace {

std::string_view text_view(const Node* node) {
  return node && node->kind == NodeKind::string ? std::string_view(node->text, node->size) : std::string_view();
}
std::int64_t integer_of(const Node* node) { return node && node->kind == NodeKind::integer ? node->integer : 0; }

class Encoder {
 public:
  explicit Encoder(std::size_t expected_size) : out_(expected_size) {}

  void message(const Node* node, const TypePlan& plan) {
    const std::size_t frame = slots_.size();
    slots_.resize(frame + plan.fields.size(), nullptr);
    std::size_t expected = 0;
    if (node && node->kind == NodeKind::object)
      for (const Node* member = node->first; member; member = member->next) {
        const std::size_t index = plan.find(key_of(member), expected);
        if (index == TypePlan::npos) continue;
        slots_[frame + index] = member;
        expected = index + 1;
      }
    fields(plan, plan, frame);
    slots_.resize(frame);
  }

  std::string take() const { return out_.take(); }

 private:
  /// The fields of `part`, which is `whole` or a struct inlined into it whose first member stands in slot `first`.
  void fields(const TypePlan& whole, const TypePlan& part, std::size_t first) {
    for (auto entry = part.proto.rbegin(); entry != part.proto.rend(); ++entry) {
      if (entry->inlined) {
        const std::size_t before = out_.size();
        fields(whole, *entry->inlined, first + entry->index);
        out_.close_message(entry->number, before);
      } else {
        field(part.fields[entry->index], entry->number, slots_[first + entry->index]);
      }
    }
  }

  void field(const FieldPlan& plan, std::uint32_t number, const Node* node) {
    if (plan.shape == Shape::single) {
      if (plan.pointer && is_absent(node)) return;
      return single(plan, number, node);
    }
    if (is_absent(node)) return;
    if (plan.list_message && plan.shape == Shape::list) return items_message(plan, number, node);
    const std::size_t first = children_.size();
    for (const Node* child = node->first; child; child = child->next) children_.push_back(child);
    while (children_.size() > first) {
      const Node* child = children_.back();
      children_.pop_back();
      plan.shape == Shape::list ? single(plan, number, child) : entry(plan, number, child);
    }
  }

  void entry(const FieldPlan& plan, std::uint32_t number, const Node* node) {
    const std::size_t before = out_.size();
    if (plan.shape == Shape::map_of_lists)
      items_message(plan, 2, node);
    else
      single(plan, 2, node);
    out_.put_string(1, key_of(node));
    out_.close_message(number, before);
  }

  /// A list that is a message of its own, whose field 1 repeats.
  void items_message(const FieldPlan& plan, std::uint32_t number, const Node* list) {
    const std::size_t before = out_.size();
    const std::size_t first = children_.size();
    for (const Node* item = list->first; item; item = item->next) children_.push_back(item);
    while (children_.size() > first) {
      const Node* item = children_.back();
      children_.pop_back();
      single(plan, 1, item);
    }
    out_.close_message(number, before);
  }

  void single(const FieldPlan& plan, std::uint32_t number, const Node* node) {
    switch (plan.scalar) {
      case Scalar::string:
        return out_.put_string(number, text_view(node));
      case Scalar::boolean:
        return out_.put_int(number, node && node->kind == NodeKind::boolean && node->boolean);
      case Scalar::int32:
      case Scalar::int64:
        return out_.put_int(number, integer_of(node));
      case Scalar::floating:
        return floating(number, node);
      case Scalar::bytes:
        if (!is_absent(node)) out_.put_string(number, base64_decode(text_view(node)).value_or(std::string()));
        return;
      default:
        return wrapped(plan, number, node);
    }
  }

  void floating(std::uint32_t number, const Node* node) {
    const double value =
        node && node->kind == NodeKind::floating ? node->floating : static_cast<double>(integer_of(node));
    out_.put_fixed64(std::bit_cast<std::uint64_t>(value));
    out_.put_tag(number, WireType::fixed64);
  }

  /// Kinds that are messages on the wire.
  void wrapped(const FieldPlan& plan, std::uint32_t number, const Node* node) {
    const std::size_t before = out_.size();
    switch (plan.scalar) {
      case Scalar::message:
        message(node, plan_of(plan));
        break;
      case Scalar::quantity: {
        const std::string_view text = text_view(node);
        out_.put_string(1, text.empty() ? "0" : text);
        break;
      }
      case Scalar::int_or_string:
        out_.put_string(3, text_view(node));
        out_.put_int(2, integer_of(node));
        out_.put_int(1, node && node->kind == NodeKind::string ? 1 : 0);
        break;
      case Scalar::time:
        time(TimeLayout::seconds, node);
        break;
      case Scalar::micro_time:
        time(TimeLayout::micros, node);
        break;
      case Scalar::duration:
        duration(node);
        break;
      case Scalar::schema_or_array:
      case Scalar::schema_or_bool:
      case Scalar::schema_or_strings:
        schema_or_other(plan, node);
        break;
      default:  // fields_v1, raw_extension, json
        if (!is_absent(node)) out_.put_string(1, raw_json(node));
        break;
    }
    out_.close_message(number, before);
  }

  void schema_or_other(const FieldPlan& plan, const Node* node) {
    const bool has_schema = node && node->kind == NodeKind::object;
    const bool or_bool = plan.scalar == Scalar::schema_or_bool;
    if (has_schema) {
      const std::size_t before = out_.size();
      message(node, plan_of(plan));
      out_.close_message(or_bool ? 2 : 1, before);
    }
    if (or_bool) out_.put_int(1, has_schema || (node && node->kind == NodeKind::boolean && node->boolean));
    if (!node || node->kind != NodeKind::array) return;
    const std::size_t first = children_.size();
    for (const Node* item = node->first; item; item = item->next) children_.push_back(item);
    while (children_.size() > first) {
      const Node* item = children_.back();
      children_.pop_back();
      const std::size_t before = out_.size();
      plan.scalar == Scalar::schema_or_array ? message(item, plan_of(plan)) : out_.put_bytes(text_view(item));
      out_.close_message(2, before);
    }
  }

  void time(TimeLayout layout, const Node* node) {
    GoTime value;
    std::string problem;
    if (is_absent(node) || !parse_go_time(text_view(node), layout, value, problem)) return;
    out_.put_int(2, layout == TimeLayout::micros ? value.nanos / 1000 * 1000 : 0);
    out_.put_int(1, value.seconds);
  }

  void duration(const Node* node) {
    std::int64_t nanos = 0;
    std::string problem;
    if (!parse_go_duration(text_view(node), nanos, problem)) nanos = 0;
    out_.put_int(1, nanos);
  }

  static std::string raw_json(const Node* node) {
    // The node is only read; Value has no const form.
    return Value::of(nullptr, const_cast<Node*>(node)).to_json();
  }

  WireWriter out_;
  std::vector<const Node*> slots_;
  std::vector<const Node*> children_;
};

}  // namespace

std::string encode_protobuf(const Value& value, Type type) {
  Encoder encoder(1024);
  encoder.message(value.node(), plan_of(type));
  return encoder.take();
}

}  // namespace sublet::schema
