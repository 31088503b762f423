#include "sublet/net/websocket_sink.h"

#include <openssl/evp.h>

#include <algorithm>
#include <atomic>

#include "sublet/base/mutex.h"
#include "sublet/net/courier.h"
#include "sublet/net/duplex.h"
#include "sublet/net/header_words.h"
#include "sublet/net/websocket.h"

namespace sublet::net {
namespace {

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

bool same_word(std::string_view word, std::string_view lower) {
  return word.size() == lower.size() && std::equal(word.begin(), word.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
         });
}

bool has_word(const Headers& headers, std::string_view name, std::string_view lower) {
  bool found = false;
  for (const auto list : headers.all(name))
    each_word(list, [&](std::string_view word) { found = found || same_word(word, lower); });
  return found;
}

class WebSocketSink final : public ResponseSink, public std::enable_shared_from_this<WebSocketSink> {
 public:
  WebSocketSink(std::shared_ptr<ResponseSink> sink, UpgradableSink& upgradable, std::string accept,
                WebSocketShape shape)
      : sink_(std::move(sink)), upgradable_(upgradable), accept_(std::move(accept)), shape_(std::move(shape)) {}

  void respond(int code, Headers headers, std::string body) override {
    sink_->respond(code, std::move(headers), std::move(body));
  }
  void start(int code, Headers headers) override {
    if (code != 200) {
      plain_ = true;
      return sink_->start(code, std::move(headers));
    }
    Headers answer = {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Accept", accept_}};
    if (!shape_.protocol.empty()) answer.add("Sec-WebSocket-Protocol", shape_.protocol);
    if (shape_.begins_with_empty) on_loop([](WebSocketSink& self) { self.send({}); });
    upgradable_.upgrade(std::move(answer), [self = shared_from_this()](std::shared_ptr<Duplex> connection) {
      self->on_loop([connection = std::move(connection)](WebSocketSink& sink) { sink.upgraded(connection); });
    });
  }
  void write(std::shared_ptr<const std::string> bytes) override {
    if (plain_) return sink_->write(std::move(bytes));
    if (!bytes || bytes->empty()) return;
    posted_ += bytes->size();
    on_loop([bytes = std::move(bytes)](WebSocketSink& self) {
      self.posted_ -= bytes->size();
      self.send_all(*bytes);
    });
  }
  void end() override {
    if (plain_) return sink_->end();
    on_loop([](WebSocketSink& self) {
      self.socket_.close();
      self.ended_ = true;
      if (self.connection_) self.connection_->end();
    });
  }
  void abort() override { sink_->abort(); }
  std::size_t backlog() const override { return plain_ ? sink_->backlog() : posted_ + written_; }
  bool closed() const override { return sink_->closed(); }
  void on_close(std::function<void()> callback) override { sink_->on_close(std::move(callback)); }
  void on_drain(std::function<void()> callback) override {
    if (plain_) return sink_->on_drain(std::move(callback));
    const MutexLock lock(mutex_);
    drained_ = std::move(callback);
  }
  const std::shared_ptr<Courier>& courier() const override { return sink_->courier(); }

 private:
  /// The peer's side: only that it goes matters, and that it is answered when it asks whether we are there.
  class DuplexReader final : public Duplex::Observer {
   public:
    explicit DuplexReader(std::shared_ptr<WebSocketSink> sink) : sink_(std::move(sink)) {}
    void on_bytes(std::string_view bytes) override { sink_->socket_.put(bytes); }
    void on_drain() override { sink_->has_drained(); }
    void on_end() override { sink_->leave(); }
    void on_over() override { sink_->forget(); }

   private:
    const std::shared_ptr<WebSocketSink> sink_;
  };

  // The connection and its frames belong to its loop; one task keeps the order of all writers.
  template <class Task>
  void on_loop(Task task) {
    sink_->courier()->post([self = shared_from_this(), task = std::move(task)] { task(*self); });
  }

  void send_all(std::string_view bytes) {
    if (shape_.messages != WebSocketMessages::lines) return send(bytes);
    while (!bytes.empty()) {
      const auto line = bytes.substr(0, bytes.find('\n'));
      bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
      if (!line.empty()) send(line);
    }
  }
  void send(std::string_view message) {
    if (shape_.messages == WebSocketMessages::binary) return socket_.send(message);
    socket_.send_text(shape_.messages == WebSocketMessages::base64 ? base64(message) : std::string(message));
  }
  void put(std::string frame) {
    if (over_) return;
    written_ += frame.size();
    if (!connection_) return void(waiting_ += frame);
    connection_->write(std::move(frame));
  }
  void upgraded(std::shared_ptr<Duplex> connection) {
    connection_ = std::move(connection);
    connection_->start(std::make_shared<DuplexReader>(shared_from_this()));
    if (!waiting_.empty()) connection_->write(std::exchange(waiting_, {}));
    if (ended_) connection_->end();
  }
  void has_drained() {
    written_ = 0;
    std::function<void()> drained;
    {
      const MutexLock lock(mutex_);
      drained = drained_;
    }
    if (drained) drained();
  }
  void leave() {
    socket_.close();
    if (connection_) connection_->end();
  }
  void forget() {
    over_ = true;
    written_ = 0;
    const auto connection = std::exchange(connection_, nullptr);
    const MutexLock lock(mutex_);
    drained_ = nullptr;
  }

  const std::shared_ptr<ResponseSink> sink_;
  UpgradableSink& upgradable_;  // the same
  const std::string accept_;
  const WebSocketShape shape_;
  std::atomic<bool> plain_{false};  // no WebSocket after all
  std::atomic<std::size_t> posted_{0}, written_{0};
  Mutex mutex_;
  std::function<void()> drained_ SUBLET_GUARDED_BY(mutex_);
  // The loop's thread only:
  std::shared_ptr<Duplex> connection_;  // null: not yet, or no longer
  std::string waiting_;
  bool ended_ = false, over_ = false;
  WebSocket socket_{
      {[](std::string_view) {}, [this](std::string frame) { put(std::move(frame)); }, [this] { leave(); }}};
};

}  // namespace

bool asks_for_websocket(const Headers& headers) {
  return has_word(headers, "Connection", "upgrade") && has_word(headers, "Upgrade", "websocket") &&
         !headers.get("Sec-WebSocket-Key").empty();
}

std::shared_ptr<ResponseSink> make_websocket_sink(std::shared_ptr<ResponseSink> sink, const Headers& asked,
                                                  WebSocketShape shape) {
  UpgradableSink* const connection = upgradable(*sink);
  if (!connection) return nullptr;
  return std::make_shared<WebSocketSink>(std::move(sink), *connection, websocket_accept(asked.get("Sec-WebSocket-Key")),
                                         std::move(shape));
}

}  // namespace sublet::net
