// The live page. One stream (`events`) gives a whole status at first, then one message a second. It is
// read with fetch and not with EventSource, which cannot send a token.
"use strict";

const $ = (id) => document.getElementById(id);
const HISTORY = 300, ROWS = 15, KEPT = 400;
const TOKEN = "verifier-token", THEME = "verifier-theme";
const ORDER = ["ACCEPTED", "WRONG_ANSWER", "TIME_LIMIT", "MEMORY_LIMIT", "OUTPUT_LIMIT", "RUNTIME_ERROR",
  "COMPILE_ERROR", "NO_CODE", "SKIPPED", "INVALID_SUITE", "INFRA_ERROR", "REFUSED"];

const view = { history: null, failures: [], off: new Set(), shown: ROWS, paused: false, clock: 0, seen: 0 };

// ---------------------------------------------------------------- small things

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const label = (verdict) => verdict.toLowerCase().replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase());
const badge = (verdict) => make("span", { class: "verdict", "data-v": verdict }, label(verdict));
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const count = (n) => (n < 100000 ? whole.format(n) : short.format(n));
const rate = (n) => (n >= 100 ? whole.format(n) : n >= 10 ? n.toFixed(1) : n.toFixed(n ? 2 : 0));

function bytes(n) {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (n < 1024 || unit === "GiB") return `${n < 10 && unit !== "B" ? n.toFixed(1) : Math.round(n)}\u00a0${unit}`;
    n /= 1024;
  }
}

function span(s) {
  if (s < 60) return `${Math.max(0, Math.round(s))} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

function time(ms) { // [number, unit]
  if (ms === null || ms === undefined) return ["–", ""];
  return ms < 1000 ? [ms < 10 ? ms.toFixed(1) : Math.round(ms).toString(), "ms"] : [(ms / 1000).toFixed(ms < 10000 ? 2 : 1), "s"];
}

// ---------------------------------------------------------------- charts

function curve(id, values, name) {
  const svg = $(id), width = values.length - 1, height = 44, top = Math.max(...values, 1);
  const points = values.map((v, i) => `${i} ${(height - 1.5 - (height - 6) * v / top).toFixed(2)}`);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-label", `${name}, the last ${values.length} seconds: now ${rate(values.at(-1))}, at most ${rate(Math.max(...values))}`);
  const line = "M" + points.join("L");
  svg.replaceChildren(draw("path", { class: "area", d: `${line}L${width} ${height}L0 ${height}Z` }), draw("path", { d: line }));
}

function smooth(values, n) { // a mean over n seconds: single seconds of a busy gateway jump
  let sum = 0;
  return values.map((v, i) => {
    sum += v - (i >= n ? values[i - n] : 0);
    return sum / n;
  });
}

function mix(now, total) {
  const verdicts = ORDER.filter((v) => now[v] || total[v]);
  const all = verdicts.reduce((sum, v) => sum + (now[v] || 0), 0);
  const svg = $("mix");
  svg.setAttribute("viewBox", "0 0 1000 14");
  svg.setAttribute("preserveAspectRatio", "none");
  let x = 0;
  svg.replaceChildren(...verdicts.filter((v) => now[v]).map((v) => {
    const width = 1000 * now[v] / all;
    const bar = draw("rect", { "data-v": v, x: x + (x ? 1 : 0), y: 0, height: 14, width: Math.max(width - (x ? 1 : 0), 1) });
    x += width;
    return bar;
  }));
  const share = (v) => (all ? 100 * (now[v] || 0) / all : 0);
  svg.setAttribute("aria-label", all ? verdicts.map((v) => `${label(v)} ${share(v).toFixed(1)} %`).join(", ") : "nothing yet");
  $("mix-table").tBodies[0].replaceChildren(...verdicts.map((v) => make("tr", {},
    make("td", {}, badge(v)), make("td", {}, all ? `${share(v).toFixed(1)} %` : "–"),
    make("td", {}, count(now[v] || 0)), make("td", {}, count(total[v])))));
}

// As wide as it is shown, so that its text has the page's size.
const chartWidth = () => Math.round($("latency").getBoundingClientRect().width);

function latency(counts, bounds) {
  const svg = $("latency"), width = Math.max(chartWidth(), 240), height = 150, floor = height - 18, step = width / counts.length;
  const top = Math.max(...counts, 1);
  const bars = counts.map((n, i) => draw("rect", {
    class: n ? "" : "none", x: (i * step + 1).toFixed(2), width: (step - 2).toFixed(2), rx: 1.5,
    y: (n ? Math.min(floor - 2, floor - (floor - 4) * n / top) : floor - 1).toFixed(2),
    height: (n ? Math.max(2, (floor - 4) * n / top) : 1).toFixed(2),
  }));
  const marks = [1, 10, 100, 1000, 10000].map((ms) => {
    const i = bounds.findIndex((b) => Math.abs(b - ms) < 1e-9);
    return draw("text", { x: ((i + 1) * step).toFixed(1), y: height - 4 }, ms < 1000 ? `${ms} ms` : `${ms / 1000} s`);
  });
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", `Latency of ${counts.reduce((a, b) => a + b, 0)} responses, 1 ms to 70 s, logarithmic`);
  svg.replaceChildren(...bars, ...marks);
}

// ---------------------------------------------------------------- what a message changes

function take(message) {
  if (message.history) {
    view.history = message.history;
    view.failures = message.failures;
  } else {
    for (const name of ["responses", "cases", "queued", "busy"]) {
      view.history[name].push(message.point[name]);
      view.history[name].shift();
    }
    const known = new Set(view.failures.map((f) => f.number));
    view.failures.unshift(...message.failures.filter((f) => !known.has(f.number)));
    view.failures.length = Math.min(view.failures.length, KEPT);
  }
  view.clock = message.now;
  $("board").hidden = false; // before it is drawn: charts ask how wide they are
  show(message);
}

function show(m) {
  const { load, window: recent, totals } = m;
  say(m.state, m.state);
  $("about").textContent = `${m.backend}, version ${m.version}, up ${span(m.now - m.since)}`;
  for (const w of document.querySelectorAll(".window")) w.textContent = `last ${recent.seconds} s`;
  $("responses").textContent = rate(recent.responses_per_s);
  $("responses-note").textContent = `${count(totals.responses)} since the start`;
  $("cases").textContent = rate(recent.cases_per_s);
  $("cases-note").textContent = `${count(totals.cases)} run, ${span(totals.cpu_s)} of CPU`;
  $("queued").textContent = count(load.queued);
  $("queued-note").textContent = `${count(load.held_requests)} of ${count(load.max_requests)} held, ${bytes(load.held_bytes)}`;
  $("busy").textContent = load.slots_busy;
  $("busy-of").textContent = `of ${load.slots_total} busy`;
  $("busy-note").textContent = [`${load.slots_idle} idle`, load.slots_replacing ? `${load.slots_replacing} being replaced` : "",
    load.slots_replaced ? `${count(load.slots_replaced)} replaced` : "", load.slot_faults ? `${count(load.slot_faults)} faults` : ""].filter(Boolean).join(", ");
  // A gateway that just started has no five minutes yet.
  const from = -Math.min(HISTORY, Math.max(60, Math.ceil(m.now - m.since)));
  curve("responses-curve", smooth(view.history.responses, 5).slice(from), "Responses a second");
  curve("cases-curve", smooth(view.history.cases, 5).slice(from), "Cases a second");
  curve("queued-curve", view.history.queued.slice(from), "Requests in line");
  curve("busy-curve", view.history.busy.slice(from), "Busy slots");
  mix(recent.verdicts, totals.verdicts);
  for (const name of ["p50", "p90", "p99"]) {
    const [number, unit] = time(recent.latency_ms[name]);
    $(name).replaceChildren(number, " ", make("small", {}, unit));
  }
  latency(recent.latency_counts, m.latency_bounds_ms);
  failures();
  $("clients").tBodies[0].replaceChildren(...m.clients.map((c) => make("tr", {},
    make("td", {}, c.client || "no name"), make("td", {}, rate(c.per_s)), make("td", {}, count(c.responses)),
    make("td", {}, c.responses ? `${(100 * c.accepted / c.responses).toFixed(1)} %` : "–"),
    make("td", {}, count(c.faults)), make("td", {}, c.cpu_s < 60 ? `${c.cpu_s.toFixed(1)} s` : span(c.cpu_s)),
    make("td", {}, c.idle_s < 2 ? "now" : `${span(c.idle_s)} ago`))));
}

function failures() {
  filters();
  const wanted = view.failures.filter((f) => !view.off.has(f.verdict));
  const body = $("failures").tBodies[0];
  const focused = document.activeElement?.dataset?.number;
  body.replaceChildren(...wanted.slice(0, view.shown).map((f) => {
    const open = make("button", { type: "button", "data-number": f.number, "aria-haspopup": "dialog" }, badge(f.verdict));
    const row = make("tr", { "data-number": f.number, class: f.number > view.seen && view.seen ? "new" : "" },
      make("td", {}, open),
      make("td", { class: "passed" }, f.total ? `${f.passed} / ${f.total}` : "–"),
      make("td", { class: "what" }, f.summary || "no message"),
      make("td", { class: "id" }, f.request_id || "no id"),
      make("td", { class: "who" }, f.client || "no name"),
      make("td", { class: "when" }, `${span(view.clock - f.at)} ago`));
    return row;
  }));
  view.seen = Math.max(view.seen, ...view.failures.map((f) => f.number), 0);
  if (focused) body.querySelector(`button[data-number="${focused}"]`)?.focus({ preventScroll: true });
  $("no-failures").hidden = wanted.length > 0;
  $("no-failures").textContent = view.failures.length ? "None of the verdicts that are chosen." : "None so far.";
  $("more").hidden = wanted.length <= view.shown;
}

function filters() {
  const there = new Set(view.failures.map((f) => f.verdict));
  const verdicts = ORDER.filter((v) => there.has(v) || view.off.has(v));
  const old = [...$("filters").children].map((b) => b.dataset.filter);
  if (old.join() !== verdicts.join()) {
    $("filters").replaceChildren(...verdicts.map((v) => make("button", { type: "button", "data-filter": v }, badge(v))));
  }
  for (const b of $("filters").children) b.setAttribute("aria-pressed", String(!view.off.has(b.dataset.filter)));
}

async function detail(number) {
  const answer = await ask(`failures/${number}`);
  if (answer.status === 401) return prompt("");
  const f = answer.ok ? await answer.json() : null;
  $("detail-title").replaceChildren(f ? badge(f.verdict) : "This one is not kept any more");
  const facts = !f ? [] : [
    ["Request", f.request_id || "–"], ["Client", f.client || "–"], ["Language", f.language || "–"],
    ["Passed", f.total ? `${f.passed} of ${f.total}` : "–"], ["First bad case", f.case ?? "–"],
    ["CPU", time(f.cpu_ms).join(" ")], ["Wall clock", time(f.wall_ms).join(" ")], ["Memory", f.memory_bytes ? bytes(f.memory_bytes) : "–"],
    ["Exit code", f.exit_code ?? (f.signal ? `signal ${f.signal}` : "–")], ["Latency", time(f.latency_ms).join(" ")],
    ["At", new Date(f.at * 1000).toLocaleTimeString("en-GB")],
  ];
  $("facts").replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
  const texts = !f ? [] : [["Message", f.message], ["Standard output", f.stdout], ["Standard error", f.stderr]].filter(([, text]) => text);
  $("texts").replaceChildren(...texts.flatMap(([name, text]) => [make("h3", {}, name), make("pre", { tabindex: "0", "aria-label": name }, text)]));
  if (f && !f.excerpts) $("texts").append(make("p", { class: "empty" }, "This gateway keeps no excerpts (page_excerpts)."));
  $("detail").showModal();
}

// ---------------------------------------------------------------- the stream

// Without credentials of the browser's own: a 401 must not open its prompt.
function ask(path, signal) {
  const token = sessionStorage.getItem(TOKEN);
  return fetch(path, { signal, cache: "no-store", credentials: "omit", headers: token ? { Authorization: `Bearer ${token}` } : {} });
}

function say(state, text) {
  if (view.paused) [state, text] = ["paused", "paused"];
  if ($("state").dataset.state === state) return;
  $("state").dataset.state = state;
  $("state").lastElementChild.textContent = text;
}

function prompt(problem) {
  $("ask").hidden = false;
  $("board").hidden = true;
  $("ask-problem").textContent = problem;
  say("locked", "locked");
  $("token").focus();
}

let reading = null;

async function listen() {
  reading?.abort();
  const mine = (reading = new AbortController());
  let wait = 500;
  while (!mine.signal.aborted) {
    try {
      const answer = await ask("events", mine.signal);
      if (answer.status === 401 || answer.status === 403) {
        const had = sessionStorage.getItem(TOKEN);
        sessionStorage.removeItem(TOKEN);
        return prompt(had ? "That token is not accepted." : "");
      }
      if (!answer.ok) throw new Error(answer.status === 503 ? "too many pages are open" : `HTTP ${answer.status}`);
      $("ask").hidden = true;
      await read(answer.body.getReader(), () => { wait = 500; });
      throw new Error("the gateway has gone");
    } catch (error) {
      if (mine.signal.aborted) return;
      say("lost", `${error instanceof TypeError ? "the gateway does not answer" : error.message}, trying again`);
    }
    await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
    wait = Math.min(wait * 2, 10000);
  }
}

async function read(reader, alive) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const data = text.slice(0, end).split("\n").find((l) => l.startsWith("data: "));
      if (!data) continue;
      alive();
      if (!view.paused) take(JSON.parse(data.slice(6)));
    }
  }
}

// ---------------------------------------------------------------- what a person does

$("pause").addEventListener("click", () => {
  view.paused = !view.paused;
  $("pause").setAttribute("aria-pressed", String(view.paused));
  $("pause").textContent = view.paused ? "Resume" : "Pause";
  if (view.paused) say("paused", "paused");
  else listen(); // the first message is a whole status: what was missed is in it
});

$("filters").addEventListener("click", (event) => {
  const verdict = event.target.closest("button")?.dataset.filter;
  if (!verdict) return;
  if (!view.off.delete(verdict)) view.off.add(verdict);
  failures();
});

$("more").addEventListener("click", () => {
  view.shown += 30;
  failures();
});

$("failures").addEventListener("click", (event) => {
  const row = event.target.closest("tbody tr");
  if (row) detail(row.dataset.number);
});
$("close").addEventListener("click", () => $("detail").close());
$("detail").addEventListener("click", (event) => {
  if (event.target === $("detail")) $("detail").close();
});

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, $("token").value.trim());
  $("token").value = "";
  listen();
});

const dark = matchMedia("(prefers-color-scheme: dark)");
function theme() {
  const chosen = localStorage.getItem(THEME) || "auto";
  document.documentElement.dataset.theme = chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
  $("theme").textContent = label(chosen);
  $("theme").setAttribute("aria-label", chosen === "auto" ? "Theme: as the system" : `Theme: ${chosen}`);
}
$("theme").addEventListener("click", () => {
  const next = { auto: "light", light: "dark", dark: "auto" }[localStorage.getItem(THEME) || "auto"];
  localStorage.setItem(THEME, next);
  theme();
});
dark.addEventListener("change", theme);

theme();
listen();
