"""The look of the report: one style sheet for light and dark screens and for paper."""

from __future__ import annotations

from corollary.core.drawing import INK, PALETTE, SOFT

_LIGHT = " ".join(f"--c{number}: {colour};" for number, colour in enumerate(PALETTE))
_LIGHT = f":root {{ --ink: {INK}; --soft: {SOFT}; {_LIGHT} }}"
_SERIES = " ".join(f".s{number} {{ --c: var(--c{number}); }}" for number in range(len(PALETTE)))
STYLE = (
    f"\n{_LIGHT}\n{_SERIES}"
    + """
:root {
  color-scheme: light dark;
  --paper: #fdfdfb; --panel: #f4f4ef; --line: #deded6; --grid: #ebebe4;
  --good: #2c6e49; --bad: #a63d2f; --warn: #7d5800; --warn-panel: #fbf5e3; --heat: 60%;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
  --serif: Charter, "Bitstream Charter", "Iowan Old Style", "Sitka Text", Cambria, "Liberation Serif", Georgia, serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #15181d; --panel: #1d2127; --ink: #e4e6ea; --soft: #9aa1ac; --line: #343a43; --grid: #262b32;
    --good: #7cc49a; --bad: #ef8b7c; --warn: #e3bb62; --warn-panel: #2a2519; --heat: 44%;
    --c0: #79afe2; --c1: #e8975f; --c2: #79c596; --c3: #c893d2; --c4: #d8b953; --c5: #6cc5cc; --c6: #e78aa9;
    --c7: #a3aab6; --c8: #c3a07c; --c9: #9aa4ee;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 var(--serif); }
main { max-width: 1060px; margin: 0 auto; padding: 56px 32px 72px; }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: 2.3rem; font-weight: 600; letter-spacing: -0.012em; margin: 4px 0 8px; }
h2 { font-size: 1.35rem; font-weight: 600; margin: 60px 0 6px; padding-top: 14px; border-top: 1px solid var(--line); }
h3 { font: 600 0.9rem/1.3 var(--sans); margin: 0 0 8px; }
p { margin: 8px 0 12px; max-width: 46em; overflow-wrap: anywhere; }
a { color: inherit; text-decoration-color: var(--soft); text-underline-offset: 3px; }
.eyebrow, nav, .facts, table, figcaption, .legend, .tiles, footer, .note, .why { font-family: var(--sans); }
.eyebrow { font-size: 0.78rem; letter-spacing: 0.09em; text-transform: uppercase; color: var(--soft); margin: 0; }
.meta { color: var(--soft); font: 0.92rem/1.5 var(--sans); margin: 0 0 20px; max-width: none; }
nav { font-size: 0.85rem; display: flex; flex-wrap: wrap; gap: 4px 17px; padding: 10px 0; color: var(--soft);
  border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); }
.summary { font-size: 1.19rem; line-height: 1.55; margin: 26px 0 22px; }
.lead { color: var(--soft); }
.tiles { display: flex; flex-wrap: wrap; gap: 1px; padding: 0; margin: 0;
  background: var(--line); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
.tiles div { background: var(--paper); padding: 14px 18px 13px; flex: 1 1 auto; min-width: 150px; max-width: 100%; }
.tiles dt { font-size: 0.76rem; color: var(--soft); }
.tiles dd { margin: 3px 0 0; font-size: 1.16rem; font-weight: 600; letter-spacing: -0.01em;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.tiles small { display: block; font-size: 0.78rem; font-weight: 400; color: var(--soft); letter-spacing: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.86rem; line-height: 1.4; font-variant-numeric: tabular-nums;
  width: 100%; }
caption { text-align: left; color: var(--soft); padding-bottom: 8px; }
th, td { text-align: left; padding: 7px 14px 7px 0; border-bottom: 1px solid var(--line); vertical-align: baseline; }
thead th, thead td { font-weight: 500; color: var(--soft); font-size: 0.79rem; vertical-align: bottom; }
tbody th { font-weight: 500; }
.n { text-align: right; white-space: nowrap; } .keep { white-space: nowrap; }
.first > * { font-weight: 600; }
.dim > *, .dim th { color: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.why { color: var(--soft); font-size: 0.82rem; overflow-wrap: anywhere; }
.pair { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(400px, 100%), 1fr)); gap: 34px 36px;
  margin-top: 20px; }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figure + figure { margin-top: 0; }
figcaption { color: var(--soft); font-size: 0.82rem; line-height: 1.45; margin-top: 6px; max-width: 60em; }
.chart { display: block; width: 100%; height: auto; max-width: 100%; }
.chart text { font: 11px var(--sans); fill: var(--soft); font-variant-numeric: tabular-nums; }
.chart .label { font-size: 11.5px; } .chart .name { font-size: 12.5px; fill: var(--ink); }
.grid { stroke: var(--grid); stroke-width: 1; } .axis { stroke: var(--soft); stroke-width: 0.8; }
.line { fill: none; stroke: var(--c); stroke-width: 1.8; stroke-linejoin: round; }
.line.soft { stroke: var(--soft); stroke-width: 1; } .dash { stroke-dasharray: 4 4; }
.fill { fill: var(--c); stroke: none; } .faint { fill-opacity: 0.5; }
.chart rect { shape-rendering: crispEdges; } .centre { stroke: var(--paper); stroke-width: 1.5; }
.centre + text { fill: var(--ink); font-weight: 700; stroke: var(--paper); stroke-width: 3px; paint-order: stroke; }
.band { fill-opacity: 0.16; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 6px 0 0; padding: 0;
  font-size: 0.8rem; }
.legend i { display: inline-block; width: 14px; height: 3px; border-radius: 2px; margin-right: 6px;
  vertical-align: middle;
  background: var(--c); }
td.interval { vertical-align: middle; padding-top: 0; padding-bottom: 0; } .interval { width: 164px; }
.interval .chart { width: 150px; max-width: none; }
.name { white-space: nowrap; }
.board th small { display: block; font-weight: 400; font-size: 0.76rem; color: var(--soft); max-width: 22em; }
.bars, .values { width: 100%; } .bars td, .bars th, .values td, .values th { border: 0; padding: 2px 8px 2px 0; }
.bars th { width: 34%; } .values th { width: 40%; } .bars th, .values th { font-weight: 400; overflow-wrap: anywhere; }
.bars .n, .values .n { width: 1%; padding-right: 0; color: var(--soft); font-size: 0.79rem; }
.bar i { display: inline-block; height: 0.85em; background: var(--c); vertical-align: middle; min-width: 1px; }
.bar { white-space: nowrap; font-size: 0.86rem; line-height: 1; } .under { white-space: normal; }
.under i { display: block; height: 0.6em; margin: 1px 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(215px, 100%), 1fr)); gap: 26px 28px;
  margin: 18px 0 22px; }
.card h3 { margin: 0; overflow-wrap: anywhere; } .card .why { margin: 0 0 6px; } .card .values { font-size: 0.79rem; }
.mini { display: block; width: 100%; border-bottom: 1px solid var(--line); }
.even { vector-effect: non-scaling-stroke; }
.ends { display: flex; justify-content: space-between; font: 0.75rem var(--sans); color: var(--soft); }
.heat { width: auto; } .heat td, .heat thead th { text-align: right; min-width: 4.7em; padding: 6px 8px; }
.heat thead td { text-align: left; padding-left: 0; }
.heat th[scope=row] { padding-right: 18px; white-space: nowrap; }
.heat tbody td.all { background: none; color: var(--soft); padding-left: 16px; }
.heat tbody td { border: 1px solid var(--paper); --c: var(--c0);
  background: color-mix(in srgb, var(--c) calc(var(--v) * var(--heat)), var(--panel)); }
.heat tbody td.minus { --c: var(--c1); } .heat small { display: block; font-size: 0.76rem; }
.whole { grid-column: 1 / -1; } .side { display: flex; flex-wrap: wrap; gap: 14px 28px; align-items: flex-start; }
.checks { list-style: none; padding: 0; margin: 12px 0 0; font: 0.92rem/1.5 var(--sans); }
.checks li { display: grid; grid-template-columns: 26px 190px 1fr; padding: 9px 0;
  border-bottom: 1px solid var(--line); }
.checks b { font-weight: 600; } .checks span:last-child { overflow-wrap: anywhere; min-width: 0; }
.note { background: var(--warn-panel); border-left: 3px solid var(--warn); padding: 9px 14px; font-size: 0.9rem;
  margin: 12px 0; border-radius: 0 6px 6px 0; max-width: none; }
.code { user-select: all; -webkit-user-select: all; }
.claims td:nth-child(3) { min-width: 15em; }
.piece { display: inline-block; max-width: 100%; }
.facts code { font: 0.84rem/1.5 var(--mono); }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 12px 16px; overflow-x: auto;
  font: 0.84rem/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 5px 24px; font-size: 0.86rem; margin: 14px 0; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
details summary { cursor: pointer; font: 0.9rem var(--sans); color: var(--soft); margin: 12px 0; }
footer { color: var(--soft); font-size: 0.82rem; margin-top: 56px; padding-top: 14px;
  border-top: 1px solid var(--line); }
@media (max-width: 640px) {
  main { padding: 32px 18px 48px; } h1 { font-size: 1.75rem; }
  .checks li { grid-template-columns: 26px 1fr; } .checks span:last-child { grid-column: 2; }
  .chart text, .chart .label { font-size: 14px; } .interval .chart text { font-size: 11px; }
  .facts { grid-template-columns: 1fr; gap: 1px; } .facts dd { margin-bottom: 8px; }
  .board, .stack, .board tbody, .stack tbody { display: block; } .board thead, .stack thead { display: none; }
  .board tr, .stack tr { display: grid; grid-template-columns: auto 1fr; gap: 1px 14px; padding: 9px 0;
    border-bottom: 1px solid var(--line); }
  .board td, .board th, .stack td, .stack th { border: 0; padding: 0; text-align: left; display: block; }
  .board th[scope=row], .stack th[scope=row] { grid-column: 1 / -1; font-size: 0.95rem; }
  .board td:first-child { display: none; }
  .board td, .stack td { grid-column: 1 / -1; display: grid; grid-template-columns: 8.5em 1fr; width: auto; }
  .board td::before, .stack td::before { content: attr(data-title); color: var(--soft); font-weight: 400; }
  .board td.interval::before { content: ""; } .board td.interval { padding: 3px 0; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; }
  body { background: none; font-size: 10.5pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; } nav { display: none; }
  .board { font-size: 0.72rem; } .board td, .board th { padding-right: 8px; }
  .board .interval, .board thead th:nth-child(4) { display: none; }
  h2 { margin-top: 28px; break-after: avoid; } h3, .lead, thead { break-after: avoid; }
  tr, .checks li, .card, pre { break-inside: avoid; } details::details-content { content-visibility: visible; }
  summary { list-style: none; }
  .pair { grid-template-columns: 1fr 1fr; gap: 20px; } .wide { overflow: visible; }
}
"""
)
