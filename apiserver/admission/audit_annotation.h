// What policies and webhooks have for the audit log: until there is one, the server's log takes it, as it takes what
// the action Audit of a policy finds. Threads: any.
#pragma once

#include <string_view>

namespace sublet::apiserver {

/// `source`: "policy" or "webhook"; `name`: which of them. Key and value are cut at 1 KiB.
void tell_audit_annotation(std::string_view source, std::string_view name, std::string_view key,
                           std::string_view value);

}  // namespace sublet::apiserver
