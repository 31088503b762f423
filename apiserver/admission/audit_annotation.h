// AuditAnnotation: writes audit annotations of policies and webhooks, and findings of a policy's action Audit, to the
// server's log, because there is no audit log. Threads: any.
#pragma once

#include <string_view>

namespace sublet::apiserver {

/// `source`: "policy" or "webhook"; `name`: which of them. Key and value are cut at 1 KiB.
void log_audit_annotation(std::string_view source, std::string_view name, std::string_view key, std::string_view value);

}  // namespace sublet::apiserver
