// Role: one way to run subletd: a name, its flags, and a run() that ends with the process.
//
// To add a role: derive a program in a file of its own, declare its make function below, and add one line to the table
// in roles.cpp. Only main.cpp and command_line.cpp know the command-line library.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sublet/base/status.h"

namespace sublet::subletd {

/// Where a role says which flags it takes. Names are written as "--data"; values are stored before run().
class Flags {
 public:
  virtual ~Flags() = default;
  virtual void text(const std::string& name, std::string& into, const std::string& help, bool required = false) = 0;
  virtual void number(const std::string& name, int& into, const std::string& help) = 0;
  virtual void toggle(const std::string& name, bool& into, const std::string& help) = 0;
  /// May be given several times.
  virtual void list(const std::string& name, std::vector<std::string>& into, const std::string& help) = 0;
};

class RoleProgram {
 public:
  virtual ~RoleProgram() = default;
  virtual void declare(Flags& flags) = 0;
  /// Runs in the foreground until SIGTERM or SIGINT (which are blocked in every thread; see wait_for_stop_signal()).
  virtual Outcome run() = 0;
};

struct Role {
  std::string_view name, summary;
  std::unique_ptr<RoleProgram> (*make)();
};
std::span<const Role> roles();

std::unique_ptr<RoleProgram> make_apiserver_role();
std::unique_ptr<RoleProgram> make_syncer_role();
std::unique_ptr<RoleProgram> make_dns_role();
std::unique_ptr<RoleProgram> make_simhost_role();
std::unique_ptr<RoleProgram> make_run_role();
std::unique_ptr<RoleProgram> make_controllers_role();

/// Blocks SIGTERM and SIGINT for the process; call before any thread starts.
void block_stop_signals();
/// Waits for one of them; the process gives memory back when it rests meanwhile (rest.h).
void wait_for_stop_signal();
/// Makes wait_for_stop_signal() return, from any thread.
void request_stop();

}  // namespace sublet::subletd
