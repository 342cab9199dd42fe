"""Reports in headless Chromium: whole, readable on a phone and in the dark, and on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import Browser, find_browser
from test_report import HOSTILE, _frame

import corollary
from corollary.evaluate.clustering import cluster
from corollary.report import write_report

PAGES = ("two", "three", "size", "clusters")
pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium here, and `make test` can install Debian's only as root with apt-get"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = find_browser()
    assert executable is not None
    with Browser(executable) as running:
        yield running


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Of two classes (with names that would break a page), of a rare class among three, of numbers, and of clusters."""
    folder = tmp_path_factory.mktemp("reports")
    frame = _frame(180)
    plain = frame.drop(columns=["two", "three", "size"])
    for index, name in enumerate((HOSTILE[0], HOSTILE[6], "a_name_without_any_place_to_break_it_" * 3)):
        plain[name] = np.random.default_rng(index).choice([name, f"{name}!"], len(frame))
    three = frame["three"].where(frame["x"].fillna(0) < 1.5, "rarely")
    models: dict[str, Any] = {
        "two": {"logistic": corollary.LogisticRegression(), "forest": corollary.RandomForestClassifier(8)},
        "three": {"boosting": corollary.GradientBoostingClassifier(n_estimators=8), "bayes": corollary.GaussianNB()},
        "size": {"ridge": corollary.Ridge(), "nearest": corollary.KNeighborsRegressor()},
    }
    targets = {"two": frame["two"], "three": three, "size": frame["size"]}
    for name, target in targets.items():
        result = corollary.compare(plain.assign(target=target), "target", models=models[name], folds=3)
        write_report(result, folder / f"{name}.html")
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0], [6]], 30, 0), columns=[*"abc"])
    write_report(cluster(rows, k=2), folder / "clusters.html")
    return {name: folder / f"{name}.html" for name in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_asked_for_from_outside(browser: Browser, reports: dict[str, Path], page: str) -> None:
    browser.open(reports[page])
    assert browser.requests == [reports[page].resolve().as_uri()]
    assert browser.complaints == []
    assert reports[page].stat().st_size < 3_000_000


BEYOND = """[...document.querySelectorAll('main *')].filter(each => {
  const box = each.getBoundingClientRect();
  return box.width && box.right > innerWidth + 0.5 && !each.closest('.wide, pre');
}).map(each => each.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_sticks_out_at_the_side(browser: Browser, reports: dict[str, Path], page: str, width: int) -> None:
    browser.open(reports[page], width=width)
    assert browser.ask("document.scrollingElement.scrollWidth") <= width
    assert browser.ask(BEYOND) == []


SIZES = """[...document.querySelectorAll('main *')].filter(each =>
  [...each.childNodes].some(node => node.nodeType == 3 && node.data.trim()) && each.getBoundingClientRect().width
  && !['TITLE', 'DESC'].includes(each.tagName.toUpperCase())
).map(each => {
  const svg = each.closest('svg');
  const scale = svg ? svg.getScreenCTM().a : 1;
  return [Math.round(100 * scale * parseFloat(getComputedStyle(each).fontSize)) / 100, each.textContent.slice(0, 40)];
}).filter(pair => pair[0] < 11)"""


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
def test_words_are_large_enough_to_read(browser: Browser, reports: dict[str, Path], page: str, width: int) -> None:
    browser.open(reports[page], width=width)
    assert browser.ask(SIZES) == []


CONTRAST = """(() => {
  const number = text => {
    const found = text.match(/[\\d.e+-]+/g).map(Number);
    const unit = text.startsWith('color(') ? 255 : 1;
    return [found[0] * unit, found[1] * unit, found[2] * unit, found.length > 3 ? found[3] : 1];
  };
  const over = (front, back) => front.slice(0, 3).map((c, i) => c * front[3] + back[i] * (1 - front[3]));
  const light = rgb => {
    const [r, g, b] = rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = each => {
    const layers = [];
    for (let at = each; at; at = at.parentElement) layers.push(number(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((back, front) => over(front, back), [255, 255, 255]);
  };
  return [...document.querySelectorAll('body *')].filter(each =>
    [...each.childNodes].some(node => node.nodeType == 3 && node.data.trim()) && each.getBoundingClientRect().width
    && !['TITLE', 'DESC'].includes(each.tagName.toUpperCase())
  ).map(each => {
    const style = getComputedStyle(each), back = behind(each);
    const front = over(number(each.closest('svg') ? style.fill : style.color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24;
    return [(a + 0.05) / (b + 0.05), large ? 3 : 4.5, each.textContent.slice(0, 40), style.color, String(back)];
  }).filter(found => found[0] < found[1]);
})()"""


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("dark", [False, True])
def test_contrast_is_enough_by_light_and_in_the_dark(
    browser: Browser, reports: dict[str, Path], page: str, dark: bool
) -> None:
    browser.open(reports[page], dark=dark)
    background = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(each) for each in re.findall(r"\d+", background)[:3]) < 200) is dark
    assert browser.ask(CONTRAST) == []


@pytest.mark.parametrize("page", PAGES)
def test_headings_are_in_order(browser: Browser, reports: dict[str, Path], page: str) -> None:
    browser.open(reports[page])
    levels = browser.ask("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(each => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    links = browser.ask("[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).length")
    assert links == 0


def test_the_leaderboard_shows_every_column_on_a_phone(browser: Browser, reports: dict[str, Path]) -> None:
    browser.open(reports["two"], width=390)
    shown = browser.ask("""[...document.querySelectorAll('.board tbody tr')].map(row =>
      [...row.cells].slice(1).map(cell => {
        const box = cell.getBoundingClientRect();
        return [cell.dataset.title || '', box.width > 0 && box.left >= 0 && box.right <= innerWidth];
      }))""")
    titles = ["", "log-loss ↓", "95% interval", "behind the best", "p", "AUC ↑", "accuracy ↑", "fit s", "evidence"]
    assert [[title for title, _ in row] for row in shown] == [titles] * 3
    assert all(visible for row in shown for _, visible in row)


def test_on_paper(browser: Browser, reports: dict[str, Path], tmp_path: Path) -> None:
    browser.open(reports["two"], width=760, dark=True, media="print")
    assert browser.ask("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.ask(CONTRAST) == []
    assert browser.ask("getComputedStyle(document.body).color") == "rgb(29, 33, 41)"  # ink, though the screen is dark
    assert browser.ask("[...document.querySelectorAll('details table')].every(each => each.checkVisibility())")
    browser.paper(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_a_click_selects_a_whole_block_of_code(browser: Browser, reports: dict[str, Path]) -> None:
    browser.open(reports["two"])
    assert browser.ask(
        "[...document.querySelectorAll('pre')].every(each => getComputedStyle(each).userSelect == 'all')"
    )
