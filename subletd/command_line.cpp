#include "subletd/command_line.h"

#include <CLI/CLI.hpp>

namespace sublet::subletd {
namespace {

class CliFlags final : public Flags {
 public:
  explicit CliFlags(CLI::App& app) : app_(app) {}
  void text(const std::string& name, std::string& into, const std::string& help, bool required) override {
    auto* option = app_.add_option(name, into, help);
    if (required)
      option->required();
    else
      option->capture_default_str();
  }
  void number(const std::string& name, int& into, const std::string& help) override {
    app_.add_option(name, into, help)->capture_default_str();
  }
  void toggle(const std::string& name, bool& into, const std::string& help) override {
    app_.add_flag(name, into, help);
  }
  void list(const std::string& name, std::vector<std::string>& into, const std::string& help) override {
    app_.add_option(name, into, help);
  }

 private:
  CLI::App& app_;
};

}  // namespace

void declare_roles(CLI::App& app, CommandLine& into, const std::function<void(RoleProgram&)>& chosen) {
  app.require_subcommand(1);
  app.add_option("--log-level", into.log_level, "debug, info, warning or error")->capture_default_str();
  for (const Role& role : roles()) {
    auto* command = app.add_subcommand(std::string(role.name), std::string(role.summary));
    command->fallthrough();
    into.programs.push_back(role.make());
    CliFlags flags(*command);
    into.programs.back()->declare(flags);
    command->final_callback([chosen, program = into.programs.back().get()] { chosen(*program); });
  }
}

}  // namespace sublet::subletd
