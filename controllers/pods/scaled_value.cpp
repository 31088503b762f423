#include "controllers/pods/scaled_value.h"

#include <charconv>
#include <cstdint>
#include <string_view>

namespace sublet::controllers {
namespace {

std::int64_t percent_of(std::string_view text) {
  std::int64_t percent = 0;
  std::from_chars(text.data(), text.data() + text.size(), percent);
  return percent;
}

}  // namespace

int scaled_value(const schema::Value& int_or_percent, int total, bool round_up) {
  if (int_or_percent.is_number()) return static_cast<int>(int_or_percent.integer());
  const auto hundredths = percent_of(int_or_percent.text()) * total;
  return static_cast<int>(round_up ? (hundredths + 99) / 100 : hundredths / 100);
}

}  // namespace sublet::controllers
