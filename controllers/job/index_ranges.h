// IndexRanges: a set of completion indexes as a Job's status writes it: "1,3-5,7,8". A value; pure.
// Source: pkg/controller/job/indexed_job_utils.go of Kubernetes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sublet::controllers {

class IndexRanges {
 public:
  /// What is malformed is left out, as are indexes from `completions` on.
  static IndexRanges parse(std::string_view text, std::int64_t completions);

  void add(std::int64_t index) { add(index, index); }
  void add(const IndexRanges& others);
  bool has(std::int64_t index) const;
  std::int64_t count() const;
  bool empty() const { return ranges_.empty(); }
  std::string text() const;
  /// How many of `others` are in this set too.
  std::int64_t count_shared(const IndexRanges& others) const;
  /// The lowest indexes below `completions` that are not in the set, at most so many.
  std::vector<std::int64_t> first_missing(std::int64_t most, std::int64_t completions) const;

 private:
  struct Range {
    std::int64_t first, last;
  };
  void add(std::int64_t first, std::int64_t last);
  std::vector<Range> ranges_;  // ascending, none touching the next
};

}  // namespace sublet::controllers
