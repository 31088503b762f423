// CustomPrinter: the additional printer columns of one version of a custom resource. Immutable; any thread.
#pragma once

#include <string>
#include <vector>

#include "apiserver/printers/printer.h"
#include "apiserver/structural/definition.h"
#include "apiserver/structural/json_path.h"

namespace sublet::apiserver {

struct CustomPrinter : Printer {
  explicit CustomPrinter(const std::vector<ColumnSpec>& columns);
  CustomPrinter(const CustomPrinter&) = delete;

 private:
  static void show(const CustomPrinter& self, const schema::Value& object, WallTime now, schema::Value row);

  std::vector<ColumnSpec> specs_;
  std::vector<JsonPath> paths_;
  std::vector<Column> own_columns_;
};

}  // namespace sublet::apiserver
