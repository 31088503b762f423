// Verbs: what a request does. A read is a straight-line function to an answer; a write goes through the phases
// (phases.h), of which the last but one makes a Plan: what to answer, and the Txn to commit. Functions must not block.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "apiserver/request/request_context.h"
#include "apiserver/strategies/strategy.h"
#include "sublet/net/body_source.h"
#include "sublet/schema/document.h"
#include "sublet/store/store.h"

namespace sublet::apiserver {

/// Exactly one of object, json and op says what the body is; `view` may show the object as another kind.
struct Answer {
  int code = 200;
  store::ObjectPtr object;        // a stored object, written in the asked form
  std::string json;               // any other kind, with kind and apiVersion
  std::optional<std::size_t> op;  // the object that this op of the Txn makes (or its last state)
  /// The JSON to show instead of the object itself (Scale); null: the object.
  std::string (*view)(const RequestContext& context, const store::Object& object) = nullptr;
};

struct Plan {
  Answer answer;
  store::Txn txn;
  bool submit = false;                    // false: nothing to store (dry runs, what changes nothing)
  std::optional<store::Revision> seen{};  // without a Txn: what must be durable first; missing: all that was pending
};

// Answers. Exactly one per request.
void reply(RequestContext& context, const Answer& answer);
void reply_status(RequestContext& context, const Status& status);
/// `json` in the negotiated media.
void reply_json(RequestContext& context, int code, std::string json);
void reply_text(RequestContext& context, int code, std::string_view content_type, std::string body);
/// A body in its final form; compressed when large and wanted.
void reply_body(RequestContext& context, int code, std::string_view content_type, std::string body);
/// 200 with a body that is made while the peer reads; compressed when large and wanted. The source counts the answer.
void reply_in_steps(const ContextPtr& context, std::string_view content_type, std::unique_ptr<net::BodySource> source);

// The verbs.
void get_object(const ContextPtr& context);
void list_objects(const ContextPtr& context);
void watch_objects(const ContextPtr& context);
void create_object(const ContextPtr& context);
void update_object(const ContextPtr& context);
void patch_object(const ContextPtr& context);
void remove_object(const ContextPtr& context);
void remove_collection(const ContextPtr& context);
void post_to_subresource(const ContextPtr& context);
void answer_review(const ContextPtr& context);
void pod_log(const ContextPtr& context);
void pod_connect(const ContextPtr& context);  // exec, attach, portforward

}  // namespace sublet::apiserver
