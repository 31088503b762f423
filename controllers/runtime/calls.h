// Calls: sends several requests at once without a thread each, and says what an answer means for a reconcile. The store
// commits writes in flight together, so that sixty cost about as many disk syncs as one.
//
// Blocks the calling thread until the last is answered. Never call it from the client's transport's own thread.
#pragma once

#include <initializer_list>
#include <vector>

#include "sublet/kube/client.h"

namespace sublet::controllers {

struct Call {
  const kube::Client* client;
  net::Request request;
};

/// Returns the answers in the order of the requests.
std::vector<Result<schema::Document>> call_all(std::vector<Call> calls);
std::vector<Result<schema::Document>> call_all(const kube::Client& client, std::vector<net::Request> requests);

/// Returns success when the write succeeded or failed with one of the reasons in `as_good`.
template <class T>
Outcome settled(const Result<T>& written, std::initializer_list<Reason> as_good = {Reason::not_found}) {
  if (written) return {};
  for (const auto reason : as_good)
    if (written.error().is(reason)) return {};
  return fail(written.error());
}

/// Returns true when the API refused a write because the namespace is terminating: nothing can be created there.
bool is_namespace_ending(const Status& status);

}  // namespace sublet::controllers
