// JsonWriter: JSON text written from the front to the back, for documents that are too large to build as trees first.
// Keys are plain ASCII names and are not escaped. Values are. Threads: one.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "sublet/schema/document.h"

namespace sublet::apiserver {

class JsonWriter {
 public:
  JsonWriter& key(std::string_view name) {
    separate();
    out_ += '"';
    out_ += name;
    out_ += "\":";
    fresh_ = true;
    return *this;
  }
  JsonWriter& value(std::string_view text) {
    separate();
    schema::append_json_string(out_, text);
    return *this;
  }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::same_as<bool> auto flag) { return raw(flag ? "true" : "false"); }
  /// A value that is JSON already.
  JsonWriter& raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
  }
  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }
  template <class Body>
  JsonWriter& object(Body body) {
    return nested('{', '}', body);
  }
  template <class Body>
  JsonWriter& array(Body body) {
    return nested('[', ']', body);
  }
  /// A list of texts: anything that can be iterated.
  template <class Texts>
  JsonWriter& texts(const Texts& items) {
    return array([&] {
      for (std::string_view item : items) value(item);
    });
  }
  std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }
  template <class Body>
  JsonWriter& nested(char open, char close, Body body) {
    separate();
    out_ += open;
    fresh_ = true;
    body();
    out_ += close;
    fresh_ = false;
    return *this;
  }

  std::string out_;
  bool fresh_ = true;  // the next value is the first: no comma
};

}  // namespace sublet::apiserver
