// Feed: keeps a Zone as the tenant's API server has it. Threads: the loop's; ready() and wait_ready() from any other.
#pragma once

#include <memory>
#include <vector>

#include "dns/zone.h"
#include "sublet/kube/client.h"
#include "sublet/kube/informer.h"
#include "sublet/net/loop.h"

namespace sublet::dns {

class Feed {
 public:
  Feed(net::Loop& loop, kube::Client tenant, Zone& zone);
  ~Feed();
  void start();
  bool ready() const;
  bool wait_ready(std::chrono::milliseconds timeout) const;

 private:
  kube::Client tenant_;
  std::vector<std::unique_ptr<kube::Informer>> copies_;
};

}  // namespace sublet::dns
