// field_check: compares the border's field table with the generated schema, and fails the build on a difference, so
// that a field of a newer Kubernetes can neither be forgotten nor cross unseen.
#include <cstdio>
#include <set>
#include <string>

#include "sublet/schema/table.h"
#include "syncer/translate/field_table.h"

namespace {

using sublet::schema::Field;
using sublet::schema::Table;
using sublet::schema::Type;

// Groups of rows that stand for another schema type than their own name says.
std::string_view schema_name(std::string_view rows) {
  return rows == "ImagePullSecret" ? "LocalObjectReference" : rows;
}

// JSON names of a type's fields, those of inlined structs included.
void collect(const Type& type, std::set<std::string, std::less<>>& names) {
  for (std::size_t i = 0; i < type.field_count(); ++i) {
    const Field field = type.field_at(i);
    if (field.inlined())
      collect(field.type(), names);
    else
      names.emplace(field.name());
  }
}

}  // namespace

int main() {
  int problems = 0;
  const auto report = [&](std::string_view type, std::string_view field, const char* what) {
    std::fprintf(stderr, "field_check: %.*s.%.*s %s\n", int(type.size()), type.data(), int(field.size()), field.data(),
                 what);
    ++problems;
  };
  for (const auto& rows : sublet::syncer::field_table()) {
    const Type type = Table::builtin().find_type("io.k8s.api.core.v1." + std::string(schema_name(rows.type)));
    if (!type) {
      report(rows.type, "", "is no type of the schema");
      continue;
    }
    std::set<std::string, std::less<>> names;
    collect(type, names);
    for (const auto& row : rows.rows) {
      if (names.erase(std::string(row.field)) == 0)
        report(rows.type, row.field, "has a row but is no field of the schema (or has two rows)");
      if (row.action == sublet::syncer::Action::walk && sublet::syncer::rows_of(row.detail) == nullptr)
        report(rows.type, row.field, "walks into a type without rows");
    }
    for (const auto& name : names)
      report(rows.type, name, "has no row: say in syncer/translate/field_table.cpp what the border does with it");
  }
  return problems == 0 ? 0 : 1;
}
