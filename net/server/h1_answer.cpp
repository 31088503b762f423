#include "net/server/h1_answer.h"

#include <ctime>
#include <string_view>
#include <utility>

#include "sublet/base/text.h"

namespace sublet::net {
namespace {

constexpr std::size_t kJoinedBodyMax = 2 * 1024;  // smaller bodies travel in one string with their head
constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr int kSwitchingProtocols = 101;

/// A line break in a value would let its author add header lines.
void append_clean(std::string& out, std::string_view text) {
  for (const char c : text) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
}

/// Returns "Date: ..." with its line end, rebuilt once a second.
std::string_view date_line() {
  thread_local std::time_t made = 0;
  thread_local char text[48];
  thread_local std::size_t size = 0;
  const auto now = std::time(nullptr);
  if (now != made) {
    std::tm fields{};
    ::gmtime_r(&now, &fields);
    size = std::strftime(text, sizeof(text), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &fields);
    made = now;
  }
  return {text, size};
}

bool bodyless(int code) { return code == 204 || code == 304 || code / 100 == 1; }

}  // namespace

H1Answer::H1Answer(std::shared_ptr<ServingLoop> core, std::shared_ptr<ServerConnection> connection, Shape shape)
    : core_(std::move(core)), connection_(std::move(connection)), shape_(shape) {}

std::string H1Answer::head(int code, const Headers& headers, bool streamed, std::size_t size) {
  std::string text = "HTTP/1.1 ";
  text.reserve(256);
  text.append(std::to_string(code)).append(" ").append(reason_phrase(code)).append("\r\n");
  for (const auto& [name, value] : headers) {
    // Framing is ours alone; a handler may only ask for the connection's end.
    if (equal_ignoring_case(name, "content-length") || equal_ignoring_case(name, "transfer-encoding")) continue;
    if (equal_ignoring_case(name, "connection") && code != kSwitchingProtocols) {
      if (equal_ignoring_case(value, "close")) shape_.keep_alive = false;
      continue;
    }
    append_clean(text, name);
    text += ": ";
    append_clean(text, value);
    text += "\r\n";
  }
  text += date_line();
  if (code == kSwitchingProtocols) return text += "\r\n";
  if (streamed && shape_.is_http_1_0) shape_.keep_alive = false;
  if (core_->stopping) shape_.keep_alive = false;
  if (streamed && !shape_.is_http_1_0 && !bodyless(code)) text += "Transfer-Encoding: chunked\r\n";
  if (!streamed && !bodyless(code)) text.append("Content-Length: ").append(std::to_string(size)).append("\r\n");
  if (!shape_.keep_alive)
    text += "Connection: close\r\n";
  else if (shape_.is_http_1_0)
    text += "Connection: keep-alive\r\n";
  return text += "\r\n";
}

void H1Answer::push(std::shared_ptr<const std::string> bytes, bool chunked, bool counted) {
  if (counted) backlog_ += bytes->size();
  items_.push_back({std::move(bytes), chunked, counted});
}

std::shared_ptr<ServerConnection> H1Answer::schedule() {
  return std::exchange(scheduled_, true) ? nullptr : connection_;
}

void H1Answer::flush(std::shared_ptr<ServerConnection> connection) {
  if (connection) core_->wants_flush(std::move(connection));
}

void H1Answer::respond(int code, Headers headers, std::string body) {
  MutexLock lock(mutex_);
  if (closed_ || phase_ != Phase::waiting) return;
  phase_ = Phase::ended;
  auto text = head(code, headers, false, body.size());
  const bool with_body = !shape_.is_head && !bodyless(code) && !body.empty();
  if (with_body && body.size() <= kJoinedBodyMax) text += body;
  push(std::make_shared<const std::string>(std::move(text)), false, true);
  if (with_body && body.size() > kJoinedBodyMax)
    push(std::make_shared<const std::string>(std::move(body)), false, true);
  auto waiting = schedule();
  lock.unlock();
  flush(std::move(waiting));
}

void H1Answer::start(int code, Headers headers) {
  MutexLock lock(mutex_);
  if (closed_ || phase_ != Phase::waiting) return;
  phase_ = Phase::streaming;
  if (bodyless(code)) shape_.is_head = true;
  push(std::make_shared<const std::string>(head(code, headers, true, 0)), false, false);
  auto waiting = schedule();
  lock.unlock();
  flush(std::move(waiting));
}

void H1Answer::write(std::shared_ptr<const std::string> bytes) {
  MutexLock lock(mutex_);
  if (closed_ || phase_ != Phase::streaming || shape_.is_head || !bytes || bytes->empty()) return;
  push(std::move(bytes), !shape_.is_http_1_0, true);
  auto waiting = schedule();
  lock.unlock();
  flush(std::move(waiting));
}

void H1Answer::end() {
  static const auto last_chunk = std::make_shared<const std::string>(kLastChunk);
  MutexLock lock(mutex_);
  if (closed_ || phase_ != Phase::streaming) return;
  phase_ = Phase::ended;
  if (!shape_.is_http_1_0 && !shape_.is_head) push(last_chunk, false, false);
  auto waiting = schedule();
  lock.unlock();
  flush(std::move(waiting));
}

void H1Answer::abort() {
  MutexLock lock(mutex_);
  if (closed_ || aborted_) return;
  phase_ = Phase::ended;  // which it may be for long, while the peer does not read
  aborted_ = true;
  auto waiting = schedule();
  lock.unlock();
  flush(std::move(waiting));
}

void H1Answer::upgrade(Headers headers, std::function<void(std::shared_ptr<Duplex>)> then) {
  MutexLock lock(mutex_);
  if (closed_ || phase_ != Phase::waiting) return;
  phase_ = Phase::upgraded;
  push(std::make_shared<const std::string>(head(kSwitchingProtocols, headers, false, 0)), false, false);
  upgraded_ = std::move(then);
  auto waiting = schedule();
  lock.unlock();
  flush(std::move(waiting));
}

void H1Answer::move_to(std::shared_ptr<ServerConnection> connection) {
  MutexLock lock(mutex_);
  connection_.swap(connection);
  auto waiting = scheduled_ ? connection_ : nullptr;  // the earlier one was notified and has no connection to notify
  lock.unlock();
  flush(std::move(waiting));
}

void H1Answer::abandon() {
  bool begun = false;
  {
    const MutexLock lock(mutex_);
    if (closed_ || phase_ == Phase::ended || phase_ == Phase::upgraded) return;
    begun = phase_ == Phase::streaming;
  }
  begun ? abort() : respond_abandoned(*this);
}

void H1Answer::on_close(std::function<void()> callback) {
  {
    const MutexLock lock(mutex_);
    if (!closed_) {
      on_close_ = std::move(callback);
      return;
    }
  }
  if (!core_->courier->post(callback)) callback();
}

void H1Answer::on_drain(std::function<void()> callback) {
  const MutexLock lock(mutex_);
  if (!closed_) on_drain_ = std::move(callback);
}

void H1Answer::on_connection(std::function<void(ServerConnection&)> task) {
  std::shared_ptr<ServerConnection> connection;
  {
    const MutexLock lock(mutex_);
    connection = connection_;
  }
  if (!connection) return;
  if (core_->courier->in_loop_thread()) return task(*connection);
  core_->courier->post([connection, task = std::move(task)] { task(*connection); });
}

void H1Answer::read_body(std::function<void(std::string)> then) {
  on_connection(
      [then = std::move(then)](ServerConnection& connection) mutable { connection.read_body(std::move(then)); });
}

void H1Answer::peer_is_known() {
  on_connection([](ServerConnection& connection) { connection.peer_is_known(); });
}

void H1Answer::keep_alive(bool keep) {
  const MutexLock lock(mutex_);
  shape_.keep_alive = keep;
}

H1Answer::Drained H1Answer::drain(OutputQueue& output) {
  const MutexLock lock(mutex_);
  scheduled_ = false;
  for (auto& item : items_) output.push(std::move(item));
  std::vector<OutputItem>().swap(items_);
  return {phase_ == Phase::ended, aborted_, shape_.keep_alive, std::exchange(upgraded_, nullptr)};
}

void H1Answer::sent(std::size_t bytes) {
  if (bytes == 0 || backlog_.fetch_sub(bytes) != bytes) return;
  std::function<void()> callback;
  {
    const MutexLock lock(mutex_);
    callback = on_drain_;
  }
  if (callback) callback();
}

void H1Answer::close() {
  std::function<void()> callback, drain_callback;
  std::shared_ptr<ServerConnection> connection;
  std::vector<OutputItem> items;
  std::function<void(std::shared_ptr<Duplex>)> upgraded;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    upgraded.swap(upgraded_);
    phase_ = Phase::ended;
    backlog_ = 0;
    callback.swap(on_close_);
    drain_callback.swap(on_drain_);
    connection.swap(connection_);
    items.swap(items_);
  }
  if (callback) callback();
}

}  // namespace sublet::net
