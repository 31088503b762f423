// ReadSteps: shared steps of get, list and watch: revisions, list options and continue tokens.
//
// Pure, except when_revision_reached().
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "apiserver/verbs/verb.h"

namespace sublet::apiserver {

/// An integer of the query, refused in Go's words.
Result<std::int64_t> parse_query_integer(std::string_view text);
/// "" and "0" give 0; anything but a decimal number is refused, in Go's words too.
Result<store::Revision> parse_resource_version(std::string_view text, std::string_view field);
Result<store::ObjectPtr> find_stored(const RequestContext& context, const store::Snapshot& snapshot);

/// Calls `then` at once when the store has reached `revision`, else when it does; after three seconds with the API's
/// "Too large resource version" timeout. On the caller's thread or the server's loop.
void when_revision_reached(const ContextPtr& context, store::Revision revision,
                           std::function<void(const Outcome&)> then);
Status too_large_status(store::Revision wanted, store::Revision current);

struct ListRequest {
  store::Revision revision = 0;  // asked for; 0: latest
  bool exact = false;            // exactly `revision`
  bool inconsistent = false;     // continue at the latest revision
  std::int64_t limit = 0;        // 0: none
  std::string start_after;       // key suffix behind the prefix
  bool continued = false;
};
Result<ListRequest> parse_list_request(const Query& query);
/// What a list and a deletecollection ask for: the combinations judged, then parsed.
Result<ListRequest> read_list_request(const Query& query);
/// The state that a list is of.
Result<store::Snapshot> snapshot_of_list(const ServerCore& core, const ListRequest& request);
/// Causes for combinations that the API refuses; empty: fine.
std::vector<Cause> check_list_options(const Query& query, bool watch);

struct ContinueToken {
  store::Revision revision = 0;  // -1: the latest
  std::string start;             // key suffix to start after
};
std::string encode_continue(const ContinueToken& token);
Result<ContinueToken> decode_continue(std::string_view text);

}  // namespace sublet::apiserver
