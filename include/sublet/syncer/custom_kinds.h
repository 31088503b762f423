// CustomKinds: which of the template's custom resources the host serves, and how. Blocking.
#pragma once

#include <string>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/kube/client.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {

/// Fills context.served_kinds from the host's definitions. One that is not there is left out, and so is one of the
/// wrong scope. And context.unserved_kinds: of Kubernetes' own that only some hosts serve (SyncedKind::only_some_hosts)
/// and the template asks for, those that this one does not. An error when the host cannot be asked.
Outcome learn_served_kinds(const kube::Client& host, TranslateContext& context);
/// Names of the definitions that the template asks for and the host does not serve so.
std::vector<std::string> unserved_kinds(const TranslateContext& context);

/// What a definition says of the kind for that entry of the template; no version: it cannot cross.
ServedKind served_by(const schema::Value& definition, const patches::CustomResource& resource);

}  // namespace sublet::syncer
