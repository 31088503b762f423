#include "syncer/translate/field_check.h"

#include <algorithm>
#include <map>
#include <set>

namespace sublet::syncer {
namespace {

using schema::Field;
using schema::Scalar;
using schema::Type;

using FieldsByName = std::map<std::string, Field, std::less<>>;

// A type's fields by JSON name, those of inlined structs included.
void collect_fields(const Type& type, FieldsByName& fields) {
  for (std::size_t i = 0; i < type.field_count(); ++i) {
    const Field field = type.field_at(i);
    if (field.inlined())
      collect_fields(field.type(), fields);
    else
      fields.emplace(field.name(), field);
  }
}

bool any_json(Scalar scalar) {
  return scalar == Scalar::fields_v1 || scalar == Scalar::raw_extension || scalar == Scalar::json;
}

class Check {
 public:
  Check(const schema::Registry& kinds, std::span<const TypeRows> types, std::span<const std::string_view> roots)
      : kinds_(kinds), types_(types), reached_(roots.begin(), roots.end()) {}

  std::vector<std::string> run() {
    for (const TypeRows& type : types_) check_type(type);
    for (const TypeRows& type : types_)
      if (!reached_.contains(type.type)) report(type.type, "", "is neither a kind's nor led into by any row");
    return std::move(problems_);
  }

 private:
  void report(std::string_view type, std::string_view field, std::string_view what) {
    problems_.push_back(std::string(type).append(field.empty() ? "" : ".").append(field).append(" ").append(what));
  }

  const TypeRows* named(std::string_view type) const {
    const auto found = std::ranges::find(types_, type, &TypeRows::type);
    return found == types_.end() ? nullptr : &*found;
  }

  void check_type(const TypeRows& rows) {
    const Type type = kinds_.find_type(schema_name(rows));
    if (!type) return report(rows.type, "", "is no type of the schema");
    if (std::ranges::count(types_, rows.type, &TypeRows::type) > 1) report(rows.type, "", "stands in the table twice");
    FieldsByName fields;
    collect_fields(type, fields);
    for (const FieldRow& row : rows.rows)
      for (const std::string_view name : field_names(row)) {
        const auto field = fields.find(name);
        if (field == fields.end()) {
          report(rows.type, name, "has a row but is no field of the schema (or has two rows)");
          continue;
        }
        check_row(rows.type, name, row, field->second);
        fields.erase(field);
      }
    for (const auto& [name, field] : fields)
      report(rows.type, name, "has no row: say in syncer/translate/fields_*.cpp what the border does with it");
  }

  void check_row(std::string_view type, std::string_view name, const FieldRow& row, const Field& field) {
    if (!lets_cross(row.action)) {
      if (row.why.empty()) report(type, name, "does not cross, and its row does not say why");
      return;
    }
    if ((row.action == Action::rewrite || row.action == Action::clamp) && row.function == nullptr)
      report(type, name, "has a row without its function");
    if (any_json(field.scalar())) report(type, name, "holds any JSON, of which nothing is known: it cannot cross");
    if (field.scalar() != Scalar::message) {
      if (!row.into.empty()) report(type, name, "is a leaf, and its row leads into a type");
      return;
    }
    if (row.each != field.map()) report(type, name, row.each ? "is no map" : "is a map: walk_each() its values");
    const TypeRows* below = named(row.into);
    if (row.into.empty())
      report(type, name, "crosses whole: lead into rows for " + std::string(field.type().short_name()));
    else if (below == nullptr)
      report(type, name, "leads into a type without rows: " + std::string(row.into));
    else if (schema_name(*below) != field.type().name())
      report(type, name, "leads into rows for another type than " + std::string(field.type().name()));
    reached_.insert(row.into);
  }

  const schema::Registry& kinds_;
  std::span<const TypeRows> types_;
  std::set<std::string_view> reached_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> check_fields(const schema::Registry& kinds, std::span<const TypeRows> types,
                                      std::span<const std::string_view> roots) {
  return Check(kinds, types, roots).run();
}

std::vector<std::string> check_field_table(const schema::Registry& kinds) {
  std::vector<std::string_view> roots(from_host_roots().begin(), from_host_roots().end());
  for (const HostKind& kind : host_kinds()) roots.push_back(kind.kind);
  return check_fields(kinds, field_table(), roots);
}

}  // namespace sublet::syncer
