#include "subletd/border_admission.h"

namespace sublet::subletd {

apiserver::BorderAdmission border_admission(syncer::TranslateContext context) {
  return [context = std::move(context)](std::string_view kind, const schema::Value& object, bool is_create) {
    apiserver::AdmissionVerdict verdict;
    if (kind != "Pod") return verdict;
    auto translated =
        syncer::translate(context, kind, object, is_create ? syncer::Operation::create : syncer::Operation::update);
    if (translated)
      verdict.warnings = std::move(translated->warnings);
    else
      verdict.denials = std::move(translated.error().causes);
    return verdict;
  };
}

}  // namespace sublet::subletd
