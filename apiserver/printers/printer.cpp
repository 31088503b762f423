#include "apiserver/printers/printer.h"

#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr Column kDefaultColumns[] = {kNameColumn, {"Created At", "date", "", "When the object was created"}};

void default_cells(const Value& object, WallTime now, Value row) {
  Cells(object, now, row).name().text(object["metadata"]["creationTimestamp"].text());
}

constexpr Printer kDefaultPrinter{"", "", kDefaultColumns, default_cells};

// As upstream shows custom resources that name no columns.
constexpr Column kCustomColumns[] = {kNameColumn, {"Age", "date", "", "When the object was created"}};

void custom_cells(const Value& object, WallTime now, Value row) { Cells(object, now, row).name().age(); }

constexpr Printer kCustom{"", "", kCustomColumns, custom_cells};

using Family = std::span<const Printer> (*)();
constexpr Family kPrinterFamilies[] = {pod_printers,     cluster_printers,  config_printers,
                                       network_printers, workload_printers, storage_printers,
                                       access_printers,  device_printers,   group_printers};

/// One unit while it tells enough, two while the smaller one still matters: "119s", "5m30s", "3h", "2d3h".
std::string with_rest(std::int64_t large, std::string_view large_unit, std::int64_t small,
                      std::string_view small_unit) {
  std::string made = std::to_string(large) + std::string(large_unit);
  if (small != 0) made += std::to_string(small) + std::string(small_unit);
  return made;
}

}  // namespace

const Printer* Printer::row_of(const schema::ResourceFacts& facts) {
  return facts.custom ? &kCustom : &printer_for(facts.storage_group, facts.resource);
}

const Printer& printer_for(std::string_view group, std::string_view resource) {
  for (Family family : kPrinterFamilies)
    for (const Printer& printer : family())
      if (printer.resource == resource && printer.group == group) return printer;
  return kDefaultPrinter;
}

std::string human_duration(std::chrono::seconds duration) {
  std::int64_t seconds = duration.count();
  if (seconds < -1) return "<invalid>";  // one second of clock skew counts as now
  if (seconds < 0) return "0s";
  if (seconds < 120) return std::to_string(seconds) + "s";
  std::int64_t minutes = seconds / 60;
  if (minutes < 10) return with_rest(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return std::to_string(minutes) + "m";
  std::int64_t hours = minutes / 60;
  if (hours < 8) return with_rest(hours, "h", minutes % 60, "m");
  if (hours < 48) return std::to_string(hours) + "h";
  std::int64_t days = hours / 24;
  if (days < 8) return with_rest(days, "d", hours % 24, "h");
  if (days < 2 * 365) return std::to_string(days) + "d";
  if (days < 8 * 365) return with_rest(days / 365, "y", days % 365, "d");
  return std::to_string(days / 365) + "y";
}

std::string age_of(std::string_view timestamp, WallTime now) {
  std::optional<WallTime> then = parse_time(timestamp);
  if (!then) return std::string(kUnknown);
  return human_duration(std::chrono::duration_cast<std::chrono::seconds>(now - *then));
}

}  // namespace sublet::apiserver
