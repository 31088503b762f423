#include "apiserver/admission/audit_annotation.h"

#include "sublet/base/log.h"

namespace sublet::apiserver {

void log_audit_annotation(std::string_view source, std::string_view name, std::string_view key,
                          std::string_view value) {
  constexpr std::size_t kShownMax = 1024;
  log::info("admission.audit_annotation",
            {{source, name}, {"key", key.substr(0, kShownMax)}, {"value", value.substr(0, kShownMax)}});
}

}  // namespace sublet::apiserver
