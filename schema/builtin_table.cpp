#include "schema/builtin_table.h"

#include <iterator>

#include "schema/table_data.h"

namespace sublet::schema {
namespace {

#include "schema/generated/resources.inc"
#include "schema/generated/strings.inc"
#include "schema/generated/types.inc"

static_assert(std::size(kTypes) < kNoType);

std::atomic<const TypePlan*> builtin_plans[std::size(kTypes)];

std::unique_ptr<TableData> builtin_data() {
  auto data = std::make_unique<TableData>();
  data->types = kTypes;
  data->fields = kFields;
  data->extras = kExtras;
  data->proto_order = kProtoOrder;
  data->lists = kLists;
  data->kinds = kKinds;
  data->groups = kGroups;
  data->resources = kResources;
  data->subresources = kSubresources;
  data->pool = kPool;
  data->offsets = kOffsets;
  data->plans = builtin_plans;
  data->release = data->text(kRelease);
  return data;
}

}  // namespace

const Table& builtin_table() {
  // Never destroyed: passes and other static objects may read it in threads that outlive main.
  static const Table* const table = new Table(builtin_data());
  return *table;
}

Type builtin_kind(std::string_view group, std::string_view version, std::string_view kind) {
  const TableData& data = builtin_table().data();
  const Type found = data.find_kind(group, version, kind);
  return found ? found : data.find_kind("*", "*", kind);
}

}  // namespace sublet::schema
