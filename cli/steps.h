// Steps: progress of a command on stderr: each step with its time, live on a terminal, a plain line otherwise.
#pragma once

#include <chrono>
#include <string>

#include "sublet/base/status.h"
#include "sublet/cluster/driver.h"

namespace sublet::cli {

class Steps : public cluster::Progress {
 public:
  Steps();
  ~Steps() override = default;
  void begin(const std::string& what) override;
  void update(const std::string& how_far) override;
  void failed() override;
  void warn(const std::string& text) override;

  /// Ends the running step as done.
  void done();
  /// Ends it as failed, prints the error, and returns the exit code.
  int give_up(const Status& status);
  std::chrono::milliseconds total() const;

 private:
  void print_line(bool good);
  void show_running(const std::string& how_far) const;

  bool terminal_, colour_;
  std::string current_;
  std::chrono::steady_clock::time_point begun_, started_;
};

/// The message without "Internal error occurred: ", which an API server prefixes and a command does not need.
std::string message_of(const Status& status);
/// Prints "sublet: <message>" to stderr and returns the exit code.
int report(const Status& status);
/// "0.42 s"
std::string seconds_text(std::chrono::milliseconds time);
/// Replaces control bytes, so that a server's texts cannot control the terminal.
std::string printable(std::string_view text);

}  // namespace sublet::cli
