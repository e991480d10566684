# SPDX-License-Identifier: Apache-2.0
"""symph starpu, on invented StarPUs and plug-ins: a library of the right name, a program that prints
its environment. And, where they are installed, one of StarPU's own examples under the real plug-in."""
import json
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

import cli

CC = shutil.which("cc") or shutil.which("gcc")
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
int starpu_init(void *);
int main(int argc, char **argv) {
    const char *const names[] = {"LD_PRELOAD", "STARPU_SCHED_LIB", "STARPU_SCHED", "SYMPH_POLICY",
                                 "SYMPH_VERBOSE"};
    starpu_init(0);
    for (int i = 0; i < 5; i++) {
        printf("%s=%s\n", names[i], getenv(names[i]) ? getenv(names[i]) : "");
    }
    printf("arguments=%d\n", argc - 1);
    return argc > 1 ? atoi(argv[1]) : 0;
}
"""
PLUGIN = '__attribute__((used)) const char built[] = "SYMPH-STARPU-BUILT-FOR: %s maxcpus=4\\n";\n'
# StarPU as far as the plug-in asks it before it is initialised; started, it looks for the policy.
OTHER_LIMITS = r"""
#include <dlfcn.h>
#include <starpu.h>
#include <stdlib.h>
#include <string.h>
#ifdef starpu_pthread_mutex_lock
#undef starpu_pthread_mutex_lock
#endif
void starpu_get_version(int *a, int *b, int *c) {
    *a = STARPU_MAJOR_VERSION; *b = STARPU_MINOR_VERSION; *c = STARPU_RELEASE_VERSION;
}
void starpu_task_init(struct starpu_task *task) {
    memset(task, 0, sizeof *task + TASK);
    task->sched_ctx = STARPU_NMAX_SCHED_CTXS + CONTEXTS;
}
void starpu_codelet_init(struct starpu_codelet *codelet) {
    memset(codelet, 0, sizeof *codelet + CODELET);
}
int starpu_conf_init(struct starpu_conf *conf) {
    memset(conf, 0, sizeof *conf + CONF);
    return 0;
}
#ifdef SIMGRID
int starpu_pthread_mutex_lock(starpu_pthread_mutex_t *m) { return m == NULL; }
#endif
static struct starpu_sched_policy *find_policy(void) {
    struct starpu_sched_policy *(*get)(const char *) = NULL;
    const char *file = getenv("STARPU_SCHED_LIB"), *name = getenv("STARPU_SCHED");
    void *library = file ? dlopen(file, RTLD_NOW) : NULL;
    void *symbol = library ? dlsym(library, "starpu_get_sched_lib_policy") : NULL;
    memcpy(&get, &symbol, sizeof get);
    return get ? get(name ? name : "lws") : NULL;
}
int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv) {
    (void)argc, (void)argv;
    return (conf && conf->sched_policy) || find_policy() || find_policy() ? 1 : 0;
}
int starpu_init(struct starpu_conf *conf) { return starpu_initialize(conf, 0, 0); }
"""


@unittest.skipUnless(CC, "no C compiler")
class Starpu(cli.Case):
    def compile(self, target, text, *flags):
        path = Path(self.folder, target)
        path.parent.mkdir(parents=True, exist_ok=True)
        source = self.write(path.name + ".c", text)
        subprocess.run([CC, "-o", path, source, *flags], check=True)
        return str(path)

    def program(self, version="1.4", name="prog", *more):
        library = f"libstarpu-{version}.so.9"
        path = self.compile(f"pre/lib/{library}", "int starpu_init(void *c){return c != 0;}",
                            "-shared", "-fPIC", f"-Wl,-soname,{library}")
        return self.compile(name, PROGRAM, *more, path, "-Wl,-rpath," + os.path.dirname(path))

    def plugin(self, built_for, target="pre/lib/symph/libsymph-starpu.so"):
        return self.compile(target, PLUGIN % built_for, "-shared", "-fPIC")

    def clean(self, *args, **more):
        """Without the settings of whoever runs the tests."""
        for name in ("SYMPH_POLICY", "SYMPH_STARPU_PLUGIN", "SYMPH_VERBOSE", "STARPU_SCHED",
                     "STARPU_SCHED_LIB", "LD_PRELOAD"):
            os.environ.pop(name, None)
        return self.run_symph("starpu", *args, env=more)

    def refused(self, code, *args, **more):
        done = self.clean(*args, **more)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def settings(self, done):
        return dict(line.split("=", 1) for line in done.stdout.splitlines())

    def test_new_starpu(self):
        program, plugin = self.program("1.4"), self.plugin("1.4.10")
        done = self.clean("--policy", "heft", "--verbose", program, "--policy", "dmdas")
        found = self.settings(done)
        self.assertEqual(found["STARPU_SCHED_LIB"], os.path.realpath(plugin))
        self.assertEqual([found[name] for name in ("STARPU_SCHED", "SYMPH_POLICY", "SYMPH_VERBOSE",
                                                   "LD_PRELOAD", "arguments")],
                         ["symphony", "heft", "1", "", "2"])
        self.assertEqual(done.stderr.count("\n"), 1)
        for word in ["StarPU 1.4 ", "libstarpu-1.4.so.9", "policy heft", "libsymph-starpu.so"]:
            self.assertIn(word, done.stderr)

    def test_the_default_is_named(self):
        program = self.program("1.4")
        self.plugin("1.4.10")
        self.assertIn("policy symphony", self.clean(program).stderr)

    def test_old_starpu(self):
        program, plugin = self.program("1.3"), os.path.realpath(self.plugin("1.3.10"))
        other = self.compile("other.so", "int unused;", "-shared", "-fPIC")
        # A symph built with a sanitizer would not start behind another preloaded library.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        found = self.settings(self.clean(program, LD_PRELOAD=other, STARPU_SCHED="dmda",
                                         ASAN_OPTIONS=sanitizer))
        self.assertEqual(found["LD_PRELOAD"], f"{plugin}:{other}")
        self.assertEqual([found[name] for name in ("STARPU_SCHED", "STARPU_SCHED_LIB",
                                                   "SYMPH_POLICY")], ["symphony", "", ""])
        # Some programs look up what STARPU_SCHED names; 1.3 knows nothing of ours.
        self.assertEqual(self.settings(self.clean(program))["STARPU_SCHED"], "")

    def test_path_with_a_space(self):
        """LD_PRELOAD cannot name it; the loader would complain on standard error."""
        program = self.program("1.3")
        plugin = self.plugin("1.3.10", "a folder/libsymph-starpu.so")
        done = self.clean("--quiet", "--plugin", plugin, program)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shown = self.clean("--show", "--plugin", plugin, program)
        self.assertEqual(self.settings(shown)["LD_PRELOAD"], os.path.realpath(plugin))

    def test_exit_code_and_quiet(self):
        program = self.program()
        self.plugin("1.4.10")
        done = self.clean("--quiet", "--", program, "42")
        self.assertEqual((done.returncode, done.stderr), (42, ""))

    def test_show(self):
        program = self.program()
        plugin = os.path.realpath(self.plugin("1.4.10"))
        self.assertEqual(self.clean("--show", program, "42").stdout,
                         f"STARPU_SCHED_LIB={plugin}\nSTARPU_SCHED=symphony\n")
        found = json.loads(self.clean("--json", program, SYMPH_POLICY="peft").stdout)
        self.assertEqual((found["schema"], found["starpu"], found["plugin"], found["built_for"]),
                         ("symph-starpu-1", "1.4", plugin, "1.4.10 maxcpus=4"))
        self.assertEqual(found["environment"]["SYMPH_POLICY"], "peft")

    def test_records(self):
        """Files are named from the root: a launcher may start the program elsewhere."""
        program = self.program()
        self.plugin("1.4.10")
        shown = self.settings(self.clean("--show", "--record", "run.json", "--plot", "a b.svg", "--trace",
                                         f"{self.folder}/t.json", "--paje", "run.paje", "--max-tasks",
                                         "500", program))
        here = os.path.realpath(self.folder)
        self.assertEqual([shown["SYMPH_" + name] for name in ("RECORD", "PLOT", "TRACE", "PAJE",
                                                              "MAX_TASKS")],
                         [f"{here}/run.json", f"{here}/a b.svg", f"{self.folder}/t.json",
                          f"{here}/run.paje", "500"])
        self.assertNotIn("SYMPH_RECORD", self.settings(self.clean("--show", program)))
        for option in ("--record", "--plot", "--trace", "--paje"):
            self.assertIn("cannot write", self.refused(1, option, "nosuch/file", program))
        self.refused(2, "--max-tasks", "0", program)

    def test_nothing_is_run(self):
        """Not even the loader that the program names: whoever wrote the program chose it."""
        os.chmod(self.write("loader", f"#!/bin/sh\necho ran >>{self.folder}/ran\n"), 0o755)
        program = self.program("1.4", "prog", f"-Wl,--dynamic-linker={self.folder}/loader")
        plugin = os.path.realpath(self.plugin("1.4.10"))
        self.assertEqual(self.clean("--show", program).stdout,
                         f"STARPU_SCHED_LIB={plugin}\nSTARPU_SCHED=symphony\n")
        self.assertEqual(json.loads(self.clean("--json", program).stdout)["library"],
                         os.path.realpath(f"{self.folder}/pre/lib/libstarpu-1.4.so.9"))
        self.assertFalse(os.path.exists(f"{self.folder}/ran"))

    def test_libraries_are_found_as_the_loader_does(self):
        """By the paths of the library that asks, of those above it, and of the environment."""
        plugin = self.plugin("1.4.10", "libsymph-starpu.so")
        deep = f"{self.folder}/deep"
        soname = "libstarpu-1.4.so.9"
        starpu = self.compile(f"deep/er/{soname}", "int starpu_init(void *c){return c != 0;}",
                              "-shared", "-fPIC", f"-Wl,-soname,{soname}")
        middle = "int starpu_init(void *); int middle(void) { return starpu_init(0); }"
        main = "int middle(void); int main(void) { return middle(); }"
        new, old = "-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"
        for case, (middle_flags, main_flags, env, found) in {
                "its own, relative to itself":
                    ([new, "-Wl,-rpath,$ORIGIN/er"], [new, f"-Wl,-rpath,{deep}"], {}, True),
                "of the program, as old ones": ([old], [old, f"-Wl,-rpath,{deep}:{deep}/er"], {}, True),
                "not of the program, as new ones":
                    ([new], [new, f"-Wl,-rpath,{deep}:{deep}/er"], {}, False),
                "of the environment":
                    ([new], [new], {"LD_LIBRARY_PATH": f"/nowhere:{deep};{deep}/er"}, True)}.items():
            library = self.compile("deep/libmiddle.so", middle, "-shared", "-fPIC", *middle_flags,
                                   starpu, "-Wl,-soname,libmiddle.so")
            program = self.compile("prog", main, *main_flags, library,
                                   "-Wl,--allow-shlib-undefined", "-Wl,--no-as-needed")
            done = self.clean("--json", "--plugin", plugin, program, **env)
            if found:
                self.assertEqual(done.returncode, 0, f"{case}: {done.stderr}")
                library = json.loads(done.stdout)["library"]
                self.assertEqual(os.path.realpath(library), os.path.realpath(starpu), case)
            else:
                self.assertEqual(done.returncode, 3, case)
                self.assertIn(f"needs {soname}, which is not found", done.stderr)

    def test_damaged_program(self):
        program = self.program()
        with open(program, "r+b") as file:
            file.truncate(1000)
        self.assertIn("not for this machine", self.refused(3, program))

    def test_launcher(self):
        self.program(name="prog")
        self.plugin("1.4.10")
        done = self.clean("env", "A=b", "./prog", "7")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(self.settings(done)["STARPU_SCHED"], "symphony")

    def test_libtool_wrapper(self):
        self.program(name=".libs/prog")
        self.plugin("1.4.10")
        os.chmod(self.write("prog", '#!/bin/sh\nexec .libs/prog "$@"\n'), 0o755)
        done = self.clean("./prog", "3")
        self.assertEqual(done.returncode, 3)
        self.assertIn("StarPU 1.4 ", done.stderr)

    def test_script(self):
        plugin = self.plugin("1.4.10", "libsymph-starpu.so")
        os.chmod(self.write("job", "#!/bin/sh\necho lib=$STARPU_SCHED_LIB\n"), 0o755)
        done = self.clean("./job", SYMPH_STARPU_PLUGIN=plugin)
        self.assertEqual(done.stdout, f"lib={os.path.realpath(plugin)}\n")
        self.assertIn("unknown version", done.stderr)

    def test_found_on_path(self):
        self.program(name="bin/prog")
        self.plugin("1.4.10")
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        self.assertEqual(self.clean("prog", PATH=path).returncode, 0)

    def test_wrong_usage(self):
        self.assertIn("name a program", self.refused(2))
        self.assertIn("heft", self.refused(2, "--policy", "hefft", "/bin/true"))
        self.assertIn("symph simulate", self.refused(2, "--policy", "greedy-true", "/bin/true"))
        self.assertIn("--plugin needs", self.refused(2, "--plugin"))

    def test_no_program(self):
        self.assertIn("no program 'nosuch'", self.refused(127, "nosuch"))
        self.assertIn("no program './nosuch'", self.refused(127, "./nosuch"))
        self.assertIn("not a program", self.refused(126, self.write("data", "text")))
        os.chmod(self.write("broken", "\1\2\3"), 0o755)
        plugin = self.plugin("1.4.10")
        self.assertIn("cannot run", self.refused(126, "--quiet", "--plugin", plugin, "./broken"))

    def test_not_a_starpu_program(self):
        plain = self.compile("plain", "int main(void){return 0;}")
        self.assertIn("not a StarPU program", self.refused(3, plain))
        named = self.clean("--plugin", self.plugin("1.4.10"), plain)
        self.assertEqual(named.returncode, 0, "a named plug-in is trusted")
        static = self.compile("static", "int main(void){return 0;}", "-static")
        self.assertIn("statically", self.refused(3, static))

    def test_library_is_gone(self):
        program = self.program()
        self.plugin("1.4.10")
        os.remove(os.path.join(self.folder, "pre/lib/libstarpu-1.4.so.9"))
        message = self.refused(3, program)
        self.assertIn("libstarpu-1.4.so.9", message)
        self.assertIn("LD_LIBRARY_PATH", message)

    def test_no_plugin_that_fits(self):
        program = self.program("1.9")
        self.assertIn(f"tools/starpu-plugin.sh {self.folder}/pre",
                      self.refused(3, program))
        plugin = self.plugin("1.4.10")
        message = self.refused(3, program)
        for word in ["StarPU 1.9", "1.4.10", f"tools/starpu-plugin.sh {self.folder}/pre"]:
            self.assertIn(word, message)
        self.assertIn("1.4.10", self.refused(3, "--plugin", plugin, program))
        self.assertIn("was built for 1.40",
                      self.refused(3, "--plugin", self.plugin("1.40"), self.program("1.4")))

    def test_limits_in_the_header(self):
        """They are compared before anything is started, where the header lies with the library."""
        program = self.program("1.4")
        header = Path(self.folder, "pre/include/starpu/1.4/starpu_config.h")
        header.parent.mkdir(parents=True)
        header.write_text("#undef STARPU_NMAXBUFS_MORE 3\n#define STARPU_NMAXBUFS 16\n"
                          "#define STARPU_NMAX_SCHED_CTXS 64\n#define STARPU_MAXIMPLEMENTATIONS 4\n"
                          "#define STARPU_NMAXWORKERS 80\n")
        built = "1.4.10 maxworkers={} maxbuffers={} maxcontexts={} maximplementations={}"
        self.plugin(built.format(80, 16, 64, 4))
        self.assertEqual(self.clean(program).returncode, 0)
        for values, word in {(80, 8, 64, 4): "STARPU_NMAXBUFS=16", (81, 16, 64, 4): "NMAXWORKERS=80",
                             (80, 16, 10, 4): "STARPU_NMAX_SCHED_CTXS=64",
                             (80, 16, 64, 8): "STARPU_MAXIMPLEMENTATIONS=4"}.items():
            plugin = self.plugin(built.format(*values))
            message = self.refused(3, program)
            self.assertIn(word, message)
            self.assertIn(f"tools/starpu-plugin.sh {self.folder}/pre", message)
            self.assertIn(word, self.refused(3, "--plugin", plugin, program))
        self.plugin("1.4.10")  # one of before, which does not say
        self.assertEqual(self.clean(program).returncode, 0)

    def test_starpu_on_simgrid(self):
        library = self.compile("pre/lib/libsimgrid.so.3.32", "int unused;", "-shared", "-fPIC",
                               "-Wl,-soname,libsimgrid.so.3.32")
        program = self.program("1.4", "prog", "-Wl,--no-as-needed", library)
        self.plugin("1.4.10")
        self.assertIn("StarPU 1.4 on SimGrid", self.refused(3, program))
        self.plugin("1.4.10 maxcpus=64 simgrid")
        self.assertEqual(self.clean(program).returncode, 0)

    def test_not_a_plugin(self):
        program = self.program()
        self.assertIn("cannot read", self.refused(3, "--plugin", "nosuch.so", program))
        self.assertIn("not a libsymph-starpu.so", self.refused(3, "--plugin", "/bin/true", program))

    def real_plugin(self, only=None):
        plugin = Path(cli.SYMPH).parent / "src/engine/starpu/libsymph-starpu.so"
        if not plugin.exists():
            self.skipTest("no plug-in was built")
        code = plugin.read_bytes()
        if only and b"BUILT-FOR: " + only.encode() not in code:
            self.skipTest("the plug-in is for another StarPU than Debian's")
        if b" simgrid\0" in code:
            self.skipTest("the plug-in is for SimGrid")
        if b"libasan" in code or b"libtsan" in code:
            self.skipTest("a plug-in with a sanitizer cannot be loaded into a program without")
        return plugin

    def run_plain(self, program, **settings):
        """Without symph, as a job script would."""
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("STARPU_", "SYMPH_", "LD_PRELOAD"))}
        return subprocess.run([program], capture_output=True, text=True, timeout=60,
                              env={**kept, "HOME": self.folder, **settings})

    def test_another_version(self):
        """A script's second program uses another StarPU than the first, for which the plug-in is."""
        plugin = self.real_plugin("1.3")
        library = self.compile("other/libstarpu-1.4.so.9", """
            void starpu_get_version(int *a, int *b, int *c) { *a = 1; *b = 4; *c = 10; }
            int starpu_initialize(void *c, int *n, char ***v) { return c != 0 || n != 0 || v != 0; }
            int starpu_init(void *c) { return starpu_initialize(c, 0, 0); }
            """, "-shared", "-fPIC", "-Wl,-soname,libstarpu-1.4.so.9")
        program = self.compile("other/prog", PROGRAM, library, "-Wl,-rpath," + os.path.dirname(library))
        done = self.run_plain(program, LD_PRELOAD=str(plugin))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("for StarPU 1.3, and the program uses 1.4", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("arguments=0", done.stdout)

    def other_limits(self, plugin, **differences):
        """A program whose StarPU has other structures than the one that the plug-in is for."""
        version = re.search(rb"BUILT-FOR: (1\.\d+)", plugin.read_bytes()).group(1).decode()
        flags = subprocess.run(["pkg-config", "--cflags", f"starpu-{version}"], capture_output=True,
                               text=True)
        if flags.returncode:
            self.skipTest(f"no pkg-config file of StarPU {version}")
        values = {"TASK": 0, "CODELET": 0, "CONF": 0, "CONTEXTS": 0, **differences}
        library = self.compile("other/libstarpu-other.so", OTHER_LIMITS, "-shared", "-fPIC", "-w",
                               *flags.stdout.split(), *(f"-D{k}={v}" for k, v in values.items()))
        text = "int starpu_init(void *); int main(void) { return starpu_init(0); }"
        program = self.compile("other/prog", text, library, "-Wl,-rpath," + os.path.dirname(library))
        setting = "LD_PRELOAD" if version == "1.3" else "STARPU_SCHED_LIB"
        return program, {setting: str(plugin), "STARPU_SCHED": "symphony"}

    def test_other_limits(self):
        """Every limit that is in a structure; then StarPU's own policy runs."""
        plugin = self.real_plugin()
        for word, difference in {"STARPU_NMAXBUFS": {"TASK": 8}, "STARPU_NMAXWORKERS": {"CONF": -8},
                                 "STARPU_MAXIMPLEMENTATIONS": {"CODELET": 16},
                                 "STARPU_NMAX_SCHED_CTXS": {"CONTEXTS": 54},
                                 "StarPU without SimGrid": {"SIMGRID": 1}}.items():
            program, settings = self.other_limits(plugin, **difference)
            done = self.run_plain(program, **settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(word, done.stderr)
            self.assertIn("StarPU's own policy runs", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        program, settings = self.other_limits(plugin)
        done = self.run_plain(program, **settings)
        self.assertEqual((done.returncode, done.stderr), (1, ""), "the same limits are accepted")

    def test_library_without_its_policy(self):
        plugin = self.real_plugin("1.4")
        program, settings = self.other_limits(plugin)
        for chosen in ({}, {"STARPU_SCHED": "dmda"}):
            done = self.run_plain(program, STARPU_SCHED_LIB=settings["STARPU_SCHED_LIB"], **chosen)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("set STARPU_SCHED=symphony", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_real_example(self):
        plugin = self.real_plugin("1.3")
        examples = list(Path("/usr/lib").glob("*/starpu/examples/vector_scal"))
        if not examples:
            self.skipTest("starpu-examples is not installed")
        done = self.clean("--plugin", plugin, "--verbose", examples[0], HOME=self.folder,
                          STARPU_NOPENCL="0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("symph", done.stderr)


cli.main()
