#include "cli/interrupt_hint.h"

#include <signal.h>
#include <unistd.h>

namespace sublet::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
std::string message;  // what the handler writes; not changed while the handler is installed

void end(int signal) {
  (void)!::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(128 + signal);
}

}  // namespace

InterruptHint::InterruptHint(const std::string& how_to_go_on) {
  message = "\nsublet: interrupted; " + how_to_go_on + "\n";
  for (const int signal : kSignals) ::signal(signal, end);
}

InterruptHint::~InterruptHint() {
  for (const int signal : kSignals) ::signal(signal, SIG_DFL);
}

}  // namespace sublet::cli
