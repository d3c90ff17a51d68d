# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times a whole group of PyTorch on the CPU, against an accumulate sweep, and prints one line of JSON.

A group: the gradients of A microbatches are added, unscaled and checked for infinities as GradScaler does, clipped by
their global norm, and AdamW updates the parameters. The loops of PyTorch with the fewest passes are used: `foreach`
operations, the fused AdamW, a malloc that keeps its memory. No gradient is computed or allocated in the time measured.

As in the benchmarks beside it, times are ratios of neighbours: in every round the group and one sweep `sum += gradient`
of the same size run in random order, and the median of their ratios, "passes", is what to compare. Rounds in which
another process took a processor away are dropped, unless fewer than seven are left; `chrt -f 1` keeps most of them.
"""

import argparse
import ctypes
import json
import os
import random
import resource
import statistics
import sys
import time

PROCESSORS = len(os.sched_getaffinity(0))  # before OpenMP binds this thread
# Threads that spin, each on a processor of its own: fastest. OpenMP reads this when torch is loaded.
os.environ |= {"OMP_PROC_BIND": "true", "OMP_WAIT_POLICY": "active"}

try:
    import torch
except ImportError as error:
    sys.exit(f"pytorch.py: cannot import torch: {error}")

LOSS_SCALE = 1024.0
MAX_NORM = 1.0
FEWEST_CLEAN = 7


def sizes_of(shape, elements):
    """Sizes of the tensors of a model, the same as in support.hpp."""
    if shape == "one":
        return [elements or 64 << 20]
    if shape == "gpt2":  # the 148 tensors of GPT-2 with 124 million parameters
        width = 768
        layer = [width, width, width * 3 * width, 3 * width, width * width, width,
                 width, width, width * 4 * width, 4 * width, 4 * width * width, width]
        return [50257 * width, 1024 * width] + 12 * layer + [width, width]
    count, size = shape.split("x")
    return int(count) * [int(size)]


class Group:
    """Parameters in float32 with the optimizer, and for bfloat16 a copy of them as the weights of the model.

    `zero` is how a group begins. "zero": with sums that `zero_grad(set_to_none=False)` has zeroed. "none": the first
    microbatch becomes the sums. As float its tensors are adopted, which costs nothing; bfloat16 is copied into the
    float32 sums ("main_grad").
    """

    def __init__(self, parameters, scalar, zero):
        self.parameters = parameters
        self.optimizer = torch.optim.AdamW(parameters, fused=True)
        self.weights = [p.to(scalar) for p in parameters] if scalar != torch.float32 else None
        self.zero = zero
        self.adopts = zero == "none" and self.weights is None
        self.found_inf = torch.zeros(())
        if not self.adopts:
            self.attach([torch.zeros_like(p) for p in parameters])

    def attach(self, sums):
        self.sums = sums
        for parameter, total in zip(self.parameters, sums):
            parameter.grad = total

    def adopt(self, gradients):
        """What autograd does with the first gradients: to be called before every `run` of a group that adopts."""
        if self.adopts:
            self.attach(gradients)

    @torch.no_grad()
    def run(self, microbatches):
        """A whole group: one list of gradients for each microbatch."""
        to_add = microbatches
        if self.zero == "none":
            to_add = microbatches[1:]
            if not self.adopts:
                torch._foreach_copy_(self.sums, microbatches[0])
        for gradients in to_add:
            torch._foreach_add_(self.sums, gradients)

        self.found_inf.zero_()
        inverse_scale = torch.tensor(1.0 / (LOSS_SCALE * len(microbatches)))
        torch._amp_foreach_non_finite_check_and_unscale_(self.sums, self.found_inf, inverse_scale)
        torch.nn.utils.clip_grad_norm_(self.parameters, MAX_NORM, foreach=True)
        if not self.found_inf.item():
            self.optimizer.step()
            if self.weights is not None:
                torch._foreach_copy_(self.weights, self.parameters)
        if self.adopts or self.zero == "zero":
            self.optimizer.zero_grad(set_to_none=self.adopts)


def keep_memory():
    """Lets glibc's malloc serve every size from memory that it never returns: fresh pages are slow."""
    m_trim_threshold, m_mmap_max = -1, -4
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(m_trim_threshold, -1)
        libc.mallopt(m_mmap_max, 0)


def timed(work):
    """Seconds of a piece of work, and whether another process took the processor away meanwhile."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    begin = time.perf_counter()
    work()
    seconds = time.perf_counter() - begin
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw != before


def measure(sizes, microbatches, scalar, zero, rounds):
    """Seconds of the group and of the sweep in every round that counts, and how many rounds were clean."""
    group = Group([torch.ones(size) for size in sizes], scalar, zero)
    values = [1e-3 * (i + 1) * LOSS_SCALE for i in range(min(microbatches, 4))]
    sets = [[torch.full((size,), value, dtype=scalar) for size in sizes] for value in values]
    # The set that is adopted holds the sums from then on, so the other three take turns.
    cycle = sets[:1] + [sets[1 + i % 3] for i in range(microbatches - 1)]
    total, gradient = torch.zeros(sum(sizes)), torch.full((sum(sizes),), 1e-3)

    def prepare():
        if group.adopts:
            for tensor in sets[0]:
                tensor.fill_(values[0])
            group.adopt(sets[0])

    work = {"group": lambda: group.run(cycle), "accumulate": lambda: total.add_(gradient)}
    order = list(work)
    engine = random.Random(20261130)
    everything, clean = [], []
    for turn in range(rounds + 1):
        prepare()
        engine.shuffle(order)
        samples = {name: timed(work[name]) for name in order}
        if turn == 0:  # touches fresh memory
            continue
        seconds = samples["group"][0], samples["accumulate"][0]
        everything.append(seconds)
        if not any(disturbed for _, disturbed in samples.values()):
            clean.append(seconds)
    return clean if len(clean) >= FEWEST_CLEAN else everything, len(clean)


def check(microbatches, scalar, zero):
    """Runs groups of a small model and compares with the formulas in float64; says what differs, if anything."""
    torch.manual_seed(0)
    parameters = [torch.randn(size) for size in (1000, 17, 256)]
    group = Group([p.clone() for p in parameters], scalar, zero)
    lr, (beta1, beta2), eps, decay = (group.optimizer.defaults[k] for k in ("lr", "betas", "eps", "weight_decay"))
    theta = torch.cat(parameters).double()
    m, v = torch.zeros_like(theta), torch.zeros_like(theta)

    # One group with a norm to clip, one below it, one that is infinite and must change nothing, and one more.
    updates = 0
    for size in (1.0, 1e-3, float("inf"), 1.0):
        sets = [[(torch.randn_like(p) * size * LOSS_SCALE).to(scalar) for p in parameters] for _ in range(microbatches)]
        g = sum(torch.cat(gradients).double() for gradients in sets) / (LOSS_SCALE * microbatches)
        group.adopt(sets[0])
        group.run(sets)
        if g.isfinite().all():
            updates += 1
            g *= min(1.0, MAX_NORM / (g.norm().item() + 1e-6))
            m = beta1 * m + (1 - beta1) * g
            v = beta2 * v + (1 - beta2) * g * g
            theta *= 1 - lr * decay
            theta -= lr * (m / (1 - beta1**updates)) / ((v / (1 - beta2**updates)).sqrt() + eps)

    def differ(tensors, expected):  # so written, NaN differs too
        return not (torch.cat(tensors) - expected).abs().max() <= 1e-6 * expected.abs().max()

    state = [group.optimizer.state[p] for p in group.parameters]
    if differ([s["exp_avg"] for s in state], m):
        return "the first moments differ"
    if differ([s["exp_avg_sq"] for s in state], v):
        return "the second moments differ"
    if differ(group.parameters, theta):
        return "the parameters differ"
    if group.weights is not None and any(not w.equal(p.to(scalar)) for w, p in zip(group.weights, group.parameters)):
        return "the weights differ"
    return None


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(1, f"{self.prog}: {message}\n")


def positive(text):
    if (number := int(text)) < 1:
        raise ValueError
    return number


def arguments():
    parser = Parser(description="Times a whole group of PyTorch on the CPU.")
    parser.add_argument("--shape", choices=["one", "gpt2", "2000x4096", "2000x256"], default="one")
    parser.add_argument("--elements", type=positive, help="of shape one (default: 64 Mi)")
    parser.add_argument("--microbatches", type=positive, default=8)
    parser.add_argument("--scalar", choices=["float", "bfloat16"], default="float", help="of the gradients")
    parser.add_argument("--zero", choices=["none", "zero"], default="none", help="how a group begins")
    parser.add_argument("--threads", type=positive, default=PROCESSORS)
    parser.add_argument("--rounds", type=positive, default=11)
    parser.add_argument("--check", action="store_true", help="compare the update with its formula, without timing")
    given = parser.parse_args()
    if given.elements and given.shape != "one":
        parser.error("argument --elements: only for shape one")
    return given


def main():
    given = arguments()
    scalar = {"float": torch.float32, "bfloat16": torch.bfloat16}[given.scalar]
    torch.set_num_threads(given.threads)
    keep_memory()
    setting = {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "shape": given.shape,
        "microbatches": given.microbatches,
        "scalar": given.scalar,
        "zero": given.zero,
    }
    if given.check:
        del setting["shape"]
        if difference := check(given.microbatches, scalar, given.zero):
            sys.exit(f"pytorch.py: {difference}: {json.dumps(setting)}")
        print(json.dumps(setting | {"check": "passed"}))
        return

    sizes = sizes_of(given.shape, given.elements)
    counted, clean = measure(sizes, given.microbatches, scalar, given.zero, given.rounds)
    accumulate_seconds = statistics.median(accumulate for _, accumulate in counted)
    print(json.dumps(setting | {
        "parameters": sum(sizes),
        "seconds": statistics.median(group for group, _ in counted),
        "accumulate_seconds": accumulate_seconds,
        "accumulate_gb_per_s": 12e-9 * sum(sizes) / accumulate_seconds,
        "passes": statistics.median(group / accumulate for group, accumulate in counted),
        "rounds": given.rounds,
        "clean": clean,
    }))


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, MemoryError) as error:
        sys.exit(f"pytorch.py: {str(error).strip().splitlines()[0] if str(error).strip() else 'out of memory'}")
