// conform(): a parsed document into the form of its Go type, and the notes for strict field validation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "schema/base64.h"
#include "schema/object_shaper.h"
#include "schema/quantity.h"
#include "schema/type_plan.h"
#include "sublet/base/text.h"
#include "sublet/schema/engine.h"
#include "sublet/schema/go_time.h"

namespace sublet::schema {

using detail::Node;

namespace {

constexpr std::size_t kNotesMax = 100;  // upstream collects no more strict errors either

/// Where the pass stands: a chain of steps on the C++ stack, turned into text only for a message.
struct Step {
  const Step* parent = nullptr;
  std::string_view key;              // of a struct field or map entry
  std::int64_t index = -1;           // of a list item
  const FieldPlan* field = nullptr;  // of a struct field
  const TypePlan* owner = nullptr;   // the struct that the field belongs to
};

void append_strict_path(std::string& out, const Step* step) {
  if (!step) return;
  append_strict_path(out, step->parent);
  if (step->index >= 0) {
    out += '[' + std::to_string(step->index) + ']';
    return;
  }
  if (!out.empty()) out += '.';
  out += step->key;
}

/// "RuleWithOperations.Rule." for the struct `wanted`, which is inlined somewhere below `type`.
bool append_embedded(std::string& out, Type type, Type wanted) {
  if (type == wanted) return true;
  const std::size_t size = out.size();
  for (std::size_t i = 0; i < type.field_count(); ++i) {
    const Field field = type.field_at(i);
    if (!field.inlined()) continue;
    out.append(field.type().short_name()).append(".");
    if (append_embedded(out, field.type(), wanted)) return true;
    out.resize(size);
  }
  return false;
}

/// encoding/json's field stack: struct fields only, with the name of an embedded struct before its fields.
void append_field_stack(std::string& out, const Step* step) {
  if (!step) return;
  append_field_stack(out, step->parent);
  if (!step->field) return;
  if (!out.empty()) out += '.';
  if (const Type embedded = step->field->embedded()) append_embedded(out, step->owner->type, embedded);
  out += step->key;
}

std::string json_kind(const Node* node) {
  switch (node->kind) {
    case NodeKind::null:
      return "null";
    case NodeKind::boolean:
      return "bool";
    case NodeKind::integer:
    case NodeKind::floating:
      return "number";
    case NodeKind::string:
      return "string";
    case NodeKind::array:
      return "array";
    case NodeKind::object:
      return "object";
  }
  return {};
}

class Conformer {
 public:
  Conformer(Arena& arena, DecodeNotes* notes) : shaper_(arena, arena.bytes()), notes_(notes) {}

  bool run(Node* root, Type type) {
    if (root->kind != NodeKind::object) {
      problem_ = "json: cannot unmarshal " + json_kind(root) + " into Go value of type " + go_struct_name(type);
      return false;
    }
    return object(root, plan_of(type), nullptr);
  }

  std::string problem() && { return std::move(problem_); }

 private:
  bool object(Node* node, const TypePlan& plan, const Step* at) {
    if (shaper_.over_budget()) return complain("the object is too large");
    const std::size_t frame = shaper_.open(plan);
    std::size_t expected = 0;
    Node* others = nullptr;
    Node** other = &others;
    for (Node* member = node->first; member;) {
      Node* const next = member->next;  // the member may be relinked below
      const std::size_t index = plan.find(key_of(member), expected);
      if (index != TypePlan::npos) {
        const FieldPlan& field = plan.fields[index];
        const Step here{at, field.name, -1, &field, &plan};
        if (!value(member, field, &here)) return false;
        shaper_.slot(frame, index) = member;
        expected = index + 1;
      } else if (plan.open) {
        *other = member;
        other = &member->next;
      } else {
        note_unknown(key_of(member), at);
      }
      member = next;
    }
    *other = nullptr;
    shaper_.close(node, plan, frame, others);
    return true;
  }

  bool value(Node* node, const FieldPlan& field, const Step* at) {
    if (node->kind == NodeKind::null) return true;  // absent, decided by the shaper
    switch (field.shape) {
      case Shape::single:
        return single(node, field, at);
      case Shape::list:
        return list(node, field, at);
      case Shape::map:
        return map(node, field, at, false);
      case Shape::map_of_lists:
        return map(node, field, at, true);
    }
    return false;
  }

  bool list(Node* node, const FieldPlan& field, const Step* at) {
    if (node->kind != NodeKind::array) return mismatch(node, go_type_name(field), at);
    std::int64_t index = 0;
    for (Node* item = node->first; item; item = item->next) {
      const Step here{at, {}, index++, nullptr, nullptr};
      if (!element(item, field, &here)) return false;
    }
    return true;
  }

  bool map(Node* node, const FieldPlan& field, const Step* at, bool of_lists) {
    if (node->kind != NodeKind::object) return mismatch(node, go_type_name(field), at);
    for (Node* entry = node->first; entry; entry = entry->next) {
      const Step here{at, key_of(entry), -1, nullptr, nullptr};
      const bool null_list = of_lists && entry->kind == NodeKind::null;  // a nil slice stays null
      if (!null_list && !(of_lists ? list(entry, field, &here) : element(entry, field, &here))) return false;
    }
    shaper_.sort_members(node);
    return true;
  }

  bool element(Node* node, const FieldPlan& field, const Step* at) {
    if (node->kind != NodeKind::null) return single(node, field, at);
    shaper_.make_zero(node, field);
    return true;
  }

  bool single(Node* node, const FieldPlan& field, const Step* at) {
    switch (field.scalar) {
      case Scalar::string:
        return node->kind == NodeKind::string || mismatch(node, "string", at);
      case Scalar::boolean:
        return node->kind == NodeKind::boolean || mismatch(node, "bool", at);
      case Scalar::int32:
        return integer(node, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(),
                       "int32", at);
      case Scalar::int64:
        return node->kind == NodeKind::integer || not_an_integer(node, "int64", at);
      case Scalar::floating:
        return node->kind == NodeKind::integer || node->kind == NodeKind::floating || mismatch(node, "float64", at);
      case Scalar::bytes:
        return bytes(node, at);
      case Scalar::quantity:
        return quantity(node);
      case Scalar::int_or_string:
        return node->kind == NodeKind::string || integer(node, std::numeric_limits<std::int32_t>::min(),
                                                         std::numeric_limits<std::int32_t>::max(), "int32", at);
      case Scalar::time:
        return time(node, TimeLayout::seconds, at);
      case Scalar::micro_time:
        return time(node, TimeLayout::micros, at);
      case Scalar::duration:
        return duration(node, at);
      case Scalar::fields_v1:
      case Scalar::raw_extension:
      case Scalar::json:
        return true;
      case Scalar::schema_or_array:
      case Scalar::schema_or_bool:
      case Scalar::schema_or_strings:
        return schema_or_other(node, field, at);
      case Scalar::message:
        return node->kind == NodeKind::object ? object(node, plan_of(field), at)
                                              : mismatch(node, go_struct_name(field.type()), at);
    }
    return false;
  }

  /// A CRD schema, or what may stand in its place.
  bool schema_or_other(Node* node, const FieldPlan& field, const Step* at) {
    if (node->kind == NodeKind::object) return object(node, plan_of(field), at);
    if (field.scalar == Scalar::schema_or_bool)
      return node->kind == NodeKind::boolean || complain("boolean or JSON schema expected");
    if (node->kind != NodeKind::array) return mismatch(node, go_element_name(field), at);
    if (node->size == 0) clear_node(node, NodeKind::null);
    const bool schemas = field.scalar == Scalar::schema_or_array;
    std::int64_t index = 0;
    for (Node* item = node->first; item; item = item->next) {
      const Step here{at, {}, index++, nullptr, nullptr};
      if (!schemas && item->kind != NodeKind::string) return mismatch(item, "string", &here);
      if (schemas && item->kind != NodeKind::object) return mismatch(item, go_struct_name(field.type()), &here);
      if (schemas && !object(item, plan_of(field), &here)) return false;
    }
    return true;
  }

  bool integer(Node* node, std::int64_t low, std::int64_t high, const char* go_type, const Step* at) {
    if (node->kind == NodeKind::integer && node->integer >= low && node->integer <= high) return true;
    return not_an_integer(node, go_type, at);
  }

  bool not_an_integer(Node* node, const char* go_type, const Step* at) {
    if (node->kind != NodeKind::integer && node->kind != NodeKind::floating) return mismatch(node, go_type, at);
    return mismatch("number " + Value::of(&shaper_.arena(), node).to_json(), go_type, at);
  }

  bool bytes(Node* node, const Step* at) {
    if (node->kind != NodeKind::string) return mismatch(node, "[]uint8", at);
    const std::string_view text = text_of(node);
    if (is_canonical_base64(text)) return true;  // nearly all are
    std::string decoded;
    std::size_t bad = 0;
    if (!decode_base64(text, decoded, bad)) return complain("illegal base64 data at input byte " + std::to_string(bad));
    return set_text(node, base64_encode(decoded));
  }

  bool quantity(Node* node) {
    std::string literal;  // numbers are quantities too; anything else is malformed as its JSON text would be
    std::string_view text = text_of(node);
    if (node->kind != NodeKind::string) {
      Value::of(&shaper_.arena(), node).append_json(literal);
      text = literal;
    }
    const std::string_view amount = trimmed(text);
    std::string canonical;
    bool changed = false;
    const QuantityFault fault = canonicalize_quantity(amount, canonical, changed);
    if (fault != QuantityFault::none) return complain(std::string(quantity_fault_message(fault)));
    if (!changed && node->kind == NodeKind::string && amount.size() == text.size()) return true;
    return set_text(node, changed ? std::string_view(canonical) : amount);
  }

  bool time(Node* node, TimeLayout layout, const Step* at) {
    if (node->kind != NodeKind::string) return mismatch(node, "string", at);
    GoTime parsed;
    std::string problem;
    if (!parse_go_time(text_of(node), layout, parsed, problem)) return complain(std::move(problem));
    if (layout == TimeLayout::seconds) parsed.nanos = 0;
    if (parsed == kZeroGoTime) {
      clear_node(node, NodeKind::null);
      return true;
    }
    char buffer[kTimeTextMax];
    const std::string_view canonical = format_go_time(parsed, layout, buffer);
    return canonical == text_of(node) || set_text(node, canonical);
  }

  bool duration(Node* node, const Step* at) {
    if (node->kind != NodeKind::string) return mismatch(node, "string", at);
    std::int64_t nanos = 0;
    std::string problem;
    if (!parse_go_duration(text_of(node), nanos, problem)) return complain(std::move(problem));
    const std::string canonical = format_go_duration(nanos);
    return canonical == text_of(node) || set_text(node, canonical);
  }

  bool set_text(Node* node, std::string_view text) {
    set_static_text(node, shaper_.arena().store(text));
    return true;
  }

  static std::string strict_path(const Step* at) {
    std::string path;
    append_strict_path(path, at);
    return path;
  }

  void note_unknown(std::string_view key, const Step* at) {
    if (!notes_ || notes_->unknown_fields.size() >= kNotesMax) return;
    std::string path = strict_path(at);
    if (at) path += '.';
    path += key;
    auto& unknown = notes_->unknown_fields;
    if (std::find(unknown.begin(), unknown.end(), path) == unknown.end()) unknown.push_back(std::move(path));
  }

  bool mismatch(const Node* node, std::string_view go_type, const Step* at) {
    return mismatch(json_kind(node), go_type, at);
  }

  bool mismatch(std::string_view found, std::string_view go_type, const Step* at) {
    std::string stack;
    append_field_stack(stack, at);
    const Step* field = at;
    while (field && !field->field) field = field->parent;
    const std::string_view owner = field ? field->owner->type.short_name() : std::string_view();
    problem_ = "json: cannot unmarshal ";
    problem_.append(found).append(" into Go struct field ").append(owner).append(".").append(stack);
    problem_.append(" of type ").append(go_type);
    return false;
  }

  bool complain(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  ObjectShaper shaper_;
  DecodeNotes* notes_;
  std::string problem_;
};

}  // namespace

std::string DecodeNotes::strict_message() const {
  std::string out = "strict decoding error: ";
  const char* separator = "";
  const auto append = [&](const char* what, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      out.append(separator).append(what);
      append_json_string(out, path);
      separator = ", ";
    }
  };
  append("unknown field ", unknown_fields);
  append("duplicate field ", duplicate_fields);
  return out;
}

Outcome conform(Value value, Type type, DecodeNotes* notes, Strangers strangers) {
  if (value.missing()) return bad_request("unexpected end of JSON input");
  Conformer conformer(*value.arena(), notes);
  if (!conformer.run(value.node(), type)) return bad_request(std::move(conformer).problem());
  const TypePlan& plan = plan_of(type);
  if (plan.form && strangers == Strangers::dropped) plan.form->shape(value, notes);
  return {};
}

Result<Document> decode_json(std::string_view text, Type type, DecodeNotes* notes) {
  ParseNotes parse_notes;
  auto document = Document::parse_json(text, notes ? &parse_notes : nullptr);
  if (!document) return document;
  if (auto outcome = conform(document->root(), type, notes); !outcome) return fail(outcome.error());
  if (notes)
    for (std::string& path : parse_notes.duplicate_fields)
      if (std::find(notes->duplicate_fields.begin(), notes->duplicate_fields.end(), path) ==
          notes->duplicate_fields.end())
        notes->duplicate_fields.push_back(std::move(path));
  return document;
}

}  // namespace sublet::schema
