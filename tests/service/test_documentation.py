"""Documentation pages as HTML: every page, every link, nothing that a page holds becomes markup."""

import re
from pathlib import Path

import pytest

from service import documentation
from service.documentation import PREFIX, page, rendered, titles

SHELL = (Path(documentation.__file__).parent / "console" / "index.html").read_text()


@pytest.mark.parametrize("name", titles())
def test_every_page_is_served_and_its_links_lead_to_pages(name: str) -> None:
    html = page(SHELL, name, "1.2.3")
    assert html is not None
    assert "<h1" in html
    assert "hopsight 1.2.3" in html
    assert "<script" not in html
    own = rendered(name) or ""
    for target in re.findall(r'<a href="([^"]*)"', own):
        if not target.startswith(("http", "#")):
            assert target.partition("#")[0].removeprefix(PREFIX) in titles()
    for target in re.findall(rf'<a href="{PREFIX}([^"#]*)#([^"]*)"', own):
        assert f'id="{target[1]}"' in (rendered(target[0]) or "")


def test_a_page_that_is_none_is_not_served() -> None:
    assert [page(SHELL, name, "1") for name in ("../README", "nothing", "how-to", "")] == [None] * 4
    assert page(SHELL, "index", "<b>") == page(SHELL, "index", "<b>")
    assert "<b>" not in (page(SHELL, "index", "<b>") or "")
