// NodeKeeper: writes the simulated nodes and the RuntimeClass `nvidia`, and renews the nodes' leases.
//
// write() blocks (start-up). Renewal runs on the loop, two small writes per node and period; an idle host does nothing
// else. Threads: write() from any thread but the loop's, the rest on the loop's.
#pragma once

#include <memory>
#include <vector>

#include "simhost/node_shape.h"
#include "sublet/base/clock.h"
#include "sublet/kube/client.h"
#include "sublet/kube/pipeline.h"
#include "sublet/net/loop.h"

namespace sublet::simhost {

class NodeKeeper : public std::enable_shared_from_this<NodeKeeper> {
 public:
  NodeKeeper(net::Loop& loop, const kube::Client& client, kube::Pipeline& pipeline, const SimHostOptions& options,
             Clock& clock)
      : loop_(loop), client_(client), pipeline_(pipeline), options_(options), clock_(clock) {}

  Outcome write();
  void begin_renewal();

 private:
  Outcome write_node(const NodeShape& shape);
  Outcome write_lease(const NodeShape& shape);
  Outcome write_runtime_class();
  void renew();

  net::Loop& loop_;
  const kube::Client& client_;
  kube::Pipeline& pipeline_;
  const SimHostOptions options_;
  Clock& clock_;
  std::vector<NodeShape> shapes_;
  int renewals_ = 0;
};

}  // namespace sublet::simhost
