#include "cli/interrupt_hint.h"

#include <signal.h>
#include <unistd.h>

namespace sublet::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
std::string hint_text;  // what the handler writes; unchanged while the handler is installed

void end(int signal) {
  (void)!::write(STDERR_FILENO, hint_text.data(), hint_text.size());
  ::_exit(128 + signal);
}

}  // namespace

InterruptHint::InterruptHint(const std::string& how_to_go_on) {
  hint_text = "\nsublet: interrupted; " + how_to_go_on + "\n";
  for (const int signal : kSignals) ::signal(signal, end);
}

InterruptHint::~InterruptHint() {
  for (const int signal : kSignals) ::signal(signal, SIG_DFL);
}

}  // namespace sublet::cli
