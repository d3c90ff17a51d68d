#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says which links of a built site lead to no file, or to no place in it. Usage: dead_links.py SITE"""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.places = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value is not None:
                self.links.add(value)
            if name in ("id", "name") and value is not None:
                self.places.add(value)


def dead_links(site):
    """Pairs of a page and a link; and how many links there are."""
    pages = {file.resolve(): Page(file.read_text()) for file in site.rglob("*.html")}
    dead, count = [], 0
    for file, page in pages.items():
        if file.name == "404.html":
            continue  # its links are those of a site at the root of a server
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                dead += [(file, f"{link}, which leads elsewhere: nothing here can check it")]
                continue
            count += 1
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            place = unquote(parts.fragment)
            if not target.is_file() or place and target in pages and place not in pages[target].places:
                dead.append((file, link))
    return dead, count


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: dead_links.py SITE")
    site = Path(sys.argv[1]).resolve()
    found, checked = dead_links(site)
    for file, link in sorted(found):
        print(f"{file.relative_to(site)}: {link}")
    print(f"{len(found)} of {checked} links are dead")
    sys.exit(1 if found or not checked else 0)
