// Printers: Table columns and cells per kind, as kubectl get shows them (upstream's pkg/printers/internalversion).
// Kinds without one get Name and Created At, those made at run time Name and Age. A column of the Registry. Pure; one
// file per family of kinds. Threads: any.
#pragma once

#include <span>
#include <string_view>

#include "apiserver/request/route.h"
#include "sublet/base/clock.h"
#include "sublet/base/hook.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

struct Column {
  std::string_view name, type, format, description;
  int priority = 0;  // 1: only with -o wide
};

struct Printer {
  std::string_view group, resource;  // storage form
  std::span<const Column> columns;
  /// Appends one cell per column to `cells` (an array).
  Hook<void(const schema::Value& object, WallTime now, schema::Value cells)> cells;
  /// Appends the row's conditions (Completed, of pods that ended) to `conditions` (an array); null: rows have none, and
  /// the member is left out.
  Hook<void(const schema::Value& object, schema::Value conditions)> conditions = nullptr;

  /// The row of a built-in resource, by its storage form.
  static const Printer* row_of(const schema::ResourceFacts& facts);
};

/// How the route's resource is shown.
inline const Printer& printer_of(const Route& route) { return *route.kinds->entry<Printer>(*route.served); }

/// The row of a built-in resource, or the plain one.
const Printer& printer_for(std::string_view group, std::string_view resource);

/// "5m30s", "3d4h", "<unknown>": kubectl's human durations.
std::string human_duration(std::chrono::seconds duration);
std::string age_of(std::string_view timestamp, WallTime now);

}  // namespace sublet::apiserver
