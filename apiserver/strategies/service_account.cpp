#include "apiserver/strategies/rows.h"

namespace sublet::apiserver {

namespace {

using schema::Value;

/// Of a secret only the name is kept.
Outcome prepare_service_account_create(WriteContext&, Value object) {
  for (auto secret : object["secrets"]) {
    const auto name = secret["name"].string();
    secret.clear();
    if (!name.empty()) secret.put("name", name);
  }
  return {};
}

Outcome prepare_service_account_update(WriteContext& context, Value object, const Value&) {
  return prepare_service_account_create(context, object);
}

}  // namespace

Strategy service_account_strategy() {
  Strategy row;
  row.prepare_create = prepare_service_account_create;
  row.prepare_update = prepare_service_account_update;
  row.resource = "serviceaccounts";
  row.delete_returns_object = true;
  return row;
}

}  // namespace sublet::apiserver
