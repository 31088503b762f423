#include "sublet/base/log.h"

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

#include "sublet/base/log_level.h"

namespace sublet::log {
namespace {

std::atomic<int> current_level{static_cast<int>(Level::info)};
constexpr std::string_view kNames[] = {"debug", "info", "warning", "error"};  // by Level

std::atomic<bool> as_json = false;
constexpr const char* kConsole = "%Y-%m-%dT%H:%M:%S.%e%z %l %v";
constexpr const char* kJson = R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})";

// Leaked on purpose: threads may still log while static objects are destroyed.
spdlog::logger& backend() {
  static auto* logger = [] {
    auto* made = new spdlog::logger("sublet", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern(kConsole);
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

spdlog::level::level_enum backend_level(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

bool needs_quotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char c : value)
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) return true;
  return false;
}

void append_value(std::string& line, std::string_view value) {
  if (!needs_quotes(value)) {
    line += value;
    return;
  }
  static constexpr char kHex[] = "0123456789abcdef";
  line += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (byte < ' ' || byte == 0x7f) {  // a value must not be able to forge a line or move a terminal's cursor
      line += "\\x";
      line += kHex[byte >> 4];
      line += kHex[byte & 15];
    } else {
      line += c;
    }
  }
  line += '"';
}

// What is not UTF-8 is shown byte by byte: a reader of JSON takes nothing else.
void append_json(std::string& line, std::string_view value) {
  static constexpr char kHex[] = "0123456789abcdef";
  line += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (byte < ' ' || byte >= 0x7f) {
      line += "\\u00";
      line += kHex[byte >> 4];
      line += kHex[byte & 15];
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

void set_encoding(std::string_view name) {
  if (name != "json" && name != "console") return;
  as_json = name == "json";
  backend().set_pattern(as_json ? kJson : kConsole);
}
std::string_view encoding_name() { return as_json ? "json" : "console"; }

std::string line_of(std::string_view event, Fields fields, bool json) {
  std::string line;
  if (json) {
    line = "\"event\":";
    append_json(line, event);
  } else {
    line = event;
  }
  for (const auto& field : fields) {
    line += json ? ',' : ' ';
    if (json)
      append_json(line, field.key);
    else
      line += field.key;
    line += json ? ':' : '=';
    json ? append_json(line, field.value) : append_value(line, field.value);
  }
  return line;
}

void set_level(Level level) { current_level = static_cast<int>(level); }

bool set_level(std::string_view name) {
  for (int i = 0; i < 4; ++i)
    if (name == kNames[i]) {
      current_level = i;
      return true;
    }
  return false;
}

std::string_view level_name() { return kNames[current_level]; }

void write(Level level, std::string_view event, Fields fields) {
  if (static_cast<int>(level) < current_level.load(std::memory_order_relaxed)) return;
  const std::string line = line_of(event, fields, as_json);
  backend().log(backend_level(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace sublet::log
