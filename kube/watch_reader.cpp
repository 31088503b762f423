#include "kube/watch_reader.h"

#include <algorithm>

#include "kube/answer.h"
#include "sublet/kube/json_scan.h"

namespace sublet::kube {
namespace {

struct TypeName {
  std::string_view literal;
  WatchEventType type;
};
constexpr TypeName kTypes[] = {{"\"ADDED\"", WatchEventType::added},
                               {"\"MODIFIED\"", WatchEventType::modified},
                               {"\"DELETED\"", WatchEventType::deleted},
                               {"\"BOOKMARK\"", WatchEventType::bookmark},
                               {"\"ERROR\"", WatchEventType::error}};

bool blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

void WatchReader::on_head(int code, const net::Headers& headers) {
  code_ = code;
  if (code != 200) headers_ = headers;
}

void WatchReader::on_body(std::string_view chunk) {
  if (ended_) return;
  if (code_ != 200) {
    partial_.append(chunk.substr(0, kErrorBytesMax - std::min(kErrorBytesMax, partial_.size())));
    return;
  }
  for (auto end = chunk.find('\n'); end != std::string_view::npos && !ended_; end = chunk.find('\n')) {
    const std::string_view line = chunk.substr(0, end);
    if (partial_.empty()) {
      take_line(line);
    } else {
      partial_.append(line);
      take_line(partial_);
      partial_.clear();
    }
    chunk.remove_prefix(end + 1);
  }
  partial_.append(chunk);
  if (partial_.size() > kFrameBytesMax)
    finish(fail(Reason::request_entity_too_large, "a watch event exceeds the limit of a frame"));
}

void WatchReader::take_line(std::string_view line) {
  if (blank(line)) return;
  std::string_view type, object, key, value;
  JsonScanner scanner(line);
  while (scanner.next(key, value)) {
    if (key == "type") type = value;
    if (key == "object") object = value;
  }
  const auto found = std::ranges::find(kTypes, type, &TypeName::literal);
  if (!scanner.complete() || found == std::end(kTypes) || object.empty() || object.front() != '{')
    return finish(internal_error("the server sent a malformed watch event"));
  observer_->on_event(found->type, object);
}

void WatchReader::on_end(Outcome outcome) {
  if (!outcome || code_ == 200) return finish(std::move(outcome));
  finish(fail(status_from_answer(code_, headers_, partial_)));
}

void WatchReader::finish(Outcome outcome) {
  if (ended_) return;
  ended_ = true;
  observer_->on_end(std::move(outcome));
}

}  // namespace sublet::kube
