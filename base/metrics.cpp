#include "sublet/base/metrics.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "sublet/base/mutex.h"

namespace sublet::metrics {
namespace {

std::string label_text(const Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    if (!text.empty()) text += ',';
    text += key + "=\"";
    for (const char c : value) {
      if (c == '\\' || c == '"') text += '\\';
      if (c == '\n')
        text += "\\n";
      else
        text += c;
    }
    text += '"';
  }
  return text;
}

std::string number_text(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  return buffer;
}

std::string braced(const std::string& labels) { return labels.empty() ? "" : "{" + labels + "}"; }

void expose(std::string& out, const std::string& name, const std::string& labels, const Counter& metric) {
  out += name + braced(labels) + " " + std::to_string(metric.value()) + "\n";
}

void expose(std::string& out, const std::string& name, const std::string& labels, const Gauge& metric) {
  out += name + braced(labels) + " " + std::to_string(metric.value()) + "\n";
}

void expose(std::string& out, const std::string& name, const std::string& labels, const Histogram& metric) {
  const std::string prefix = labels.empty() ? "" : labels + ",";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= Histogram::kBoundCount; ++i) {
    total += metric.bucket(i);
    const std::string bound = i < Histogram::kBoundCount ? number_text(Histogram::kBounds[i]) : "+Inf";
    out += name + "_bucket{" + prefix + "le=\"" + bound + "\"} " + std::to_string(total) + "\n";
  }
  out += name + "_sum" + braced(labels) + " " + number_text(metric.sum()) + "\n";
  out += name + "_count" + braced(labels) + " " + std::to_string(total) + "\n";
}

// All metrics of one type, by name and then by label text.
template <class Metric>
struct Family {
  std::string help;
  std::map<std::string, std::unique_ptr<Metric>> metrics;
};

template <class Metric>
using Families = std::map<std::string, Family<Metric>, std::less<>>;

struct Registry {
  Mutex mutex;
  Families<Counter> counters SUBLET_GUARDED_BY(mutex);
  Families<Gauge> gauges SUBLET_GUARDED_BY(mutex);
  Families<Histogram> histograms SUBLET_GUARDED_BY(mutex);
};

// Leaked on purpose: threads may still count while static objects are destroyed.
Registry& registry() {
  static auto* made = new Registry();
  return *made;
}

template <class Metric>
Metric& find_or_make(Families<Metric> Registry::*families, std::string_view name, std::string_view help,
                     const Labels& labels) {
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  auto& family = (all.*families)[std::string(name)];
  family.help = help;
  auto& metric = family.metrics[label_text(labels)];
  if (!metric) metric = std::make_unique<Metric>();
  return *metric;
}

template <class Metric>
void expose_all(std::string& out, const Families<Metric>& families, const char* type) {
  for (const auto& [name, family] : families) {
    out += "# HELP " + name + " " + family.help + "\n# TYPE " + name + " " + type + "\n";
    for (const auto& [labels, metric] : family.metrics) expose(out, name, labels, *metric);
  }
}

}  // namespace

void Histogram::observe(double seconds) {
  const auto* bound = std::lower_bound(std::begin(kBounds), std::end(kBounds), seconds);
  buckets_[bound - std::begin(kBounds)].fetch_add(1, std::memory_order_relaxed);
  nanos_.fetch_add(static_cast<std::uint64_t>(std::max(seconds, 0.0) * 1e9), std::memory_order_relaxed);
}

Counter& counter(std::string_view name, std::string_view help, const Labels& labels) {
  return find_or_make(&Registry::counters, name, help, labels);
}

Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels) {
  return find_or_make(&Registry::gauges, name, help, labels);
}

Histogram& histogram(std::string_view name, std::string_view help, const Labels& labels) {
  return find_or_make(&Registry::histograms, name, help, labels);
}

std::string exposition() {
  Registry& all = registry();
  const MutexLock lock(all.mutex);
  std::string out;
  expose_all(out, all.counters, "counter");
  expose_all(out, all.gauges, "gauge");
  expose_all(out, all.histograms, "histogram");
  return out;
}

}  // namespace sublet::metrics
