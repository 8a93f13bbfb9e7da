"""Launchers: tiny programs that stand where a ROCm tree has a link to a program, since a wheel holds no links.

One is compiled once, and for each link its target is written into a field of fixed size. It keeps the name that it was called by, which
tells clang how to behave. On x86-64 it uses no C library, so that it runs wherever the kernel is the same; on another machine it is plain C
with the library linked in.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.files import temporary_folder
from build_tools.rocm.artifact_sources import find_c_compiler
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.process import Runner

__all__ = ["compile_launcher", "launcher_for"]

_FIELD: Final = 1024
_MARK: Final = b"@target:"
_BARE: Final = "x86_64"
"""The machine that a launcher without a C library is written for, as ``platform.machine`` calls it."""

_SECONDS: Final = 60.0
_FLAGS: Final = (
    *(
        "-Os",
        "-static",
        "-nostdlib",
        "-nostartfiles",
        "-ffreestanding",
        "-fno-stack-protector",
        "-fno-asynchronous-unwind-tables",
    ),
    *("-fcf-protection=none", "-fno-pic", "-no-pie", "-fno-builtin", "-s", "-Wl,--build-id=none", "-Wl,-z,noexecstack"),
)

_PLAIN_FLAGS: Final = ("-Os", "-static", "-s", "-Wl,--build-id=none")

_FIELD_OF: Final = r"""
/* The target, relative to the folder of this program; written into the compiled file. */
__attribute__((used, aligned(16))) static volatile const char field[FIELD] = "@target:";
"""

_BARE_SOURCE: Final = r"""
enum { SYS_write = 1, SYS_execve = 59, SYS_exit = 60, SYS_readlink = 89, SIZE = 8192 };

static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

static void fail(const char *text, long length) {
    call(SYS_write, 2, (long)text, length);
    call(SYS_exit, 127, 0, 0);
    __builtin_unreachable();
}

#define FAIL(text) fail(text, sizeof(text) - 1)

__attribute__((used)) void launch(long *stack) {
    static char path[SIZE];
    long arguments = stack[0];
    char **argv = (char **)(stack + 1);
    char **envp = argv + arguments + 1;
    long length = call(SYS_readlink, (long)"/proc/self/exe", (long)path, SIZE - FIELD - 1);
    if (length <= 0 || length >= SIZE - FIELD - 1) FAIL("launcher: cannot tell where it is: /proc/self/exe cannot be read\n");
    while (length > 0 && path[length - 1] != '/') length--;
    for (int number = 8; number < FIELD && field[number]; number++) path[length++] = field[number];
    path[length] = 0;
    call(SYS_execve, (long)path, (long)argv, (long)envp);
    call(SYS_write, 2, (long)"launcher: cannot start ", 23);
    call(SYS_write, 2, (long)path, length);
    FAIL("\n");
}

__asm__(".globl _start\n.type _start,@function\n_start:\n xor %ebp,%ebp\n mov %rsp,%rdi\n and $-16,%rsp\n call launch\n hlt\n");
"""

_PLAIN_SOURCE: Final = r"""
#include <stdio.h>
#include <unistd.h>

enum { SIZE = 8192 };

int main(int arguments, char **argv, char **envp) {
    static char path[SIZE];
    long length = readlink("/proc/self/exe", path, SIZE - FIELD - 1);
    (void)arguments;
    if (length <= 0 || length >= SIZE - FIELD - 1) {
        fputs("launcher: cannot tell where it is: /proc/self/exe cannot be read\n", stderr);
        return 127;
    }
    while (length > 0 && path[length - 1] != '/') length--;
    for (int number = 8; number < FIELD && field[number]; number++) path[length++] = field[number];
    path[length] = 0;
    execve(path, argv, envp);
    fprintf(stderr, "launcher: cannot start %s\n", path);
    return 127;
}
"""


def compile_launcher(*, folder: Path, runner: Runner, machine: str | None = None) -> bytes:
    """Compile a launcher without a target and return its bytes.

    Parameters
    ----------
    folder
        Where a temporary folder may be made.
    runner
        Starts the machine's C compiler.
    machine
        The processor that it compiles for, this one when not given.

    Raises
    ------
    HipwrightError
        ``no-compiler`` when there is none, or when it cannot compile a launcher.
    """
    compiler = find_c_compiler(runner, Platform.LINUX)
    hint = "install a C compiler and the C library's static part, such as the packages gcc and libc6-dev"
    if compiler is None:
        message = "there is no C compiler, and the artifacts have links to programs that need launchers"
        raise HipwrightError("no-compiler", message, hint=hint)
    bare = (machine or platform.machine()) == _BARE
    text = _FIELD_OF + (_BARE_SOURCE if bare else _PLAIN_SOURCE)
    with temporary_folder(folder, "launcher") as place:
        source = place / "launcher.c"
        source.write_text(text.replace("FIELD", str(_FIELD)), encoding="utf-8")
        command = [compiler, *(_FLAGS if bare else _PLAIN_FLAGS), "-o", "launcher", "launcher.c"]
        runner.capture(command, cwd=place, timeout=_SECONDS, code="no-compiler", what=f"compiling a launcher with {compiler}")
        data = (place / "launcher").read_bytes()
    if data.count(_MARK) != 1:
        raise HipwrightError("no-compiler", f"{compiler} makes launchers that no target can be written into", hint=hint)
    return data


def launcher_for(launcher: bytes, target: str) -> bytes:
    """Return a launcher of ``target``, a path relative to the launcher's folder.

    Raises
    ------
    HipwrightError
        ``bad-binary`` when the path is longer than a launcher can hold.
    """
    text = target.encode()
    if len(_MARK) + len(text) >= _FIELD:
        raise HipwrightError("bad-binary", f"a launcher cannot hold a target of {len(text)} bytes: {target}")
    begin = launcher.index(_MARK) + len(_MARK)
    return launcher[:begin] + text + launcher[begin + len(text) :]
