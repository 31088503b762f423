// DefinitionKeeper: makes a server serve what its CustomResourceDefinitions define.
//
// It looks at all stored definitions whenever one of them changes: compiles the new ones, gives out names, installs the
// kinds, and only then sets Established in their status, so that a reader of it never gets a 404. The kinds of a
// definition that is being deleted stay until the last of their objects is gone.
// Lifecycle: start() installs what is stored, before anybody is served; then works on a thread of its own until stop().
// It writes as a client of the server itself. While there has never been a definition, the server's kinds are not
// touched. Threads: start() and stop() from one; the loops are never waited on.
#pragma once

#include <memory>

#include "sublet/base/status.h"
#include "sublet/net/http.h"

namespace sublet::apiserver {

struct ServerCore;

class DefinitionKeeper {
 public:
  /// `self`: the server's own handler.
  DefinitionKeeper(ServerCore& core, net::Handler self);
  ~DefinitionKeeper();
  Outcome start();
  void stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace sublet::apiserver
