"""System calls that a running process makes because we say so: what code in it could do. No debugger is needed, and no symbols, so a
release build is told in milliseconds: its main thread is stopped in the system call that it waits in, and sent through the same
instruction again with other registers. x86_64, and whoever may trace (root)."""
import contextlib
import ctypes
import os
import platform

from target import LeftOut

NAMES = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs").split()
SEIZE, INTERRUPT, DETACH, STEP, GET, SET = 0x4206, 0x4207, 17, 9, 12, 13
WALL = 0x40000000
CALLS = {"read": 0, "open": 2, "close": 3, "socket": 41, "connect": 42, "clone": 56, "fork": 57, "execve": 59, "kill": 62, "unlink": 87, "ptrace": 101,
         "getpid": 39, "bpf": 321, "mount": 165, "process_vm_readv": 310, "io_uring_setup": 425, "unshare": 272, "link": 86, "symlink": 88,
         "chmod": 90, "rename": 82, "userfaultfd": 323, "keyctl": 250, "perf_event_open": 298, "memfd_create": 319, "setuid": 105}


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in NAMES]


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def _trace(request, pid, data=None):
    if LIBC.ptrace(request, pid, None, data) == -1:
        error = ctypes.get_errno()
        raise OSError(error, f"ptrace({request}, {pid}): {os.strerror(error)}")


class Inside:
    def __init__(self, pid, registers):
        self.pid, self.registers = pid, registers
        self.memory = open(f"/proc/{pid}/mem", "r+b", buffering=0)

    def call(self, name, *arguments):
        """The result as the kernel gives it: -13 is EACCES. A text is put into the process' memory, behind what its stack uses."""
        at = self.registers.rsp - 16384
        values = []
        for argument in arguments:
            if isinstance(argument, str):
                data = argument.encode() + b"\0"
                self.memory.seek(at)
                self.memory.write(data)
                values.append(at)
                at += len(data) + 8
            else:
                values.append(argument)
        now = Registers.from_buffer_copy(self.registers)
        for register, value in zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), values + [0] * (6 - len(values))):
            setattr(now, register, value & (2**64 - 1))
        now.rax, now.orig_rax, now.rip = CALLS[name], 2**64 - 1, self.registers.rip - 2
        _trace(SET, self.pid, ctypes.byref(now))
        _trace(STEP, self.pid)
        _, status = os.waitpid(self.pid, WALL)
        assert os.WIFSTOPPED(status), f"{name}: the process ended: {status:#x}"
        _trace(GET, self.pid, ctypes.byref(now))
        return ctypes.c_longlong(now.rax).value


@contextlib.contextmanager
def inside(pid):
    if platform.machine() != "x86_64":
        raise LeftOut("system calls are injected on x86_64 only")
    try:
        _trace(SEIZE, pid)
    except PermissionError:
        raise LeftOut("we may not trace a process that is not dumpable; root may") from None
    registers = Registers()
    try:
        _trace(INTERRUPT, pid)
        os.waitpid(pid, WALL)
        _trace(GET, pid, ctypes.byref(registers))
        traced = Inside(pid, registers)
        traced.memory.seek(registers.rip - 2)
        if traced.memory.read(2) != b"\x0f\x05":
            raise LeftOut("its main thread does not wait in a system call")
        try:
            yield traced
        finally:
            _trace(SET, pid, ctypes.byref(registers))
            traced.memory.close()
    finally:
        _trace(DETACH, pid)
