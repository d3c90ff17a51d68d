#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table and a picture of what ./dev bench wrote: groups against the memory limit, and against the peers.

Usage: bars.py JSON [OUT.svg]

Reads the figures of goals, and the counters of Google Benchmark for cases that no goal names. Draws with gnuplot; only what
was measured has a bar.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

SHAPES = {"one": "one tensor", "gpt2": "GPT-2"}
WAYS = {"copy": "copied", "lent": "first one in the buffer"}
RATIOS = {"to_floor": "to limit", "times_torch": "PyTorch", "times_hand": "by hand"}


def read(file):
    """(case, figure) to what was measured."""
    text = Path(file).read_text()
    if not text.strip():
        sys.exit(f"{file} is empty: no benchmark was run")
    record = json.loads(text)
    found = {}
    for case in record.get("benchmarks", []):
        name = re.sub(r"/iterations:.*", "", case["name"])
        found |= {(name, figure): case[figure] for figure in RATIOS if figure in case}
    found |= {(row["name"], row["figure"]): row["measured"] for row in record.get("goals", []) if "measured" in row}
    return found


def table(found):
    """Groups by rows; how far they are from the limit, and how many times faster than each peer."""
    cases = sorted({case for case, figure in found if case.startswith("group/") and figure in RATIOS}, key=in_order)
    lines = [f"{'group':<32}" + "".join(f"{name:>10}" for name in RATIOS.values())]
    for case in cases:
        figures = (found.get((case, figure)) for figure in RATIOS)
        lines.append(f"{case[6:]:<32}" + "".join(f"{'' if x is None else format(x, '.2f'):>10}" for x in figures))
    return "\n".join(lines)


def in_order(case):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", case)]


def panels():
    """Title, label, clusters of bars, and of each series its title, its colour, and the figure that it has in a cluster."""
    limit = [
        (f"{SHAPES[s]}, {WAYS[w]}", colour, lambda a, s=s, w=w: (f"group/float/{s}/A{a}/{w}", "to_floor"))
        for (s, w), colour in zip(
            ((s, w) for s in SHAPES for w in WAYS), ("#3f51b5", "#9fa8da", "#00897b", "#80cbc4")
        )
    ]
    torch = [
        (f"PyTorch, {SHAPES[s]}", colour, lambda k, s=s: (f"group/float/{s}/A{k[0]}/{k[1]}", "times_torch"))
        for s, colour in zip(SHAPES, ("#e65100", "#ffb74d"))
    ]
    hand = [
        (f"loops by hand, {SHAPES[s]}", colour, lambda k, s=s: (f"group/float/{s}/A{k[0]}/{k[2]}", "times_hand"))
        for s, colour in zip(SHAPES, ("#6d4c41", "#bcaaa4"))
    ]
    groups = [(f"A = {a}", (a, "lent", "copy")) for a in (1, 4, 8, 16)]
    gathered = [(f"A = 8\\n{k} at once", (8, f"gather{k}", f"gather{k}")) for k in (2, 4)]
    return (
        ("Time of a group over that of its bytes (1: the memory limit)", "times the limit",
         [(label, key[0]) for label, key in groups], limit),
        ("How many times faster than others (1: as fast)", "times faster", groups + gathered, torch + hand),
    )  # fmt: skip


def drawing(found, out):
    """The commands for gnuplot; nothing where nothing was measured that a panel shows."""
    data, plots = [], []
    for title, label, clusters, series in panels():
        series = [each for each in series if any(each[2](key) in found for _, key in clusters)]
        if not series:
            continue
        name = f"$panel{len(plots)}"
        rows = [" ".join(["cluster"] + [f'"{title}"' for title, _, _ in series])]
        for cluster, key in clusters:
            values = (found.get(figure(key)) for _, _, figure in series)
            rows.append(" ".join([f'"{cluster}"'] + ["NaN" if x is None else f"{x:.6g}" for x in values]))
        data.append("\n".join([f"{name} << END"] + rows + ["END"]))
        bars = [
            f"{name} using {i}:xtic(1) title columnheader({i}) linecolor rgb '{colour}'"
            for i, (_, colour, _) in enumerate(series, 2)
        ]
        bars.append("1 notitle with lines dashtype 2 linecolor rgb '#444444'")
        plots.append(f"set title '{title}'\nset ylabel '{label}'\nplot " + ", ".join(bars))
    if not plots:
        return ""
    return "\n".join(data) + f"""
set terminal svg size {540 * len(plots)},430 font 'sans-serif,12' background '#ffffff'
set output '{out}'
set style data histograms
set style histogram clustered gap 1
set style fill solid 1.0
set boxwidth 0.9
set yrange [0:*]
set grid ytics linecolor rgb '#dddddd'
set bmargin 7
set key below maxcols 2 samplen 1
set xtics nomirror
set ytics nomirror
set border 3
set multiplot layout 1,{len(plots)}
""" + "\n".join(plots) + "\nunset multiplot\n"


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        sys.exit("usage: bars.py JSON [OUT.svg]")
    found = read(arguments[0])
    print(table(found))
    commands = drawing(found, arguments[1]) if len(arguments) == 2 else ""
    if commands:
        subprocess.run(["gnuplot"], input=commands, text=True, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
