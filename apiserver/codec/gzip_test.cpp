#include "apiserver/codec/gzip.h"

#include <gtest/gtest.h>

#include <random>

#include "apiserver/codec/gzip_source.h"
#include "sublet/base/mutex.h"

namespace sublet::apiserver {
namespace {

using Step = net::BodySource::Step;

std::string text_of_size(std::size_t size) {
  std::mt19937 random(7);
  std::string out;
  while (out.size() < size) out += R"({"metadata":{"name":"cm-)" + std::to_string(random() % 10'000) + "\"}},";
  out.resize(size);
  return out;
}

/// Gives a text in pieces, now and then an empty one; fails after `fails_at` bytes.
class Pieces final : public net::BodySource {
 public:
  Pieces(std::string text, std::size_t piece, std::size_t fails_at = std::string::npos)
      : text_(std::move(text)), piece_(piece), fails_at_(fails_at) {}
  Result<Step> next(std::string& out, const std::shared_ptr<net::Waker>&) override {
    if (++turn_ % 5 == 0) return Step::more;
    if (at_ >= fails_at_) return internal_error("broken");
    out = text_.substr(at_, piece_);
    at_ += out.size();
    return at_ == text_.size() ? Step::end : Step::more;
  }

 private:
  const std::string text_;
  const std::size_t piece_, fails_at_;
  std::size_t at_ = 0, turn_ = 0;
};

class Bell final : public net::Waker {
 public:
  void wake() override {
    const MutexLock lock(mutex_);
    rung_ = true;
    changed_.notify_all();
  }
  bool wait() {
    MutexLock lock(mutex_);
    const bool heard =
        changed_.wait_for(lock, std::chrono::seconds(60), [this]() SUBLET_REQUIRES(mutex_) { return rung_; });
    rung_ = false;
    return heard;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool rung_ SUBLET_GUARDED_BY(mutex_) = false;
};

struct Pulled {
  std::string bytes;
  std::optional<Status> error;
  int waits = 0;
  net::Headers headers;
};

Pulled pull(net::BodySource& source) {
  Pulled all;
  const auto bell = std::make_shared<Bell>();
  for (;;) {
    std::string piece;
    const auto said = source.next(piece, bell);
    if (!said) {
      all.error = said.error();
      return all;
    }
    all.bytes += piece;
    if (*said == Step::end) break;
    if (*said != Step::wait) continue;
    ++all.waits;
    EXPECT_TRUE(bell->wait());
  }
  source.add_headers(all.headers);
  return all;
}

TEST(Gzip, PiecesGiveTheStreamOfTheWhole) {
  for (const std::size_t size : {0u, 1u, 70'000u, 2'000'000u}) {
    const auto text = text_of_size(size);
    GzipStream stream;
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += 9999) stream.put(text.substr(at, 9999), false, out);
    stream.put({}, true, out);
    EXPECT_EQ(gunzip(out), text);
    EXPECT_EQ(gunzip(gzip(text)), text);
  }
}

TEST(GzipSource, CompressesOnThePoolWhatIsLongEnough) {
  WorkerPool pool({.name = "gzip"});
  for (const std::size_t size : {kGzipBytesMin, std::size_t{3'000'000}}) {
    const auto text = text_of_size(size);
    GzipSource source(std::make_unique<Pieces>(text, 60'000), pool);
    const auto pulled = pull(source);
    EXPECT_EQ(gunzip(pulled.bytes), text);
    EXPECT_LT(pulled.bytes.size(), size / 2);
    EXPECT_GT(pulled.waits, 0);
    EXPECT_EQ(pulled.headers.get("Content-Encoding"), "gzip");
    EXPECT_EQ(pulled.headers.get("Vary"), "Accept-Encoding");
  }
}

TEST(GzipSource, LeavesShortBodiesAsTheyAre) {
  WorkerPool pool({.name = "gzip"});
  for (const std::size_t size : {std::size_t{1}, std::size_t{60'000}, kGzipBytesMin - 1}) {
    const auto text = text_of_size(size);
    GzipSource source(std::make_unique<Pieces>(text, 60'000), pool);
    const auto pulled = pull(source);
    EXPECT_EQ(pulled.bytes, text);
    EXPECT_EQ(pulled.waits, 0);
    EXPECT_EQ(pulled.headers.size(), 0u);
  }
}

TEST(GzipSource, CompressesItselfWhenThePoolRefuses) {
  WorkerPool pool({.name = "gzip"});
  pool.stop();
  const auto text = text_of_size(1'000'000);
  GzipSource source(std::make_unique<Pieces>(text, 60'000), pool);
  const auto pulled = pull(source);
  EXPECT_EQ(gunzip(pulled.bytes), text);
  EXPECT_EQ(pulled.waits, 0);
}

TEST(GzipSource, PassesErrorsOn) {
  WorkerPool pool({.name = "gzip"});
  for (const std::size_t fails_at : {0u, 60'000u, 600'000u}) {
    GzipSource source(std::make_unique<Pieces>(text_of_size(1'000'000), 60'000, fails_at), pool);
    EXPECT_TRUE(pull(source).error.has_value()) << fails_at;
  }
}

TEST(GzipSource, MayBeGivenUpWhileAPieceIsBeingCompressed) {
  WorkerPool pool({.name = "gzip"});
  const auto bell = std::make_shared<Bell>();
  for (int round = 0; round < 50; ++round) {
    GzipSource source(std::make_unique<Pieces>(text_of_size(400'000), 200'000), pool);
    std::string piece;
    ASSERT_EQ(source.next(piece, bell).value(), Step::wait);
  }
  EXPECT_TRUE(bell->wait());
}

}  // namespace
}  // namespace sublet::apiserver
