#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the tables of docs/precision.md and docs/replicas.md into docs/pictures/, with gnuplot: a plot has no other figures
than the page beside it. Usage: page_plots.py"""
import re
import subprocess
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def rows(page, heading):
    """The cells of the table under this first line of it, without that line."""
    text = (DOCS / page).read_text()
    lines = text[text.index(heading) :].splitlines()[2:]
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.strip(" `") for cell in line.strip("|").split("|")])
    return found


def precision():
    """Errors of sums of floats over the number of microbatches; an error of 0 has no place on a logarithmic axis."""
    table = rows("precision.md", "| gradients | numbers | summation |")
    counts = (16, 1000, 100000)
    data, plots = [], []
    for place, numbers in enumerate(("one sign", "cancelling")):
        lines = []
        for summation in ("widened<>", "compensated", "order_independent"):
            (row,) = (r for r in table if r[:3] == ["float", numbers, summation])
            name = f"${summation.strip('<>')}{place}"
            points = (f"{count} {value}" for count, value in zip(counts, row[4:]))
            data.append("\n".join([f"{name} << END", *points, "END"]))
            lines.append(f"{name} using 1:2 with linespoints pointtype 7 linewidth 2 title '{summation}' noenhanced")
        plots.append(f"set title 'floats, {numbers}'\nplot " + ", ".join(lines))
    return "\n".join(data) + """
set terminal svg size 900,360 font 'sans-serif,12' background '#ffffff'
set output 'precision.svg'
set logscale xy
set yrange [0.1:1e8]
set xrange [10:2e5]
set format y '10^{%L}'
set xlabel 'microbatches of a group'
set ylabel 'largest error, units in the last place'
set key top left
set grid
set multiplot layout 1,2
""" + "\n".join(plots) + "\nunset multiplot\n"


def replicas():
    """What goes over the wire of each process for one sum, over the number of processes."""
    points = []
    for count, of_sum, *_ in rows("replicas.md", "| D | of the sum |"):
        points.append(f"{count.replace(' ', '')} {re.match('[0-9]+', of_sum)[0]}")
    return "\n".join(["$sum << END", *points, "END"]) + """
set terminal svg size 520,320 font 'sans-serif,12' background '#ffffff'
set output 'replicas.svg'
set logscale x 2
set xrange [4:2048]
set yrange [0:1100]
set xlabel 'processes'
set ylabel 'MB over the wire of each, a group'
set grid
plot $sum using 1:2 with linespoints pointtype 7 linewidth 2 linecolor rgb '#3f51b5' notitle
"""


if __name__ == "__main__":
    for commands in (precision(), replicas()):
        subprocess.run(["gnuplot"], input=commands, text=True, check=True, cwd=DOCS / "pictures")
