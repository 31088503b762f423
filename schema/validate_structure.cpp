// validate_structure(): what the table alone can say about a conformed, defaulted object: enums, required texts and
// pointers, unique set and map items.
//
// Upstream does not check its built-in kinds against OpenAPI; it has hand-written validation, which is laxer in places
// than the markers claim. So this pass is careful: it leaves status alone (controllers own it, and an imageID may be
// empty), does not judge required lists (a Role may have rules: null) and numbers (0 is a value), and the tables below
// list fields where upstream accepts what their marker forbids. Kinds with rules of their own have them in the API
// server's validation.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "schema/type_plan.h"
#include "sublet/schema/engine.h"

namespace sublet::schema {

namespace {

struct FieldName {
  std::string_view type, field;
};

constexpr std::array kMayBeEmpty{
    FieldName{"io.k8s.api.core.v1.HTTPHeader", "value"},
    FieldName{"io.k8s.api.core.v1.Sysctl", "value"},
    FieldName{"io.k8s.api.authentication.v1.TokenReviewSpec", "token"},
};

constexpr std::array kMayRepeat{
    FieldName{"io.k8s.api.core.v1.Container", "env"},
    FieldName{"io.k8s.api.core.v1.Container", "ports"},
    FieldName{"io.k8s.api.core.v1.EphemeralContainerCommon", "env"},
    FieldName{"io.k8s.api.core.v1.EphemeralContainerCommon", "ports"},
    FieldName{"io.k8s.api.core.v1.PodSpec", "imagePullSecrets"},
    FieldName{"io.k8s.api.core.v1.PodSpec", "hostAliases"},
    FieldName{"io.k8s.api.core.v1.ResourceRequirements", "claims"},  // unique by name and request
    FieldName{"io.k8s.api.core.v1.ServiceAccount", "secrets"},
    FieldName{"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers"},
    FieldName{"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "ownerReferences"},
};

template <std::size_t N>
bool listed(const std::array<FieldName, N>& names, const TypePlan& owner, const FieldPlan& field) {
  const Type type(field.embedded != kNoType ? field.embedded : owner.type);
  return std::any_of(names.begin(), names.end(),
                     [&](const FieldName& name) { return name.field == field.name && name.type == type.name(); });
}

class Validator {
 public:
  explicit Validator(std::vector<Cause>& causes) : causes_(causes) {}

  void object(const Value& value, const TypePlan& plan, const std::string& path) {
    std::size_t expected = 0;
    const std::size_t frame = seen_.size();
    seen_.resize(frame + plan.fields.size());
    for (const Value member : value) {
      const std::size_t index = plan.find(member.key(), expected);
      if (index == TypePlan::npos) continue;
      expected = index + 1;
      seen_[frame + index] = member;
    }
    for (std::size_t i = 0; i < plan.fields.size(); ++i) {
      const FieldPlan& member = plan.fields[i];
      if (path.empty() && member.name == "status") continue;
      field(seen_[frame + i], member, plan, path);  // seen_ may move meanwhile
    }
    seen_.resize(frame);
  }

 private:
  void field(const Value value, const FieldPlan& plan, const TypePlan& owner, const std::string& parent) {
    const bool absent = value.missing() || value.is_null();
    if (absent && !plan.required) return;
    const std::string path = parent.empty() ? std::string(plan.name) : parent + '.' + std::string(plan.name);
    if (plan.required && lacks(value, plan, absent) && !listed(kMayBeEmpty, owner, plan))
      causes_.push_back({"FieldValueRequired", "Required value", path});
    if (absent) return;
    const StringList allowed = plan.field.enum_values();
    if (plan.shape == Shape::list) {
      items(value, plan, allowed, path);
      if (!listed(kMayRepeat, owner, plan)) unique(value, plan, path);
    } else if (plan.shape == Shape::map) {
      for (const Value entry : value) single(entry, plan, allowed, path + '[' + std::string(entry.key()) + ']');
    } else if (plan.shape == Shape::single) {
      single(value, plan, allowed, path);
    }
  }

  static bool lacks(const Value& value, const FieldPlan& plan, bool absent) {
    if (plan.collection()) return false;
    if (plan.pointer) return absent;
    return plan.scalar == Scalar::string && value.text().empty();
  }

  void items(const Value& list, const FieldPlan& plan, const StringList& allowed, const std::string& path) {
    if (plan.scalar != Scalar::message && allowed.empty()) return;
    std::size_t index = 0;
    for (const Value item : list) single(item, plan, allowed, path + '[' + std::to_string(index++) + ']');
  }

  void single(const Value& value, const FieldPlan& plan, const StringList& allowed, const std::string& path) {
    if (plan.scalar == Scalar::message) return object(value, plan_of(plan.type), path);
    if (allowed.empty() || !value.is_string() || value.text().empty() || allowed.contains(value.text())) return;
    std::string message = "Unsupported value: ";
    append_json_string(message, value.text());
    message += ": supported values: ";
    const char* separator = "";
    for (const std::string_view choice : allowed) {
      if (choice.empty()) continue;
      message += separator;
      append_json_string(message, choice);
      separator = ", ";
    }
    causes_.push_back({"FieldValueNotSupported", std::move(message), path});
  }

  void unique(const Value& list, const FieldPlan& plan, const std::string& path) {
    const ListType type = plan.field.list_type();
    if (type != ListType::set && type != ListType::map) return;
    const StringList keys = type == ListType::map ? plan.field.list_map_keys() : StringList();
    std::unordered_set<std::string> met;
    std::size_t index = 0;
    for (const Value item : list) {
      const std::string at = path + '[' + std::to_string(index++) + ']';
      std::string identity = identity_of(item, keys);
      const bool by_one_key = keys.size() == 1;
      if (!met.insert(identity).second)
        causes_.push_back(
            {"FieldValueDuplicate", "Duplicate value: " + identity, by_one_key ? at + '.' + std::string(keys[0]) : at});
    }
  }

  /// What tells items apart, as upstream prints it: the one key's value, the keys as an object, or the item itself.
  static std::string identity_of(const Value& item, const StringList& keys) {
    std::string out;
    if (keys.empty()) {
      item.append_json(out);
      return out;
    }
    if (keys.size() == 1) {
      item[keys[0]].append_json(out);
      return out;
    }
    char separator = '{';
    for (const std::string_view key : keys) {
      out += separator;
      append_json_string(out, key);
      out += ':';
      item[key].append_json(out);
      separator = ',';
    }
    return out += '}';
  }

  std::vector<Cause>& causes_;
  std::vector<Value> seen_;
};

}  // namespace

void validate_structure(const Value& value, Type type, const std::string& path, std::vector<Cause>& causes) {
  if (value.is_object()) Validator(causes).object(value, plan_of(type), path);
}

}  // namespace sublet::schema
