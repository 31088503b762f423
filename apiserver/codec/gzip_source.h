// GzipSource: another source's bytes, compressed off the loop when there are enough of them.
//
// It first gathers kGzipBytesMin bytes. A body that ends before is passed on as it is; a longer one is compressed,
// piece by piece, on the pool: the loop only hands pieces over and takes them back. When the pool refuses a piece (its
// queue is full), the loop compresses that piece itself. Threads: as BodySource. The pool must outlive the source, or
// be stopped before it goes.
#pragma once

#include <memory>
#include <string>

#include "sublet/base/worker_pool.h"
#include "sublet/net/body_source.h"

namespace sublet::apiserver {

class GzipSource final : public net::BodySource {
 public:
  GzipSource(std::unique_ptr<net::BodySource> inner, WorkerPool& pool);
  ~GzipSource() override;
  Result<Step> next(std::string& out, const std::shared_ptr<net::Waker>& waker) override;
  void add_headers(net::Headers& headers) override;

 private:
  struct Job;
  Result<Step> gather(std::string& out, const std::shared_ptr<net::Waker>& waker);
  Step compress(std::string& out, std::string piece, const std::shared_ptr<net::Waker>& waker);
  bool take_output(std::string& out);

  const std::unique_ptr<net::BodySource> inner_;
  WorkerPool& pool_;
  std::string gathered_;      // until the decision
  std::shared_ptr<Job> job_;  // null: not (yet) compressing
  bool inner_ended_ = false;
};

}  // namespace sublet::apiserver
