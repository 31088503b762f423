#include "sublet/store/memory_log.h"

#include <algorithm>

namespace sublet::store {
namespace {

class MemoryLog final : public Log {
 public:
  Outcome replay(const std::function<Outcome(Row&&)>& visit) override {
    for (Row row : rows_)
      if (Outcome outcome = visit(std::move(row)); !outcome) return outcome;
    return {};
  }
  Revision compacted() const override { return floor_; }
  Revision last() const override { return last_; }
  AppendError append(const std::vector<Row>& rows, std::string&) override {
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    if (!rows.empty()) last_ = rows.back().revision;
    return AppendError::none;
  }
  AppendError compact(const std::vector<Revision>& superseded, Revision floor, std::string&) override {
    std::vector<Revision> sorted = superseded;
    std::sort(sorted.begin(), sorted.end());
    std::erase_if(rows_,
                  [&](const Row& row) { return std::binary_search(sorted.begin(), sorted.end(), row.revision); });
    floor_ = std::max(floor_, floor);
    return AppendError::none;
  }

 private:
  std::vector<Row> rows_;
  Revision floor_ = kFirstRevision - 1;
  Revision last_ = kFirstRevision - 1;
};

}  // namespace

std::unique_ptr<Log> make_memory_log() { return std::make_unique<MemoryLog>(); }

}  // namespace sublet::store
