#include "apiserver/codec/table_form.h"

namespace sublet::apiserver {
namespace {

void append_member(std::string& out, std::string_view key, std::string_view text) {
  if (out.back() != '{') out += ',';
  out.append("\"").append(key).append("\":");
  schema::append_json_string(out, text);
}

}  // namespace

std::string table_head(std::string_view meta_version, std::string_view list_meta) {
  std::string out = "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/";
  out.append(meta_version).append("\",\"metadata\":").append(list_meta).append(",");
  return out;
}

void append_table_columns(std::string& out, const Printer& printer) {
  out += "\"columnDefinitions\":[";
  for (const auto& column : printer.columns) {
    if (&column != &printer.columns.front()) out += ',';
    out += '{';
    append_member(out, "name", column.name);
    append_member(out, "type", column.type);
    append_member(out, "format", column.format);
    append_member(out, "description", column.description);
    out += ",\"priority\":" + std::to_string(column.priority) + "}";
  }
  out += "],";
}

void append_table_row(std::string& out, const Printer& printer, const schema::Value& stored, std::string_view object,
                      WallTime now) {
  schema::Document cells;
  cells.root().make_array();
  printer.cells(stored, now, cells.root());
  out += "{\"cells\":";
  cells.root().append_json(out);
  out.append(",\"object\":").append(object).append("}");
}

}  // namespace sublet::apiserver
