// sublet_bench SCENARIO --kubeconfig F [flags]: the load client. Prints one JSON object of figures on stdout.
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bench/connection.h"
#include "bench/figures.h"

namespace {

using namespace sublet;
using namespace sublet::bench;

constexpr char kUsage[] =
    "usage: sublet_bench api|changes|watch|objects|neighbours --kubeconfig F --pids PID,... [--seconds S] [--count N] "
    "[--events N]\n"
    "       sublet_bench slow-watches --kubeconfig F --pids PID,... [--count N] [--rate WRITES_PER_SECOND]\n"
    "                         [--bytes PER_SECOND_AND_READER] [--seconds S]\n"
    "       sublet_bench leases --kubeconfig F --pids PID,... [--count PODS] [--listers N] [--seconds S]\n"
    "       sublet_bench creates --kubeconfig F --pids PID,... --objects FILE,... [--count N] [--only TEXT]\n"
    "       sublet_bench definitions --kubeconfig F --folder OF_CRDS [--rounds N]\n"
    "       sublet_bench pods --kubeconfig F --host-kubeconfig F --host-namespace NS [--namespace NS]\n"
    "                         --count N [--rate PER_SECOND] [--writers N] [--watch-seconds S] [--keep 1]\n"
    "The figures are printed as one JSON object; the names end in their units.\n";

/// Flags are all --name value.
class Flags {
 public:
  Flags(int argc, char** argv) {
    for (int i = 2; i < argc; i += 2) {
      const std::string name = argv[i];
      if (!name.starts_with("--") || i + 1 >= argc) die("cannot read the flag " + name + "\n" + kUsage);
      values_[name.substr(2)] = argv[i + 1];
    }
  }
  std::string text(const std::string& name, const std::string& otherwise = {}) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  double number(const std::string& name, double otherwise) const {
    const std::string value = text(name);
    return value.empty() ? otherwise : std::strtod(value.c_str(), nullptr);
  }
  int count(const std::string& name, int otherwise) const { return static_cast<int>(number(name, otherwise)); }
  kube::ClusterAccess cluster(const std::string& name) const {
    auto access = kube::load_kubeconfig(text(name));
    if (!access) die("--" + name + ": " + access.error().message);
    return *access;
  }
  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> out;
    std::istringstream list(text(name));
    for (std::string one; std::getline(list, one, ',');) out.push_back(one);
    return out;
  }
  std::vector<int> pids() const {
    std::vector<int> out;
    for (const auto& one : texts("pids")) out.push_back(std::stoi(one));
    return out;
  }

 private:
  std::map<std::string, std::string> values_;
};

Figures pods(const Flags& flags) {
  const PodRun run{.tenant = flags.cluster("kubeconfig"),
                   .host = flags.cluster("host-kubeconfig"),
                   .tenant_namespace = flags.text("namespace", "default"),
                   .host_namespace = flags.text("host-namespace", "default"),
                   .count = flags.count("count", 100),
                   .writers = flags.count("writers", 16),
                   .rate = flags.number("rate", 0),
                   .watch_seconds = flags.count("watch-seconds", 900),
                   .keep = flags.count("keep", 0) != 0};
  return measure_pods(run);
}

Figures run(const std::string& scenario, const Flags& flags) {
  if (scenario == "pods") return pods(flags);
  const auto access = flags.cluster("kubeconfig");
  const ProcessUsage server(flags.pids());
  if (scenario == "api") return measure_api(access, server, flags.number("seconds", 3));
  if (scenario == "changes") return measure_changes(access, server, flags.number("seconds", 3));
  if (scenario == "watch")
    return measure_watches(access, server, flags.count("count", 1000), flags.count("events", 30));
  if (scenario == "slow-watches")
    return measure_slow_watches(access, server,
                                {.count = flags.count("count", 50),
                                 .bytes_per_second = flags.count("bytes", 1024),
                                 .rate = flags.number("rate", 2000),
                                 .seconds = flags.number("seconds", 15)});
  if (scenario == "neighbours")
    return measure_neighbours(access, server, flags.number("seconds", 3), flags.count("count", 20'000));
  if (scenario == "leases")
    return measure_leases(access, flags.number("seconds", 10), flags.count("count", 5'000), flags.count("listers", 64));
  if (scenario == "creates")
    return measure_creates(access, server, flags.texts("objects"), flags.text("only"), flags.count("count", 1000));
  if (scenario == "definitions") return measure_definitions(access, flags.text("folder"), flags.count("rounds", 5));
  if (scenario == "objects") return measure_objects(access, server, flags.count("count", 10'000));
  die("there is no scenario " + scenario + "\n" + kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  if (argc < 2) die(kUsage);
  const Figures figures = run(argv[1], Flags(argc, argv));
  const char* separator = "{";
  for (const auto& [name, value] : figures) {
    std::printf("%s\"%s\": %.3f", separator, name.c_str(), value);
    separator = ", ";
  }
  std::printf("}\n");
  return 0;
}
