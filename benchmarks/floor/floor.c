/*
 * The floor: what the kernel asks for a fork of a warm interpreter into fresh namespaces, and nothing else.
 *
 * floor_spawn() makes an init in fresh PID, mount, IPC and UTS namespaces, which forks the payload. Init shares
 * the caller's memory (CLONE_VM) and has a stack of its own, so no page table is copied for it; it may use raw
 * system calls only, since libc's errno is the caller's. The payload is a fork: it jumps back into the frame of
 * floor_spawn() and returns 0 from it. Init waits for the payload and leaves with 0 or 1; the kernel ends what
 * is left in the namespace.
 *
 * No system call filter, no change of user, no limits, no files, no cgroup: this is a yardstick, no sandbox.
 * WITH_PROC and WITH_TMPFS add one mount each, for the table of what a step costs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#ifndef __NR_close_range
#define __NR_close_range 436
#endif
#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif

enum { WITH_PROC = 1, WITH_TMPFS = 2 };

#if defined(__x86_64__)
static long call(long n, long a, long b, long c, long d, long e) {
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return ret;
}
#elif defined(__aarch64__)
static long call(long n, long a, long b, long c, long d, long e) {
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}
#else
#error "only x86_64 and aarch64 are supported"
#endif

static struct {
    int flags;
    volatile int started; /* futex: 0 waiting, 1 the payload exists, < 0: -errno */
    int *tid_address;
    jmp_buf frame;
} run;

static char init_stack[64 * 1024] __attribute__((aligned(64)));

static void tell(int value) {
    run.started = value;
    call(__NR_futex, (long)&run.started, FUTEX_WAKE, 1, 0, 0);
}

static int init_main(void *unused) {
    long pid, got, err = 0;
    int status = 0;
    (void)unused;
    if (run.flags & WITH_PROC)
        err = call(__NR_mount, (long)"proc", (long)"/proc", (long)"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, 0);
    if (err >= 0 && run.flags & WITH_TMPFS)
        err = call(__NR_mount, (long)"tmp", (long)"/tmp", (long)"tmpfs", MS_NOSUID | MS_NODEV, (long)"size=16m");
    if (err >= 0) {
        /* fork(), with the thread id where the child's libc looks for it. */
        long flags = SIGCHLD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
#if defined(__x86_64__)
        pid = call(__NR_clone, flags, 0, 0, (long)run.tid_address, 0);
#else
        pid = call(__NR_clone, flags, 0, 0, 0, (long)run.tid_address);
#endif
        if (pid == 0) _longjmp(run.frame, 1);
        err = pid;
    }
    tell(err < 0 ? (int)err : 1);
    if (err < 0) call(__NR_exit_group, 1, 0, 0, 0, 0);
    /* The caller holds the pipes too, and waits for their end: init lets go of its copies. */
    call(__NR_close_range, 0, ~0U, 0, 0, 0);
    do got = call(__NR_wait4, -1, (long)&status, __WALL, 0, 0);
    while (got != err && got != -ECHILD);
    call(__NR_exit_group, status != 0, 0, 0, 0, 0);
    return 0;
}

static int put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;
    if (fd < 0 || write(fd, text, strlen(text)) < 0) err = -errno;
    if (fd >= 0) close(fd);
    return err;
}

/*
 * Once per worker. An ordinary user becomes root of a user namespace first. The mounts become the worker's own,
 * so that nothing it mounts shows outside. Returns 0 or -errno.
 */
int floor_prepare(void) {
    char map[64];
    int uid = (int)geteuid(), gid = (int)getegid();
    if (uid != 0) {
        if (unshare(CLONE_NEWUSER) < 0) return -errno;
        put("/proc/self/setgroups", "deny");
        snprintf(map, sizeof map, "0 %d 1\n", uid);
        if (put("/proc/self/uid_map", map) < 0) return -EPERM;
        snprintf(map, sizeof map, "0 %d 1\n", gid);
        if (put("/proc/self/gid_map", map) < 0) return -EPERM;
    }
    if (unshare(CLONE_NEWNS) < 0) return -errno;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) return -errno;
    if (prctl(PR_GET_TID_ADDRESS, &run.tid_address, 0, 0, 0) < 0) return -errno;
    return 0;
}

/* The init's pid in the caller, 0 in the payload, -errno where there is none. */
long floor_spawn(int flags) {
    long pid;
    run.flags = flags;
    run.started = 0;
    if (_setjmp(run.frame)) return 0;
    pid = clone(init_main, init_stack + sizeof init_stack,
                CLONE_VM | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | SIGCHLD, NULL);
    if (pid < 0) return -errno;
    while (run.started == 0) call(__NR_futex, (long)&run.started, FUTEX_WAIT, 0, 0, 0);
    return run.started < 0 ? run.started : pid;
}
