// Table form: the text of a meta.k8s.io Table from a kind's printer. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/printers/printer.h"

namespace sublet::apiserver {

/// `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":<list_meta>,`.
std::string table_head(std::string_view meta_version, std::string_view list_meta);
/// `"columnDefinitions":[...],`.
void append_table_columns(std::string& out, const Printer& printer);
/// `{"cells":[...],"object":<object>}`.
void append_table_row(std::string& out, const Printer& printer, const schema::Value& stored, std::string_view object,
                      WallTime now);

}  // namespace sublet::apiserver
