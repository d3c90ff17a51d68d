# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mkdocs does not know about this repository.

Pages are written to be read in the repository too, so that they link to README.md and to sources. Here these become
pages of the site. Pages that mkdocs.yml does not place get their place by themselves: reference/ by folder, others under
More. A page without compiled code or a measured table says why.
"""
import logging
import posixpath
import re
import shutil
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
import compile_errors  # noqa: E402

log = logging.getLogger("mkdocs.site")
CALCULATOR = ROOT / "build/release/examples/batch_plan/page/batch_plan.html"  # part of the site where it is built
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".txt": "cmake", ".md": "text"}
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def anchor(heading, separator):
    """That of tests/docs/check.cmake, and of the places that show a repository."""
    return re.sub(r"[^a-z0-9 _-]", "", heading.lower()).strip().replace(" ", separator)


def place_of(link, page):
    """Where in the repository a link of a page under docs/ leads to."""
    return posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))


def page_of(place):
    """The page, below docs/, that shows a file of the repository."""
    if place.startswith("docs/"):
        return place[len("docs/") :]
    return "overview.md" if place == "README.md" else f"sources/{place}.md"


def with_links(markdown, page, folder="docs"):
    """The text with every link leading to a page; code is left alone."""

    def lead(match):
        begin, target, heading, end = match.groups()
        if re.match(r"[a-z]+:", target):
            return match.group(0)
        place = posixpath.normpath(posixpath.join(folder, posixpath.dirname(page), target))
        there = posixpath.relpath(page_of(place), posixpath.dirname(page) or ".")
        return f"{begin}{there}{heading or ''}{end}"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else LINK.sub(lead, part) for part in parts)


def sources_of(markdown, page):
    prose = re.sub(r"^```.*?^```$", "", markdown, flags=re.M | re.S)
    places = (place_of(target, page) for _, target, _, _ in LINK.findall(prose) if not re.match(r"[a-z]+:", target))
    return {place for place in places if not place.startswith("docs/") and (ROOT / place).is_file()}


def text_of(page):
    text = (ROOT / "docs" / page).read_text()
    if page == "compile_errors.md":
        every, complaints = compile_errors.page()
        if complaints:
            raise PluginError("\n".join(complaints))
        text = text.replace("<!-- every message -->", every)
    return text


def on_config(config):
    config["mdx_configs"].setdefault("toc", {})["slugify"] = anchor

    def placed(entry):
        if isinstance(entry, str):
            return {entry}
        return set().union(*(placed(each) for each in (entry.values() if isinstance(entry, dict) else entry)))

    docs = ROOT / "docs"
    pages = sorted(file.relative_to(docs).as_posix() for file in docs.rglob("*.md"))
    known = placed(config["nav"])

    def folder(name):
        beside = [page for page in pages if posixpath.dirname(page) == name and page not in known]
        below = sorted({page.split("/")[1] for page in pages if page.startswith("reference/") and page.count("/") == 2})
        return [{posixpath.basename(page)[:-3]: page} for page in beside] + [
            {each: folder(f"reference/{each}")} for each in below if name == "reference"
        ]

    for section in config["nav"]:
        if isinstance(section, dict) and "Reference" in section:
            section["Reference"] += folder("reference")
    more = [page for page in pages if page not in known and not page.startswith("reference/")]
    if more:
        config["nav"].append({"More": more})
    return config


def on_files(files, config):
    made = Path(config["site_dir"]).parent / "generated"
    shutil.rmtree(made, ignore_errors=True)
    pages = {"overview.md": with_links((ROOT / "README.md").read_text(), "overview.md", folder="")}
    places = sources_of((ROOT / "README.md").read_text().replace("](", "](../"), "overview.md")
    for file in files.documentation_pages():
        places |= sources_of(text_of(file.src_path), file.src_path)
    for place in sorted(places - {"README.md"}):
        language = LANGUAGES.get(Path(place).suffix, "text")
        code = (ROOT / place).read_text().rstrip("\n")
        name = posixpath.basename(place)
        pages[page_of(place)] = f"---\ntitle: {name}\n---\n# {place}\n\n````{language}\n{code}\n````\n"
    for page, text in pages.items():
        (made / page).parent.mkdir(parents=True, exist_ok=True)
        (made / page).write_text(text)
        files.append(File(page, str(made), config["site_dir"], config["use_directory_urls"]))
    if CALCULATOR.is_file():
        files.append(File(CALCULATOR.name, str(CALCULATOR.parent), config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_path == "overview.md" or page.file.src_path.startswith("sources/"):
        return markdown
    if page.file.src_path == "compile_errors.md":
        markdown = text_of("compile_errors.md")
    if page.file.src_path == "calculator.md" and CALCULATOR.is_file():
        markdown = markdown.replace("\n\n", f"\n\n**[Open the calculator]({CALCULATOR.name})**\n\n", 1)
    if "\nInternal:" in markdown and "```cpp" not in markdown:
        to = posixpath.relpath("architecture.md", posixpath.dirname(page.file.src_path) or ".")
        markdown += f"\nNo code of a user here: only the library's own headers include this one, see [architecture]({to}).\n"
    elif not re.search(r"^```cpp|^## Measured|^No code here: ", markdown, flags=re.M):
        log.warning(f"{page.file.src_path} has neither compiled code nor a measured table, and does not say why")
    return with_links(markdown, page.file.src_path)
