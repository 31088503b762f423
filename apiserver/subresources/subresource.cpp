#include "apiserver/subresources/subresource.h"

#include "apiserver/request/api_groups.h"
#include "apiserver/subresources/functions.h"

namespace sublet::apiserver {
namespace {

struct PostFacts {
  std::string_view group, resource, subresource;
  PostSubresource function;
};
constexpr PostFacts kPosts[] = {{"", "pods", "binding", bind_pod},
                                {"", "pods", "eviction", evict_pod},
                                {"", "serviceaccounts", "token", request_token}};

struct ReviewFacts {
  std::string_view group, resource;
  Review function;
};
constexpr ReviewFacts kReviews[] = {{kAuthenticationGroup, "selfsubjectreviews", review_self},
                                    {kAuthenticationGroup, "tokenreviews", review_token},
                                    {kAuthorizationGroup, "selfsubjectaccessreviews", review_self_access},
                                    {kAuthorizationGroup, "subjectaccessreviews", review_access},
                                    {kAuthorizationGroup, "localsubjectaccessreviews", review_local_access},
                                    {kAuthorizationGroup, "selfsubjectrulesreviews", review_self_rules}};

}  // namespace

PostSubresource post_subresource(std::string_view group, std::string_view resource, std::string_view subresource) {
  for (const auto& facts : kPosts)
    if (facts.group == group && facts.resource == resource && facts.subresource == subresource) return facts.function;
  return nullptr;
}

Review review_for(std::string_view group, std::string_view resource) {
  for (const auto& facts : kReviews)
    if (facts.group == group && facts.resource == resource) return facts.function;
  return nullptr;
}

schema::Document success_document() {
  auto document = schema::Document::object();
  auto root = document.root();
  root.put("kind", "Status");
  root.put("apiVersion", "v1");
  root.object("metadata");
  root.put("status", "Success");
  root.put("code", 201);
  return document;
}

void set_condition(schema::Value status, std::string_view type, std::string_view value, std::string_view reason,
                   std::string_view message, WallTime now) {
  auto conditions = status.array("conditions");
  schema::Value found;
  for (auto condition : conditions)
    if (condition["type"].text() == type) found = condition;
  if (!found) {
    found = conditions.push_object();
    found.put("type", type);
  }
  if (found["status"].text() != value) found.put("lastTransitionTime", format_time(now));
  found.put("status", value);
  for (auto [field, text] : {std::pair{"reason", reason}, std::pair{"message", message}}) {
    if (text.empty())
      found.erase(field);
    else
      found.put(field, text);
  }
}

}  // namespace sublet::apiserver
