// Map of this file: the environment, capabilities, Landlock, seccomp, daemons.
#include "subletd/lockdown.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>

#include "sublet/base/descriptor.h"
#include "sublet/base/log.h"
#include "sublet/base/sanitized.h"
#include "sublet/base/text.h"

extern char** environ;

namespace sublet::subletd {
namespace {

std::string because(const std::string& what) { return what + " (" + std::strerror(errno) + ")"; }

// The environment -----------------------------------------------------------------------------------------------------

constexpr std::string_view kKept[] = {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"};
constexpr std::string_view kKeptPrefixes[] = {"LC_", "SUBLET_"};
constexpr std::string_view kKeptSuffixes[] = {"SAN_OPTIONS"};

bool is_kept(std::string_view name) {
  return std::ranges::find(kKept, name) != std::end(kKept) ||
         std::ranges::any_of(kKeptPrefixes, [&](auto prefix) { return name.starts_with(prefix); }) ||
         std::ranges::any_of(kKeptSuffixes, [&](auto suffix) { return name.ends_with(suffix); });
}

// Capabilities --------------------------------------------------------------------------------------------------------

// Of root's powers, or what a service manager has given: a port below 1024 may be bound. To read other processes'
// memory and environment, say, none is left, whatever a file's rights are.
bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  constexpr std::uint32_t kept = 1u << CAP_NET_BIND_SERVICE;
  data[0] = {data[0].effective & kept, data[0].permitted & kept, data[0].inheritable & kept};
  data[1] = {};
  return ::syscall(SYS_capset, &header, data) == 0;
}

// Landlock ------------------------------------------------------------------------------------------------------------

// The headers of the build machine know less than the kernel of the one that runs it: the numbers are the kernel's.
struct Ruleset {
  std::uint64_t files, ports, scoped;
};
struct PortRule {
  std::uint64_t access, port;
};
constexpr std::uint64_t kExecute = 1 << 0, kWrite = 1 << 1, kRead = 1 << 2, kReadFolder = 1 << 3,
                        kRemoveFolder = 1 << 4, kRemoveFile = 1 << 5, kMakeFolder = 1 << 7, kMakeFile = 1 << 8,
                        kMakeSocket = 1 << 9, kRefer = 1 << 13, kTruncate = 1 << 14;
constexpr std::uint64_t kBind = 1, kConnect = 2;
constexpr int kPortRule = 2;
constexpr std::uint64_t kOfFiles = kExecute | kWrite | kRead | kTruncate | (1 << 15);  // all others are of folders

struct LandlockLevel {
  long version;
  std::uint64_t files;  // highest bit that it knows
  bool ports, scopes;
};
constexpr LandlockLevel kLevels[] = {{6, (1 << 16) - 1, true, true},   {5, (1 << 16) - 1, true, false},
                                     {4, (1 << 15) - 1, true, false},  {3, (1 << 15) - 1, false, false},
                                     {2, (1 << 14) - 1, false, false}, {1, (1 << 13) - 1, false, false}};

class Landlock {
 public:
  /// `ports`: those of kBind and kConnect that are held.
  Landlock(Walls& walls, std::uint64_t ports) : walls_(walls), ports_(ports) {
    const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) {
      walls_.missing.push_back(because("Landlock"));
      return;
    }
    level_ = *std::ranges::find_if(kLevels, [&](const LandlockLevel& level) { return level.version <= version; });
    const Ruleset wanted{level_.files, level_.ports ? ports_ : 0, level_.scopes ? 3u : 0};
    const std::size_t size = level_.scopes  ? sizeof(Ruleset)
                             : level_.ports ? 2 * sizeof(std::uint64_t)
                                            : sizeof(std::uint64_t);
    rules_.reset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &wanted, size, 0)));
    if (!rules_) walls_.missing.push_back(because("Landlock"));
  }

  void allow(const std::string& path, std::uint64_t access) {
    if (!rules_) return;
    const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat info {};
    if (!place || ::fstat(place.get(), &info) != 0) return;  // what is not there needs no right
    if (!S_ISDIR(info.st_mode)) access &= kOfFiles;
    landlock_path_beneath_attr rule{};
    rule.allowed_access = access & level_.files;
    rule.parent_fd = place.get();
    if (::syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
      walls_.missing.push_back(because("a Landlock rule of " + path));
  }

  void allow_port(std::uint16_t port, std::uint64_t access) {
    if (!rules_ || !level_.ports) return;
    const PortRule rule{access, port};
    if (::syscall(SYS_landlock_add_rule, rules_.get(), kPortRule, &rule, 0) != 0)
      walls_.missing.push_back(because("a Landlock rule of port " + std::to_string(port)));
  }

  void close_the_door() {
    if (!rules_) return;
    if (::syscall(SYS_landlock_restrict_self, rules_.get(), 0) != 0) {
      walls_.missing.push_back(because("Landlock"));
      return;
    }
    walls_.hold.push_back("Landlock: files");
    if (ports_ != 0) (level_.ports ? walls_.hold : walls_.missing).push_back("Landlock: TCP ports");
    (level_.scopes ? walls_.hold : walls_.missing).push_back("Landlock: signals");
  }

 private:
  Walls& walls_;
  const std::uint64_t ports_;
  Descriptor rules_;
  LandlockLevel level_{};
};

// seccomp -------------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

// What the daemons do all day. All that is not here fails with ENOSYS, so that a library which tries something newer
// takes the older way.
constexpr int kAllowed[] = {
    // memory and threads
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_futex,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_membarrier,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_exit,
    SYS_exit_group,
    SYS_restart_syscall,
    SYS_set_tid_address,
    SYS_mincore,
    // time, identity, figures
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getrandom,
    SYS_getrusage,
    SYS_sysinfo,
    SYS_uname,
    SYS_getcwd,
    // signals
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigtimedwait,
    SYS_rt_sigpending,
    SYS_sigaltstack,
    // files
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_lseek,
    SYS_openat,
    SYS_close,
    SYS_close_range,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_unlinkat,
    SYS_mkdirat,
    SYS_renameat,
    SYS_renameat2,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fsync,
    SYS_fdatasync,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_flock,
    SYS_fcntl,
    SYS_fstatfs,
    SYS_statfs,
    SYS_utimensat,
    SYS_linkat,
    SYS_fadvise64,
    SYS_umask,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    // waiting and speaking
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_eventfd2,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_ppoll,
    SYS_pselect6,
    SYS_accept,
    SYS_accept4,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_setsockopt,
    SYS_getsockopt,
#if defined(__x86_64__)
    SYS_arch_prctl,
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_unlink,
    SYS_mkdir,
    SYS_rmdir,
    SYS_rename,
    SYS_link,
    SYS_chmod,
    SYS_chown,
    SYS_poll,
    SYS_select,
    SYS_epoll_wait,
    SYS_dup2,
    SYS_time,
    SYS_pipe,
    SYS_getrlimit,
#endif
};

constexpr int kOutward[] = {SYS_socket, SYS_connect, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_bind, SYS_recvmmsg};

// Refused with EPERM instead of ENOSYS, so that libraries do not fall back to another call.
constexpr int kForbidden[] = {
    SYS_execve,  SYS_execveat, SYS_ptrace,     SYS_process_vm_readv, SYS_process_vm_writev, SYS_socket,
    SYS_connect, SYS_bind,     SYS_listen,     SYS_sendmsg,          SYS_unshare,           SYS_setns,
    SYS_mount,   SYS_bpf,      SYS_pidfd_getfd};

// What neither a supervisor nor what it starts has a use for. All else is left to these, of which upstream's controller
// manager has no list of its own.
constexpr int kAlwaysRefused[] = {SYS_ptrace,
                                  SYS_process_vm_readv,
                                  SYS_process_vm_writev,
                                  SYS_pidfd_getfd,
                                  SYS_unshare,
                                  SYS_setns,
                                  SYS_mount,
                                  SYS_umount2,
                                  SYS_pivot_root,
                                  SYS_chroot,
                                  SYS_open_by_handle_at,
                                  SYS_bpf,
                                  SYS_perf_event_open,
                                  SYS_userfaultfd,
                                  SYS_io_uring_setup,
                                  SYS_keyctl,
                                  SYS_add_key,
                                  SYS_request_key,
                                  SYS_init_module,
                                  SYS_finit_module,
                                  SYS_delete_module,
                                  SYS_kexec_load,
                                  SYS_reboot,
                                  SYS_setuid,
                                  SYS_setgid,
                                  SYS_setresuid,
                                  SYS_setresgid};

/// A filter under construction: instructions in order, each test complete in itself.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
    answer(SECCOMP_RET_ERRNO | ENOSYS);
    number();
#if defined(__x86_64__)
    // The x32 ABI has the same architecture and its own numbers: without this check they bypass a list of refusals.
    add(BPF_JMP | BPF_JGE | BPF_K, __X32_SYSCALL_BIT, 0, 1);
    answer(SECCOMP_RET_ERRNO | ENOSYS);
#endif
  }
  void allow(int call) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1);
    answer(SECCOMP_RET_ALLOW);
  }
  void refuse(int call, int error) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1);
    answer(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error));
  }
  /// When one of these values is the argument's low half; else EPERM.
  void allow_when(int call, int argument, std::initializer_list<std::uint32_t> values) {
    const auto count = static_cast<std::uint8_t>(values.size());
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, static_cast<std::uint8_t>(2 * count + 2));
    load(static_cast<std::uint32_t>(offsetof(seccomp_data, args)) + 8 * static_cast<std::uint32_t>(argument));
    for (const auto value : values) {
      add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
      answer(SECCOMP_RET_ALLOW);
    }
    answer(SECCOMP_RET_ERRNO | EPERM);
  }
  /// When all of these bits are set in the argument.
  void allow_with_bits(int call, int argument, std::uint32_t bits) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4);
    load(static_cast<std::uint32_t>(offsetof(seccomp_data, args)) + 8 * static_cast<std::uint32_t>(argument));
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    answer(SECCOMP_RET_ALLOW);
    answer(SECCOMP_RET_ERRNO | EPERM);
  }
  void answer(std::uint32_t what) { add(BPF_RET | BPF_K, what, 0, 0); }

  bool install() {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  void number() { load(offsetof(seccomp_data, nr)); }
  void load(std::uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); }
  void add(unsigned code, std::uint32_t value, std::uint8_t if_true, std::uint8_t if_false) {
    code_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, value});
  }
  std::vector<sock_filter> code_;
};

constexpr std::uint32_t kNameMemory = 0x53564d41;  // PR_SET_VMA

Filter filter_of(Outward outward) {
  Filter filter;
  for (const int call : kAllowed) filter.allow(call);
  if (outward == Outward::allowed)
    for (const int call : kOutward) filter.allow(call);
  else
    filter.allow_when(SYS_sendto, 4, {0});  // on what is connected; the address's low half is 0 for none
  for (const int call : kForbidden)
    if (outward == Outward::refused || std::ranges::find(kOutward, call) == std::end(kOutward))
      filter.refuse(call, EPERM);
  filter.allow_with_bits(SYS_clone, 0, CLONE_THREAD);  // clone3, whose flags cannot be seen, is not there
#if defined(__x86_64__)
  filter.refuse(SYS_fork, EPERM);
  filter.refuse(SYS_vfork, EPERM);
#endif
  const auto self = static_cast<std::uint32_t>(::getpid());
  filter.allow_when(SYS_tgkill, 0, {self});
  filter.allow_when(SYS_kill, 0, {self});
  filter.allow_when(SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS, kNameMemory});
  filter.allow_when(SYS_prlimit64, 2, {0});  // to read
  filter.allow_when(SYS_ioctl, 1, {TIOCOUTQ, FIONREAD, FIONBIO, TCGETS});
  filter.answer(SECCOMP_RET_ERRNO | ENOSYS);
  return filter;
}

Filter filter_with_children() {
  Filter filter;
  for (const int call : kAlwaysRefused) filter.refuse(call, EPERM);
  filter.answer(SECCOMP_RET_ALLOW);
  return filter;
}

Walls install(Filter filter) {
  Walls walls;
  if (kArchitecture == 0) {
    walls.missing.push_back("seccomp (no list of system calls for this processor)");
  } else if (filter.install()) {
    walls.hold.push_back("seccomp");
  } else {
    walls.missing.push_back(because("seccomp"));
  }
  return walls;
}

// Daemons -------------------------------------------------------------------------------------------------------------

// A sanitizer's build is confined on request: what it then cannot do (report leaks) is given up.
bool stays_open() { return kSanitized && std::getenv("SUBLET_CONFINE_SANITIZED") == nullptr; }

void tell(const char* event, const Walls& walls) {
  if (walls.missing.empty()) return log::info(event, {{"holds", join(walls.hold, ", ")}});
  log::warning(event, {{"holds", join(walls.hold, ", ")}, {"refused_by_the_kernel", join(walls.missing, ", ")}});
}

}  // namespace

void forget_environment() {
  char** kept = environ;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    if (is_kept(text.substr(0, text.find('='))))
      *kept++ = *entry;
    else
      ::explicit_bzero(*entry, text.size());
  }
  *kept = nullptr;
}

std::vector<std::string> system_files() {
  return {"/etc/hosts",
          "/etc/resolv.conf",
          "/etc/nsswitch.conf",
          "/etc/gai.conf",
          "/etc/host.conf",
          "/etc/services",
          "/etc/localtime",
          "/etc/ssl",
          "/etc/zoneinfo",
          "/etc/ld.so.cache",
          "/run/systemd/resolve",
          "/run/resolvconf",
          "/usr/lib",
          "/lib",
          "/lib64",
          "/usr/share/zoneinfo",
          "/usr/share/ca-certificates",
          "/usr/local/share/ca-certificates",
          "/dev/urandom",
          "/dev/random",
          "/proc/self",
          "/proc/meminfo",
          "/proc/stat",
          "/sys/devices/system/cpu",
          "/sys/fs/cgroup"};
}

std::vector<std::string> this_program() {
  std::set<std::string> found{"/proc/self/exe"};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto path = line.find('/'), name = line.rfind('/');
    if (path != std::string::npos && line.find(".so", name) != std::string::npos)
      found.insert(line.substr(path, name - path));
  }
  return {found.begin(), found.end()};
}

Walls confine(const Confinement& confinement) {
  Walls walls;
  const auto want = [&](bool done, const char* what) {
    done ? walls.hold.push_back(what) : walls.missing.push_back(because(what));
  };
  forget_environment();
  walls.hold.push_back("environment");
  want(::prctl(PR_SET_DUMPABLE, 0) == 0, "not dumpable");
  want(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
  want(drop_capabilities(), "capabilities");
  const bool starts_others = !confinement.executable.empty();
  Landlock landlock(walls, starts_others ? 0 : kBind | (confinement.connects_anywhere ? 0 : kConnect));
  for (const auto& path : confinement.own)
    landlock.allow(path, kRead | kWrite | kTruncate | kReadFolder | kMakeFile | kRemoveFile | kMakeFolder |
                             kRemoveFolder | kRefer | (starts_others ? kMakeSocket : 0));
  for (const auto& path : confinement.executable) landlock.allow(path, kRead | kReadFolder | kExecute);
  for (const auto& path : confinement.readable) landlock.allow(path, kRead | kReadFolder);
  landlock.allow("/dev/null", kRead | kWrite);
  if (!starts_others)
    for (const auto port : confinement.listened) landlock.allow_port(port, kBind);
  if (!starts_others && !confinement.connects_anywhere)
    for (const auto port : confinement.connected) landlock.allow_port(port, kConnect);
  landlock.close_the_door();
  return walls;
}

Walls drop_calls(Outward outward) { return install(filter_of(outward)); }

Walls drop_calls_with_children() { return install(filter_with_children()); }

void confine_daemon(const Confinement& confinement) {
  if (!stays_open()) return tell("process.confined", confine(confinement));
  log::info("process.not_confined", {{"why", "a sanitizer's build needs files and system calls of its own"}});
}

void drop_calls_of_daemon(Outward outward) {
  if (!stays_open()) tell("process.calls_dropped", drop_calls(outward));
}

void confine_parent(const Confinement& confinement) {
  confine_daemon(confinement);
  if (!stays_open()) tell("process.calls_dropped", drop_calls_with_children());
}

}  // namespace sublet::subletd
