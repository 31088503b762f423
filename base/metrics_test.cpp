#include "sublet/base/metrics.h"

#include <gtest/gtest.h>

namespace sublet::metrics {
namespace {

TEST(Metrics, ExposesEachTypeInTextFormat) {
  counter("test_things_total", "Things.", {{"kind", "a\"b"}}).add(2);
  counter("test_things_total", "Things.", {{"kind", "a\"b"}}).add();
  gauge("test_level", "Level.").set(-4);
  histogram("test_seconds", "Time.").observe(0.003);
  const std::string text = exposition();
  EXPECT_NE(text.find("# TYPE test_things_total counter\ntest_things_total{kind=\"a\\\"b\"} 3\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("test_level -4\n"), std::string::npos);
  EXPECT_NE(text.find("test_seconds_bucket{le=\"0.0025\"} 0\ntest_seconds_bucket{le=\"0.005\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text.find("test_seconds_bucket{le=\"+Inf\"} 1\ntest_seconds_sum 0.003\ntest_seconds_count 1\n"),
            std::string::npos);
}

}  // namespace
}  // namespace sublet::metrics
