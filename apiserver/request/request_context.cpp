#include "apiserver/request/request_context.h"

#include <array>
#include <atomic>
#include <set>

#include "apiserver/request/object_key.h"
#include "sublet/apiserver/last_writers.h"
#include "sublet/base/metrics.h"

namespace sublet::apiserver {
namespace {

constexpr std::size_t kWarningBytesMax = 4096;  // beyond it each warning is cut, and the last ones are left out
constexpr std::size_t kCutWarningBytes = 256;

// A quoted-string; control characters have no place in a header.
std::string warning_field(std::string_view text) {
  std::string field = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') field += '\\';
    field += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  field += '"';
  return field;
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

// Each text once, as upstream's recorder.
void add_warnings(net::Headers& headers, const std::vector<std::string>& warnings) {
  std::set<std::string_view> seen;
  std::size_t total = 0, written = 0;
  for (const auto& warning : warnings) total += warning.size();
  for (const auto& warning : warnings) {
    if (!seen.insert(warning).second) continue;
    const auto text = total > kWarningBytesMax ? cut_utf8(warning, kCutWarningBytes) : std::string_view(warning);
    written += text.size();
    if (written > kWarningBytesMax) return;
    headers.add("Warning", warning_field(text));
  }
}

constexpr std::size_t kVerbCount = static_cast<std::size_t>(Verb::other) + 1;
constexpr int kCodeMin = 100, kCodeCount = 500;

// Looked up once per verb and code; threads that look it up at the same time get the same counter. Acquire and release:
// a thread that reads the pointer must see the counter behind it.
metrics::Counter& request_counter(Verb verb, int code) {
  static std::array<std::array<std::atomic<metrics::Counter*>, kCodeCount>, kVerbCount> counters{};
  auto& slot = counters[static_cast<std::size_t>(verb)][static_cast<std::size_t>(code - kCodeMin) % kCodeCount];
  if (auto* known = slot.load(std::memory_order_acquire)) return *known;
  auto& made = metrics::counter("apiserver_request_total", "Requests answered, by verb and HTTP code.",
                                {{"verb", std::string(verb_name(verb))}, {"code", std::to_string(code)}});
  slot.store(&made, std::memory_order_release);
  return made;
}

metrics::Histogram& duration_histogram(Verb verb) {
  static std::array<std::atomic<metrics::Histogram*>, kVerbCount> histograms{};
  auto& slot = histograms[static_cast<std::size_t>(verb)];
  if (auto* known = slot.load(std::memory_order_acquire)) return *known;
  auto& made = metrics::histogram("apiserver_request_duration_seconds", "Time from a request to its answer, by verb.",
                                  {{"verb", std::string(verb_name(verb))}});
  slot.store(&made, std::memory_order_release);
  return made;
}

}  // namespace

RequestContext::~RequestContext() {
  if (in_flight) in_flight->fetch_sub(1, std::memory_order_relaxed);
  if (auto* pool = core->workers_of(moved_to)) pool->requests.fetch_sub(1, std::memory_order_relaxed);
}

std::string RequestContext::key() const { return object_key(storage(), info.namespace_name, info.name); }

void RequestContext::record_writers(const store::Committed& committed) const {
  const ServerOptions& options = core->options;
  if (!options.last_writers || user.name == options.unix_socket_user) return;
  for (const auto& event : committed.events) {
    const std::string& key = event->object->key;
    if (key.starts_with("events/") || key.starts_with("leases.")) continue;  // many, and never carried
    options.last_writers->wrote(key, event->revision, user.name, audit_id);
  }
}

void RequestContext::record(int code) const {
  request_counter(info.verb, code).add();
  const std::chrono::duration<double> spent = core->clock.steady_now() - received;
  duration_histogram(info.verb).observe(spent.count());
}

net::Headers RequestContext::headers(std::string_view content_type) const {
  net::Headers headers;
  headers.add("Audit-Id", audit_id);
  headers.add("Cache-Control", "no-cache, private");
  if (!content_type.empty()) headers.add("Content-Type", std::string(content_type));
  if (flow && !flow->schema_uid.empty()) {
    headers.add("X-Kubernetes-PF-FlowSchema-UID", flow->schema_uid);
    headers.add("X-Kubernetes-PF-PriorityLevel-UID", flow->level_uid);
  }
  add_warnings(headers, warnings);
  return headers;
}

Status method_not_allowed_status() {
  return fail(Reason::method_not_allowed, "the server does not allow this method on the requested resource").value();
}

}  // namespace sublet::apiserver
