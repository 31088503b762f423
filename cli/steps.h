// Steps: progress of a command on stderr: each step with its time, live on a terminal, a plain line otherwise.
#pragma once

#include <chrono>
#include <string>

#include "sublet/base/status.h"

namespace sublet::cli {

class Steps {
 public:
  Steps();
  /// Announces a step; ends the one before as done.
  void begin(const std::string& what);
  void done(const std::string& note = {});
  /// Marks the running step as failed and prints the error.
  void failed(const Status& status);
  std::chrono::milliseconds total() const;

 private:
  void print_line(const char* mark, const std::string& note);

  bool terminal_, colour_;
  std::string current_;
  std::chrono::steady_clock::time_point begun_, started_;
};

/// Prints "sublet: <message>" to stderr and gives the exit code.
int report(const Status& status);
/// "0.42 s"
std::string seconds_text(std::chrono::milliseconds time);
/// Control bytes of texts that came from a server never reach the terminal.
std::string printable(std::string_view text);

}  // namespace sublet::cli
