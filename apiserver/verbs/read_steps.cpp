#include "apiserver/verbs/read_steps.h"

#include <algorithm>
#include <charconv>

#include "apiserver/codec/object_bytes.h"
#include "apiserver/verbs/placement.h"
#include "sublet/net/courier.h"
#include "sublet/schema/engine.h"

namespace sublet::apiserver {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFutureRevisionWait{3000};
constexpr milliseconds kFutureRevisionStep{25};  // how often a request that waits looks again
constexpr std::string_view kTokenVersion = "meta.k8s.io/v1";

constexpr std::string_view kTokenTooOld =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list.";
constexpr std::string_view kVersionTooOld = "The resourceVersion for the provided list is too old.";

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What Go says of a text that is no number, or none that has room.
std::string no_number(std::string_view function, std::string_view text) {
  const bool signed_text = function == "ParseInt" && (text.starts_with('+') || text.starts_with('-'));
  const auto digits = text.substr(signed_text ? 1 : 0);
  const bool far = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  return "strconv." + std::string(function) + ": parsing \"" + std::string(text) +
         "\": " + (far ? "value out of range" : "invalid syntax");
}

struct WaitingRead {
  ContextPtr context;
  store::Revision revision;
  SteadyTime deadline;
  std::function<void(const Outcome&)> then;
};

void look_again(const std::shared_ptr<WaitingRead>& waiting) {
  ServerCore& core = *waiting->context->core;
  const auto current = core.store.snapshot().revision();
  if (current >= waiting->revision) return waiting->then({});
  if (core.clock.steady_now() >= waiting->deadline || core.stopping || waiting->context->sink->closed())
    return waiting->then(fail(too_large_status(waiting->revision, current)));
  const auto& courier = waiting->context->sink->courier();
  courier->after(kFutureRevisionStep, [waiting] { look_again(waiting); });
}

Cause forbidden_field(std::string_view field, std::string_view text) {
  return {"FieldValueForbidden", "Forbidden: " + std::string(text), std::string(field)};
}

Cause unsupported_match(std::string_view value, std::string_view supported) {
  return {"FieldValueNotSupported",
          "Unsupported value: \"" + std::string(value) + "\": supported values: " + std::string(supported),
          "resourceVersionMatch"};
}

Status expired_status(const ListRequest& request) {
  Status status;
  status.reason = Reason::expired;
  status.message = request.continued ? kTokenTooOld : kVersionTooOld;
  if (request.continued) status.continue_token = encode_continue({-1, request.start_after});
  return status;
}

void check_watch_match(const Query& query, std::string_view match, std::vector<Cause>& causes) {
  const bool initial = query.find("sendInitialEvents").has_value();
  if (initial && match != "NotOlderThan")
    causes.push_back(forbidden_field("resourceVersionMatch",
                                     "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  if (match.empty()) return;
  if (!initial)
    causes.push_back(forbidden_field(
        "resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  if (match != "NotOlderThan") causes.push_back(unsupported_match(match, "\"NotOlderThan\""));
  if (!query.get("continue").empty())
    causes.push_back(
        forbidden_field("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
}

void check_list_match(const Query& query, std::string_view match, std::vector<Cause>& causes) {
  const auto version = query.get("resourceVersion");
  if (!match.empty() && version.empty())
    causes.push_back(forbidden_field("resourceVersionMatch",
                                     "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  if (!match.empty() && !query.get("continue").empty())
    causes.push_back(
        forbidden_field("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
  if (!match.empty() && match != "Exact" && match != "NotOlderThan")
    causes.push_back(unsupported_match(match, "\"Exact\", \"NotOlderThan\", \"\""));
  if (match == "Exact" && version == "0")
    causes.push_back(forbidden_field("resourceVersionMatch",
                                     "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
  if (query.find("sendInitialEvents"))
    causes.push_back(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"));
}

}  // namespace

Result<store::Revision> parse_resource_version(std::string_view text, std::string_view field) {
  if (text.empty()) return 0;
  const auto value = parse_integer(text);
  if (value && *value >= 0) return *value;
  return bad_request(std::string(field) + ": Invalid value: \"" + std::string(text) +
                     "\": " + no_number("ParseUint", text));
}

Result<std::int64_t> parse_query_integer(std::string_view text) {
  if (const auto value = parse_integer(text.starts_with('+') ? text.substr(1) : text)) return *value;
  return bad_request(no_number("ParseInt", text));
}

Result<store::ObjectPtr> find_stored(const RequestContext& context, const store::Snapshot& snapshot) {
  if (auto object = snapshot.get(context.key())) return object;
  return fail(not_found_status(context.served().group, context.served().resource, context.info.name));
}

Status too_large_status(store::Revision wanted, store::Revision current) {
  Status status;
  status.reason = Reason::timeout;
  status.message =
      "Timeout: Too large resource version: " + std::to_string(wanted) + ", current: " + std::to_string(current);
  status.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  status.retry_after_seconds = 1;
  return status;
}

void when_revision_reached(const ContextPtr& context, store::Revision revision,
                           std::function<void(const Outcome&)> then) {
  if (revision <= context->core->store.snapshot().revision()) return then({});
  const auto deadline = context->core->clock.steady_now() + kFutureRevisionWait;
  auto back = [context, then = std::move(then)](const Outcome& reached) {
    resume(context, [then, reached] { then(reached); });
  };
  look_again(std::make_shared<WaitingRead>(WaitingRead{context, revision, deadline, std::move(back)}));
}

std::vector<Cause> check_list_options(const Query& query, bool watch) {
  std::vector<Cause> causes;
  const auto match = query.get("resourceVersionMatch");
  if (watch)
    check_watch_match(query, match, causes);
  else
    check_list_match(query, match, causes);
  return causes;
}

Result<ListRequest> read_list_request(const Query& query) {
  for (const auto* name : {"limit", "timeoutSeconds"})
    if (const auto text = query.find(name))
      if (auto number = parse_query_integer(*text); !number) return fail(number.error());
  if (auto causes = check_list_options(query, false); !causes.empty())
    return fail(invalid_status("meta.k8s.io", "ListOptions", "", std::move(causes)));
  return parse_list_request(query);
}

Result<store::Snapshot> snapshot_of_list(const ServerCore& core, const ListRequest& request) {
  if (!request.exact) return core.store.snapshot();
  auto snapshot = core.store.snapshot_at(request.revision);
  if (!snapshot && snapshot.error().is(Reason::expired)) return fail(expired_status(request));
  return snapshot;
}

Result<ListRequest> parse_list_request(const Query& query) {
  ListRequest request;
  const auto token_text = query.get("continue");
  const auto limit = query.find("limit") ? parse_query_integer(query.get("limit")) : 0;
  if (!limit) return fail(limit.error());
  request.limit = std::max<std::int64_t>(*limit, 0);
  const auto version_text = query.get("resourceVersion");
  auto version = parse_resource_version(version_text, "resourceVersion");
  if (!version) return bad_request("invalid resource version: " + version.error().message);
  request.revision = *version;
  if (version_text == "0" && token_text.empty()) request.limit = 0;  // served from memory: the whole list
  request.exact = *version > 0 && (query.get("resourceVersionMatch") == "Exact" ||
                                   (query.get("resourceVersionMatch").empty() && request.limit > 0));
  if (token_text.empty()) return request;
  if (*version > 0) return bad_request("specifying resource version is not allowed when using continue");
  auto token = decode_continue(token_text);
  if (!token) return fail(token.error());
  request.continued = true;
  request.inconsistent = token->revision < 0;
  request.exact = !request.inconsistent;
  request.revision = std::max<store::Revision>(token->revision, 0);
  request.start_after = std::move(token->start);
  return request;
}

// The API's own form: base64url without padding of {"v":..., "rv":..., "start": the next key, which ends with a zero}.
std::string encode_continue(const ContinueToken& token) {
  std::string json = "{\"v\":\"";
  json.append(kTokenVersion).append("\",\"rv\":").append(std::to_string(token.revision)).append(",\"start\":");
  schema::append_json_string(json, token.start + std::string(1, '\0'));
  return schema::base64url_encode(json + "}");
}

Result<ContinueToken> decode_continue(std::string_view text) {
  const auto invalid = [](std::string_view why) {
    return bad_request("invalid continue token: continue key is not valid: " + std::string(why));
  };
  const auto json = schema::base64url_decode(text);
  if (!json) return invalid("encoding");
  auto document = schema::Document::parse_json(*json);
  if (!document || (*document)["v"].text() != kTokenVersion)
    return invalid("server does not recognize this encoded version");
  ContinueToken token{(*document)["rv"].integer(), (*document)["start"].string()};
  if (token.revision == 0) return invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (token.start.empty()) return invalid("encoded start key empty (version meta.k8s.io/v1)");
  if (token.start.starts_with("/") || token.start.find("..") != std::string::npos) return invalid(token.start);
  if (token.start.back() == '\0') token.start.pop_back();
  return token;
}

}  // namespace sublet::apiserver
