#include "apiserver/codec/gzip_source.h"

#include <atomic>
#include <utility>

#include "apiserver/codec/gzip.h"

namespace sublet::apiserver {

// One compression, shared with the pool: the answer may be given up while a piece is being compressed. Between two
// pieces it is the loop's, while `busy` the pool's.
struct GzipSource::Job {
  GzipStream stream;
  std::string in, out;
  bool last = false;
  std::atomic<bool> busy{false};

  void run() {
    stream.put(in, last, out);
    std::string().swap(in);
    busy.store(false, std::memory_order_release);
  }
};

GzipSource::GzipSource(std::unique_ptr<net::BodySource> inner, WorkerPool& pool)
    : inner_(std::move(inner)), pool_(pool) {}

GzipSource::~GzipSource() = default;

Result<GzipSource::Step> GzipSource::next(std::string& out, const std::shared_ptr<net::Waker>& waker) {
  if (!job_) return gather(out, waker);
  if (!take_output(out)) return Step::wait;
  if (inner_ended_) return Step::end;
  std::string piece;
  auto said = inner_->next(piece, waker);
  if (!said) return said;
  inner_ended_ = *said == Step::end;
  if (piece.empty() && !inner_ended_) return said;
  return compress(out, std::move(piece), waker);
}

Result<GzipSource::Step> GzipSource::gather(std::string& out, const std::shared_ptr<net::Waker>& waker) {
  std::string piece;
  auto said = inner_->next(piece, waker);
  if (!said) return said;
  inner_ended_ = *said == Step::end;
  if (gathered_.empty())
    gathered_ = std::move(piece);
  else
    gathered_ += piece;
  if (gathered_.size() < kGzipBytesMin) {
    if (inner_ended_) out = std::move(gathered_);
    return said;
  }
  job_ = std::make_shared<Job>();
  return compress(out, std::exchange(gathered_, {}), waker);
}

GzipSource::Step GzipSource::compress(std::string& out, std::string piece, const std::shared_ptr<net::Waker>& waker) {
  job_->in = std::move(piece);
  job_->last = inner_ended_;
  job_->busy.store(true, std::memory_order_relaxed);
  const bool taken = pool_.submit([job = job_, waker] {
    job->run();
    waker->wake();
  });
  if (taken) return Step::wait;
  job_->run();
  take_output(out);
  return inner_ended_ ? Step::end : Step::more;
}

/// False while the pool works on it.
bool GzipSource::take_output(std::string& out) {
  if (job_->busy.load(std::memory_order_acquire)) return false;
  out += job_->out;
  job_->out.clear();
  return true;
}

void GzipSource::add_headers(net::Headers& headers) {
  inner_->add_headers(headers);
  if (!job_) return;
  headers.add("Vary", "Accept-Encoding");
  headers.add("Content-Encoding", "gzip");
}

}  // namespace sublet::apiserver
