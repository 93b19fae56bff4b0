/*
 * The jail: the one place that makes a process which runs a program we do not trust.
 *
 * Theory of operation
 * -------------------
 * Three processes of ours stand around a program:
 *
 *   runner   PID 1 of the slot's PID namespace. Owns the clock, the pipes and the verdict's facts.
 *            Calls jail_case().
 *   zygote   a warm Python interpreter beside it, in the slot's cgroup. It never sees an expected output
 *            or an input of a case. Sits in jail_serve().
 *   init     PID 1 of the case's own PID namespace, made by jail_spawn(). It mounts /proc and the case's
 *            tmpfs, starts the payload, reaps orphans, and reports how the payload ended. When it exits the
 *            kernel kills all that is left in the namespace, so nothing of a case outlives it.
 *
 * The payload is never PID 1: such a process ignores signals it should die of.
 *
 * Init is made with CLONE_VM on a stack of its own: it shares the zygote's memory, so no page table is
 * copied for it (measured: 1,400 against 1,200 cases/s on 2 cores). Two things follow. Init uses raw
 * system calls only, because libc's errno lives in thread-local storage that it shares with the zygote.
 * And the payload, which init forks, gets a copy of the zygote's memory in which the zygote is blocked in
 * jail_spawn(): it longjmps back into that frame and returns 0 from it, as fork() would. A program that is
 * executed needs no copy: it is made as vfork() would.
 *
 * Init is made with CLONE_PARENT: it is a child of the runner, which waits for it.
 *
 * Privileges: the slot's user namespace gives the zygote and init the capabilities to mount and to make
 * namespaces; none of them reach outside of it. The payload gives up all of them, takes a uid of its own
 * where the slot has one, sets no_new_privs and adds its system call filter to the slot's, in that order, before
 * any of its own code runs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define JAIL_ABI 5

/* ---------------------------------------------------------------- raw system calls (no errno) */

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
static long sys6(long n, long a, long b, long c, long d, long e, long f) {
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
static long sys6(long n, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#else
#error "only x86_64 and aarch64 are supported"
#endif
#define SYS0(n) sys6(n, 0, 0, 0, 0, 0, 0)
#define SYS1(n, a) sys6(n, (long)(a), 0, 0, 0, 0, 0)
#define SYS2(n, a, b) sys6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(n, a, b, c) sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(n, a, b, c, d) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS5(n, a, b, c, d, e) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#ifndef __NR_close_range
#define __NR_close_range 436
#endif
#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif
#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW (1UL << 2)
#endif
#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif

/* ---------------------------------------------------------------- what the caller hands in */

/* One run. Mirrored field by field in runner/agent/libjail.py; all integers are 64 bit. */
struct jail_spec {
    int64_t abi;
    int64_t stdin_fd, stdout_fd, stderr_fd;
    int64_t value_fd;     /* becomes fd 3 of the payload; -1: none */
    int64_t input_fd;     /* becomes fd 4; -1: none */
    int64_t code_fd;      /* becomes fd 5; -1: none */
    int64_t peer_fd;      /* becomes fd 6: a socket to another run; -1: none */
    int64_t status_fd;    /* init writes struct jail_status here */
    int64_t uid, gid;     /* of the payload, inside the slot's user namespace; -1: keep */
    int64_t build;        /* 1: a compile jail: /build is writable and the working directory */
    int64_t cpu_s;        /* RLIMIT_CPU, a belt: the summed limit is the runner's */
    int64_t tmp_bytes, tmp_inodes;
    int64_t file_bytes, stack_bytes, processes, open_files;
    int64_t without;      /* WITHOUT_*: control runs (sandbox/controls.py), and runners in a masked container */
    int64_t has_value, has_input, has_peer, has_extra; /* which descriptors come with each run, see jail_serve() */
    const char *const *argv; /* NULL: return 0 in the payload instead of exec */
    const char *const *envp;
};

/* One mechanism each, switched off to see that an attack then succeeds. */
enum {
    WITHOUT_SECCOMP = 1,
    WITHOUT_PID_NAMESPACE = 2,
    WITHOUT_IPC_NAMESPACE = 4,
    WITHOUT_MOUNT_NAMESPACE = 8,
    WITHOUT_NO_NEW_PRIVS = 16, /* and so without the filter, which needs it */
    WITHOUT_PROCESS_LIMIT = 32,
    WITHOUT_DROPPED_CAPABILITIES = 64,
    WITHOUT_LANDLOCK = 128,
    WITHOUT_FRESH_PROC = 256, /* no control: the slot's own /proc stays, where the kernel refuses a new one */
};

/* How the payload ended, in init's words. */
struct jail_status {
    int64_t magic;
    int64_t wait_status;
    int64_t cpu_ns;   /* of all that were waited for */
    int64_t maxrss;   /* bytes; of the largest one */
};
#define JAIL_MAGIC 0x6a61696c73746174LL

/* Why jail_spawn failed: set by init or the zygote before any payload exists. */
static struct {
    const char *step;
    int error;
} failure;

/* ---------------------------------------------------------------- the payload's system call filter */

/* Refused with EPERM: they reach the kernel's wider surface, leave something behind for the next run, or
 * look into other processes. Everything here is refused by capabilities already where it needs them;
 * the filter is the second wall. */
static const int denied[] = {
    __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_setns, __NR_unshare, __NR_ptrace,
    __NR_process_vm_readv, __NR_process_vm_writev, __NR_kcmp, __NR_bpf, __NR_perf_event_open,
    __NR_userfaultfd, __NR_keyctl, __NR_add_key, __NR_request_key, __NR_kexec_load, __NR_init_module,
    __NR_finit_module, __NR_delete_module, __NR_reboot, __NR_swapon, __NR_swapoff, __NR_acct,
    __NR_quotactl, __NR_open_by_handle_at, __NR_name_to_handle_at, __NR_fanotify_init,
    __NR_fanotify_mark, __NR_settimeofday, __NR_clock_settime, __NR_clock_adjtime, __NR_adjtimex,
    __NR_syslog, __NR_vhangup, __NR_move_pages, __NR_migrate_pages, __NR_mbind, __NR_set_mempolicy,
    __NR_inotify_init1,           /* tells when anybody reads a file that all slots share */
    425, 426, 427,                /* io_uring_setup, _enter, _register */
    __NR_io_setup, __NR_io_destroy, __NR_io_submit, __NR_io_cancel, __NR_io_getevents, /* a host-wide number of them */
    428, 429, 430, 431, 432, 433, /* open_tree, move_mount, fsopen, fsconfig, fsmount, fspick */
    438, 440, 442, 443, 447, 448, 450, /* pidfd_getfd, process_madvise, mount_setattr, quotactl_fd,
                                          memfd_secret, process_mrelease, set_mempolicy_home_node */
    457, 458, 467,                /* statmount, listmount, open_tree_attr */
#ifdef __NR_kexec_file_load
    __NR_kexec_file_load,
#endif
#ifdef __x86_64__
    __NR_inotify_init, __NR_iopl, __NR_ioperm, __NR_modify_ldt, __NR_uselib, __NR_ustat, __NR_sysfs,
    __NR__sysctl,
#endif
    __NR_lookup_dcookie,
};
#define NDENIED (sizeof denied / sizeof denied[0])

#define NS_FLAGS (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
                  CLONE_NEWNET | 0x80 /* CLONE_NEWTIME */)
#define TIOCSTI_ 0x5412
#define F_NOTIFY_ 1026 /* inotify's predecessor */

/* Two filters, since the kernel works through a filter when it is set, for every call there is: one with all that
 * the zygote and init do without as well, set once per slot, and a short one that every payload adds. */
static struct sock_filter slot_filter[64 + NDENIED], run_filter[48];
static struct sock_fprog slot_prog = {0, slot_filter}, run_prog = {0, run_filter};

static void emit(struct sock_fprog *to, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf) {
    struct sock_filter f = {code, jt, jf, k};
    to->filter[to->len++] = f;
}
#define ADD(code, k, jt, jf) emit(prog, (code), (k), (jt), (jf))
#define RET(action) ADD(BPF_RET | BPF_K, (action), 0, 0)
#define LOAD(field) ADD(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field), 0, 0)
#define ERRNO(e) (SECCOMP_RET_ERRNO | (e))
/* Little endian: the low half of an argument comes first. */
#define ARG_LOW(i) (offsetof(struct seccomp_data, args) + 8 * (i))
#define LOAD_ARG(i) ADD(BPF_LD | BPF_W | BPF_ABS, ARG_LOW(i), 0, 0)

static void build_slot_filter(void) {
    struct sock_fprog *prog = &slot_prog;
    size_t i;
    prog->len = 0;
    LOAD(arch);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0);
    RET(SECCOMP_RET_KILL_PROCESS); /* 32-bit calls */
    LOAD(nr);
#ifdef __x86_64__
    ADD(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    RET(ERRNO(ENOSYS)); /* x32 */
#endif
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 435, 0, 1);
    RET(ERRNO(ENOSYS)); /* clone3: its flags are in memory and cannot be filtered; libc falls back to clone */
    for (i = 0; i < NDENIED; i++) /* each jumps to the one refusal behind them */
        ADD(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)denied[i], (uint8_t)(NDENIED - i), 0);
    ADD(BPF_JMP | BPF_JA, 1, 0, 0);
    RET(ERRNO(EPERM));
    ADD(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 6);
    LOAD_ARG(0);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 1 /* AF_UNIX */, 3, 0);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 2 /* AF_INET */, 2, 0);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 10 /* AF_INET6 */, 1, 0);
    RET(ERRNO(EAFNOSUPPORT));
    RET(SECCOMP_RET_ALLOW);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 0, 4);
    LOAD_ARG(1);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI_, 0, 1);
    RET(ERRNO(EPERM));
    RET(SECCOMP_RET_ALLOW);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 0, 3);
    LOAD_ARG(1);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, F_NOTIFY_, 0, 1);
    RET(ERRNO(EPERM));
    RET(SECCOMP_RET_ALLOW);
}

/* What init or the payload's own set-up needs until the last moment. */
static void build_run_filter(void) {
    struct sock_fprog *prog = &run_prog;
    prog->len = 0;
    LOAD(nr);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, __NR_mount, 0, 1);
    RET(ERRNO(EPERM));
    ADD(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4);
    LOAD_ARG(0);
    ADD(BPF_JMP | BPF_JSET | BPF_K, NS_FLAGS, 0, 1);
    RET(ERRNO(EPERM));
    RET(SECCOMP_RET_ALLOW);
    /* Limits of its own alone: init may have the program's user id, and would die of a limit of 0. And the limit
     * of core dumps stays: to set it seems to work, since programs ask for none. */
    ADD(BPF_JMP | BPF_JEQ | BPF_K, __NR_prlimit64, 0, 11);
    LOAD_ARG(0);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    RET(ERRNO(EPERM));
    LOAD_ARG(1);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 5);
    LOAD_ARG(2); /* where the new limit is; NULL only asks */
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
    ADD(BPF_LD | BPF_W | BPF_ABS, ARG_LOW(2) + 4, 0, 0);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    RET(ERRNO(0));
    RET(SECCOMP_RET_ALLOW);
#ifdef __NR_setrlimit
    ADD(BPF_JMP | BPF_JEQ | BPF_K, __NR_setrlimit, 0, 4);
    LOAD_ARG(0);
    ADD(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 1);
    RET(ERRNO(0));
    RET(SECCOMP_RET_ALLOW);
#endif
    RET(SECCOMP_RET_ALLOW);
}

static long set_filter(struct sock_fprog *prog) {
    long err = SYS3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, prog);
    if (err < 0) err = SYS5(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, prog, 0, 0);
    return err;
}

/* ---------------------------------------------------------------- the second wall: Landlock */

/* What the mount namespace, the network namespace and the PID namespace refuse, Landlock refuses again, where the
 * kernel has it: to write outside of the run's own tmpfs, to use TCP, and to signal or connect to what is not of
 * the run. Structures and numbers are the kernel's (linux/landlock.h), whose header may be older than it. */
#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_ADD_RULE 445
#define LANDLOCK_RESTRICT_SELF 446
#define LANDLOCK_VERSION 1
#define LANDLOCK_PATH_BENEATH 1
#define LANDLOCK_EXECUTE 0x1ULL
#define LANDLOCK_WRITE_FILE 0x2ULL
#define LANDLOCK_READ 0xcULL        /* files, folders */
#define LANDLOCK_TRUNCATE 0x4000ULL
#define LANDLOCK_IOCTL_DEV 0x8000ULL

struct landlock_ruleset { uint64_t fs, net, scoped; };
struct landlock_path { uint64_t allowed; int32_t parent_fd; } __attribute__((packed));

static long landlock_abi; /* <= 0: the kernel has none */

static uint64_t landlock_handled(void) {
    uint64_t known = 0x1fff; /* all that the first version had */
    if (landlock_abi >= 2) known |= 0x2000; /* link and rename to another folder */
    if (landlock_abi >= 3) known |= LANDLOCK_TRUNCATE;
    if (landlock_abi >= 5) known |= LANDLOCK_IOCTL_DEV;
    return known;
}

static long landlock_allow(long ruleset, const char *folder, uint64_t allowed) {
    struct landlock_path rule = {allowed & landlock_handled(), -1};
    long fd = SYS4(__NR_openat, AT_FDCWD, folder, O_PATH | O_CLOEXEC, 0), err;
    if (fd < 0) return fd;
    rule.parent_fd = (int32_t)fd;
    err = SYS4(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_PATH_BENEATH, &rule, 0);
    SYS1(__NR_close, fd);
    return err;
}

/* Per run, since a rule is about one mounted file system and /tmp is a new one each time. Returns 0 or -errno. */
static long landlock(int build) {
    struct landlock_ruleset attr = {landlock_handled(), landlock_abi >= 4 ? 3 : 0, landlock_abi >= 6 ? 3 : 0};
    size_t size = landlock_abi >= 6 ? 24 : landlock_abi >= 4 ? 16 : 8;
    long ruleset = SYS3(LANDLOCK_CREATE_RULESET, &attr, size, 0), err;
    if (ruleset < 0) return ruleset;
    err = landlock_allow(ruleset, "/", LANDLOCK_EXECUTE | LANDLOCK_READ);
    if (err >= 0)
        err = landlock_allow(ruleset, "/dev", LANDLOCK_READ | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV);
    if (err >= 0) err = landlock_allow(ruleset, "/tmp", ~0ULL);
    if (err >= 0 && build) err = landlock_allow(ruleset, "/build", ~0ULL);
    if (err >= 0) err = SYS2(LANDLOCK_RESTRICT_SELF, ruleset, 0);
    SYS1(__NR_close, ruleset);
    return err;
}

/* ---------------------------------------------------------------- init and payload */

static struct {
    const struct jail_spec *spec;
    volatile uint32_t started; /* futex: 0 waiting, 1 the payload exists, 2 init failed */
    volatile int64_t init_pid;
    jmp_buf zygote_frame;
    int *tid_address;
    void *robust_head;
    size_t robust_len;
    char tmp_options[128];
} run;

static char init_stack[64 * 1024] __attribute__((aligned(64)));

/* Decimal digits without libc (init may not use it). */
static char *put(char *p, const char *text) {
    while (*text) *p++ = *text++;
    return p;
}
static char *put_number(char *p, int64_t v) {
    char digits[24];
    int n = 0;
    do digits[n++] = (char)('0' + v % 10); while ((v /= 10) > 0);
    while (n) *p++ = digits[--n];
    return p;
}

static void limit(int what, uint64_t soft, uint64_t hard) {
    struct { uint64_t cur, max; } lim = {soft, hard};
    SYS4(__NR_prlimit64, 0, what, &lim, 0);
}

static _Noreturn void die(int code) {
    for (;;) SYS1(__NR_exit_group, code);
}

/* A payload that cannot be made safe does not run. An exit code would look like a verdict, so the step is
 * written to the status pipe: the runner reads it as a fault of the slot. */
static _Noreturn void payload_failed(const struct jail_spec *s, int64_t step, long error) {
    struct jail_status st = {~JAIL_MAGIC, step, -error, 0};
    SYS3(__NR_write, s->status_fd, &st, sizeof st);
    die(120);
}

/* What stands between the fork and the program. A program that is executed shares its memory with the zygote up to
 * that moment (see init_main): system calls and locals only. Not inlined, so that its locals are none of init's. */
static __attribute__((noinline)) void enter_payload(const struct jail_spec *s) {
    static const char score[] = "1000";
    struct __user_cap_header_struct cap_header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    long err, fd;
    uint64_t no_signals = 0;

    SYS0(__NR_setsid);
    if (s->argv) { /* before the first signal: the zygote's handlers would run on the zygote's memory */
        struct { void *handler; unsigned long flags; void *restorer; uint64_t mask; } dfl = {0, 0, 0, 0};
        int sig;
        for (sig = 1; sig < 65; sig++) SYS4(__NR_rt_sigaction, sig, &dfl, 0, 8);
    } else if (run.robust_head) SYS2(__NR_set_robust_list, run.robust_head, run.robust_len);
    if ((err = SYS1(__NR_chdir, s->build ? "/build" : "/tmp")) < 0) payload_failed(s, 1, err);
    SYS1(__NR_umask, 022);
    SYS4(__NR_rt_sigprocmask, SIG_SETMASK, &no_signals, 0, 8);

    /* Not 0: where the host pipes dumps to a program (which runs as root, outside of all this) only 1 stops it. */
    limit(RLIMIT_CORE, 1, 1);
    limit(RLIMIT_CPU, (uint64_t)s->cpu_s, (uint64_t)s->cpu_s + 1);
    limit(RLIMIT_FSIZE, (uint64_t)s->file_bytes, (uint64_t)s->file_bytes);
    /* No hard limit: programs ask for (n, RLIM_INFINITY), and what a stack takes is the run's memory. */
    limit(RLIMIT_STACK, (uint64_t)s->stack_bytes, ~0ULL);
    if (!(s->without & WITHOUT_PROCESS_LIMIT)) limit(RLIMIT_NPROC, (uint64_t)s->processes, (uint64_t)s->processes);
    limit(RLIMIT_MEMLOCK, 0, 0);
    limit(RLIMIT_NICE, 0, 0);
    limit(RLIMIT_RTPRIO, 0, 0);

    /* Undumpable means that its own /proc/self is not its own. (Where the memory is still the zygote's, it is made
     * undumpable again below, before there is a program.) */
    SYS5(__NR_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
    /* The kernel's choice under memory pressure is the payload, never the zygote or the runner. */
    fd = SYS4(__NR_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        SYS3(__NR_write, fd, score, sizeof score - 1);
        SYS1(__NR_close, fd);
    }
    /* And it stays so: what raised the score may lower it again, down to the zygote's. */
    err = SYS5(__NR_mount, 0, "/proc", 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, 0);
    if (err < 0) payload_failed(s, 7, err);

    if (s->gid >= 0 && (err = SYS3(__NR_setresgid, s->gid, s->gid, s->gid)) < 0) payload_failed(s, 2, err);
    if (s->uid >= 0 && (err = SYS3(__NR_setresuid, s->uid, s->uid, s->uid)) < 0) payload_failed(s, 3, err);
    if (!(s->without & WITHOUT_DROPPED_CAPABILITIES) && (err = SYS2(__NR_capset, &cap_header, none)) < 0)
        payload_failed(s, 4, err);
    /* The change of user id took that back: /dev/stdin would not open. A program that is executed gets it anew. */
    SYS5(__NR_prctl, PR_SET_DUMPABLE, s->argv == 0, 0, 0, 0);
    if (!(s->without & WITHOUT_NO_NEW_PRIVS) && (err = SYS5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) < 0)
        payload_failed(s, 5, err);
    if (landlock_abi > 0 && !(s->without & (WITHOUT_LANDLOCK | WITHOUT_NO_NEW_PRIVS)) && (err = landlock((int)s->build)) < 0)
        payload_failed(s, 8, err);
    if (!(s->without & (WITHOUT_SECCOMP | WITHOUT_NO_NEW_PRIVS)) && (err = set_filter(&run_prog)) < 0)
        payload_failed(s, 6, err);

    /* The caller's descriptors are above 9, so none of these overwrites a later one. */
    SYS3(__NR_dup3, s->stdin_fd, 0, 0);
    SYS3(__NR_dup3, s->stdout_fd, 1, 0);
    SYS3(__NR_dup3, s->stderr_fd, 2, 0);
    if (s->value_fd >= 0) SYS3(__NR_dup3, s->value_fd, 3, 0); else SYS1(__NR_close, 3);
    if (s->input_fd >= 0) SYS3(__NR_dup3, s->input_fd, 4, 0); else SYS1(__NR_close, 4);
    if (s->code_fd >= 0) SYS3(__NR_dup3, s->code_fd, 5, 0); else SYS1(__NR_close, 5);
    if (s->peer_fd >= 0) SYS3(__NR_dup3, s->peer_fd, 6, 0); else SYS1(__NR_close, 6);
    if (SYS3(__NR_close_range, 7, ~0U, 0) < 0) /* before Linux 5.9 */
        for (fd = 7; fd < 1024; fd++) SYS1(__NR_close, fd);
    /* Last, because it also bounds what dup3 may produce. */
    limit(RLIMIT_NOFILE, (uint64_t)s->open_files, (uint64_t)s->open_files);

    if (s->argv) {
        err = SYS3(__NR_execve, s->argv[0], s->argv, s->envp);
        /* 126/127 as a shell would; the runner checks that argv[0] exists beforehand. */
        die(err == -ENOENT ? 127 : 126);
    }
}

static _Noreturn void init_failed(const char *step, long error) {
    failure.step = step;
    failure.error = (int)-error;
    run.started = 2;
    SYS3(__NR_futex, &run.started, FUTEX_WAKE, 1);
    die(1);
}

static int init_main(void *unused) {
    const struct jail_spec *s = run.spec;
    struct jail_status st = {JAIL_MAGIC, 0, 0, 0};
    struct rusage ru;
    uint64_t every_signal = ~0ULL;
    long pid, got, err;
    int ws;
    (void)unused;

    SYS5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* The zygote's signal handlers are init's too: a program that may signal us (it has our user id where there
     * is only one) would run them on the zygote's memory. The payload unblocks what it inherits. */
    SYS4(__NR_rt_sigprocmask, SIG_SETMASK, &every_signal, 0, 8);
    limit(RLIMIT_SIGPENDING, 1024, 1024); /* so many may wait for us */
    if (!(s->without & WITHOUT_FRESH_PROC) &&
        (err = SYS5(__NR_mount, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2")) < 0)
        init_failed("mount /proc", err);
    if ((err = SYS5(__NR_mount, "tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, run.tmp_options)) < 0)
        init_failed("mount /tmp", err);
    if (s->build && (err = SYS5(__NR_mount, 0, "/build", 0, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, 0)) < 0)
        init_failed("remount /build", err);

    if (s->argv) {
        /* vfork(): no copy of page tables that the program would throw away at once (measured: a third of the time
         * of /bin/true). We stand still until it has been executed. */
        pid = SYS5(__NR_clone, SIGCHLD | CLONE_VM | CLONE_VFORK, 0, 0, 0, 0);
    } else {
        /* fork(): a copy of the zygote's memory, on this stack. The child's thread id is written where its libc
         * keeps it, as libc's own fork does. */
#if defined(__x86_64__)
        pid = SYS5(__NR_clone, SIGCHLD | (run.tid_address ? CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID : 0), 0, 0,
                   run.tid_address, 0);
#else
        pid = SYS5(__NR_clone, SIGCHLD | (run.tid_address ? CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID : 0), 0, 0,
                   0, run.tid_address);
#endif
    }
    if (pid == 0) {
        enter_payload(s);
        _longjmp(run.zygote_frame, 1);
    }
    if (pid < 0) init_failed("fork the payload", pid);
    run.started = 1;
    SYS3(__NR_futex, &run.started, FUTEX_WAKE, 1);

    /* From here on the zygote runs beside us in the same memory: locals and system calls only. */
    got = s->status_fd;
    SYS3(__NR_dup3, got, 0, 0);
    if (SYS3(__NR_close_range, 1, ~0U, 0) < 0) {
        long fd;
        for (fd = 1; fd < 1024; fd++) SYS1(__NR_close, fd);
    }
    for (;;) {
        got = SYS4(__NR_wait4, -1, &ws, __WALL, &ru);
        if (got == pid) break;
        if (got < 0 && got != -EINTR) break;
    }
    st.wait_status = ws;
    SYS2(__NR_getrusage, RUSAGE_CHILDREN, &ru);
    st.cpu_ns = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000LL +
                (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000LL;
    st.maxrss = (int64_t)ru.ru_maxrss * 1024;
    SYS3(__NR_write, 0, &st, sizeof st);
    die(0);
}

EXPORT int jail_abi(void) { return JAIL_ABI; }

/* The version of the kernel's Landlock; <= 0: it has none. */
EXPORT int64_t jail_landlock(void) { return SYS3(LANDLOCK_CREATE_RULESET, 0, 0, LANDLOCK_VERSION); }

/* Once per zygote, in it: what it reads belongs to the calling thread. `without` as in jail_spec. Returns 0, or -1
 * with errno. */
EXPORT int64_t jail_prepare(int64_t without) {
    int *tid = NULL;
    long err;
    build_slot_filter();
    build_run_filter();
    landlock_abi = jail_landlock();
    if (prctl(PR_GET_TID_ADDRESS, &tid, 0, 0, 0) == 0) run.tid_address = tid;
    if (syscall(__NR_get_robust_list, 0, &run.robust_head, &run.robust_len) != 0) run.robust_head = NULL;
    if (without & (WITHOUT_SECCOMP | WITHOUT_NO_NEW_PRIVS)) return 0;
    if ((err = set_filter(&slot_prog)) == 0) return 0;
    errno = (int)-err;
    return -1;
}

/*
 * Start one run. Returns the pid of init (a child of our parent) in the zygote, 0 in a payload that was not
 * given an argv, or -errno with jail_failure() naming the step.
 */
static int64_t jail_spawn(const struct jail_spec *s) {
    const struct timespec patience = {10, 0};
    const int namespaces = (s->without & WITHOUT_PID_NAMESPACE ? 0 : CLONE_NEWPID) |
                           (s->without & WITHOUT_IPC_NAMESPACE ? 0 : CLONE_NEWIPC) |
                           (s->without & WITHOUT_MOUNT_NAMESPACE ? 0 : CLONE_NEWNS) | CLONE_NEWUTS;
    long pid;
    char *p;
    if (s->abi != JAIL_ABI) {
        failure.step = "abi";
        return -EINVAL;
    }
    run.spec = s;
    run.started = 0;
    p = put(run.tmp_options, "mode=0755,size=");
    p = put_number(p, s->tmp_bytes);
    p = put(p, ",nr_inodes=");
    p = put_number(p, s->tmp_inodes);
    if (s->uid >= 0) {
        p = put(p, ",uid=");
        p = put_number(p, s->uid);
        p = put(p, ",gid=");
        p = put_number(p, s->gid);
    }
    *p = 0;
    if (_setjmp(run.zygote_frame)) return 0; /* we are the payload */
    pid = clone(init_main, init_stack + sizeof init_stack, CLONE_VM | CLONE_PARENT | namespaces | SIGCHLD, NULL);
    if (pid < 0) {
        failure.step = "clone init";
        return -errno;
    }
    while (run.started == 0) {
        long r = SYS4(__NR_futex, &run.started, FUTEX_WAIT, 0, &patience);
        if (r == -ETIMEDOUT) {
            failure.step = "wait for init";
            kill((pid_t)pid, SIGKILL);
            return -ETIMEDOUT;
        }
    }
    if (run.started == 2) return -(failure.error ? failure.error : EIO);
    return pid;
}

#define MAX_RUN_FDS 8
#define RUN_MESSAGE "run"

static char serve_buffer[64 * 1024];

/*
 * The zygote's loop, one turn per case, without the interpreter: what the interpreter touches between two forks
 * is copied page by page, in it and in the payload (measured: a third of a case's time).
 *
 * A message "run" brings the descriptors of one run: standard input, output, error, the status pipe, and then
 * those of value, input, peer and extra that `s` has. It is answered with the pid of init, or with what failed.
 * Returns 0 in a payload without an argv; the size of any other message, which is then in `*message` with the
 * first of its descriptors in `*fd` (-1: none); -1 when the runner is gone.
 */
EXPORT int64_t jail_serve(struct jail_spec *s, int sock, const char **message, int64_t *fd) {
    static ssize_t said; /* of the last message, which is no business of the next program's */
    memset(serve_buffer, 0, (size_t)said);
    for (;;) {
        union { char room[CMSG_SPACE(MAX_RUN_FDS * sizeof(int))]; struct cmsghdr align; } control;
        struct iovec io = {serve_buffer, sizeof serve_buffer};
        struct msghdr msg = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        struct cmsghdr *c;
        int fds[MAX_RUN_FDS], count = 0, at = 4, i;
        const int program_code = (int)s->code_fd;
        char answer[256];
        int64_t pid;
        ssize_t n;

        do n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC); while (n < 0 && errno == EINTR);
        if (n <= 0) return -1;
        for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
                count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
                memcpy(fds, CMSG_DATA(c), (size_t)count * sizeof(int));
            }
        if (n != sizeof RUN_MESSAGE - 1 || memcmp(serve_buffer, RUN_MESSAGE, sizeof RUN_MESSAGE - 1) != 0) {
            *message = serve_buffer;
            *fd = count ? fds[0] : -1;
            said = n;
            return n;
        }
        if (count != 4 + (s->has_value != 0) + (s->has_input != 0) + (s->has_peer != 0) + (s->has_extra != 0)) {
            failure.step = "descriptors of a run";
            pid = -EBADMSG;
        } else {
            s->stdin_fd = fds[0], s->stdout_fd = fds[1], s->stderr_fd = fds[2], s->status_fd = fds[3];
            s->value_fd = s->has_value ? fds[at++] : -1;
            s->input_fd = s->has_input ? fds[at++] : -1;
            s->peer_fd = s->has_peer ? fds[at++] : -1;
            if (s->has_extra) s->code_fd = fds[at++];
            pid = jail_spawn(s);
            if (pid == 0) return 0;
            s->code_fd = program_code;
        }
        for (i = 0; i < count; i++) close(fds[i]);
        if (pid < 0) n = snprintf(answer, sizeof answer, "fault %s: %s", failure.step ? failure.step : "", strerror((int)-pid));
        else n = put_number(answer, pid) - answer;
        if (n > (ssize_t)sizeof answer - 1) n = sizeof answer - 1;
        if (send(sock, answer, (size_t)n, MSG_NOSIGNAL) < 0) return -1;
    }
}

/* ---------------------------------------------------------------- the runner's side */

/* A number in a cgroup file: the whole file when key is empty, else the number after `key `. */
struct jail_counter {
    int64_t fd; /* -1: there is none */
    int64_t scale;
    char key[32];
};

static int64_t counter_read(const struct jail_counter *c) {
    char text[2048];
    const char *p = text;
    ssize_t n;
    if (c->fd < 0) return -1;
    n = pread((int)c->fd, text, sizeof text - 1, 0);
    if (n <= 0) return -1;
    text[n] = 0;
    if (c->key[0]) {
        size_t len = strlen(c->key);
        for (;;) {
            if (strncmp(p, c->key, len) == 0 && p[len] == ' ') break;
            p = strchr(p, '\n');
            if (!p) return -1;
            p++;
        }
        p += len;
    }
    return strtoll(p, NULL, 10) * c->scale;
}

struct jail_watch {
    int64_t abi;
    int64_t pid;                      /* of init */
    int64_t stdout_fd, stderr_fd, value_fd, status_fd, control_fd;
    int64_t cpu_ns, wall_ns, output_bytes, stderr_keep, value_bytes;
    int64_t memory_bytes;             /* > 0: there is no cgroup, poll the tree against this */
    int64_t self_cpu;                 /* 1: this process is in the measured cgroup, leave its own time out */
    int64_t zygote_pid;
    int64_t cpu_start;                /* counter and own CPU before the run was asked for */
    int64_t self_cpu_start, oom_start, memory_start, peak_start;
    struct jail_counter cpu, memory_peak, memory_now, oom;
    /* answers */
    int64_t killer;                   /* 0 none, 1 cpu, 2 wall, 3 output, 4 memory, 5 cancel, 6 the control end is gone */
    int64_t wait_status, status_ok, payload_step, payload_error;
    int64_t used_cpu_ns, used_wall_ns, used_memory, oom_kills, maxrss;
    int64_t run_delay_ns;             /* at a wall kill: how long the tree was runnable and not running */
    int64_t stdout_total, stderr_total, value_total;
    char *stdout_data, *stderr_data, *value_data;
    int64_t stdout_kept, stderr_kept, value_kept;
    int64_t ended_ns;                 /* CLOCK_MONOTONIC, when all of the run was dead */
    char problem[256];                /* jail_case: what failed, in words */
};

static int64_t now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct stream {
    int fd;
    char *data;
    int64_t kept, room, keep_max, total, limit;
};

/* Reads what is there. Returns 0 at the end of the stream, 1 while it is open, -1 past the limit. */
static int drain(struct stream *s) {
    static char scrap[65536];
    for (;;) {
        char *to = scrap;
        int64_t want = sizeof scrap;
        ssize_t n;
        if (s->kept < s->keep_max) {
            if (s->kept == s->room) {
                int64_t room = s->room ? s->room * 2 : 4096;
                char *grown;
                if (room > s->keep_max) room = s->keep_max;
                grown = realloc(s->data, (size_t)room);
                if (!grown) return -1;
                s->data = grown;
                s->room = room;
            }
            to = s->data + s->kept;
            want = s->room - s->kept;
        }
        n = read(s->fd, to, (size_t)want);
        if (n < 0) {
            if (errno == EINTR) continue;
            return errno == EAGAIN ? 1 : 0;
        }
        if (n == 0) return 0;
        s->total += n;
        if (to != scrap) s->kept += n;
        if (s->total > s->limit) return -1;
    }
}

/* A process's share of the memory that is no file's: pages that forks have in common count once in the sum. Slow,
 * so it is only asked where the quick sum, in which they count each time, is over the limit. */
static int64_t proportional(int64_t pid) {
    char path[64], text[1024], *p;
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "/proc/%lld/smaps_rollup", (long long)pid);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0) return -1;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return -1;
    text[n] = 0;
    if ((p = strstr(text, "\nPss_Anon:"))) { /* since Linux 5.9, and with it Pss_Shmem */
        int64_t share = strtoll(p + 10, NULL, 10);
        if ((p = strstr(text, "\nPss_Shmem:"))) share += strtoll(p + 11, NULL, 10);
        return share * 1024;
    }
    return (p = strstr(text, "\nPss:")) ? strtoll(p + 5, NULL, 10) * 1024 : -1;
}

/* Without a cgroup: memory and CPU of all processes of the slot but ours. A sample, named as such in the
 * guarantees. CPU counts in clock ticks and includes children that were waited for. */
static void sample_tree(const struct jail_watch *w, int exact, int64_t *memory, int64_t *cpu_ns, int64_t *delay_ns) {
    static long page, tick;
    DIR *proc = opendir("/proc");
    struct dirent *e;
    int64_t self = getpid();
    if (!page) page = sysconf(_SC_PAGESIZE), tick = sysconf(_SC_CLK_TCK);
    *memory = *cpu_ns = *delay_ns = 0;
    if (!proc) return;
    while ((e = readdir(proc))) {
        char path[64], text[1024], *p;
        int64_t pid = strtoll(e->d_name, NULL, 10), rss = 0, size = 0;
        int64_t ut = 0, st = 0, cut = 0, cst = 0;
        int fd;
        ssize_t n;
        if (pid <= 0 || pid == self || pid == w->zygote_pid) continue;
        snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
        if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0) continue;
        n = read(fd, text, sizeof text - 1);
        close(fd);
        if (n <= 0) continue;
        text[n] = 0;
        p = strrchr(text, ')');
        if (p && sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", (long long *)&ut,
                        (long long *)&st, (long long *)&cut, (long long *)&cst) == 4)
            *cpu_ns += (ut + st + cut + cst) * (1000000000LL / tick);
        snprintf(path, sizeof path, "/proc/%lld/schedstat", (long long)pid);
        if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
            long long ran = 0, waited = 0;
            n = read(fd, text, sizeof text - 1);
            close(fd);
            if (n > 0 && (text[n] = 0, sscanf(text, "%lld %lld", &ran, &waited) == 2)) *delay_ns += waited;
        }
        if (pid == w->pid) continue; /* init's memory is the zygote's */
        snprintf(path, sizeof path, "/proc/%lld/statm", (long long)pid);
        if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0) continue;
        n = read(fd, text, sizeof text - 1);
        close(fd);
        if (n <= 0) continue;
        text[n] = 0;
        if (sscanf(text, "%lld %lld", (long long *)&size, (long long *)&rss) == 2) {
            int64_t share = exact ? proportional(pid) : -1;
            *memory += share >= 0 ? share : rss * page;
        }
    }
    closedir(proc);
}

/* Reads the counters that a run is measured against: before the run is asked for. */
static void baseline(struct jail_watch *w) {
    if (w->memory_peak.fd >= 0 && pwrite((int)w->memory_peak.fd, "0", 1, 0) < 0) { /* not resettable: fine */ }
    w->memory_start = counter_read(&w->memory_now);
    w->peak_start = counter_read(&w->memory_peak);
    w->oom_start = counter_read(&w->oom);
    w->self_cpu_start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    w->cpu_start = counter_read(&w->cpu);
}

static int64_t cpu_used(const struct jail_watch *w) {
    int64_t now = counter_read(&w->cpu), used;
    if (now < 0 || w->cpu_start < 0) return -1;
    used = now - w->cpu_start;
    if (w->self_cpu) used -= now_ns(CLOCK_PROCESS_CPUTIME_ID) - w->self_cpu_start;
    return used > 0 ? used : 0;
}

/*
 * Watches one run to its end: kills it at a limit, on a byte from the control end, or when that end is gone;
 * waits until its whole namespace is dead, and drains its pipes after that (a daemon that holds a pipe open
 * cannot make us wait). Returns 0, or -errno when init itself could not be waited for.
 */
static int64_t supervise(struct jail_watch *w) {
    struct stream out = {(int)w->stdout_fd, NULL, 0, 0, w->output_bytes + 1, 0, w->output_bytes};
    struct stream err = {(int)w->stderr_fd, NULL, 0, 0, w->stderr_keep, 0, w->output_bytes};
    struct stream val = {(int)w->value_fd, NULL, 0, 0, w->value_bytes + 1, 0, w->value_bytes};
    struct pollfd p[5];
    struct jail_status st;
    int64_t start = now_ns(CLOCK_MONOTONIC), deadline = start + w->wall_ns, sampled_cpu = 0, sampled_peak = 0;
    static long cpus; /* reading it costs a file */
    int64_t next_sample = 0;
    int pidfd = (int)syscall(__NR_pidfd_open, (pid_t)w->pid, 0), ws = 0, i;
    int killed = 0;
    ssize_t n;

    if (pidfd < 0) return -errno;
    if (cpus < 1 && (cpus = sysconf(_SC_NPROCESSORS_ONLN)) < 1) cpus = 1;
    w->killer = w->run_delay_ns = 0;
    p[0] = (struct pollfd){pidfd, POLLIN, 0};
    p[1] = (struct pollfd){out.fd, POLLIN, 0};
    p[2] = (struct pollfd){err.fd, POLLIN, 0};
    p[3] = (struct pollfd){val.fd, POLLIN, 0};
    p[4] = (struct pollfd){(int)w->control_fd, POLLIN, 0};
    for (;;) {
        int64_t now = now_ns(CLOCK_MONOTONIC), wait = deadline - now, used;
        int reason = 0, ready;
        if (!killed) {
            if (wait <= 0) reason = 2;
            if (w->cpu.fd >= 0) used = cpu_used(w);
            else {
                if (now >= next_sample) {
                    int64_t memory, delay;
                    sample_tree(w, 0, &memory, &sampled_cpu, &delay);
                    if (w->memory_bytes > 0 && memory > w->memory_bytes)
                        sample_tree(w, 1, &memory, &sampled_cpu, &delay);
                    if (memory > sampled_peak) sampled_peak = memory;
                    next_sample = now + 10000000;
                }
                used = sampled_cpu;
                if (w->memory_bytes > 0 && sampled_peak > w->memory_bytes) reason = 4;
            }
            if (used >= w->cpu_ns) reason = 1;
            else if (used >= 0 && (w->cpu_ns - used) / cpus < wait) wait = (w->cpu_ns - used) / cpus;
            if (w->cpu.fd < 0 && wait > 10000000) wait = 10000000;
            if (wait < 1000000) wait = 1000000;
        } else wait = 1000000000;
        if (reason) {
            if (reason == 2) {
                int64_t memory, cpu;
                sample_tree(w, 0, &memory, &cpu, &w->run_delay_ns);
            }
            w->killer = reason;
            killed = 1;
            kill((pid_t)w->pid, SIGKILL);
            continue;
        }
        ready = ppoll(p, 5, &(struct timespec){wait / 1000000000, wait % 1000000000}, NULL);
        if (ready < 0 && errno != EINTR) break;
        if (ready <= 0) continue;
        if (p[0].revents) break;
        for (i = 1; i <= 3; i++) {
            struct stream *s = i == 1 ? &out : i == 2 ? &err : &val;
            int r;
            if (!p[i].revents) continue;
            r = drain(s);
            if (r == 0) p[i].fd = -1;
            if (r < 0) {
                p[i].fd = -1;
                if (!killed) {
                    w->killer = 3;
                    killed = 1;
                    kill((pid_t)w->pid, SIGKILL);
                }
            }
        }
        if (p[4].revents) {
            w->killer = (p[4].revents & (POLLHUP | POLLERR)) ? 6 : 5;
            killed = 1;
            p[4].fd = -1;
            kill((pid_t)w->pid, SIGKILL);
        }
    }
    while (waitpid((pid_t)w->pid, &ws, __WALL) < 0) {
        if (errno != EINTR) {
            int e = errno;
            close(pidfd);
            return -e;
        }
    }
    w->ended_ns = now_ns(CLOCK_MONOTONIC);
    w->used_wall_ns = w->ended_ns - start;
    close(pidfd);
    for (i = 1; i <= 3; i++) { /* every writer is dead: this ends at once */
        struct stream *s = i == 1 ? &out : i == 2 ? &err : &val;
        if (p[i].fd >= 0 && drain(s) < 0 && w->killer == 0) w->killer = 3;
    }
    w->used_cpu_ns = cpu_used(w);
    w->status_ok = 0;
    w->wait_status = ws;
    w->payload_step = 0;
    while ((n = read((int)w->status_fd, &st, sizeof st)) == (ssize_t)sizeof st) {
        if (st.magic == ~JAIL_MAGIC) {
            w->payload_step = st.wait_status;
            w->payload_error = st.cpu_ns;
        } else if (st.magic == JAIL_MAGIC) {
            w->status_ok = 1;
            w->wait_status = st.wait_status;
            w->maxrss = st.maxrss;
            if (st.cpu_ns > sampled_cpu) sampled_cpu = st.cpu_ns;
        }
    }
    if (w->used_cpu_ns < 0) w->used_cpu_ns = sampled_cpu;
    w->oom_kills = w->oom_start >= 0 ? counter_read(&w->oom) - w->oom_start : 0;
    {
        int64_t peak = counter_read(&w->memory_peak);
        /* A peak that was not reset is an upper bound only where it moved; the caller knows which. */
        w->used_memory = peak >= 0 ? peak : sampled_peak;
    }
    w->stdout_data = out.data, w->stdout_kept = out.kept, w->stdout_total = out.total;
    w->stderr_data = err.data, w->stderr_kept = err.kept, w->stderr_total = err.total;
    w->value_data = val.data, w->value_kept = val.kept, w->value_total = val.total;
    return 0;
}

static int64_t failed(struct jail_watch *w, const char *step, int error) {
    snprintf(w->problem, sizeof w->problem, "%s: %s", step, strerror(error));
    return -1;
}

/* A pipe whose reading end does not block, and whose other end another user may open by name (/dev/stdout). */
static int channel(int64_t *reader, int *writer) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -1;
    *reader = ends[0], *writer = ends[1];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 || fchmod(ends[1], 0666) < 0 ? -1 : 0;
}

/*
 * One run, from its pipes to its facts: has the zygote spawn it and watches it to its end. `stdout_fd` of the
 * caller's, where it is not -1, is the run's output and is not read here; `rest` are the descriptors of input,
 * peer and extra. Returns 0, or -1 with `problem`: the slot cannot be trusted any more.
 */
EXPORT int64_t jail_case(struct jail_watch *w, int zygote, int stdin_fd, int stdout_fd, int with_value,
                         const int *rest, int count) {
    union { char room[CMSG_SPACE(MAX_RUN_FDS * sizeof(int))]; struct cmsghdr align; } control = {{0}};
    struct iovec io = {(char *)RUN_MESSAGE, sizeof RUN_MESSAGE - 1};
    struct msghdr msg = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = &control};
    struct cmsghdr *c = &control.align;
    int fds[MAX_RUN_FDS], ours[4] = {-1, -1, -1, -1}, n = 0, i;
    int64_t result = -1;
    ssize_t got;

    w->problem[0] = 0;
    w->stdout_fd = w->stderr_fd = w->value_fd = w->status_fd = -1;
    if (count < 0 || 5 + count > MAX_RUN_FDS) return failed(w, "descriptors", EINVAL);
    if ((stdout_fd < 0 && channel(&w->stdout_fd, &ours[0]) < 0) || channel(&w->stderr_fd, &ours[1]) < 0 ||
        channel(&w->status_fd, &ours[2]) < 0 || (with_value && channel(&w->value_fd, &ours[3]) < 0)) {
        failed(w, "pipes", errno);
        goto out;
    }
    fds[n++] = stdin_fd;
    fds[n++] = stdout_fd < 0 ? ours[0] : stdout_fd;
    fds[n++] = ours[1];
    fds[n++] = ours[2];
    if (with_value) fds[n++] = ours[3];
    for (i = 0; i < count; i++) fds[n++] = rest[i];
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
    memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
    msg.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
    baseline(w);
    do got = sendmsg(zygote, &msg, MSG_NOSIGNAL); while (got < 0 && errno == EINTR);
    if (got < 0) {
        failed(w, "the zygote is gone", errno);
        goto out;
    }
    for (i = 0; i < 4; i++)
        if (ours[i] >= 0) close(ours[i]), ours[i] = -1;
    do got = recv(zygote, w->problem, sizeof w->problem - 1, 0); while (got < 0 && errno == EINTR);
    if (got <= 0) {
        failed(w, "the zygote is gone", got < 0 ? errno : EPIPE);
        goto out;
    }
    w->problem[got] = 0;
    if (w->problem[0] < '0' || w->problem[0] > '9') goto out; /* it says what it could not do */
    w->pid = strtoll(w->problem, NULL, 10);
    w->problem[0] = 0;
    if ((result = supervise(w)) < 0) result = failed(w, "supervise", (int)-result);
out:
    for (i = 0; i < 4; i++)
        if (ours[i] >= 0) close(ours[i]);
    if (w->stdout_fd >= 0) close((int)w->stdout_fd);
    if (w->stderr_fd >= 0) close((int)w->stderr_fd);
    if (w->status_fd >= 0) close((int)w->status_fd);
    if (w->value_fd >= 0) close((int)w->value_fd);
    return result;
}

EXPORT void jail_release(struct jail_watch *w) {
    free(w->stdout_data);
    free(w->stderr_data);
    free(w->value_data);
    w->stdout_data = w->stderr_data = w->value_data = NULL;
}
