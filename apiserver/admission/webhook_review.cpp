#include "apiserver/admission/webhook_review.h"

#include <algorithm>

#include "apiserver/admission/audit_annotation.h"
#include "apiserver/authz/attributes.h"
#include "sublet/base/go_quoted.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kReviewGroupPrefix = "admission.k8s.io/";
constexpr std::size_t kReviewWarningsMax = 64, kReviewWarningBytesMax = 4096, kReviewAnnotationsMax = 16;

tl::unexpected<Status> bad(std::string why) {
  return fail(Reason::service_unavailable, "received invalid webhook response: " + std::move(why));
}

// How Go shows a GroupVersionKind.
std::string review_kind(const Value& review) {
  return review["apiVersion"].string() + ", Kind=" + review["kind"].string();
}

Status refusal_of(std::string_view webhook, const Value& result) {
  const std::string denied = "admission webhook " + go_quoted(webhook) + " denied the request";
  const std::string message = result["message"].string(), reason = result["reason"].string();
  Status status;
  status.reason = reason_from_name(reason);
  constexpr std::int64_t kCodeMax = 599;
  const auto code = result["code"].integer();
  status.code = code >= 400 && code <= kCodeMax ? static_cast<int>(code) : 400;
  if (!message.empty())
    status.message = denied + ": " + message;
  else
    status.message = reason.empty() ? denied + " without explanation" : denied + ": " + reason;
  const Value details = result["details"];
  status.name = details["name"].string();
  status.group = details["group"].string();
  status.kind = details["kind"].string();
  status.uid = details["uid"].string();
  status.retry_after_seconds =
      static_cast<int>(std::clamp<std::int64_t>(details["retryAfterSeconds"].integer(), 0, 3600));
  for (const Value cause : details["causes"])
    status.causes.push_back({cause["reason"].string(), cause["message"].string(), cause["field"].string()});
  return status;
}

Outcome check_patch(const ReviewQuestion& question, const Value& response) {
  const bool patch = !response["patch"].text().empty(), type = response.has("patchType");
  if (!question.mutating) {
    // v1beta1 did not mind.
    if (question.version != "v1") return {};
    if (patch) return bad("validating webhook may not return response.patch");
    return type ? bad("validating webhook may not return response.patchType") : Outcome();
  }
  if (question.version != "v1") return {};
  if (patch && !type) return bad("webhook returned response.patch but not response.patchType");
  if (!patch && type) return bad("webhook returned response.patchType but not response.patch");
  if (type && response["patchType"].text().empty()) return bad("webhook returned invalid response.patchType of \"\"");
  return {};
}

Result<Document> response_patch(const ReviewQuestion& question, const Value& response) {
  const auto text = response["patch"].text();
  if (!question.mutating || text.empty()) return Document();
  if (question.version == "v1" && response["patchType"].text() != "JSONPatch")
    return fail(Reason::service_unavailable, "unsupported patch type " + go_quoted(response["patchType"].text()));
  const auto undecodable = [](const std::string& why) {
    return fail(Reason::service_unavailable, "received undecodable patch in webhook response: " + why);
  };
  const auto bytes = schema::base64_decode(text);
  if (!bytes) return undecodable("illegal base64 data");
  auto patch = Document::parse_json(*bytes);
  if (!patch) return undecodable(patch.error().message);
  bool steps = patch->root().is_array();
  for (const Value step : patch->root()) steps = steps && step.is_object();
  if (!steps) return undecodable("it is no list of operations");
  return patch;
}

// Members of a wrong kind are mistakes; what is not known is left alone.
Outcome check_kinds(const Value& response) {
  struct Member {
    const char* name;
    bool (Value::*is)() const;
  };
  constexpr Member kMembers[] = {{"allowed", &Value::is_boolean},        {"uid", &Value::is_string},
                                 {"status", &Value::is_object},          {"patch", &Value::is_string},
                                 {"patchType", &Value::is_string},       {"warnings", &Value::is_array},
                                 {"auditAnnotations", &Value::is_object}};
  for (const auto& member : kMembers) {
    const Value value = response[member.name];
    if (value && !value.is_null() && !(value.*member.is)())
      return fail(Reason::service_unavailable,
                  "failed to call webhook: json: cannot unmarshal response." + std::string(member.name));
  }
  return {};
}

}  // namespace

std::string review_text(std::string_view version, std::string_view uid, const Value& request, const Value& object,
                        const Value& old) {
  std::string text = R"({"kind":"AdmissionReview","apiVersion":")";
  text.append(kReviewGroupPrefix).append(version).append(R"(","request":{"uid":)");
  schema::append_json_string(text, uid);
  const auto put = [&text](std::string_view name, const Value& value) {
    text += ",";
    schema::append_json_string(text, name);
    text += ":";
    if (value)
      value.append_json(text);
    else
      text += "null";
  };
  for (const Value member : request) {
    if (member.key() == "dryRun") {  // the objects stand before it
      put("object", object);
      put("oldObject", old);
    }
    put(member.key(), member);
  }
  return text + "}}";
}

Result<ReviewAnswer> read_review(const ReviewQuestion& question, std::string_view body) {
  auto review = Document::parse_json(body);
  if (!review || !review->root().is_object())
    return fail(Reason::service_unavailable,
                "failed to call webhook: couldn't get version/kind; json parse error: " +
                    (review ? std::string("the answer is no object") : review.error().message));
  const Value root = review->root(), response = root["response"];
  const std::string expected = std::string(kReviewGroupPrefix) + std::string(question.version);
  if (root["apiVersion"].text().empty() || root["kind"].text().empty()) {
    if (response.is_object() || question.version != "v1beta1")
      return bad("expected webhook response of " + expected + ", Kind=AdmissionReview, got " + review_kind(root));
  }
  if (!response.is_object()) return bad("webhook response was absent");
  if (auto good = check_kinds(response); !good) return fail(good.error());
  if (question.version == "v1") {
    if (response["uid"].text() != question.uid)
      return bad("expected response.uid=" + go_quoted(question.uid) + ", got " + go_quoted(response["uid"].text()));
    if (root["apiVersion"].text() != expected || root["kind"].text() != "AdmissionReview")
      return bad("expected webhook response of " + expected + ", Kind=AdmissionReview, got " + review_kind(root));
  }
  if (auto good = check_patch(question, response); !good) return fail(good.error());
  ReviewAnswer answer;
  answer.allowed = response["allowed"].boolean();
  for (const Value warning : response["warnings"])
    if (answer.warnings.size() < kReviewWarningsMax)
      answer.warnings.emplace_back(warning.text().substr(0, kReviewWarningBytesMax));
  std::size_t annotations = 0;
  for (const Value annotation : response["auditAnnotations"])
    if (annotations++ < kReviewAnnotationsMax)
      log_audit_annotation("webhook", question.webhook, annotation.key(), annotation.text());
  if (!answer.allowed) {
    answer.refusal = refusal_of(question.webhook, response["status"]);
    return answer;
  }
  auto patch = response_patch(question, response);
  if (!patch) return fail(patch.error());
  answer.patch = std::move(*patch);
  return answer;
}

std::string unexpected_answer(int code, std::string_view body) {
  if (auto status = Document::parse_json(body);
      status && (*status)["kind"].text() == "Status" && !(*status)["message"].text().empty())
    return (*status)["message"].string();
  constexpr std::size_t kShownMax = 2048;
  const std::string shown(body.substr(0, kShownMax));
  if (code == 404) return "the server could not find the requested resource";
  if (code == 401) return "the server has asked for the client to provide credentials";
  if (code == 503) return "the server is currently unable to handle the request";
  if (code >= 500 && code != 504)
    return "an error on the server (" + go_quoted(shown.empty() ? "unknown" : shown) +
           ") has prevented the request from succeeding";
  return "the server responded with the status code " + std::to_string(code) + " but did not return more information";
}

}  // namespace sublet::apiserver
