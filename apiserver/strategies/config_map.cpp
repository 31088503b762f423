#include "apiserver/strategies/rows.h"
#include "apiserver/validation/names.h"
#include "apiserver/validation/payload.h"

namespace sublet::apiserver {
namespace {

using schema::Value;

void validate_config_map(const Value& object, Causes& causes) {
  std::size_t total = 0;
  for (auto entry : object["data"]) {
    std::string at = keyed("data", entry.key());
    invalid_each(causes, at, entry.key(), config_map_key(entry.key()));
    if (object["binaryData"].has(entry.key()))
      invalid(causes, at, entry.key(), "duplicate of key present in binaryData");
    total += entry.text().size();
  }
  for (auto entry : object["binaryData"]) {
    invalid_each(causes, keyed("binaryData", entry.key()), entry.key(), config_map_key(entry.key()));
    total += decoded_size(entry.text());
  }
  if (total > kPayloadMax) too_long(causes, "[]", kPayloadMax);
}

void validate_config_map_update(const Value& object, const Value& old, Causes& causes) {
  validate_immutable_payload(causes, object, old, {"data", "binaryData"});
}

}  // namespace

Strategy config_map_strategy() {
  Strategy row;
  row.resource = "configmaps";
  row.validate = validate_config_map;
  row.validate_update = validate_config_map_update;
  return row;
}

}  // namespace sublet::apiserver
