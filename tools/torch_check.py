#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the papers' network once more, with other people's layers, for tests/papers/test_torch.c.

Usage: torch_check.py [--reference torch|python] [OUT]. Two graph networks (machine and job), an LSTM
over three steps, an actor and a critic with the papers' sizes; all numbers that go in follow from a
formula, so that only results are written: outputs, slopes of the loss and sums of them.

torch: PyTorch's Linear, LSTMCell, softmax and autograd, in float64. python: no PyTorch; a tape of
scalar operations in plain Python, also float64, that shares nothing with the C code. The first line
of OUT says which of them made it.
"""
import argparse
import math
import platform
import sys

STEPS, SEED, STRIDE = 3, 5, 23
MACHINE = {"vertices": 9, "edges": 16, "edge_in": 3, "vertex_in": 8, "global_in": 4}
JOB = {"vertices": 12, "edges": 20, "edge_in": 2, "vertex_in": 7, "global_in": 3}
DEVICES, WIDTH, HIDDEN, ENTROPY = 5, 64, 32, 0.01
# Streams of numbers; those of steps are followed by that step's.
PARAMETERS, MACHINE_GRAPH, JOB_GRAPH, STATE, MACHINE_X, JOB_X = 1, 2, 3, 4, 10, 20


def splitmix(x):
    x = (x + 0x9e3779b97f4a7c15) % 2 ** 64
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2 ** 64
    x = (x ^ x >> 27) * 0x94d049bb133111eb % 2 ** 64
    return x ^ x >> 31


def number(stream, index):
    """In [-1, 1), with 24 bits: a float holds it exactly."""
    return (splitmix((SEED << 48) + (stream << 32) + index) >> 40) / 2 ** 23 - 1


def numbers(stream, count, scale=1.0):
    return [scale * number(stream, i) for i in range(count)]


def ends(stream, graph):
    draw = [splitmix((SEED << 48) + (stream << 32) + i) % graph["vertices"]
            for i in range(2 * graph["edges"])]
    return draw[:graph["edges"]], draw[graph["edges"]:]


def shapes():
    """Name, inputs and outputs of all dense layers and of the LSTM, in the block's order."""
    def two(name, first, widths):
        return [(name + ".0", first, widths[0]), (name + ".1", widths[0], widths[1])]
    edge_in = MACHINE["edge_in"] + 2 * MACHINE["vertex_in"] + MACHINE["global_in"]
    job_in = JOB["edge_in"] + 2 * JOB["vertex_in"] + JOB["global_in"]
    return (two("machine.edge", edge_in, (64, 32))
            + two("machine.vertex", 32 + MACHINE["vertex_in"] + MACHINE["global_in"], (32, 16))
            + two("machine.global", 32 + 16 + MACHINE["global_in"], (16, 16))
            + two("job.edge", job_in, (64, 32)) + two("job.global", 32 + JOB["global_in"], (32, 16))
            + [("lstm", 32 + WIDTH, 4 * WIDTH)]
            + two("actor", WIDTH + 16, (HIDDEN, 1)) + two("critic", WIDTH, (HIDDEN, 1)))


def graph_rows(stream, graph):
    """Edges, vertices and global of one step, as rows."""
    sizes = [(graph["edges"], graph["edge_in"]), (graph["vertices"], graph["vertex_in"]),
             (1, graph["global_in"])]
    flat, at, out = numbers(stream, sum(rows * width for rows, width in sizes)), 0, []
    for rows, width in sizes:
        out.append([flat[at + r * width:at + (r + 1) * width] for r in range(rows)])
        at += rows * width
    return out


def allowed(step):
    return [k != step for k in range(DEVICES)]


def choice(step):
    """The chosen device, how much better it was than expected, and what the critic should say."""
    return (step + 2) % DEVICES, 1.5 - step, 0.5 * step - 0.25


class Torch:
    """The network of PyTorch's parts."""

    def __init__(self):
        import torch
        self.torch = torch
        torch.set_default_dtype(torch.float64)
        self.label = f"PyTorch {torch.__version__}"
        self.layers, at = {}, 0
        for name, inputs, outputs in shapes():
            count = (inputs + 1) * outputs
            flat = torch.tensor([0.25 * number(PARAMETERS, at + i) for i in range(count)])
            weight, bias = flat[:-outputs].reshape(inputs, outputs).T, flat[-outputs:]
            if name == "lstm":
                cell = torch.nn.LSTMCell(inputs - WIDTH, WIDTH)
                parts = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
                values = [weight[:, :-WIDTH], weight[:, -WIDTH:], bias, torch.zeros_like(bias)]
            else:
                cell = torch.nn.Linear(inputs, outputs)
                parts, values = [cell.weight, cell.bias], [weight, bias]
            with torch.no_grad():
                for part, value in zip(parts, values):
                    part.copy_(value)
            self.layers[name] = cell
            at += count

    def two(self, name, x, last=True):
        relu = self.torch.relu
        y = self.layers[name + ".1"](relu(self.layers[name + ".0"](x)))
        return relu(y) if last else y

    def graph(self, name, graph, start, rows, keep):
        torch = self.torch
        edges, vertices, whole = (torch.tensor(part, requires_grad=True) for part in rows)
        if keep is not None:
            keep += [edges, vertices, whole]
        source, target = (torch.tensor(side) for side in start)
        many = whole.expand(graph["edges"], -1)
        edges = self.two(name + ".edge", torch.cat([edges, vertices[source], vertices[target],
                                                    many], 1))
        sums = [edges.sum(0, keepdim=True)]
        if name == "machine":
            into = torch.zeros(graph["vertices"], edges.shape[1]).index_add(0, target, edges)
            many = whole.expand(graph["vertices"], -1)
            vertices = self.two(name + ".vertex", torch.cat([into, vertices, many], 1))
            sums.append(vertices.sum(0, keepdim=True))
        return vertices, self.two(name + ".global", torch.cat(sums + [whole], 1))

    def run(self):
        torch, loss, outputs, keep = self.torch, 0.0, {}, []
        h, c = torch.tensor([numbers(STATE, 2 * WIDTH)]).split(WIDTH, 1)
        for step in range(STEPS):
            vertices, u = self.graph("machine", MACHINE, ends(MACHINE_GRAPH, MACHINE),
                                     graph_rows(MACHINE_X + step, MACHINE),
                                     keep if step == 0 else None)
            _, u_job = self.graph("job", JOB, ends(JOB_GRAPH, JOB), graph_rows(JOB_X + step, JOB),
                                  None)
            h, c = self.layers["lstm"](torch.cat([u, u_job], 1), (h, c))
            rows = torch.cat([h.expand(DEVICES, -1), vertices[:DEVICES]], 1)
            scores = self.two("actor", rows, False)[:, 0]
            scores = scores.masked_fill(~torch.tensor(allowed(step)), -math.inf)
            chance, log_chance = torch.softmax(scores, 0), torch.log_softmax(scores, 0)
            entropy = -(chance * log_chance.masked_fill(chance == 0, 0)).sum()
            value = self.two("critic", h, False)[0, 0]
            chosen, advantage, target = choice(step)
            loss = (loss - advantage * log_chance[chosen] - ENTROPY * entropy
                    + 0.5 * (value - target) ** 2)
            outputs.update({f"global.{step}": u[0].tolist(), f"job.{step}": u_job[0].tolist(),
                            f"h.{step}": h[0].tolist(), f"chance.{step}": chance.tolist(),
                            f"value.{step}": [value.item()]})
        loss.backward()
        outputs["loss"] = [loss.item()]
        slopes = {}
        for name, layer in self.layers.items():
            if name == "lstm":
                weight = torch.cat([layer.weight_ih.grad, layer.weight_hh.grad], 1)
                bias = layer.bias_ih.grad
            else:
                weight, bias = layer.weight.grad, layer.bias.grad
            slopes[name] = weight.T.reshape(-1).tolist() + bias.tolist()
        for name, part in zip(("edges", "vertices", "global"), keep):
            slopes["input." + name] = part.grad.reshape(-1).tolist()
        return outputs, slopes


class Cell:
    """A number on the tape: its value, its slope, and how the slope goes back."""
    __slots__ = ("value", "slope", "back")
    tape = []

    def __init__(self, value, back=None):
        self.value, self.slope, self.back = value, 0.0, back
        if back:
            Cell.tape.append(self)


def dot(xs, ys, start):
    """start + the sum of products."""
    def back(slope):
        start.slope += slope
        for x, y in zip(xs, ys):
            x.slope += slope * y.value
            y.slope += slope * x.value
    return Cell(start.value + sum(x.value * y.value for x, y in zip(xs, ys)), back)


def total(xs):
    def back(slope):
        for x in xs:
            x.slope += slope
    return Cell(sum(x.value for x in xs), back)


def bend(x, value, slope_here):
    def back(slope):
        x.slope += slope * slope_here
    return Cell(value, back)


def times(x, y):
    return dot([x], [y], Cell(0.0))


def relu(x):
    return bend(x, max(x.value, 0.0), 1.0 if x.value > 0 else 0.0)


def tanh(x):
    value = math.tanh(x.value)
    return bend(x, value, 1 - value * value)


def sigmoid(x):
    value = 1 / (1 + math.exp(-x.value))
    return bend(x, value, value * (1 - value))


class Plain:
    """The network of scalar operations."""

    def __init__(self):
        self.label = f"plain Python {platform.python_version()} float64, NOT PyTorch"
        self.layers, at = {}, 0
        for name, inputs, outputs in shapes():
            flat = [Cell(0.25 * number(PARAMETERS, at + i)) for i in range((inputs + 1) * outputs)]
            self.layers[name] = flat, inputs, outputs
            at += len(flat)

    def dense(self, name, xs):
        flat, inputs, outputs = self.layers[name]
        assert len(xs) == inputs, name
        return [dot(xs, flat[j:inputs * outputs:outputs], flat[inputs * outputs + j])
                for j in range(outputs)]

    def two(self, name, xs, last=True):
        ys = self.dense(name + ".1", [relu(x) for x in self.dense(name + ".0", xs)])
        return [relu(y) for y in ys] if last else ys

    def graph(self, name, start, rows):
        edges, vertices, (whole,) = rows
        edges = [self.two(name + ".edge", edge + vertices[a] + vertices[b] + whole)
                 for edge, a, b in zip(edges, *start)]
        sums = [total(column) for column in zip(*edges)]
        if name == "machine":
            into = [[edge for edge, b in zip(edges, start[1]) if b == v]
                    for v in range(len(vertices))]
            vertices = [self.two(name + ".vertex", [total([edge[j] for edge in group])
                                                    for j in range(32)] + vertex + whole)
                        for group, vertex in zip(into, vertices)]
            sums += [total(column) for column in zip(*vertices)]
        return vertices, self.two(name + ".global", sums + whole)

    def lstm(self, xs, h, c):
        sums = self.dense("lstm", xs + h)
        gates = [[f(x) for x in sums[k * WIDTH:(k + 1) * WIDTH]]
                 for k, f in enumerate((sigmoid, sigmoid, tanh, sigmoid))]
        c = [total([times(f, old), times(i, g)]) for i, f, g, old in zip(*gates[:3], c)]
        return [times(o, tanh(new)) for o, new in zip(gates[3], c)], c

    def choose(self, step, scores, outputs):
        """The actor's part of the loss, over the devices that are allowed."""
        chosen, advantage, _ = choice(step)
        open_ = [k for k in range(DEVICES) if allowed(step)[k]]
        powers = [bend(scores[k], math.exp(scores[k].value), math.exp(scores[k].value))
                  for k in open_]
        whole = total(powers)
        log_whole = bend(whole, math.log(whole.value), 1 / whole.value)
        logs = {k: dot([log_whole], [Cell(-1.0)], scores[k]) for k in open_}
        chances = {k: bend(logs[k], math.exp(logs[k].value), math.exp(logs[k].value))
                   for k in open_}
        outputs[f"chance.{step}"] = [chances[k].value if k in chances else 0.0
                                     for k in range(DEVICES)]
        terms = [times(chances[k], logs[k]) for k in open_]
        return dot([logs[chosen], total(terms)], [Cell(-advantage), Cell(ENTROPY)], Cell(0.0))

    def run(self):
        outputs, losses, keep = {}, [], None
        state = [Cell(value) for value in numbers(STATE, 2 * WIDTH)]
        h, c = state[:WIDTH], state[WIDTH:]
        for step in range(STEPS):
            machine, job = ([[[Cell(value) for value in row] for row in part]
                             for part in graph_rows(stream + step, graph)]
                            for stream, graph in ((MACHINE_X, MACHINE), (JOB_X, JOB)))
            keep = keep or machine
            vertices, u = self.graph("machine", ends(MACHINE_GRAPH, MACHINE), machine)
            _, u_job = self.graph("job", ends(JOB_GRAPH, JOB), job)
            h, c = self.lstm(u + u_job, h, c)
            scores = [self.two("actor", h + vertex, False)[0] for vertex in vertices[:DEVICES]]
            losses.append(self.choose(step, scores, outputs))
            value = self.two("critic", h, False)[0]
            error = value.value - choice(step)[2]
            losses.append(bend(value, 0.5 * error ** 2, error))
            for name, cells in (("global", u), ("job", u_job), ("h", h), ("value", [value])):
                outputs[f"{name}.{step}"] = [cell.value for cell in cells]
        loss = total(losses)
        outputs["loss"] = [loss.value]
        loss.slope = 1.0
        for cell in reversed(Cell.tape):
            cell.back(cell.slope)
        slopes = {name: [cell.slope for cell in flat] for name, (flat, _, _) in self.layers.items()}
        for name, part in zip(("edges", "vertices", "global"), keep):
            slopes["input." + name] = [cell.slope for row in part for cell in row]
        return outputs, slopes


def write(out, label, outputs, slopes):
    out.write(f"symph-net-dump 1 made by tools/torch_check.py with {label}\n")
    for name, values in outputs.items():
        for i, value in enumerate(values):
            out.write(f"out {name} {i} {value:.9g}\n")
    for name, values in slopes.items():
        largest = max(map(abs, values))
        weighed = sum(value * number(99, i) for i, value in enumerate(values))
        out.write(f"count {name} 0 {len(values)}\nlargest {name} 0 {largest:.9g}\n"
                  f"sum {name} 0 {sum(values):.9g}\nweighed {name} 0 {weighed:.9g}\n")
        for i in range(0, len(values), 1 if len(values) < 200 else STRIDE):
            out.write(f"slope {name} {i} {values[i]:.9g}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--reference", choices=("torch", "python"), default="torch")
    parser.add_argument("out", nargs="?", default="tests/nets/torch_dump.txt")
    arguments = parser.parse_args()
    try:
        net = Torch() if arguments.reference == "torch" else Plain()
    except ImportError as error:
        sys.exit(f"{error}: run it where PyTorch is, or with --reference python")
    outputs, slopes = net.run()
    with open(arguments.out, "w", encoding="utf-8") as out:
        write(out, net.label, outputs, slopes)


if __name__ == "__main__":
    main()
