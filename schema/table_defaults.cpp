// apply_table_defaults(): the constant defaults that upstream declares with +default.
//
// As upstream's generated defaulting does, a default replaces an absent pointer, an empty list or map, and the zero
// value of a field that is no pointer; it is filled in from the outside inwards, so a defaulted struct gets its own
// defaults.
#include <string>

#include "schema/object_shaper.h"
#include "schema/type_plan.h"
#include "sublet/schema/engine.h"

namespace sublet::schema {

using detail::Node;

namespace {

bool unset(const FieldPlan& field, const Node* node) {
  if (node == nullptr || node->kind == NodeKind::null) return true;
  if (field.collection()) return node->size == 0;
  if (field.pointer) return false;
  switch (node->kind) {
    case NodeKind::string:
      return node->size == 0;
    case NodeKind::integer:
      return node->integer == 0;
    case NodeKind::floating:
      return node->floating == 0;
    case NodeKind::boolean:
      return !node->boolean;
    default:
      return false;
  }
}

class Defaulter {
 public:
  explicit Defaulter(Arena& arena) : arena_(arena), shaper_(arena, arena.bytes()) {}

  void object(Node* node, const TypePlan& plan) {
    if (node->kind != NodeKind::object) return;
    const std::size_t frame = shaper_.open(plan);
    std::size_t expected = 0;
    Node* others = nullptr;
    Node** other = &others;
    for (Node* member = node->first; member;) {
      Node* const next = member->next;
      const std::size_t index = plan.find(key_of(member), expected);
      if (index != TypePlan::npos) {
        shaper_.slot(frame, index) = member;
        expected = index + 1;
      } else if (plan.open) {
        *other = member;
        other = &member->next;
      }
      member = next;
    }
    *other = nullptr;
    for (std::size_t i = 0; i < plan.fields.size(); ++i) {
      field(plan.fields[i], frame, i);
      if (is_resource_list(plan.fields[i], plan)) round_amounts(shaper_.slot(frame, i));
    }
    shaper_.close(node, plan, frame, others);
  }

 private:
  static bool is_resource_list(const FieldPlan& field, const TypePlan& owner) {
    return field.scalar == Scalar::quantity && field.shape == Shape::map &&
           !owner.type.name().starts_with("io.k8s.api.resource.");
  }

  // Amounts of a core ResourceList finer than thousandths are rounded up to these (SetDefaults_ResourceList).
  void round_amounts(Node* list) {
    constexpr __int128 kMilli = 1'000'000;
    if (!list || list->kind != NodeKind::object) return;
    for (Node* amount = list->first; amount; amount = amount->next) {
      const std::string_view text = text_of(amount);
      const bool fine = text.ends_with('n') || text.ends_with('u') || text.ends_with("e-9") || text.ends_with("e-6");
      if (!fine) continue;
      const auto nanos = quantity_nanos(text);
      if (!nanos || *nanos % kMilli == 0) continue;
      const __int128 away = *nanos < 0 ? -kMilli : kMilli;
      set_static_text(amount, arena_.store(quantity_from_nanos(*nanos / kMilli * kMilli + away, text)));
    }
  }

  void field(const FieldPlan& plan, std::size_t frame, std::size_t index) {
    if (plan.has_default && unset(plan, shaper_.slot(frame, index))) {
      // Constants of the table: they parse.
      const auto constant = Document::parse_json(plan.default_json());
      Node* node = shaper_.slot(frame, index);
      if (!node) {
        node = arena_.new_node();
        name_node(node, plan.name);
        shaper_.slot(frame, index) = node;
      }
      if (constant) Value::of(&arena_, node).set(constant->root());
    }
    if (plan.scalar != Scalar::message) return;
    // Nested frames may move the slots: only the node is used from here on.
    Node* const node = shaper_.slot(frame, index);
    if (!node) return;
    const TypePlan& nested = plan_of(plan);
    if (!plan.collection()) return object(node, nested);
    for (Node* child = node->first; child; child = child->next) object(child, nested);
  }

  Arena& arena_;
  ObjectShaper shaper_;
};

}  // namespace

void apply_table_defaults(Value value, Type type) {
  if (!value.is_object()) return;
  Defaulter(*value.arena()).object(value.node(), plan_of(type));
}

}  // namespace sublet::schema
