#include "apiserver/crd/custom_printer.h"

#include "apiserver/printers/cells.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

/// A cell of a column of type string: the value as text, lists and maps as JSON.
void show_text(const Value& value, Value row) {
  if (value.is_string()) {
    row.push(value.text());
  } else {
    row.push(value.to_json());
  }
}

void show_typed(std::string_view type, const Value& value, WallTime now, Value row) {
  if (type == "integer" && value.is_number()) {
    row.push(value.is_integer() ? value.integer() : static_cast<std::int64_t>(value.floating()));
  } else if ((type == "number" && value.is_number()) || (type == "boolean" && value.is_boolean())) {
    row.push(value);
  } else if (type == "date" && value.is_string()) {
    row.push(parse_time(value.text()) ? age_of(value.text(), now) : std::string("<invalid>"));
  } else {
    row.push(Value());
  }
}

}  // namespace

CustomPrinter::CustomPrinter(const std::vector<ColumnSpec>& columns_) : Printer{}, specs_(columns_) {
  own_columns_.push_back(kNameColumn);
  for (ColumnSpec& spec : specs_) {
    auto path = JsonPath::parse(spec.path);
    if (!path) break;  // upstream shows the name alone from there on
    paths_.push_back(std::move(*path));
    if (spec.description.empty())
      spec.description = "Custom resource definition column (in JSONPath format): " + spec.path;
    own_columns_.push_back({spec.name, spec.type, spec.format, spec.description, spec.priority});
  }
  columns = own_columns_;
  cells = decltype(cells)::bound<show>(*this);
}

void CustomPrinter::show(const CustomPrinter& self, const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name();
  for (std::size_t i = 0; i < self.paths_.size(); ++i) {
    const Value value = self.paths_[i].first(object);
    if (value.missing() || value.is_null())
      row.push(Value());
    else if (self.specs_[i].type == "string")
      show_text(value, row);
    else
      show_typed(self.specs_[i].type, value, now, row);
  }
}

}  // namespace sublet::apiserver
