#include "apiserver/strategies/rows.h"

namespace sublet::apiserver {

Strategy service_account_strategy() {
  Strategy row;
  row.resource = "serviceaccounts";
  row.delete_returns_object = true;
  return row;
}

}  // namespace sublet::apiserver
