#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is installed is usable: a program that knows only pkg-config's answer compiles and runs."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = r"""
#include <stdio.h>
#include <symph/graph.h>
#include <symph/machine.h>
#include <symph/scheduler.h>

int main(void) {
    struct sy_graph *graph = NULL;
    struct sy_machine *machine = NULL;
    struct sy_error error;
    char text[512];
    if (sy_graph_generate("cholesky:4", &graph, &error) ||
        sy_machine_parse("cpu:4 gpu:1@pcie3x16", &machine, &error)) {
        puts(sy_error_format(&error, text, sizeof(text)));
        return 1;
    }
    printf("%s %u %u %s\n", sy_version(), sy_graph_task_count(graph), machine->device_count,
           sy_scheduler_at(0)->name);
    sy_machine_destroy(machine);
    sy_graph_destroy(graph);
    return 0;
}
"""


def main():
    build, version = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="symph-install-") as folder:
        stage = Path(folder)
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet",
                        "--destdir", stage, "--tags", "devel,runtime"], check=True)
        package = next(stage.rglob("symph.pc")).parent
        environment = {**os.environ, "PKG_CONFIG_PATH": str(package),
                       "PKG_CONFIG_SYSROOT_DIR": str(stage),
                       "LD_LIBRARY_PATH": str(next(stage.rglob("libsymph.so")).parent)}
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "symph"], env=environment,
                               check=True, capture_output=True, text=True).stdout.split()
        (stage / "program.c").write_text(PROGRAM)
        subprocess.run(["gcc", "-std=c11", "-Wall", "-Werror", "-o", stage / "program",
                        stage / "program.c", *flags], check=True)
        output = subprocess.run([stage / "program"], env=environment, check=True,
                                capture_output=True, text=True).stdout.split()
    # Cholesky of 4 x 4 tiles: 4 potrf, 6 trsm, 6 syrk, 4 gemm.
    expected = [version, "20", "5"]
    if output[:3] != expected:
        sys.exit(f"expected {expected} and a policy, the program said {output}")


if __name__ == "__main__":
    main()
