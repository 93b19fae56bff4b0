"""ctypes mirror of jail.c: the two structures and the handful of calls."""

import ctypes

ABI = 5
i64 = ctypes.c_int64
# What a control run may switch off in a run; the rest of what it may is the slot's (__main__.py).
WITHOUT = {
    "seccomp": 1,
    "pid_namespace": 2,
    "ipc_namespace": 4,
    "mount_namespace": 8,
    "no_new_privs": 16,
    "process_limit": 32,
    "capabilities": 64,
    "landlock": 128,
    "fresh_proc": 256,
}


def integers(names):
    """Fields of 64-bit integers."""
    return [(name, i64) for name in names.split()]


class Spec(ctypes.Structure):
    """`struct jail_spec`."""

    _fields_ = [
        *integers("abi stdin_fd stdout_fd stderr_fd value_fd input_fd code_fd peer_fd status_fd"),
        *integers("uid gid build cpu_s tmp_bytes tmp_inodes file_bytes stack_bytes processes"),
        *integers("open_files without has_value has_input has_peer has_extra"),
        ("argv", ctypes.POINTER(ctypes.c_char_p)),
        ("envp", ctypes.POINTER(ctypes.c_char_p)),
    ]


class Counter(ctypes.Structure):
    """`struct jail_counter`."""

    _fields_ = [("fd", i64), ("scale", i64), ("key", ctypes.c_char * 32)]


class Watch(ctypes.Structure):
    """`struct jail_watch`."""

    _fields_ = [
        *integers("abi pid stdout_fd stderr_fd value_fd status_fd control_fd cpu_ns wall_ns"),
        *integers("output_bytes stderr_keep value_bytes memory_bytes self_cpu zygote_pid"),
        *integers("cpu_start self_cpu_start oom_start memory_start peak_start"),
        ("cpu", Counter),
        ("memory_peak", Counter),
        ("memory_now", Counter),
        ("oom", Counter),
        *integers("killer wait_status status_ok payload_step payload_error used_cpu_ns"),
        *integers("used_wall_ns used_memory oom_kills maxrss run_delay_ns"),
        *integers("stdout_total stderr_total value_total"),
        ("stdout_data", ctypes.c_void_p),
        ("stderr_data", ctypes.c_void_p),
        ("value_data", ctypes.c_void_p),
        *integers("stdout_kept stderr_kept value_kept ended_ns"),
        ("problem", ctypes.c_char * 256),
    ]


def load(path):
    """(spawn side, supervise side) of the library.

    The spawn side keeps the GIL: the payload returns from the call as the thread that holds it.
    """
    spawn, watch = ctypes.PyDLL(path, use_errno=True), ctypes.CDLL(path)
    spawn.jail_prepare.restype = i64
    spawn.jail_prepare.argtypes = [i64]
    spawn.jail_serve.restype = i64
    spawn.jail_serve.argtypes = [
        ctypes.POINTER(Spec),
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.POINTER(i64),
    ]
    watch.jail_case.restype = i64
    watch.jail_case.argtypes = [
        ctypes.POINTER(Watch),
        *[ctypes.c_int] * 4,
        ctypes.POINTER(ctypes.c_int),
        ctypes.c_int,
    ]
    watch.jail_release.argtypes = [ctypes.POINTER(Watch)]
    watch.jail_release.restype = None
    watch.jail_landlock.restype = i64
    if watch.jail_abi() != ABI:
        raise OSError("libjail has another ABI than this agent")
    return spawn, watch


def string_array(items):
    """A NULL-terminated array of C strings."""
    return (ctypes.c_char_p * (len(items) + 1))(*items, None)
