// Uid: an object's uid in sixteen bytes.
//
// A million objects have a million of them, and as text each is an allocation beside the object. What Kubernetes gives
// out is a UUID (36 characters, lower case), which is kept as its bytes; any other text is kept as it is, elsewhere.
// Reads as the text it was made of. A value; one thread at a time writes.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace sublet::store {

class Uid {
 public:
  Uid() = default;
  Uid(std::string_view text);  // implicit, as from_string's opposite below
  Uid(const std::string& text) : Uid(std::string_view(text)) {}
  Uid(const char* text) : Uid(std::string_view(text)) {}
  Uid(const Uid& other);
  Uid(Uid&& other) noexcept { std::swap(bytes_, other.bytes_); }
  Uid& operator=(Uid other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Uid();

  bool empty() const;
  std::string str() const;
  operator std::string() const { return str(); }

  friend bool operator==(const Uid& a, const Uid& b) { return a.equals(b); }
  friend bool operator==(const Uid& a, std::string_view b) { return a.equals(b); }
  friend bool operator==(const Uid& a, const std::string& b) { return a.equals(std::string_view(b)); }
  friend bool operator==(const Uid& a, const char* b) { return a.equals(std::string_view(b)); }
  friend std::string operator+(const std::string& a, const Uid& b) { return a + b.str(); }
  friend std::ostream& operator<<(std::ostream& out, const Uid& uid);

 private:
  static constexpr std::size_t kTextSize = 36;
  struct Bytes {
    alignas(8) unsigned char at[16] = {};
  };
  bool packed() const;
  std::string* other_text() const;  // what is no UUID; null: empty
  void write(char (&text)[kTextSize]) const;
  bool equals(const Uid& other) const;
  bool equals(std::string_view text) const;

  // A UUID's bytes. Or, with a version (the high half of byte 6) of zero, which no UUID has that this keeps packed, a
  // pointer in the last eight.
  Bytes bytes_;
};

}  // namespace sublet::store
