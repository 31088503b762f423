// boot: starts the virtual clusters when the machine starts.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "cli/boot_place.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/reference.h"
#include "cli/steps.h"
#include "cli/systemd.h"
#include "sublet/base/files.h"

namespace sublet::cli {
namespace {

using cluster::VirtualCluster;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kTry{60};  // for one virtual cluster

// --- enable, disable ---

Outcome refuse_without_systemd(const BootPlace& place) {
  return fail(
      Reason::service_unavailable,
      "systemd does not run here, so there is nothing that boot could be enabled with; no file was written. Have "
      "whatever starts this machine run, as " +
          place.user + ": " + place.command());
}

// A unit of that name that is not ours, or is about another state folder, is its owner's.
Outcome refuse_foreign_unit(const BootPlace& place) {
  const auto text = read_file(place.unit_path);
  if (!text) return text.error().is(Reason::not_found) ? Outcome() : fail(text.error());
  const auto folder = state_folder_of_unit(*text);
  if (!folder)
    return fail(Reason::conflict, place.unit_path + " was not made by sublet and stays as it is; move it away");
  if (*folder == place.state_folder) return {};
  return fail(Reason::conflict, place.unit_path + " starts the virtual clusters in " + *folder + ", not those in " +
                                    place.state_folder + "; first: SUBLET_STATE_DIR='" + *folder +
                                    "' sublet boot disable");
}

Outcome write_unit(const BootPlace& place) {
  const auto text = place.unit_text();
  if (!text) return fail(text.error());
  const auto folder = std::filesystem::path(place.unit_path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return internal_error("cannot create " + folder.string() + ": " + error.message());
  if (auto written = replace_file(place.unit_path, *text); !written) return written;
  // No secret is in it, and systemd complains of units that others cannot read.
  std::filesystem::permissions(place.unit_path, std::filesystem::perms(0644), error);
  return error ? internal_error(place.unit_path + ": " + error.message()) : Outcome();
}

Outcome control(ServiceManager& services, const char* verb) {
  if (std::string_view(verb) == "daemon-reload") return services.control({verb});
  return services.control({verb, kBootUnit});
}

int enable(ServiceManager& services, const BootPlace& place) {
  if (!services.runs()) return report(refuse_without_systemd(place).error());
  if (auto ours = refuse_foreign_unit(place); !ours) return report(ours.error());
  const bool was_there = std::filesystem::exists(place.unit_path);
  if (auto written = write_unit(place); !written) return report(written.error());
  for (const char* verb : {"daemon-reload", "enable"}) {
    const auto done = control(services, verb);
    if (done) continue;
    std::error_code ignored;
    if (!was_there) std::filesystem::remove(place.unit_path, ignored);
    return report(done.error());
  }
  if (const auto lingers = services.linger(); !lingers)
    std::fprintf(stderr,
                 "sublet: they come back when %s logs in, not before (%s); to have them with the machine: "
                 "sudo loginctl enable-linger %s\n",
                 place.user.c_str(), printable(lingers.error().message).c_str(), place.user.c_str());
  std::fprintf(stderr,
               "every virtual cluster in %s is started again with the machine, also one made later (%s runs %s boot "
               "start); undo it: sublet boot disable\n",
               place.state_folder.c_str(), place.unit_path.c_str(), place.program.c_str());
  std::printf("unit/%s enabled\n", kBootUnit);
  return kOk;
}

int disable(ServiceManager& services, const BootPlace& place) {
  if (!std::filesystem::exists(place.unit_path)) {
    std::fprintf(stderr, "sublet: boot is not enabled; there is no %s\n", place.unit_path.c_str());
    return kOk;
  }
  if (auto ours = refuse_foreign_unit(place); !ours) return report(ours.error());
  // Without --now: running virtual clusters keep running.
  if (services.runs())
    if (auto done = control(services, "disable"); !done) return report(done.error());
  std::error_code error;
  std::filesystem::remove(place.unit_path, error);
  if (error) return report(internal_error("cannot remove " + place.unit_path + ": " + error.message()).value());
  if (services.runs())
    if (auto done = control(services, "daemon-reload"); !done) return report(done.error());
  std::fprintf(stderr,
               "virtual clusters that run go on running; with the next start of the machine they stay stopped\n");
  std::printf("unit/%s disabled\n", kBootUnit);
  return kOk;
}

// --- start ---

// Worth a retry: a network or a host that starts later than this machine.
bool is_temporary(const Status& status) {
  return status.is(Reason::service_unavailable) || status.is(Reason::timeout) || status.is(Reason::server_timeout);
}

class Start {
 public:
  Start(cluster::Driver& driver, cluster::Records records, const BootOptions& options)
      : driver_(driver),
        options_(options),
        records_(std::move(records)),
        deadline_(steady_clock::now() + options.timeout) {}

  int run() {
    for (const auto& damaged : records_.damaged) note(report(fail(Reason::internal_error, damaged.why).value()));
    std::vector<VirtualCluster> waiting;
    for (const VirtualCluster& cluster : records_.clusters)
      if (cluster.deleting)
        warn_of_deletion(cluster);
      else
        waiting.push_back(cluster);
    while (!waiting.empty()) {
      std::erase_if(waiting, [&](const VirtualCluster& cluster) { return settled(cluster); });
      if (waiting.empty()) break;
      std::this_thread::sleep_for(std::min<steady_clock::duration>(options_.between, left()));
    }
    return code_;
  }

 private:
  steady_clock::duration left() const { return std::max(deadline_ - steady_clock::now(), steady_clock::duration{}); }
  void note(int code) { code_ = code_ == kOk ? code : code_; }

  void warn_of_deletion(const VirtualCluster& cluster) const {
    std::fprintf(stderr, "sublet: %s is not started, because its deletion is not finished: sublet delete %s -n %s\n",
                 reference_of(records_, cluster.name, cluster.host_namespace).c_str(), cluster.name.c_str(),
                 cluster.host_namespace.c_str());
  }

  // True when there is nothing to try again.
  bool settled(const VirtualCluster& cluster) {
    const auto reference = reference_of(records_, cluster.name, cluster.host_namespace);
    Steps steps;
    const auto started = driver_.start(cluster, {}, kTry, steps);
    if (started) {
      steps.done();
      std::printf("%s %s\n", reference.c_str(), *started ? "started" : "unchanged");
      std::fflush(stdout);
      return true;
    }
    const int code = steps.give_up(fail(started.error().reason, reference + ": " + started.error().message).value());
    if (is_temporary(started.error()) && left().count() > 0) return false;
    note(code);
    return true;
  }

  cluster::Driver& driver_;
  const BootOptions& options_;
  const cluster::Records records_;
  const steady_clock::time_point deadline_;
  int code_ = kOk;  // the first failure's
};

int start(cluster::Driver& driver, const BootOptions& options) {
  auto records = driver.list();
  return records ? Start(driver, std::move(*records), options).run() : report(records.error());
}

}  // namespace

int boot(cluster::Driver& driver, ServiceManager& services, const BootPlace& place, const BootOptions& options) {
  switch (options.action) {
    case BootAction::enable:
      return enable(services, place);
    case BootAction::disable:
      return disable(services, place);
    case BootAction::start:
      return start(driver, options);
  }
  return kFailure;
}

namespace {

class BootCommand final : public Command {
 public:
  void declare(Words& words) override {
    const auto action = [&](const char* name, const char* summary, BootAction chosen) {
      return words.command(name, summary, [this, chosen] { options_.action = chosen; });
    };
    Words enable =
        action("enable", "From now on (a systemd service: the machine's for root, else your own)", BootAction::enable);
    Words disable = action("disable", "No longer; running virtual clusters keep running", BootAction::disable);
    Words start = action("start", "Start those that are stopped; the service runs this", BootAction::start);
    start.timeout("--timeout", options_.timeout, "how long to retry while a host does not answer");
    words.examples(
        "  sublet boot enable                       # yours start with the machine, before you log in\n"
        "  sudo sublet boot enable                  # root's\n"
        "  sublet boot start                        # without systemd: run this when the machine starts");
    enable.examples("  sublet boot enable");
    disable.examples("  sublet boot disable");
    start.examples(
        "  sublet boot start\n"
        "  @reboot SUBLET_STATE_DIR=$HOME/.local/state/sublet /opt/sublet/sublet boot start   # a line for crontab -e");
  }
  int run(const Invocation& invocation) override {
    return boot(*invocation.make_driver(), *make_systemd(), default_boot_place(), options_);
  }

 private:
  BootOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_boot_command() { return std::make_unique<BootCommand>(); }

}  // namespace sublet::cli
