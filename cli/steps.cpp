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

void Steps::begin(const std::string& what) {
  if (!current_.empty()) done();
  current_ = what;
  begun_ = steady_clock::now();
  if (terminal_) std::fprintf(stderr, "  %s ...\r", what.c_str());
}

void Steps::print_line(const char* mark, const std::string& note) {
  const auto took = duration_cast<milliseconds>(steady_clock::now() - begun_);
  const bool good = std::strcmp(mark, "ok") == 0;
  const char* paint = !colour_ ? "" : good ? "\033[32m" : "\033[31m";
  std::fprintf(stderr, "%s%s%s  %-44s %8s%s%s\n", paint, good ? "ok" : "--", colour_ ? "\033[0m" : "", current_.c_str(),
               seconds_text(took).c_str(), note.empty() ? "" : "  ", note.c_str());
  current_.clear();
}

void Steps::done(const std::string& note) {
  if (!current_.empty()) print_line("ok", note);
}

void Steps::failed(const Status& status) {
  if (!current_.empty()) print_line("failed", "failed");
  report(status);
}

milliseconds Steps::total() const { return duration_cast<milliseconds>(steady_clock::now() - started_); }

int report(const Status& status) {
  std::fprintf(stderr, "sublet: %s\n", printable(status.message).c_str());
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
