// A watch as a hostile peer would send it. Every input is read twice, whole and in pieces that it chooses itself: both
// readings must agree on every event. What the cheap scanner says of an object must be what a real parser says.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "kube/watch_reader.h"
#include "sublet/kube/json_scan.h"
#include "sublet/schema/document.h"

namespace {

using namespace sublet;

struct Recorder final : kube::WatchObserver {
  void on_event(kube::WatchEventType type, std::string_view object) override {
    if (ended) std::abort();
    log += std::to_string(static_cast<int>(type)) + std::string(object) + "\n";
    compare(object);
  }
  void on_end(Outcome outcome) override {
    if (ended) std::abort();
    ended = true;
    log += outcome ? "end" : "error " + outcome.error().message;
  }

  static void compare(std::string_view object) {
    const auto meta = kube::read_object_meta(object);
    schema::ParseNotes notes;
    const auto parsed = schema::Document::parse_json(object, &notes);
    // Repeated and escaped keys are read differently; our servers send neither.
    if (!parsed || !notes.duplicate_fields.empty() || object.find('\\') != std::string_view::npos) return;
    const schema::Value metadata = (*parsed)["metadata"];
    if (meta.has_value() != metadata.is_object()) std::abort();
    if (meta && (meta->name != metadata["name"].text() || meta->uid != metadata["uid"].text())) std::abort();
  }

  std::string log;
  bool ended = false;
};

std::string read(std::string_view bytes, int code, bool in_pieces) {
  const auto recorder = std::make_shared<Recorder>();
  kube::WatchReader stream(recorder);
  stream.on_head(code, {});
  while (!bytes.empty()) {
    const std::size_t size = in_pieces ? 1 + static_cast<std::uint8_t>(bytes.front()) % 13 : bytes.size();
    stream.on_body(bytes.substr(0, size));
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
  stream.on_end({});
  return recorder->log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const int code = size > 0 && data[0] == '!' ? 410 : 200;
  if (read(bytes, code, false) != read(bytes, code, true)) std::abort();
  return 0;
}
