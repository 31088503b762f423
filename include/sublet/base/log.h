// Structured log events: `log::info("watch.started", {{"resource", "pods"}, {"revision", "42"}})`.
//
// One line per event on stderr, `time level event key=value ...`, values quoted when they need it. Thread-safe.
// Never log request bodies, tokens, Secret data or private keys.
// The back end (spdlog) is hidden in log.cpp: its headers cost seconds per file that includes them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace sublet::log {

enum class Level { debug, info, warning, error };

struct Field {
  std::string_view key;
  std::string value;
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> Field(std::string_view k, Number v) : key(k), value(std::to_string(v)) {}
};
using Fields = std::initializer_list<Field>;

/// Events below `level` are dropped. Default: info.
void set_level(Level level);
/// "debug", "info", "warning", "error"; anything else leaves the level and returns false.
bool set_level(std::string_view name);
void write(Level level, std::string_view event, Fields fields = {});
inline void debug(std::string_view event, Fields fields = {}) { write(Level::debug, event, fields); }
inline void info(std::string_view event, Fields fields = {}) { write(Level::info, event, fields); }
inline void warning(std::string_view event, Fields fields = {}) { write(Level::warning, event, fields); }
inline void error(std::string_view event, Fields fields = {}) { write(Level::error, event, fields); }

}  // namespace sublet::log
