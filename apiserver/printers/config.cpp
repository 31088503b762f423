// What pods are configured with, and what limits them.
#include <map>

#include "apiserver/printers/cells.h"
#include "apiserver/printers/families.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

constexpr Column kConfigMapColumns[] = {kNameColumn, {"Data", "string", "", "Number of entries"}, kAgeColumn};

void config_map_cells(const Value& object, WallTime now, Value row) {
  std::size_t entries = object["data"].size() + object["binaryData"].size();
  Cells(object, now, row).name().number(static_cast<std::int64_t>(entries)).age();
}

constexpr Column kSecretColumns[] = {
    kNameColumn,
    {"Type", "string", "", "What the secret is for"},
    {"Data", "string", "", "Number of entries"},
    kAgeColumn,
};

void secret_cells(const Value& object, WallTime now, Value row) {
  Cells cells(object, now, row);
  cells.name().text(object["type"].text()).number(static_cast<std::int64_t>(object["data"].size())).age();
}

constexpr Column kServiceAccountColumns[] = {kNameColumn, kAgeColumn};

void service_account_cells(const Value& object, WallTime now, Value row) { Cells(object, now, row).name().age(); }

constexpr Column kQuotaColumns[] = {
    kNameColumn,
    {"Request", "string", "", "Used and allowed, of everything but limits"},
    {"Limit", "string", "", "Used and allowed, of limits"},
    kAgeColumn,
};

void quota_cells(const Value& object, WallTime now, Value row) {
  Value status = object["status"];
  std::map<std::string, std::string> hard;  // by resource name
  for (Value entry : status["hard"]) hard.emplace(entry.key(), entry.string());
  std::vector<std::string> requests, limits;
  for (const auto& [resource, allowed] : hard) {
    std::string used = status["used"][resource].string("0");
    (resource.starts_with("limits.") ? limits : requests).push_back(resource + ": " + used + "/" + allowed);
  }
  Cells(object, now, row).name().text(join(requests, ", ")).text(join(limits, ", ")).age();
}

constexpr Printer kConfigPrinters[] = {
    {"", "configmaps", kConfigMapColumns, config_map_cells},
    {"", "secrets", kSecretColumns, secret_cells},
    {"", "serviceaccounts", kServiceAccountColumns, service_account_cells},
    {"", "resourcequotas", kQuotaColumns, quota_cells},
};

}  // namespace

std::span<const Printer> config_printers() { return kConfigPrinters; }

}  // namespace sublet::apiserver
