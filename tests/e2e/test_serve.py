# SPDX-License-Identifier: Apache-2.0
"""symph counters watch --listen: what Prometheus and others get, and that nobody can hold it up."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess

import cli

BOARD = os.path.join(cli.ROOT, "docs", "grafana", "symph-counters.json")


class Serve(cli.Case):
    def setUp(self):
        super().setUp()
        self.process = subprocess.Popen(
            [cli.SYMPH, "counters", "watch", "--listen", "0", "--interval", "50ms", "--process",
             str(os.getpid())], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        self.addCleanup(self.process.communicate)
        self.addCleanup(self.process.kill)
        line = self.process.stderr.readline()
        found = re.fullmatch(r"symph: serving http://(127\.0\.0\.1|\[::1\]):(\d+)/metrics\n", line)
        self.assertTrue(found, line)
        self.address = (found[1].strip("[]"), int(found[2]))

    def ask(self, method, target):
        client = http.client.HTTPConnection(*self.address, timeout=60)
        self.addCleanup(client.close)
        client.request(method, target)
        answer = client.getresponse()
        return answer, answer.read()

    def metrics(self):
        """As soon as there is something to tell."""
        answer, text = self.ask("GET", "/metrics")
        while answer.status == 503:
            answer, text = self.ask("GET", "/metrics")
        self.assertEqual(answer.status, 200)
        return answer, text.decode()

    def raw(self, data, end=True):
        """The answer to these bytes, up to its end."""
        with socket.create_connection(self.address, timeout=60) as client:
            client.sendall(data)
            if end:
                client.shutdown(socket.SHUT_WR)
            answer = b""
            while more := client.recv(65536):
                answer += more
            return answer

    def test_metrics(self):
        answer, text = self.metrics()
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertTrue(text.startswith("# HELP symph_") and text.endswith("\n"), text[:80])
        self.assertIn('symph_counter{counter="process.memory_bytes",source="process",scope="group"', text)
        head, body = self.ask("HEAD", "/metrics")
        self.assertEqual((head.status, body), (200, b""))
        self.assertGreater(int(head.headers["Content-Length"]), 1000)
        self.assertEqual(self.ask("GET", "/metrics?x=1")[0].status, 200)
        self.assertIn(b"/metrics", self.ask("GET", "/")[1])

    def test_what_it_refuses(self):
        self.metrics()
        self.assertEqual(self.ask("GET", "/other")[0].status, 404)
        for method in ["POST", "PUT", "DELETE"]:
            answer, _ = self.ask(method, "/metrics")
            self.assertEqual((answer.status, answer.headers["Allow"]), (405, "GET, HEAD"))
        for data in [b"\n\n", b"GET /metrics\n\n", b"GET  HTTP/1.1\r\n\r\n", b"\x00\xff \r\n\r\n",
                     b"GET http://a/metrics HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                     b"GET /metrics HTTP/9\r\n\r\n", b"GET /\x1b HTTP/1.1\r\n\r\n"]:
            self.assertTrue(self.raw(data).startswith(b"HTTP/1.1 400 "), data)
        # Without an end: the answer comes although there may be more.
        self.assertTrue(self.raw(b"GET / HTTP/1.1\r\n" + b"x" * 5000, end=False)
                        .startswith(b"HTTP/1.1 400 "))
        self.assertTrue(self.raw(b"GET /metrics HTTP/1.0\n\n").startswith(b"HTTP/1.1 200 "))
        self.metrics()

    def test_nobody_holds_it_up(self):
        """More who say nothing than it attends to: they are sent away, and it goes on."""
        idle = [socket.create_connection(self.address, timeout=60) for _ in range(20)]
        for client in idle:
            self.addCleanup(client.close)
        idle[0].sendall(b"GET /metr")
        self.metrics()
        self.assertEqual(idle[0].recv(10), b"")
        gone = socket.create_connection(self.address, timeout=60)
        gone.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        gone.close()
        self.metrics()

    def test_it_ends_when_told(self):
        self.metrics()
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=120)
        self.assertEqual((self.process.returncode, out, err), (0, "", ""))

    def test_an_address_that_is_taken(self):
        host, port = self.address
        done = self.run_symph("counters", "watch", "--listen", f"[{host}]:{port}" if ":" in host
                              else f"{host}:{port}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Address already in use", done.stderr)
        for text in ["x", "1:2:3", "99999", "localhost:", "a:-1"]:
            self.assertIn("[HOST:]PORT", self.fails(2, "counters", "watch", "--listen", text))
        self.fails(2, "counters", "watch", "--listen", "0", "--json")

    def test_the_dashboard_asks_for_what_is_served(self):
        _, text = self.metrics()
        served = set(re.findall(r"^# TYPE (\w+)", text, re.M))
        labels = {name: set(re.findall(r"[{,](\w+)=", line)) for name, line
                  in re.findall(r"^(\w+)(\{.*\}) ", text, re.M)}
        with open(BOARD, encoding="utf-8") as file:
            board = json.load(file)
        queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        queries += [item["definition"] for item in board["templating"]["list"]
                    if "definition" in item]
        self.assertGreater(len(queries), 10)
        asked = set()
        for query in queries:
            names = re.findall(r"symph_\w+", query)
            self.assertTrue(names, query)
            asked.update(names)
            for name, inside in re.findall(r"(symph_\w+)\{([^}]*)\}", query):
                for label in re.findall(r"(\w+)(?:=~|!=|=)", inside):
                    self.assertIn(label, labels.get(name, set()) | {"instance", "job"}, query)
        self.assertEqual(asked - served, set())
        self.assertEqual(served - asked, set(), "a metric that the dashboard leaves out")


cli.main()
