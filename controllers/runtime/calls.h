// Calls: several requests at once, without a thread each: the store commits what is in flight together,
// so that sixty writes cost about as many disk syncs as one.
//
// Blocks the calling thread until the last is answered; not from the client's transport's own thread. Threads: any.
#pragma once

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

}  // namespace sublet::controllers
