// Lockdown: what a daemon gives up for good, so that code which a peer brought into it finds little.
//
// Two steps. confine() comes before the first thread: the environment goes, no program that is started gains rights, no
// core dump and no ptrace by others of our user, and by Landlock the files are those that are named, and so are the TCP
// ports. drop_calls() comes when all is open: by seccomp every thread has only the system calls of its work left; all
// others fail (never kill), fork, exec and ptrace among them. What the kernel does not support is left out and logged.
// A sanitizer's build needs calls of its own: its daemons say so and stay open (kSanitized).
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sublet/base/status.h"

namespace sublet::subletd {

struct Confinement {
  std::vector<std::string> own{};       // folders and files to read, write and, in folders, make and remove
  std::vector<std::string> readable{};  // folders and files
  std::vector<std::uint16_t> listened{}, connected{};  // TCP ports
  bool connects_anywhere = false;                      // to any port, whatever `connected` says
  /// Of a process that starts others: what they may run, files or folders. Ports are theirs to give up, and they make
  /// sockets in `own`.
  std::vector<std::string> executable{};
};

/// What holds, and what was wanted and is not to be had here.
struct Walls {
  std::vector<std::string> hold, missing;
};

enum class Outward { refused, allowed };

Walls confine(const Confinement& confinement);
/// Without Outward::allowed no socket can be made any more; those that listen go on taking connections.
Walls drop_calls(Outward outward);

/// For a process that starts others, and for these: without the calls that neither needs, which reach into other
/// processes, the kernel or other rights.
Walls drop_calls_with_children();

/// Both for a daemon: logs what holds. Nothing in a sanitizer's build.
void confine_daemon(const Confinement& confinement);
void drop_calls_of_daemon(Outward outward);
/// Both for one that starts others.
void confine_parent(const Confinement& confinement);

/// What of the environment a daemon and its children keep: how to find programs and speak to people, nothing of the
/// user's session. Blanks the rest where it lies. Before the first thread.
void forget_environment();

/// Files for starting this program again: itself, and the folders of its libraries, which an upgrade changes.
/// For Confinement::executable.
std::vector<std::string> this_program();

/// Where libraries look at run time: name resolution, time zones, trusted roots. For Confinement::readable.
std::vector<std::string> system_files();

}  // namespace sublet::subletd
