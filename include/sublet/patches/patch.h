// The API's patch languages as pure functions over documents.
//
// Errors: bad_request for a malformed patch, invalid (422) for one that cannot be applied, in upstream's words.
#pragma once

#include "sublet/base/status.h"
#include "sublet/schema/document.h"
#include "sublet/schema/table.h"

namespace sublet::patches {

/// RFC 6902. At most 10,000 operations (request_entity_too_large above); copied bytes are capped at 3 MiB.
Outcome apply_json_patch(schema::Value target, const schema::Value& patch);
/// RFC 7386.
void apply_merge_patch(schema::Value target, const schema::Value& patch);
/// A merge patch that turns `from` into `to`; an empty object when they are equal.
schema::Document make_merge_patch(const schema::Value& from, const schema::Value& to);
/// Strategic merge by the table's patch strategies and merge keys, with $patch, $retainKeys, $setElementOrder/x and
/// $deleteFromPrimitiveList/x.
Outcome apply_strategic_merge(schema::Value target, const schema::Value& patch, schema::Type type);

}  // namespace sublet::patches
