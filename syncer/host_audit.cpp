#include "sublet/syncer/host_audit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "sublet/base/descriptor.h"
#include "sublet/base/files.h"
#include "sublet/base/log.h"
#include "sublet/base/mutex.h"
#include "sublet/base/random.h"
#include "sublet/kube/json_scan.h"
#include "sublet/net/digest.h"
#include "sublet/net/duplex.h"
#include "sublet/schema/document.h"
#include "sublet/syncer/translate.h"

namespace sublet::syncer {
namespace {

using schema::Document;
using schema::Value;

constexpr const char* kPrefix = "host-writes.";
constexpr const char* kSuffix = ".jsonl";
constexpr std::size_t kHeadOfAnswer = 64 * 1024;  // metadata stands at the beginning of an object

// A session in a pod (exec, port-forward) begins with either method, and is more than reading.
bool writes(const net::Request& request) {
  return (request.method != "GET" && request.method != "HEAD") || request.headers.has("upgrade");
}

std::string verb_of(const std::string& method) {
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "GET") return "get";
  return method == "PATCH" ? "patch" : "delete";
}

thread_local CauseScope* innermost_cause = nullptr;
constexpr std::size_t kAskedAtOnce = 512;
constexpr std::chrono::seconds kAskTimeout{2};
constexpr std::chrono::milliseconds kGather{20};  // a burst's writes come close together

/// One answered write, before it is a line.
struct Write {
  WallTime time;
  std::string id, method, path;
  WriteCause cause;
  int code = 0;
  std::string answer;  // its beginning
};

std::string file_name(std::uint64_t number) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%06llu", static_cast<unsigned long long>(number));
  return std::string(kPrefix) + digits + kSuffix;
}

// Numbers of the files that are there, ascending.
Result<std::vector<std::uint64_t>> file_numbers(const std::string& folder) {
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    unsigned long long number = 0;
    if (std::sscanf(name.c_str(), "host-writes.%llu.jsonl", &number) == 1 && name == file_name(number))
      numbers.push_back(number);
  }
  if (error == std::errc::no_such_file_or_directory) return numbers;
  if (error) return internal_error("cannot read " + folder + ": " + error.message());
  std::ranges::sort(numbers);
  return numbers;
}

void put_marks(Value record, std::string_view answer) {
  const auto metadata = kube::json_member(answer, "metadata");
  if (!metadata) return;
  const auto labels = kube::json_member(*metadata, "labels"), annotations = kube::json_member(*metadata, "annotations");
  const auto put = [&](const char* member, const std::optional<std::string_view>& map, std::string_view key) {
    const auto value = map ? kube::json_member(*map, key) : std::nullopt;
    if (value) record.object("tenant").put(member, kube::json_unquote(*value));
  };
  put("namespace", labels, kLabelTenantNamespace);
  put("name", annotations, kAnnotationTenantName);
  put("uid", annotations, kAnnotationTenantUid);
}

// By the marks of the host's object where the answer has it; a deletion's has not.
void put_tenant(Value record, const Write& write) {
  put_marks(record, write.answer);
  const std::string_view key = write.cause.key;
  const auto first = key.find('/'), last = key.rfind('/');
  if (first != key.npos) {
    Value tenant = record.object("tenant");
    if (first != last && tenant["namespace"].text().empty())
      tenant.put("namespace", key.substr(first + 1, last - first - 1));
    if (tenant["name"].text().empty()) tenant.put("name", key.substr(last + 1));
    tenant.put("resource", key.substr(0, first));
  }
  if (write.cause.user.empty()) return;
  record.object("tenant").put("user", write.cause.user);
  record.object("tenant").put("requestId", write.cause.request_id);
}

// Of the object, or of what a Status is about.
std::string host_uid(std::string_view answer) {
  if (const auto meta = kube::read_object_meta(answer); meta && !meta->uid.empty()) return meta->uid;
  const auto details = kube::json_member(answer, "details");
  const auto uid = details ? kube::json_member(*details, "uid") : std::nullopt;
  return uid ? kube::json_unquote(*uid) : "";
}

}  // namespace

struct HostAudit::Impl : std::enable_shared_from_this<HostAudit::Impl> {
  explicit Impl(HostAuditOptions o) : options(std::move(o)) {}

  Outcome begin();
  void answered(Write write) {
    const MutexLock lock(mutex);
    if (stopping) return;
    waiting.push_back(std::move(write));
    if (waiting.size() == 1) came.notify_all();
  }
  void run();
  void stop() {
    {
      const MutexLock lock(mutex);
      stopping = true;
      came.notify_all();
    }
    if (thread.joinable()) thread.join();
  }

  // The thread's own, once begin() has run.
  std::string line_of(const Write& write, std::uint64_t lost_before);
  void ask_for_users(std::vector<Write>& batch) const;
  void append(const std::vector<Write>& batch);
  void next_file();
  std::string path_of(std::uint64_t which) const { return options.folder + "/" + file_name(which); }

  const HostAuditOptions options;
  std::uint64_t number = 0, seq = 0;
  std::string previous;
  std::size_t bytes = 0;
  Descriptor file;
  std::uint64_t lost = 0;  // records that the disk did not take since the last that it took

  Mutex mutex;
  CondVar came, written;
  std::vector<Write> waiting SUBLET_GUARDED_BY(mutex);
  bool writing SUBLET_GUARDED_BY(mutex) = false, stopping SUBLET_GUARDED_BY(mutex) = false;
  int flushing SUBLET_GUARDED_BY(mutex) = 0;
  std::thread thread;
};

namespace {

// Listens to one answer on its way, or to a connection that leaves HTTP.
class Witness final : public net::UpgradeObserver {
 public:
  Witness(std::shared_ptr<net::ResponseObserver> observer, Write write, std::function<void(Write)> answered)
      : observer_(std::move(observer)), write_(std::move(write)), answered_(std::move(answered)) {}
  // A call that is given up has perhaps been carried out.
  ~Witness() override { tell(); }
  void on_head(int code, const net::Headers& headers) override {
    write_.code = code;
    observer_->on_head(code, headers);
  }
  void on_body(std::string_view chunk) override {
    write_.answer += chunk.substr(0, kHeadOfAnswer - std::min(kHeadOfAnswer, write_.answer.size()));
    observer_->on_body(chunk);
  }
  void on_end(Outcome outcome) override {
    tell();
    observer_->on_end(std::move(outcome));
  }
  void on_upgrade(std::shared_ptr<net::Duplex> connection) override {
    tell();
    if (auto* asker = dynamic_cast<net::UpgradeObserver*>(observer_.get()))
      return asker->on_upgrade(std::move(connection));
    connection->close();
    observer_->on_end(internal_error("the peer left HTTP, which was not asked for"));
  }

 private:
  void tell() {
    if (auto answered = std::exchange(answered_, nullptr)) answered(std::move(write_));
  }

  const std::shared_ptr<net::ResponseObserver> observer_;
  Write write_;
  std::function<void(Write)> answered_;
};

class Recorded final : public net::Transport {
 public:
  Recorded(std::shared_ptr<net::Transport> host, const Clock& clock, std::function<void(Write)> answered)
      : host_(std::move(host)), clock_(clock), answered_(std::move(answered)) {}
  std::unique_ptr<net::Exchange> start(net::Request request, std::shared_ptr<net::ResponseObserver> observer,
                                       std::chrono::milliseconds timeout) override {
    if (!writes(request)) return host_->start(std::move(request), std::move(observer), timeout);
    Write write{clock_.now(), uuid_v4(Random::system()), request.method, std::string(request.path()), {}, 0, {}};
    if (const WriteCause* cause = CauseScope::current()) write.cause = *cause;
    request.headers.set("Audit-ID", write.id);
    return host_->start(std::move(request), std::make_shared<Witness>(std::move(observer), std::move(write), answered_),
                        timeout);
  }

 private:
  const std::shared_ptr<net::Transport> host_;
  const Clock& clock_;
  const std::function<void(Write)> answered_;
};

}  // namespace

// --- the file --------------------------------------------------------------------------------------------------------

// Goes on behind the last whole line; what a crash left of another goes.
Outcome HostAudit::Impl::begin() {
  if (auto made = make_private_folder(options.folder); !made) return made;
  const auto numbers = file_numbers(options.folder);
  if (!numbers) return fail(numbers.error());
  number = numbers->empty() ? 1 : numbers->back();
  const std::string path = path_of(number);
  file = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return internal_error("cannot open " + path + ": " + std::strerror(errno));
  auto text = read_file(path);
  if (!text) return fail(text.error());
  const std::size_t whole = text->rfind('\n') == std::string::npos ? 0 : text->rfind('\n') + 1;
  if (whole < text->size()) {
    if (::ftruncate(file.get(), static_cast<off_t>(whole)) != 0)
      return internal_error("cannot cut " + path + ": " + std::strerror(errno));
    text->resize(whole);
  }
  bytes = whole;
  if (whole == 0 && numbers->size() > 1) {  // begun and not written to
    const auto before = read_file(path_of((*numbers)[numbers->size() - 2]));
    if (!before) return fail(before.error());
    *text = *before;
  }
  if (text->empty()) return {};
  const std::size_t end = text->size() - 1, start = text->rfind('\n', end - 1);
  const std::string last =
      text->substr(start == std::string::npos ? 0 : start + 1, end - (start == std::string::npos ? 0 : start + 1));
  const auto record = Document::parse_json(last);
  if (!record || record->root()["seq"].integer() <= 0)
    return internal_error(path + ": its last line is no record; move the folder away to begin another log");
  seq = static_cast<std::uint64_t>(record->root()["seq"].integer());
  previous = net::sha256_hex(last);
  return {};
}

std::string HostAudit::Impl::line_of(const Write& write, std::uint64_t lost_before) {
  Document document = Document::object();
  Value record = document.root();
  record.put("seq", static_cast<std::int64_t>(++seq));
  record.put("time", format_micro_time(write.time));
  record.put("virtualCluster", options.virtual_cluster);
  record.put("uid", options.virtual_cluster_uid);
  record.put("user", options.user);
  record.put("requestId", write.id);
  record.put("verb", verb_of(write.method));
  record.put("path", write.path);
  record.put("code", std::int64_t{write.code});
  if (const std::string uid = host_uid(write.answer); !uid.empty()) record.put("hostUid", uid);
  put_tenant(record, write);
  if (lost_before > 0) record.put("lost", static_cast<std::int64_t>(lost_before));
  record.put("previous", previous);
  std::string line = document.to_json();
  previous = net::sha256_hex(line);
  return line + "\n";
}

// Stays with the file when there is no other.
void HostAudit::Impl::next_file() {
  const std::string path = path_of(number + 1);
  Descriptor next(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (next.get() < 0) return;
  file = std::move(next);
  bytes = 0;
  if (++number > options.files_max) ::unlink(path_of(number - options.files_max).c_str());
}

void HostAudit::Impl::ask_for_users(std::vector<Write>& batch) const {
  if (!options.writers) return;
  std::vector<Write*> unknown;
  for (Write& write : batch)
    if (!write.cause.key.empty() && write.cause.user.empty()) unknown.push_back(&write);
  for (std::size_t from = 0; from < unknown.size(); from += kAskedAtOnce) {
    const std::size_t to = std::min(unknown.size(), from + kAskedAtOnce);
    std::vector<WriteCause> causes;
    for (std::size_t i = from; i < to; ++i) causes.push_back(unknown[i]->cause);
    const auto answers = options.writers(causes);
    if (answers.size() < causes.size()) return;  // nobody answers: the records are written without
    for (std::size_t i = from; i < to; ++i) {
      unknown[i]->cause.user = answers[i - from].user;
      unknown[i]->cause.request_id = answers[i - from].request_id;
    }
  }
}

void HostAudit::Impl::append(const std::vector<Write>& batch) {
  std::string text;
  std::uint64_t lines = 0, seq_written = seq;
  std::string previous_written = previous;
  // All of it or nothing: half a line would break the chain for whoever comes after it.
  const auto put = [&] {
    if (write_all(file.get(), text)) {
      bytes += text.size();
      lost = 0;
      seq_written = seq;
      previous_written = previous;
    } else {
      if (lost == 0)
        log::error("host_audit.not_written", {{"folder", options.folder}, {"cause", std::strerror(errno)}});
      (void)!::ftruncate(file.get(), static_cast<off_t>(bytes));
      lost += lines;
      seq = seq_written;
      previous = previous_written;
    }
    text.clear();
    lines = 0;
  };
  for (const Write& write : batch) {
    text += line_of(write, lines == 0 ? lost : 0);
    ++lines;
    if (bytes + text.size() < options.file_bytes_max) continue;
    put();
    if (bytes > 0) next_file();
  }
  if (lines > 0) put();
}

void HostAudit::Impl::run() {
  MutexLock lock(mutex);
  for (;;) {
    came.wait(lock, [this]() SUBLET_REQUIRES(mutex) { return stopping || !waiting.empty(); });
    if (waiting.empty()) return;
    // One question to the tenant and one write for those that come together.
    came.wait_for(lock, kGather, [this]() SUBLET_REQUIRES(mutex) { return stopping || flushing > 0; });
    std::vector<Write> batch = std::exchange(waiting, {});
    writing = true;
    lock.unlock();
    ask_for_users(batch);
    append(batch);
    lock.lock();
    writing = false;
    written.notify_all();
  }
}

// --- the log ---------------------------------------------------------------------------------------------------------

HostAudit::HostAudit(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostAudit::~HostAudit() { impl_->stop(); }

Result<std::unique_ptr<HostAudit>> HostAudit::open(HostAuditOptions options) {
  auto impl = std::make_shared<Impl>(std::move(options));
  if (auto begun = impl->begin(); !begun) return fail(begun.error());
  impl->thread = std::thread([raw = impl.get()] { raw->run(); });
  return std::unique_ptr<HostAudit>(new HostAudit(std::move(impl)));
}

std::shared_ptr<net::Transport> HostAudit::record(std::shared_ptr<net::Transport> host) {
  return std::make_shared<Recorded>(std::move(host), *impl_->options.clock,
                                    [impl = impl_](Write write) { impl->answered(std::move(write)); });
}

void HostAudit::flush() {
  MutexLock lock(impl_->mutex);
  ++impl_->flushing;
  impl_->came.notify_all();
  impl_->written.wait(lock,
                      [this]() SUBLET_REQUIRES(impl_->mutex) { return impl_->waiting.empty() && !impl_->writing; });
  --impl_->flushing;
}

// --- why ---

std::string cause_key(std::string_view group, std::string_view resource, std::string_view namespace_name,
                      std::string_view name) {
  std::string key(resource);
  if (!group.empty()) key.append(".").append(group);
  key += '/';
  if (!namespace_name.empty()) key.append(namespace_name).append("/");
  return key.append(name);
}

CauseScope::CauseScope(WriteCause cause) : cause_(std::move(cause)), outer_(innermost_cause) { innermost_cause = this; }
CauseScope::~CauseScope() { innermost_cause = outer_; }

void CauseScope::change(WriteCause cause) {
  if (innermost_cause != nullptr) innermost_cause->cause_ = std::move(cause);
}

const WriteCause* CauseScope::current() { return innermost_cause == nullptr ? nullptr : &innermost_cause->cause_; }

TenantWriters ask_tenant(std::shared_ptr<net::Transport> tenant) {
  return [tenant = std::move(tenant)](const std::vector<WriteCause>& causes) {
    Document asked = Document::object();
    Value items = asked.root().array("items");
    for (const WriteCause& cause : causes) {
      Value item = items.push_object();
      item.put("key", cause.key);
      item.put("resourceVersion", cause.resource_version);
    }
    net::Request request;
    request.method = "POST";
    request.target = "/sublet.dev/v1/writers";
    request.headers.set("Content-Type", "application/json");
    request.body = asked.to_json();
    std::vector<TenantWriter> writers;
    const auto answer = net::fetch(*tenant, std::move(request), kAskTimeout);
    if (!answer || answer->code != 200) return writers;
    if (const auto told = Document::parse_json(answer->body))
      for (const Value one : told->root()["items"])
        writers.push_back({one["user"].string(), one["requestId"].string()});
    return writers;
  };
}

// --- the check -------------------------------------------------------------------------------------------------------

Result<AuditCheck> check_host_audit(const std::string& folder, const std::string& kept) {
  const auto numbers = file_numbers(folder);
  if (!numbers) return fail(numbers.error());
  if (numbers->empty()) return fail(Reason::not_found, "there is no log of writes to the host in " + folder);
  AuditCheck check;
  bool found_kept = kept.empty();
  std::uint64_t expected_file = numbers->front();
  for (const std::uint64_t number : *numbers) {
    const std::string path = folder + "/" + file_name(number);
    if (number != expected_file++)
      return fail(Reason::conflict, path + ": the file before it, " + file_name(number - 1) + ", is missing");
    std::ifstream file(path);
    std::size_t line_number = 0;
    for (std::string line; std::getline(file, line);) {
      const auto wrong = [&](const std::string& what) {
        return fail(Reason::conflict, path + ":" + std::to_string(line_number) + ": " + what);
      };
      ++line_number;
      if (file.eof()) return wrong("ends in the middle of a record");
      const auto record = Document::parse_json(line);
      if (!record) return wrong("is no record: " + record.error().message);
      const Value root = record->root();
      const auto seq = static_cast<std::uint64_t>(root["seq"].integer());
      if (check.records > 0 && seq != check.last + 1)
        return wrong("is record " + std::to_string(seq) + " behind record " + std::to_string(check.last));
      if (check.records > 0 && root["previous"].text() != check.head)
        return wrong("does not follow from the line before it: that one was changed, or another stood here");
      if (check.records == 0 && seq == 1 && !root["previous"].text().empty())
        return wrong("is the first record, and names one before it");
      if (check.records++ == 0) {
        check.first = seq;
        check.first_time = root["time"].string();
      }
      check.last = seq;
      check.last_time = root["time"].string();
      if (check.records == 1) found_kept = found_kept || root["previous"].text() == kept;
      check.head = net::sha256_hex(line);
      found_kept = found_kept || check.head == kept;
    }
  }
  if (!found_kept)
    return fail(Reason::conflict,
                folder + ": no record has the hash " + kept +
                    ": what followed was cut off, all was written anew, or its file was removed as the "
                    "oldest since then (the log begins with record " +
                    std::to_string(check.first) + ")");
  return check;
}

}  // namespace sublet::syncer
