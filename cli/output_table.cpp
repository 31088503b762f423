#include "cli/output_table.h"

#include <algorithm>

namespace sublet::cli {

std::string OutputTable::text() const {
  std::vector<std::size_t> widths(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths[i] = columns_[i].size();
    for (const auto& row : rows_) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += cells[i];
      line.append(widths[i] - cells[i].size() + 3, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add(columns_);
  for (const auto& row : rows_) add(row);
  return out;
}

std::string age_text(std::chrono::system_clock::duration age) {
  const auto seconds = std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(age).count());
  const auto two = [](std::int64_t big, const char* big_unit, std::int64_t small, const char* small_unit) {
    return std::to_string(big) + big_unit + (small ? std::to_string(small) + small_unit : "");
  };
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 600) return two(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 3 * 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 8 * 3600) return two(seconds / 3600, "h", seconds / 60 % 60, "m");
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + "h";
  if (seconds < 8 * 86400) return two(seconds / 86400, "d", seconds / 3600 % 24, "h");
  return std::to_string(seconds / 86400) + "d";
}

}  // namespace sublet::cli
