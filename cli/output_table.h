// OutputTable: kubectl-style columns, and kubectl's short ages. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace sublet::cli {

class OutputTable {
 public:
  explicit OutputTable(std::vector<std::string> columns) : columns_(std::move(columns)) {}
  void add_columns(const std::vector<std::string>& columns) {
    columns_.insert(columns_.end(), columns.begin(), columns.end());
  }
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Columns padded to their widest cell and three spaces apart; no trailing spaces.
  std::string text() const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "42s", "5m30s", "3h12m", "4d".
std::string age_text(std::chrono::system_clock::duration age);

}  // namespace sublet::cli
