#include "sublet/base/status.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

namespace sublet {
namespace {

struct ReasonFacts {
  Reason reason;
  std::string_view name;
  int code;
};

constexpr std::array<ReasonFacts, 19> kReasons{{
    {Reason::unknown, "", 500},
    {Reason::bad_request, "BadRequest", 400},
    {Reason::unauthorized, "Unauthorized", 401},
    {Reason::forbidden, "Forbidden", 403},
    {Reason::not_found, "NotFound", 404},
    {Reason::method_not_allowed, "MethodNotAllowed", 405},
    {Reason::not_acceptable, "NotAcceptable", 406},
    {Reason::already_exists, "AlreadyExists", 409},
    {Reason::conflict, "Conflict", 409},
    {Reason::gone, "Gone", 410},
    {Reason::expired, "Expired", 410},
    {Reason::request_entity_too_large, "RequestEntityTooLarge", 413},
    {Reason::unsupported_media_type, "UnsupportedMediaType", 415},
    {Reason::invalid, "Invalid", 422},
    {Reason::too_many_requests, "TooManyRequests", 429},
    {Reason::internal_error, "InternalError", 500},
    {Reason::server_timeout, "ServerTimeout", 500},
    {Reason::service_unavailable, "ServiceUnavailable", 503},
    {Reason::timeout, "Timeout", 504},
}};

Status named_status(Reason reason, std::string_view group, std::string_view kind, std::string_view name,
                    std::string message) {
  Status status;
  status.reason = reason;
  status.message = std::move(message);
  status.name = name;
  status.group = group;
  status.kind = kind;
  return status;
}

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

}  // namespace

int Status::http_code() const { return code != 0 ? code : default_http_code(reason); }

std::string_view reason_name(Reason reason) {
  for (const auto& facts : kReasons)
    if (facts.reason == reason) return facts.name;
  return "";
}

Reason reason_from_name(std::string_view name) {
  for (const auto& facts : kReasons)
    if (facts.name == name) return facts.reason;
  return Reason::unknown;
}

int default_http_code(Reason reason) {
  for (const auto& facts : kReasons)
    if (facts.reason == reason) return facts.code;
  return 500;
}

Reason reason_from_http_code(int code) {
  for (const auto& facts : kReasons)
    if (facts.code == code && facts.reason != Reason::unknown && facts.reason != Reason::already_exists)
      return facts.reason;
  return Reason::unknown;
}

tl::unexpected<Status> fail(Status status) { return tl::unexpected<Status>(std::move(status)); }

tl::unexpected<Status> fail(Reason reason, std::string message) {
  Status status;
  status.reason = reason;
  status.message = std::move(message);
  return fail(std::move(status));
}

tl::unexpected<Status> bad_request(std::string message) { return fail(Reason::bad_request, std::move(message)); }

tl::unexpected<Status> internal_error(std::string message) {
  message.insert(0, "Internal error occurred: ");
  return fail(Reason::internal_error, std::move(message));
}

std::string group_resource(std::string_view group, std::string_view resource) {
  std::string text(resource);
  if (!group.empty()) text.append(".").append(group);
  return text;
}

Status not_found_status(std::string_view group, std::string_view resource, std::string_view name) {
  return named_status(Reason::not_found, group, resource, name,
                      group_resource(group, resource) + " " + quoted(name) + " not found");
}

Status already_exists_status(std::string_view group, std::string_view resource, std::string_view name) {
  return named_status(Reason::already_exists, group, resource, name,
                      group_resource(group, resource) + " " + quoted(name) + " already exists");
}

Status conflict_status(std::string_view group, std::string_view resource, std::string_view name, std::string_view why) {
  return named_status(Reason::conflict, group, resource, name,
                      "Operation cannot be fulfilled on " + group_resource(group, resource) + " " + quoted(name) +
                          ": " + std::string(why));
}

Status forbidden_status(std::string_view group, std::string_view resource, std::string_view name,
                        std::string_view why) {
  std::string what = group_resource(group, resource);
  if (!name.empty()) what += " " + quoted(name);
  if (!what.empty()) what += " is ";
  return named_status(Reason::forbidden, group, resource, name, what + "forbidden: " + std::string(why));
}

Status invalid_status(std::string_view group, std::string_view kind, std::string_view name, std::vector<Cause> causes) {
  // A mistake that two layers of rules found is said once here and stays twice among the causes, as upstream has it.
  std::unordered_set<std::string> said;  // a body may have tens of thousands
  std::string list;
  for (const auto& cause : causes) {
    const auto [text, is_new] = said.insert(cause.field + ": " + cause.message);
    if (is_new) list.append(list.empty() ? "" : ", ").append(*text);
  }
  if (said.size() > 1) list = "[" + list + "]";
  std::string message = group_resource(group, kind) + " " + quoted(name) + " is invalid: " + list;
  Status status = named_status(Reason::invalid, group, kind, name, std::move(message));
  status.causes = std::move(causes);
  return status;
}

}  // namespace sublet
