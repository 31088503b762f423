#include "cli/steps.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/exit_code.h"

namespace sublet::cli {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

Steps::Steps() : terminal_(::isatty(STDERR_FILENO) == 1), started_(steady_clock::now()) {
  const char* term = std::getenv("TERM");
  colour_ = terminal_ && std::getenv("NO_COLOR") == nullptr && !(term && std::strcmp(term, "dumb") == 0);
}

// Shows the running step on a terminal's last line; the next output overwrites it.
void Steps::show_running(const std::string& how_far) const {
  if (!terminal_ || current_.empty()) return;
  std::fprintf(stderr, "\r\033[K  %s ...%s%s\r", current_.c_str(), how_far.empty() ? "" : " ",
               printable(how_far).c_str());
}

void Steps::begin(const std::string& what) {
  done();
  current_ = what;
  begun_ = steady_clock::now();
  show_running("");
}

void Steps::update(const std::string& how_far) { show_running(how_far); }

void Steps::print_line(bool good) {
  if (current_.empty()) return;
  const auto took = duration_cast<milliseconds>(steady_clock::now() - begun_);
  const char* paint = !colour_ ? "" : good ? "\033[32m" : "\033[31m";
  std::fprintf(stderr, "%s%s%s%s  %-44s %8s%s\n", terminal_ ? "\r\033[K" : "", paint, good ? "ok" : "--",
               colour_ ? "\033[0m" : "", current_.c_str(), seconds_text(took).c_str(), good ? "" : "  failed");
  current_.clear();
}

void Steps::done() { print_line(true); }

void Steps::failed() { print_line(false); }

void Steps::warn(const std::string& text) {
  std::fprintf(stderr, "%ssublet: %s\n", terminal_ ? "\r\033[K" : "", printable(text).c_str());
}

int Steps::give_up(const Status& status) {
  failed();
  return report(status);
}

milliseconds Steps::total() const { return duration_cast<milliseconds>(steady_clock::now() - started_); }

std::string message_of(const Status& status) {
  constexpr std::string_view kPrefix = "Internal error occurred: ";
  std::string text = status.message;
  for (auto at = text.find(kPrefix); at != std::string::npos; at = text.find(kPrefix)) text.erase(at, kPrefix.size());
  return text;
}

int report(const Status& status) {
  std::fprintf(stderr, "sublet: %s\n", printable(message_of(status)).c_str());
  return exit_code_of(status);
}

std::string seconds_text(milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", static_cast<double>(time.count()) / 1000);
  return text;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 && c != '\n' && c != '\t' ? '?' : byte == 0x7f ? '?' : c;
  }
  return out;
}

}  // namespace sublet::cli
