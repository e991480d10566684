# SPDX-License-Identifier: Apache-2.0
"""symph serve and symph tenants: programs that share the devices, and all that can go wrong."""
import json
import os
import signal
import subprocess
import time
import unittest

import cli

ENGINE = cli.sys.argv[3]
SPEC = "synthetic:contend:tasks=400,kind=spin"


class Broker(cli.Case):
    def setUp(self):
        super().setUp()
        self.socket = os.path.join(self.folder, "broker.sock")
        self.env = {**os.environ, "SYMPH_BROKER": self.socket}

    def start(self, *options):
        broker = subprocess.Popen(cli.command("serve", "--socket", self.socket, *options),
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(broker.stderr.close)
        self.addCleanup(broker.wait)
        self.addCleanup(broker.kill)
        self.assertIn(self.socket, broker.stderr.readline())
        return broker

    def tenants(self):
        return {row["tenant"]: row for row in self.ok_json("tenants", "--socket", self.socket)["tenants"]}

    def program(self, tenant, spec=SPEC, devices=("--opencl", "0")):
        command = cli.command("run", spec, *devices, "--models", "none", "--json")
        program = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env={**self.env, "SYMPH_TENANT": tenant})
        self.addCleanup(self.end, program)
        return program

    def end(self, program):
        program.kill()
        program.communicate()

    def ends_well(self, program):
        out, err = program.communicate()
        self.assertEqual(program.returncode, 0, err)
        self.assertNotIn("not shared", err)
        return json.loads(out)

    def wait_for(self, what):
        for _ in range(600):
            if what():
                return
            time.sleep(.05)
        self.fail("it never came to that")

    def test_nobody_is_there(self):
        self.assertIn("no broker answers", self.fails(4, "tenants", "--socket", self.socket))
        self.assertIn("SYMPH_BROKER is none", self.fails(4, "tenants"))

    def test_wrong_usage(self):
        for option, words in [(["--weight", "alice"], "--weight takes TENANT=W"),
                              (["--weight", "alice=-1"], "--weight takes TENANT=W"),
                              (["--quantum", "5"], "takes a time"), (["--quantum", "1us"], "--quantum")]:
            self.assertIn(words, self.fails(2, "serve", "--socket", self.socket, *option))
        file = self.write("file", "mine")
        self.assertIn("is not a socket", self.fails(1, "serve", "--socket", file))
        self.assertEqual(self.read("file"), b"mine")
        self.assertIn("cannot be made", self.fails(1, "serve", "--socket", "none/here"))
        self.assertIn("at most 107 bytes", self.fails(1, "serve", "--socket", "x" * 200))

    def test_one_for_a_socket(self):
        broker = self.start()
        self.assertIn("a broker runs already", self.fails(1, "serve", "--socket", self.socket))
        broker.send_signal(signal.SIGINT)
        self.assertEqual(broker.wait(), 0)
        self.assertFalse(os.path.exists(self.socket))
        broker = self.start()
        broker.kill()  # leaves its socket behind
        broker.wait()
        self.start()
        self.assertEqual(self.tenants(), {})

    @unittest.skipIf(ENGINE == "none", "the engine was not built")
    def test_two_programs(self):
        self.start("--weight", "alice=3")
        programs = [self.program("alice"), self.program("bob")]
        for program in programs:
            self.assertEqual(self.ends_well(program)["runs"][0]["policy"], "symphony")
        found = self.tenants()
        self.assertEqual([found["alice"]["weight"], found["bob"]["weight"]], [3, 1])
        for tenant in ("alice", "bob"):
            self.assertGreater(found[tenant]["device_s"], 0)
            self.assertEqual([found[tenant][key] for key in ("programs", "held", "waiting")], [0, 0, 0])
        self.assertIn("device time", self.ok("tenants", "--socket", self.socket))

    @unittest.skipIf(ENGINE == "none", "the engine was not built")
    def test_killed(self):
        """What a killed program had is free; if the broker is killed, programs end all the same."""
        broker = self.start()
        first = self.program("alice")
        self.wait_for(lambda: self.tenants().get("alice", {}).get("held", 0) > 0)
        first.kill()
        first.wait()
        self.wait_for(lambda: self.tenants()["alice"]["programs"] == 0)
        self.assertEqual(self.tenants()["alice"]["held"], 0)
        second, third = self.program("bob"), self.program("carol")
        self.wait_for(lambda: self.tenants().get("carol", {}).get("programs", 0) > 0)
        broker.kill()
        for program in (second, third):
            out, err = program.communicate()
            self.assertEqual(program.returncode, 0, err)
            json.loads(out)

    @unittest.skipIf(ENGINE == "none", "the engine was not built")
    def test_accelerators_alone(self):
        """A program that has no core of its own to sleep on notices the broker's end, too."""
        broker = self.start()
        programs = [self.program(tenant, "linalg:gemm:n=1536,tile=128", ("--opencl", "1", "--cpus", "0"))
                    for tenant in ("alice", "bob")]
        self.wait_for(lambda: sum(row["device_s"] > 0 for row in self.tenants().values()) == 2)
        broker.kill()
        for program in programs:
            out, err = program.communicate()
            self.assertEqual(program.returncode, 0, err)
            json.loads(out)

    @unittest.skipIf(ENGINE == "none", "the engine was not built")
    def test_wrong_name(self):
        self.start()
        program = self.program("no/name")
        _, err = program.communicate()
        self.assertEqual(program.returncode, 0)
        self.assertIn("the devices are not shared", err)
        self.assertIn("SYMPH_TENANT", err)


if __name__ == "__main__":
    cli.main()
