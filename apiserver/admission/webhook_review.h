// AdmissionReview: the request to a webhook, and reading its answer (k8s.io/apiserver/pkg/admission/plugin/webhook/
// request, .../errors). The answer is not trusted. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {

/// `request`: AdmissionRequest's members but for uid and objects; those are null documents where there are none.
std::string review_text(std::string_view version, std::string_view uid, const schema::Value& request,
                        const schema::Value& object, const schema::Value& old);

struct ReviewAnswer {
  bool allowed = false;
  Status refusal;          // when not allowed: the webhook's own words, as clients get them
  schema::Document patch;  // JSON patch; null: none
  std::vector<std::string> warnings;
};

struct ReviewQuestion {
  std::string_view webhook, version, uid;
  bool mutating = false;
};
/// An error's message is the reason of the failed call.
Result<ReviewAnswer> read_review(const ReviewQuestion& question, std::string_view body);

/// What an answer other than 2xx says, in client-go's words.
std::string unexpected_answer(int code, std::string_view body);

}  // namespace sublet::apiserver
