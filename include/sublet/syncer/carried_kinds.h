// CarriedKinds: the kinds of which a virtual cluster's objects stand on the host, so that its API server can ask what
// may cross before it is stored, and knows what has an effect. Read off the table of synced kinds
// (syncer/synced_kinds.cpp). Pure.
#pragma once

#include <string>
#include <vector>

#include "sublet/kube/client.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

struct CarriedKind {
  kube::Resource resource;
  std::string kind;
  bool judged = false;  // translate() may refuse one: the tenant is to be told at once
};
/// Without those that the template switches off.
std::vector<CarriedKind> carried_kinds(const TranslateContext& context);

}  // namespace sublet::syncer
