// What all pages share: elements, theme, dialog, bars, a list of which only what is seen is drawn.
// Everything from the data is put in as text: no markup is ever made of it.
"use strict";

const $ = (id) => document.getElementById(id);
const pageData = () => JSON.parse($("data").textContent);
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const label = (verdict) => verdict.toLowerCase().replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase());

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const badge = (verdict, name = label(verdict)) => make("span", { class: "verdict", "data-v": verdict }, name);

function figure(value, caption, bad = false) {
  return make("div", bad ? { class: "bad" } : {}, make("b", {}, value), make("span", {}, caption));
}

const part = (title, ...children) => [make("h3", {}, title), ...children];

function facts(entries) {
  const given = entries.filter(([, value]) => value !== "" && value !== 0);
  return make("dl", { class: "facts" }, ...given.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
}

// ---------------------------------------------------------------- theme

const THEMES = ["auto", "light", "dark"];
const darkSystem = matchMedia("(prefers-color-scheme: dark)");
let theme = "auto";

function setTheme(wanted) {
  theme = wanted;
  const dark = theme === "dark" || (theme === "auto" && darkSystem.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").textContent = `Theme: ${theme}`;
}

$("theme").addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % 3]));
darkSystem.addEventListener("change", () => setTheme(theme));
setTheme("auto");

// ---------------------------------------------------------------- print

// Paper is white. And a list prints as rows, not as the piece that is in sight.
let before = "auto";
addEventListener("beforeprint", () => { before = theme; setTheme("light"); lists.forEach((list) => list.print()); });
addEventListener("afterprint", () => { setTheme(before); lists.forEach((list) => list.draw(true)); });

// ---------------------------------------------------------------- dialog

function showDetail(title, ...children) {
  $("detail-title").textContent = title;
  $("detail-body").replaceChildren(...children);
  $("detail").showModal();
  $("detail").scrollTop = 0;
}

$("close").addEventListener("click", () => $("detail").close());
$("detail").addEventListener("click", (event) => { if (event.target === $("detail")) $("detail").close(); });

// ---------------------------------------------------------------- charts

// entries: [name, length, text, verdict or nothing]; full: the length of a whole bar.
function bars(where, entries, full = 0) {
  const top = full || Math.max(...entries.map((entry) => entry[1]), 1e-9);
  const grid = make("div", { class: "bars" });
  for (const [name, length, text, verdict] of entries) {
    const bar = make("i", verdict ? { "data-v": verdict } : {});
    bar.style.width = `${100 * length / top}%`;
    if (!length) bar.style.visibility = "hidden";
    grid.append(make("span", { title: name }, name), make("div", {}, bar), make("span", { class: "n" }, text));
  }
  where.replaceChildren(entries.length ? grid : make("p", { class: "soft" }, "Nothing to show."));
}

// One bar of parts: [name, count]; names are verdicts.
function stack(parts, total) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 1000 16", height: 16, preserveAspectRatio: "none", role: "img" })) svg.setAttribute(name, value);
  svg.setAttribute("aria-label", parts.map(([name, count]) => `${label(name)} ${count}`).join(", "));
  let at = 0;
  for (const [name, count] of parts) {
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const width = 1000 * count / Math.max(total, 1);
    for (const [key, value] of Object.entries({ x: at, y: 0, width, height: 16, "data-v": name })) rect.setAttribute(key, value);
    svg.append(rect);
    at += width;
  }
  return svg;
}

// ---------------------------------------------------------------- lists

const lists = [];
const PRINTED = 200;

// A list of any length: `fill(number)` makes the element of an entry; entries are all as high.
class LongList {
  constructor(element, fill) {
    this.element = element;
    this.fill = fill;
    this.entries = [];
    this.from = this.to = -1;
    this.spacer = make("div", { class: "spacer" });
    element.append(this.spacer);
    element.addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => this.draw(true));
    lists.push(this);
  }

  show(entries) {
    this.entries = entries;
    this.element.scrollTop = 0;
    this.draw(true);
  }

  height() {
    return matchMedia("(max-width: 720px)").matches ? 44 : 34;
  }

  draw(again = false) {
    const height = this.height(), view = this.element;
    const from = Math.max(0, Math.floor(view.scrollTop / height) - 8);
    const to = Math.min(this.entries.length, Math.ceil((view.scrollTop + view.clientHeight) / height) + 8);
    if (!again && from === this.from && to === this.to) return;
    [this.from, this.to] = [from, to];
    const focused = view.contains(document.activeElement) ? document.activeElement.dataset.entry : undefined;
    this.spacer.style.height = `${this.entries.length * height}px`;
    const drawn = [];
    for (let i = from; i < to; i++) {
      const row = this.fill(this.entries[i]);
      row.style.top = `${i * height}px`;
      row.dataset.entry = this.entries[i];
      drawn.push(row);
    }
    view.replaceChildren(this.spacer, ...drawn);
    if (focused !== undefined) drawn.find((row) => row.dataset.entry === focused)?.focus({ preventScroll: true });
  }

  print() {
    const rest = this.entries.length - PRINTED;
    const more = rest > 0 ? [make("p", { class: "soft" }, `${whole.format(rest)} more rows are not printed: filter them first.`)] : [];
    this.element.replaceChildren(...this.entries.slice(0, PRINTED).map((entry) => this.fill(entry)), ...more);
  }
}

// One entry of a list: a button of cells; the middle ones are numbers, unless they are elements.
function entryOf(cells, open, numbers = 0) {
  const made = make("button", { type: "button", class: "row" });
  for (const [at, cell] of cells.entries()) {
    made.append(cell instanceof Node ? cell : make("span", at && at <= numbers ? { class: "n" } : {}, cell));
  }
  made.addEventListener("click", open);
  return made;
}

// ---------------------------------------------------------------- a list, and what chooses from it

// size, what: how many entries there are, and their name. fill(number): the element of one.
// toggles: [name, count] of the buttons; toggleOf(number): which of them an entry belongs to.
// selects: {id: [text for all, valueOf(number), values]}. orders: {value: comparison}.
// words(number): what is searched. also(number): what else an entry has to be.
// Gives a function that shows what is chosen by now.
function explore({ size, what, fill, toggles, toggleOf, selects = {}, orders, words, also = () => true }) {
  const view = { off: new Set(), query: "", order: "", ...Object.fromEntries(Object.keys(selects).map((id) => [id, ""])) };
  const list = new LongList($("rows"), fill);
  let haystack = null;

  function matching() {
    const wanted = view.query.toLowerCase().split(/\s+/).filter(Boolean);
    if (wanted.length && haystack === null) haystack = Array.from({ length: size }, (_, at) => words(at).toLowerCase());
    const chosen = Object.entries(selects).filter(([id]) => view[id]);
    const found = [];
    for (let at = 0; at < size; at++) {
      if (view.off.size && view.off.has(toggleOf(at))) continue;
      if (!also(at) || !chosen.every(([id, [, valueOf]]) => valueOf(at) === view[id])) continue;
      if (wanted.length && !wanted.every((word) => haystack[at].includes(word))) continue;
      found.push(at);
    }
    return view.order ? found.sort(orders[view.order]) : found;
  }

  function refresh() {
    const found = matching();
    $("count").textContent = `${whole.format(found.length)} of ${whole.format(size)} ${what}`;
    list.show(found);
  }

  for (const [name, count] of toggles) {
    const button = make("button", { type: "button", "aria-pressed": "true", "data-filter": name }, badge(name), ` ${whole.format(count)}`);
    button.addEventListener("click", () => {
      if (!view.off.delete(name)) view.off.add(name);
      button.setAttribute("aria-pressed", String(!view.off.has(name)));
      refresh();
    });
    $("filters").append(button);
  }
  for (const [id, [all, , values]] of Object.entries(selects)) {
    const names = values.filter(Boolean).sort();
    $(id).append(make("option", { value: "" }, all), ...names.map((name) => make("option", { value: name }, name)));
    $(id).hidden = names.length < 2;
  }
  for (const id of [...Object.keys(selects), "order"]) {
    $(id).addEventListener("change", () => { view[id] = $(id).value; refresh(); });
  }
  let waiting = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { view.query = $("search").value; refresh(); }, 80);
  });
  refresh();
  return refresh;
}

// ---------------------------------------------------------------- differences of texts

// Lines of both: [" ", line], ["-", line of the first], ["+", line of the second].
function differences(first, second) {
  const a = first.split("\n"), b = second.split("\n");
  const width = b.length + 1, best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const made = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { made.push([" ", a[i++]]); j++; }
    else if (i < a.length && (j === b.length || best[(i + 1) * width + j] >= best[i * width + j + 1])) made.push(["-", a[i++]]);
    else made.push(["+", b[j++]]);
  }
  return made;
}

function showDifferences(first, second) {
  const kinds = { " ": "same", "-": "del", "+": "add" };
  const lines = differences(first, second).map(([sign, line]) => make("span", { class: kinds[sign] }, `${sign} ${line}`));
  return make("pre", { class: "diff" }, ...lines);
}
