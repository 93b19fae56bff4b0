"""Writes the seccomp profile of the slot container (`verifier/sandbox/docker/seccomp.json`).

Two walls of system call filters stand around a program in a container. The inner one is in
`jail.c`: it binds the program alone and refuses everything that makes namespaces or mounts. This
one is the outer: it binds all of the container, so it must let the runner build jails (clone with
namespace flags, mount, pivot_root, setns), which Docker's own profile refuses to a process without
CAP_SYS_ADMIN. In exchange it refuses what Docker's own lets through: io_uring, AF_VSOCK, exotic
protocols, ptrace, other processes' memory.

It is an allow-list: a call that is in no group of `ALLOWED` is answered with ENOSYS, as by a kernel
that does not have it, so that libc takes its older way. `REFUSED` says, for the calls we know and
do not want, which errno they get and why; together the two name every call of the kernel (a test
holds that). Privileged operations get EPERM, as an unprivileged user would; facilities that are
taken away get ENOSYS.

Only the native architecture is listed: calls in the 32-bit and x32 tables kill the process.

Usage:
    python3 sandbox_images/seccomp_profile.py            # rewrites the committed file
    python3 sandbox_images/seccomp_profile.py --check    # exit 1 when the committed file is stale
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

PROFILE = Path(__file__).resolve().parent.parent / "verifier/sandbox/docker/seccomp.json"

EPERM = 1
ENOSYS = 38
EAFNOSUPPORT = 97

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
SOCK_STREAM, SOCK_DGRAM = 1, 2
SOCK_TYPE_MASK = 0xF
IPPROTO_DEFAULT, IPPROTO_TCP, IPPROTO_UDP = 0, 6, 17
PER_LINUX, PER_QUERY = 0, 0xFFFFFFFF

# By topic. Names of several architectures are mixed: those that an architecture lacks are skipped.
ALLOWED: dict[str, str] = {
    "files and directories": """
        access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat
        faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl
        fdatasync flock fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 ioctl
        lchown link linkat lseek lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2
        readlink readlinkat rename renameat renameat2 rmdir stat statfs statx symlink symlinkat sync
        sync_file_range syncfs truncate umask unlink unlinkat utime utimensat utimes file_getattr
        file_setattr
    """,
    "extended attributes": """
        fgetxattr flistxattr fremovexattr fsetxattr getxattr getxattrat lgetxattr listxattr
        listxattrat llistxattr lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat
    """,
    "input and output": """
        pipe pipe2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readv sendfile
        splice tee vmsplice write writev eventfd eventfd2 epoll_create epoll_create1 epoll_ctl
        epoll_pwait epoll_pwait2 epoll_wait poll ppoll pselect6 select inotify_add_watch
        inotify_init inotify_init1 inotify_rm_watch signalfd signalfd4 io_cancel io_destroy
        io_getevents io_pgetevents io_setup io_submit
    """,
    "sockets, except for making one": """
        accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg
        recvmsg sendmmsg sendmsg sendto setsockopt shutdown
    """,
    "memory": """
        brk cachestat madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall
        mmap mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free
        pkey_mprotect
    """,
    "processes and threads": """
        arch_prctl clone clone3 execve execveat exit exit_group fork futex futex_requeue futex_wait
        futex_waitv futex_wake get_robust_list get_thread_area getpgid getpgrp getpid getppid
        getpriority getrlimit getrusage getsid gettid kill pidfd_open pidfd_send_signal prctl
        prlimit64 restart_syscall rseq rseq_slice_yield set_robust_list set_thread_area
        set_tid_address setpgid setpriority setrlimit setsid tgkill tkill vfork wait4 waitid
    """,
    "signals": """
        pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
        rt_sigtimedwait rt_tgsigqueueinfo sigaltstack
    """,
    "scheduling": """
        getcpu ioprio_get ioprio_set sched_get_priority_max sched_get_priority_min sched_getaffinity
        sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity
        sched_setattr sched_setparam sched_setscheduler sched_yield
    """,
    "clocks and timers": """
        alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer
        time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
        timerfd_gettime timerfd_settime times
    """,
    "SysV and POSIX message passing (each case has an IPC namespace of its own)": """
        mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv
        msgsnd semctl semget semop semtimedop shmat shmctl shmdt shmget
    """,
    "identity": """
        capget capset getegid geteuid getgid getgroups getresgid getresuid getuid setfsgid setfsuid
        setgid setgroups setregid setresgid setresuid setreuid setuid
    """,
    "facts about the machine": "getrandom sysinfo uname",
    "what the runner builds jails with (jail.c refuses these to the program)": """
        chroot mount pivot_root setdomainname sethostname setns umount2 unshare
    """,
    "self-restriction": "landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp",
}

# Each is the errno, the reason and the names.
REFUSED: tuple[tuple[int, str, str], ...] = (
    (
        ENOSYS,
        "io_uring runs calls that no filter sees; its memory and work are the kernel's",
        "io_uring_enter io_uring_register io_uring_setup",
    ),
    (
        EPERM,
        "other processes' memory and state: the runner needs none of it",
        """kcmp pidfd_getfd process_madvise process_mrelease process_vm_readv process_vm_writev
        ptrace lookup_dcookie""",
    ),
    (
        EPERM,
        "programs inside the kernel, probes and counters",
        "bpf perf_event_open uprobe uretprobe userfaultfd",
    ),
    (
        ENOSYS,
        "keys outlive the process that made them and are not in a namespace",
        "add_key keyctl request_key",
    ),
    (
        EPERM,
        "operations on the machine",
        """acct adjtimex clock_adjtime clock_settime delete_module finit_module init_module ioperm
        iopl kexec_file_load kexec_load quotactl quotactl_fd reboot settimeofday swapoff swapon
        syslog vhangup""",
    ),
    (
        EPERM,
        "files by handle go around every mount; fanotify sees other processes' files",
        "fanotify_init fanotify_mark name_to_handle_at open_by_handle_at",
    ),
    (
        ENOSYS,
        "the new mount interface: jail.c uses mount(2), so this is only attack surface",
        """fsconfig fsmount fsopen fspick listmount listns mount_setattr move_mount open_tree
        open_tree_attr statmount""",
    ),
    (
        ENOSYS,
        "placement of pages: affects the neighbors; libraries work without",
        "get_mempolicy mbind migrate_pages move_pages set_mempolicy set_mempolicy_home_node",
    ),
    (
        ENOSYS,
        "hidden from the memory accounting's tools, or of use only to a security manager",
        "lsm_get_self_attr lsm_list_modules lsm_set_self_attr memfd_secret",
    ),
    (
        ENOSYS,
        "old interfaces, kept in the kernel for programs of another age",
        """_sysctl afs_syscall create_module epoll_ctl_old epoll_wait_old get_kernel_syms getpmsg
        modify_ldt nfsservctl putpmsg query_module remap_file_pages security sysfs tuxcall uselib
        ustat vserver""",
    ),
)

# Allowed or refused by their arguments.
BY_ARGUMENT = ("personality", "socket", "socketpair")


def build() -> dict[str, object]:
    """The profile as Docker's engine takes it.

    Docker 20.10 ignores `defaultErrnoRet`, so the refused calls are also listed with their errno; a
    call that is newer than the engine's libseccomp gets ENOSYS from runc itself.
    """
    rules: list[dict[str, object]] = [
        _rule(names.split(), comment=topic) for topic, names in ALLOWED.items()
    ]
    rules += [_rule(names.split(), errno=errno, comment=why) for errno, why, names in REFUSED]
    rules += _personality() + _socket()
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": ENOSYS,
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
        ],
        "syscalls": rules,
    }


def _personality() -> list[dict[str, object]]:
    """The plain personality may be set and the current one asked; the rest falls to the default."""
    return [
        _rule(["personality"], [_equals(0, PER_LINUX)], comment="no change"),
        _rule(["personality"], [_equals(0, PER_QUERY)], comment="which one is it"),
    ]


def _socket() -> list[dict[str, object]]:
    """Unix sockets, and TCP and UDP over IP. No raw sockets, and no protocol that loads a module.

    The comparison is of all 64 bits while the kernel looks at the lower 32 only: what has bits
    above is not allowed by any rule here, so there is no way around them.
    """
    rules = [
        _rule(["socket", "socketpair"], [_equals(0, AF_UNIX)], comment="unix sockets"),
        # Not AF_INET (2): its other types and protocols fall to the default action.
        _rule(["socket"], [_equals(0, 0)], errno=EAFNOSUPPORT),
        *(_rule(["socket"], [_equals(0, f)], errno=EAFNOSUPPORT) for f in range(3, AF_INET6)),
        _rule(
            ["socket"],
            [_compare(0, "GT", AF_INET6)],
            errno=EAFNOSUPPORT,
            comment="vsock, packet, netlink",
        ),
        _rule(["socketpair"], [_compare(0, "GT", AF_UNIX)], errno=EAFNOSUPPORT),
    ]
    for family in (AF_INET, AF_INET6):
        for kind, protocol in ((SOCK_STREAM, IPPROTO_TCP), (SOCK_DGRAM, IPPROTO_UDP)):
            of_kind = _compare(1, "MASKED_EQ", SOCK_TYPE_MASK, kind)
            rules += [
                _rule(["socket"], [_equals(0, family), of_kind, _equals(2, number)])
                for number in (IPPROTO_DEFAULT, protocol)
            ]
    return rules


def _rule(
    names: list[str],
    args: list[dict[str, object]] | None = None,
    *,
    errno: int | None = None,
    comment: str = "",
) -> dict[str, object]:
    rule: dict[str, object] = {"comment": comment} if comment else {}
    rule["names"] = sorted(names)
    rule["action"] = "SCMP_ACT_ALLOW" if errno is None else "SCMP_ACT_ERRNO"
    if errno is not None:
        rule["errnoRet"] = errno
    if args:
        rule["args"] = args
    return rule


def _equals(index: int, value: int) -> dict[str, object]:
    return _compare(index, "EQ", value)


def _compare(index: int, op: str, value: int, value_two: int = 0) -> dict[str, object]:
    return {"index": index, "value": value, "valueTwo": value_two, "op": f"SCMP_CMP_{op}"}


def render() -> str:
    """The file's text."""
    return json.dumps(build(), indent=1) + "\n"


def main(argv: list[str]) -> int:
    """Write the profile, or compare it with the committed one."""
    if argv == ["--check"]:
        stale = not PROFILE.is_file() or PROFILE.read_text() != render()
        if stale:
            print(f"{PROFILE} is stale: run python3 {Path(__file__).name}", file=sys.stderr)
        return int(stale)
    PROFILE.write_text(render())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
