# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the programs in tools/ say of small inputs that have something wrong."""
import contextlib
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "benchmarks")]
import amalgamate  # noqa: E402
import bars  # noqa: E402
import compile_errors  # noqa: E402
import dead_links  # noqa: E402


@contextlib.contextmanager
def folder(**files):
    with tempfile.TemporaryDirectory() as name:
        for file, text in files.items():
            (Path(name) / file.replace("__", ".")).write_text(text)
        yield Path(name).resolve()


class Tools(unittest.TestCase):
    def test_a_dead_link_is_found_and_a_live_one_is_not(self):
        one = '<a href="two.html#here"></a><a href="two.html#there"></a><a href="three.html"></a><img src="p.svg">'
        with folder(one__html=one, two__html='<h1 id="here"></h1><a href="one.html"></a>', p__svg="") as site:
            dead, count = dead_links.dead_links(site)
        self.assertEqual(sorted(link for _, link in dead), ["three.html", "two.html#there"])
        self.assertEqual(count, 5)

    def test_a_link_to_elsewhere_is_none_that_can_be_checked(self):
        with folder(one__html='<a href="https://accrue.invalid/"></a>') as site:
            self.assertEqual(len(dead_links.dead_links(site)[0]), 1)

    def test_mistake_and_repair_are_cut_from_the_file(self):
        text = """// Why it is wrong.
// expected-error: accrue: two
void use() {
#ifdef ACCRUE_TEST_ERROR
  wrong();
#else
  right();
#endif
}
"""
        with folder(both__cpp=text, without__cpp=text.replace("#ifdef", "#ifndef")) as files:
            both, without = (compile_errors.Mistake(files / name) for name in ("both.cpp", "without.cpp"))
        self.assertEqual((both.about, both.wrong, both.right), ("Why it is wrong.", "  wrong();", "  right();"))
        self.assertEqual((without.wrong, without.right), ("  right();", "  wrong();"))
        self.assertTrue(both.says("accrue: two many") and not both.says("accrue: one"))

    def test_every_message_has_a_mistake_and_every_mistake_a_message(self):
        text, complaints = compile_errors.page()
        self.assertEqual(complaints, [])
        self.assertGreater(text.count("\n### "), 100)

    def test_the_single_header_has_every_header_once_and_before_its_use(self):
        seen = set()
        lines = amalgamate.closure("accrue/accrue.hpp", seen)
        self.assertEqual([line for line in lines if amalgamate.OWN.match(line)], [])
        self.assertEqual(sum(line.startswith("// ---- ") for line in lines), len(seen))
        end = lines.index("// ---- accrue/accumulator.hpp")
        self.assertIn("// ---- accrue/recipe.hpp", lines[end:])  # in place of its include

    def test_bars_take_goals_before_counters_and_draw_no_bar_that_was_not_measured(self):
        name = "group/float/one/A8/copy"
        record = {
            "benchmarks": [{"name": name + "/iterations:3/manual_time", "to_floor": 2.0, "times_hand": 3.0, "passes": 9}],
            "goals": [{"name": name, "figure": "to_floor", "measured": 1.5}, {"name": "x", "figure": "y"}],
        }
        with folder(bench__json=json.dumps(record)) as files:
            found = bars.read(files / "bench.json")
        self.assertEqual(found, {(name, "to_floor"): 1.5, (name, "times_hand"): 3.0})
        self.assertEqual(bars.table(found).splitlines()[1].split(), ["float/one/A8/copy", "1.50", "3.00"])
        drawing = bars.drawing(found, "out.svg")
        self.assertIn('"A = 4" NaN\n"A = 8" 1.5\n', drawing)
        self.assertIn('"A = 4" NaN\n"A = 8" 3\n', drawing)
        self.assertEqual(bars.drawing({}, "out.svg"), "")

    def test_the_picture_is_drawn_from_the_figures_of_the_page(self):
        page = set(re.findall(r"\d+(?:\.\d+)?", (ROOT / "docs/performance.md").read_text()))
        for row in json.loads((ROOT / "benchmarks/measured/zen5_2_cores.json").read_text())["goals"]:
            self.assertTrue({f"{row['measured']:g}", f"{row['measured']:.2f}"} & page, row)


if __name__ == "__main__":
    unittest.main()
