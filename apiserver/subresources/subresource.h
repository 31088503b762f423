// Subresources that are not just a view of the object: binding, eviction, finalize, token, and the reviews. Each is a
// function from a prepared request to the change of the parent object, run by the generic verbs (apiserver/verbs).
//
// A PostSubresource receives the parent (a clone it may change) and the decoded body, and says what to answer and
// whether the parent is to be stored. Run again when a guard fails. Threads: any.
#pragma once

#include "apiserver/strategies/strategy.h"

namespace sublet::apiserver {

struct SubresourceAnswer {
  schema::Document body;  // with apiVersion and kind
  int code = 201;
  bool store_parent = false;  // write the changed parent
  /// eviction: delete the changed parent, with these options (a DeleteOptions document).
  bool delete_parent = false;
  schema::Document delete_options;
};

using PostSubresource = Result<SubresourceAnswer> (*)(WriteContext& context, schema::Value parent,
                                                      const schema::Value& body);
/// pods/binding, pods/eviction, serviceaccounts/token; null: not a POST subresource.
PostSubresource post_subresource(std::string_view group, std::string_view resource, std::string_view subresource);

/// Kinds that are answered and never stored: SelfSubjectReview, SelfSubjectAccessReview, SubjectAccessReview,
/// LocalSubjectAccessReview, SelfSubjectRulesReview, TokenReview. `object` is changed into the answer.
using Review = Outcome (*)(WriteContext& context, schema::Value object);
Review review_for(std::string_view group, std::string_view resource);

}  // namespace sublet::apiserver
