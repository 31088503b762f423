// Status and Result: how every layer of sublet reports failure.
//
// A Status is the Kubernetes failure object in C++: the reason is one of the API's own reasons, so a failure deep in
// the store reaches kubectl without a second vocabulary. Functions that can fail return Result<T>; exceptions live only
// at the seams of libraries that throw, and are turned into a Status on the spot. Values: plain data, copyable, no
// threads involved. Source: k8s.io/apimachinery/pkg/apis/meta/v1 (StatusReason).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace sublet {

/// The API's StatusReason list. Each has one default HTTP code (see http_code).
enum class Reason {
  unknown,
  bad_request,
  unauthorized,
  forbidden,
  not_found,
  method_not_allowed,
  not_acceptable,
  already_exists,
  conflict,
  gone,
  expired,
  request_entity_too_large,
  unsupported_media_type,
  invalid,
  too_many_requests,
  internal_error,
  server_timeout,
  service_unavailable,
  timeout,
};

/// One entry of Status.details.causes, e.g. {"FieldValueRequired", "Required value", "spec.containers[0].image"}.
struct Cause {
  std::string reason;
  std::string message;
  std::string field;
  bool operator==(const Cause&) const = default;
};

/// A failure as the Kubernetes API reports it. `message` is a full sentence for a person.
struct Status {
  Reason reason = Reason::unknown;
  std::string message;
  std::string name;   // details.name: the object
  std::string group;  // details.group
  std::string kind;   // details.kind: the resource (plural) for most errors, the kind for `invalid`, as upstream does
  std::string uid;    // details.uid
  std::vector<Cause> causes;
  int retry_after_seconds = 0;  // 0: none
  int code = 0;                 // HTTP code; 0: the reason's default
  std::string continue_token;   // metadata.continue of an Expired list (empty: none)

  int http_code() const;
  bool is(Reason r) const { return reason == r; }
};

template <class T>
using Result = tl::expected<T, Status>;
using Outcome = Result<void>;

/// The API's spelling ("NotFound"); "" for unknown.
std::string_view reason_name(Reason reason);
/// The reverse of reason_name; unknown for any other text.
Reason reason_from_name(std::string_view name);
/// The HTTP code that the API sends with this reason.
int default_http_code(Reason reason);
/// The reason that the API uses for an HTTP code when no Status body says more.
Reason reason_from_http_code(int code);

// Makers for tl::unexpected<Status>: `return fail(Reason::bad_request, "...")`.
tl::unexpected<Status> fail(Reason reason, std::string message);
tl::unexpected<Status> fail(Status status);
tl::unexpected<Status> bad_request(std::string message);
tl::unexpected<Status> internal_error(std::string message);

/// "pods" or "deployments.apps": how messages name a resource.
std::string group_resource(std::string_view group, std::string_view resource);
/// `configmaps "x" not found` with details filled.
Status not_found_status(std::string_view group, std::string_view resource, std::string_view name);
/// `configmaps "x" already exists`.
Status already_exists_status(std::string_view group, std::string_view resource, std::string_view name);
/// `Operation cannot be fulfilled on configmaps "x": <why>`.
Status conflict_status(std::string_view group, std::string_view resource, std::string_view name, std::string_view why);
/// `pods "x" is forbidden: <why>`.
Status forbidden_status(std::string_view group, std::string_view resource, std::string_view name, std::string_view why);
/// `Pod "x" is invalid: [f1: m1, f2: m2]` from causes (each cause's message without the field, as upstream's
/// field.Error).
Status invalid_status(std::string_view group, std::string_view kind, std::string_view name, std::vector<Cause> causes);

/// The why of an optimistic-lock conflict, in upstream's words.
inline constexpr std::string_view kObjectModified =
    "the object has been modified; please apply your changes to the latest version and try again";

}  // namespace sublet
