#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every message of a compile error, with the mistake and the repair, as Markdown.

Mistake and repair are cut from tests/compile_errors, where a compiler refuses the one with that message and takes the
other. A message that no test provokes is an error of this program, and so is a test that provokes none.
"""
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Messages that need what the tests' machine does not have.
UNTESTED = {"ACCRUE_SAY_SCALE_ELSEWHERE": "a device"}


def literals(text):
    """Runs of neighbouring string literals, each as one text."""
    text = re.sub(r"\\\n", " ", text)
    runs = re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text)
    return ["".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run)) for run in runs]


def messages():
    """Name to text, in the order of the headers; one that has no macro is its own name."""
    found = {}
    diagnostics = ROOT / "include/accrue/core/diagnostics.hpp"
    for name, text in re.findall(r"#define (ACCRUE_SAY_\w+)((?:.*\\\n)*.*)", diagnostics.read_text()):
        found[name] = literals(text)[0]
    for header in sorted((ROOT / "include").rglob("*.hpp")):
        for call in re.findall(r"static_assert\(.*?\);", header.read_text(), re.S):
            for text in literals(call):
                if text.startswith("accrue"):
                    found.setdefault(text, text)
    return found


class Mistake:
    """One file of tests/compile_errors."""

    def __init__(self, file):
        self.name = file.name
        lines = file.read_text().splitlines()
        self.expected = [l.removeprefix("// expected-error: ") for l in lines if l.startswith("// expected-error: ")]
        first_code = next(i for i, l in enumerate(lines) if not l.startswith("//"))
        about = [l[2:].strip() for l in lines[:first_code] if not l.startswith("// expected-error: ")]
        self.about = " ".join(l for l in about if "SPDX" not in l)
        wrong, right, into = [], [], None
        for line in lines[first_code:]:
            if line.startswith("#ifdef ACCRUE_TEST_ERROR"):
                into = wrong
            elif line.startswith("#ifndef ACCRUE_TEST_ERROR"):
                into = right
            elif line.startswith("#else") and into is not None:
                into = right if into is wrong else wrong
            elif line.startswith("#endif"):
                into = None
            elif into is not None:
                into.append(line)
        self.wrong, self.right = ("\n".join(part) for part in (wrong, right))

    def says(self, text):
        return all(part in text for part in self.expected)

    def markdown(self):
        def block(code):
            return f"```cpp\n{textwrap.dedent(code)}\n```\n"

        out = prose(self.about) + "\n\n"
        if self.wrong:
            out += "Refused:\n\n" + block(self.wrong) + "\n"
            out += "Accepted:\n\n" + block(self.right) if self.right else "Accepted: the same without it.\n"
        else:
            out += "Accepted with this, refused without it:\n\n" + block(self.right)
        return f"{out}\nFrom `{self.name}`.\n"


def prose(text):
    """As Markdown, in which <tag> would be an element of the page."""
    return text.replace("<", "&lt;")


def heading(text):
    """What a message complains of: what stands between its entity and the way out."""
    parts = text.split(": ")
    return parts[1] if parts[0].startswith("accrue") and len(parts) > 1 else parts[0]


def page():
    """The list, and what is wrong with it."""
    files = sorted((ROOT / "tests/compile_errors").glob("*.cpp"))
    mistakes = [Mistake(file) for file in files]
    out, complaints, placed = [], [], set()
    everything = messages()
    last_entity = None
    for entity in sorted({text.split(": ")[0] for text in everything.values()}):
        for name, text in everything.items():
            if text.split(": ")[0] != entity:
                continue
            those = [m for m in mistakes if m.says(text)]
            if not those and name not in UNTESTED:
                complaints.append(f"no test provokes {name}")
            if entity != last_entity:
                out.append(f"## {'Gradients, counts, losses' if entity == 'accrue' else prose(entity)}\n")
                last_entity = entity
            out.append(f"### {prose(heading(text))}\n")
            out.append(f"```text\n{textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)}\n```\n")
            for mistake in those:
                placed.add(mistake.name)
                out.append(mistake.markdown())
            if not those:
                out.append(f"No test provokes this one here: it takes {UNTESTED.get(name, 'one')}.\n")
    complaints += [f"{m.name} provokes no message that was found" for m in mistakes if m.name not in placed]
    return "\n".join(out), complaints


if __name__ == "__main__":
    text, complaints = page()
    print(text if not complaints else "\n".join(complaints))
    sys.exit(1 if complaints else 0)
