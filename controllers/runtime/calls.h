// Calls: several requests at once, without a thread each: the store commits what is in flight together,
// so that sixty writes cost about as many disk syncs as one; and what an answer means for a reconcile.
//
// Blocks the calling thread until the last is answered; not from the client's transport's own thread. Threads: any.
#pragma once

#include <initializer_list>
#include <vector>

#include "sublet/kube/client.h"

namespace sublet::controllers {

struct Call {
  const kube::Client* client;
  net::Request request;
};

/// The answers, in the order of the requests.
std::vector<Result<schema::Document>> call_all(std::vector<Call> calls);
std::vector<Result<schema::Document>> call_all(const kube::Client& client, std::vector<net::Request> requests);

/// How a write ends: done, also when what was to be written is gone, or the answer is another of `as_good`.
template <class T>
Outcome settled(const Result<T>& written, std::initializer_list<Reason> as_good = {Reason::not_found}) {
  if (written) return {};
  for (const auto reason : as_good)
    if (written.error().is(reason)) return {};
  return fail(written.error());
}

}  // namespace sublet::controllers
