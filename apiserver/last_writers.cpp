#include "sublet/apiserver/last_writers.h"

#include <charconv>
#include <deque>
#include <unordered_map>
#include <vector>

#include "sublet/base/mutex.h"
#include "sublet/schema/document.h"

namespace sublet::apiserver {
namespace {

using schema::Document;
using schema::Value;

constexpr std::string_view kWritersPath = "/sublet.dev/v1/writers";

struct OneWrite {
  store::Revision revision;
  std::shared_ptr<const std::string> user;
  std::string request_id;
};

// nullopt: no number.
std::optional<store::Revision> revision_of(std::string_view version) {
  store::Revision revision = 0;
  if (version.empty()) return revision;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), revision);
  const bool whole = error == std::errc() && end == version.data() + version.size();
  return whole && revision > 0 ? std::optional(revision) : std::nullopt;
}

}  // namespace

struct LastWriters::Impl {
  using Writes = std::vector<OneWrite>;  // of one object, ascending

  void forget_oldest() SUBLET_REQUIRES(mutex) {
    const auto [key, revision] = order.front();
    order.pop_front();
    const auto found = objects.find(*key);
    Writes& writes = found->second;
    if (!writes.empty() && writes.front().revision == revision) writes.erase(writes.begin());
    if (--in_line[key] > 0) return;
    in_line.erase(key);
    objects.erase(found);
  }

  void serve(const net::Request& request, net::ResponseSink& sink) const {
    const auto asked = Document::parse_json(request.body);
    if (request.method != "POST" || !asked) return sink.respond(400, {}, "");
    Document answer = Document::object();
    Value items = answer.root().array("items");
    for (const Value one : asked->root()["items"]) {
      Value item = items.push_object();
      const auto revision = revision_of(one["resourceVersion"].text());
      const auto writer = revision ? writer_of(one["key"].string(), *revision) : std::nullopt;
      if (!writer) continue;
      item.put("user", writer->user);
      item.put("requestId", writer->request_id);
    }
    sink.respond(200, {{"Content-Type", "application/json"}}, answer.to_json());
  }

  std::optional<Writer> writer_of(const std::string& key, store::Revision revision) const {
    const MutexLock lock(mutex);
    const auto found = objects.find(key);
    if (found == objects.end()) return std::nullopt;
    const Writes& writes = found->second;
    for (auto write = writes.rbegin(); write != writes.rend(); ++write)
      if (revision == 0 || write->revision <= revision) return Writer{*write->user, write->request_id};
    return std::nullopt;
  }

  mutable Mutex mutex;
  std::unordered_map<std::string, Writes> objects SUBLET_GUARDED_BY(mutex);
  // All writes by age, the keys those of `objects`; and how many of each are in that line.
  std::deque<std::pair<const std::string*, store::Revision>> order SUBLET_GUARDED_BY(mutex);
  std::unordered_map<const std::string*, std::size_t> in_line SUBLET_GUARDED_BY(mutex);
  std::shared_ptr<const std::string> last_user SUBLET_GUARDED_BY(mutex) = std::make_shared<std::string>();
};

LastWriters::LastWriters() : impl_(std::make_shared<Impl>()) {}
LastWriters::~LastWriters() = default;

void LastWriters::wrote(const std::string& key, store::Revision revision, std::string_view user,
                        std::string_view request_id) {
  const MutexLock lock(impl_->mutex);
  if (*impl_->last_user != user) impl_->last_user = std::make_shared<const std::string>(user);
  const auto found = impl_->objects.try_emplace(key).first;
  Impl::Writes& writes = found->second;
  if (writes.size() == kWritesOfOneMax) writes.erase(writes.begin());
  writes.push_back({revision, impl_->last_user, std::string(request_id)});
  impl_->order.emplace_back(&found->first, revision);
  ++impl_->in_line[&found->first];
  if (impl_->order.size() > kWritesMax) impl_->forget_oldest();
}

std::optional<LastWriters::Writer> LastWriters::writer_of(const std::string& key, store::Revision revision) const {
  return impl_->writer_of(key, revision);
}

net::Handler LastWriters::wrap(net::Handler inner) {
  return [impl = impl_, inner = std::move(inner)](net::Request request, std::shared_ptr<net::ResponseSink> sink) {
    // For everybody else it is a path like any that does not exist: rights first, then 404.
    const bool ours = request.peer.kind == net::PeerIdentity::Kind::unix_socket && request.path() == kWritersPath;
    if (!ours) return inner(std::move(request), std::move(sink));
    if (!request.body_follows) return impl->serve(request, *sink);
    const auto waiting = std::make_shared<net::Request>(std::move(request));
    sink->read_body([impl, waiting, sink](std::string body) {
      waiting->body = std::move(body);
      impl->serve(*waiting, *sink);
    });
  };
}

}  // namespace sublet::apiserver
