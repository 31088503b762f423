// completion: prints a shell's completion script.
#include <cstdio>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/completion.h"
#include "cli/exit_code.h"

namespace sublet::cli {
namespace {

class CompletionCommand final : public Command {
 public:
  void declare(Words& words) override {
    words.choice("SHELL", shell_, {"bash", "zsh", "fish"}, "bash, zsh or fish").required();
    words.examples(
        "  source <(sublet completion bash)         # in ~/.bashrc; the package installs all three\n"
        "  source <(sublet completion zsh)          # in ~/.zshrc, after compinit\n"
        "  sublet completion fish | source          # in ~/.config/fish/config.fish");
  }
  int run(const Invocation&) override {
    const CommandRow table = command_table();
    const std::string script = shell_ == "bash"  ? bash_completion(table)
                               : shell_ == "zsh" ? zsh_completion(table)
                                                 : fish_completion(table);
    std::fputs(script.c_str(), stdout);
    return kOk;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() { return std::make_unique<CompletionCommand>(); }

}  // namespace sublet::cli
