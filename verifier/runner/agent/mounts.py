"""The slot's namespaces and its private root.

The root is a tmpfs with read-only binds of the system's toolchains and nothing else of the host: no
home, no /etc but a few generated or harmless files, no /sys, no sockets. /program (what is run) and
/build (where compilers work) are tmpfs that the runner writes; the zygote, and so every case, sees
them read-only.
"""

import ctypes
import glob
import os
import stat

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Debian's GHC has its list of packages here.
STATE = ("var/lib/ghc",)
# Configuration that toolchains cannot start without; none of it tells about the host.
ETC = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "java-*",
    "python3*",
    "mono",
    "ghc*",
    "ldc2.conf",
    "ocaml*",
    "octave*",
    "php*",
    "fpc*.cfg",
    "racket",
    "R",
    "perl",
    "ssl/certs",
    "fonts",
)
DEVICES = ("null", "zero", "full", "random", "urandom")
GENERATED = {
    "etc/passwd": "root:x:0:0:root:/tmp:/usr/sbin/nologin\nsandbox:x:1000:1000::/tmp:/bin/sh\n",
    "etc/group": "root:x:0:\nsandbox:x:1000:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
LINKS = {
    "dev/fd": "/proc/self/fd",
    "dev/stdin": "/proc/self/fd/0",
    "dev/stdout": "/proc/self/fd/1",
    "dev/stderr": "/proc/self/fd/2",
    # One tmpfs holds all that a case can write, so its size is one limit and its end is one
    # unmount.
    "dev/shm": "/tmp",
    "var/tmp": "/tmp",
    "run/lock": "/tmp",
}

libc = ctypes.CDLL(None, use_errno=True)
libc.mount.argtypes = [
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
]
libc.umount2.argtypes = [ctypes.c_char_p, ctypes.c_int]


def check(result, what):
    """Raise OSError with the step's name when a libc call failed."""
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, "%s: %s" % (what, os.strerror(code)))


def mount(source, target, kind=None, flags=0, data=None):
    """mount(2)."""
    arguments = [None if a is None else a.encode() for a in (source, target, kind, data)]
    check(
        libc.mount(arguments[0], arguments[1], arguments[2], flags, arguments[3]),
        "mount %s" % target,
    )


def unshare(flags, what):
    """unshare(2)."""
    check(libc.unshare(flags), "unshare %s" % what)


def remount_read_only(target):
    """Make one bind mount read-only without clearing the flags that the kernel has locked on it."""
    have = os.statvfs(target).f_flag
    keep = have & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    # ST_NOATIME, ST_NODIRATIME and ST_RELATIME have the values of MS_NOATIME and so on, but for
    # one.
    keep |= (have & 1024) | (have & 2048) | ((1 << 21) if have & 4096 else 0)
    mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | keep)


def seen_from_here(fd):
    """The folder of a descriptor as a descriptor of this mount namespace: only that can be bound.

    Its path is walked once, while this process is still the user who may, and never is in memory
    that a payload gets a copy of.
    """
    path = ctypes.create_string_buffer(4096)
    try:
        if libc.readlink(b"/proc/self/fd/%d" % fd, path, 4095) <= 0:
            check(-1, "readlink")
        found = libc.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        check(min(found, 0), "open a folder for the slot")
        return found
    finally:
        ctypes.memset(path, 0, 4096)
        os.close(fd)


def make_root(
    root, program_bytes, build_bytes, *, read_only=True, headers_fd=-1, shared_proc=False
):
    """Build the private root at `root` (a directory of ours to be covered) and move into it.

    `headers_fd`, if any, is a folder to be seen as /precompiled; it is closed. `shared_proc` takes
    the container's own /proc, for where the kernel refuses a fresh one.
    """
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("root", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m,nr_inodes=1024")
    for name in ("etc", "dev", "proc", "tmp", "program", "build", "var", "run", "etc/ssl"):
        os.mkdir("%s/%s" % (root, name), 0o755)
    bound = []
    for name in SYSTEM + STATE:
        bound += bind("/" + name, "%s/%s" % (root, name))
    for pattern in ETC:
        for path in sorted(glob.glob("/etc/" + pattern)):
            bound += bind(path, root + path)
    for name in DEVICES:
        open("%s/dev/%s" % (root, name), "w").close()
        mount("/dev/" + name, "%s/dev/%s" % (root, name), None, MS_BIND)
        bound.append("%s/dev/%s" % (root, name))  # read-only is the node, not the device
    if headers_fd >= 0:
        os.mkdir(root + "/precompiled", 0o755)
        bound += bind("/proc/self/fd/%d/." % headers_fd, root + "/precompiled")
        os.close(headers_fd)
    for path, text in GENERATED.items():
        with open("%s/%s" % (root, path), "w") as f:
            f.write(text)
    for path, target in LINKS.items():
        os.symlink(target, "%s/%s" % (root, path))
    mount(
        "program",
        root + "/program",
        "tmpfs",
        MS_NOSUID | MS_NODEV,
        "mode=0755,size=%d" % program_bytes,
    )
    mount(
        "build",
        root + "/build",
        "tmpfs",
        MS_NOSUID | MS_NODEV,
        "mode=0777,size=%d,nr_inodes=65536" % build_bytes,
    )
    # This proc stays under the case's own: the kernel lets a user namespace mount a fresh one only
    # where a whole one is visible already.
    if shared_proc:
        mount("/proc", root + "/proc", None, MS_BIND | MS_REC)
    else:
        mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for target in submounts(bound):
        remount_read_only(target)
    os.chdir(root)
    check(libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    check(libc.umount2(b".", MNT_DETACH), "leave the old root")
    os.chdir("/")
    if read_only:
        mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def bind(source, target):
    """Bind (or, for a link, copy the link).

    Returns the mounts made; nothing where there is no source.
    """
    try:
        mode = os.lstat(source).st_mode
    except OSError:
        return []
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
        return []
    if stat.S_ISDIR(mode):
        os.makedirs(target, 0o755, exist_ok=True)
    else:
        open(target, "w").close()
    try:
        mount(source, target, None, MS_BIND | MS_REC)
    except PermissionError:
        return []
    return [target]


def submounts(bound):
    """`bound` and every mount under it (a recursive bind brings the host's submounts along)."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            point = line.split()[4].replace("\\040", " ")
            if any(point == b or point.startswith(b + "/") for b in bound):
                found.append(point)
    return found
