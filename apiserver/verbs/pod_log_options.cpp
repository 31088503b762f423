#include "apiserver/verbs/pod_log_options.h"

#include "apiserver/validation/field_errors.h"
#include "apiserver/verbs/read_steps.h"
#include "sublet/base/clock.h"
#include "sublet/base/go_quoted.h"

namespace sublet::apiserver {
namespace {

constexpr std::string_view kFlags[] = {"follow", "previous", "timestamps"};
constexpr std::string_view kPositive = "must be greater than 0", kNotNegative = "must be greater than or equal to 0";

struct NumberRow {
  std::string_view name;
  std::int64_t min;
  std::string_view message;
};
constexpr NumberRow kNumbers[] = {
    {"tailLines", 0, kNotNegative}, {"limitBytes", 1, kPositive}, {"sinceSeconds", 1, kPositive}};

// Older clients send "null" for a time that is not set.
bool is_set_time(std::string_view text) { return !text.empty() && text != "null"; }

class LogQueryReader {
 public:
  explicit LogQueryReader(const Query& query) : query_(query) {}

  Outcome read() {
    for (const auto name : kFlags)
      if (query_.flag(name)) add(name, "true");
    const bool has_both = query_.find("sinceSeconds") && is_set_time(query_.get("sinceTime"));
    for (const NumberRow& row : kNumbers)
      if (auto good = read_number(row, has_both); !good) return good;
    if (has_both) forbidden(causes_, "[]", "at most one of `sinceTime` or `sinceSeconds` may be specified");
    if (const auto time = query_.get("sinceTime"); is_set_time(time)) {
      if (!parse_time(time))
        return bad_request("parsing time " + go_quoted(time) + " as \"2006-01-02T15:04:05Z07:00\": cannot parse " +
                           go_quoted(time) + " as \"2006\"");
      add("sinceTime", time);
    }
    // Upstream reads it behind the feature gate PodLogsQuerySplitStreams, which is off by default.
    if (query_.find("stream")) forbidden(causes_, "stream", "may not be specified");
    return {};
  }

  Causes take_causes() { return std::move(causes_); }
  std::string take_query() { return std::move(out_); }

 private:
  Outcome read_number(const NumberRow& row, bool has_both) {
    const auto text = query_.find(row.name);
    if (!text) return {};
    const auto number = parse_query_integer(*text);
    if (!number) return fail(number.error());
    const bool is_judged = row.name != "sinceSeconds" || !has_both;
    if (is_judged && *number < row.min) invalid(causes_, std::string(row.name), *number, row.message);
    add(row.name, std::to_string(*number));
    return {};
  }

  void add(std::string_view name, std::string_view value) {
    out_.append(out_.empty() ? "" : "&").append(name).append("=").append(net::percent_encode(value));
  }

  const Query& query_;
  Causes causes_;
  std::string out_;
};

}  // namespace

Result<std::string> pod_log_query(const Query& query, std::string_view pod_name) {
  LogQueryReader reader(query);
  if (auto read = reader.read(); !read) return fail(read.error());
  auto causes = reader.take_causes();
  if (!causes.empty()) return fail(invalid_status("", "PodLogOptions", std::string(pod_name), std::move(causes)));
  return reader.take_query();
}

}  // namespace sublet::apiserver
