// The report of a results file.
const ORDER = ["ACCEPTED", "WRONG_ANSWER", "TIME_LIMIT", "MEMORY_LIMIT", "OUTPUT_LIMIT", "RUNTIME_ERROR",
  "COMPILE_ERROR", "NO_CODE", "SKIPPED", "INVALID_SUITE", "INFRA_ERROR"];
const report = pageData();
const { summary, columns, texts } = report;
const size = columns.id.length;
const text = (column, row) => texts[column][columns[column][row]];
const nameOf = (row) => columns.id[row] || `line ${columns.line[row]}`;

// ---------------------------------------------------------------- figures and charts

function drawFigures() {
  const { rows, scored, passed, low, high, mean, infra, broken, problems, solved } = summary;
  const range = `of ${whole.format(scored)} scored rows pass; 95 %: ${percent(low)} to ${percent(high)}`;
  $("figures").append(
    figure(whole.format(rows), "rows"),
    figure(scored ? percent(passed / scored) : "–", scored ? range : "nothing was scored"),
    figure(mean === null ? "–" : mean.toFixed(3), "mean score"),
    figure(whole.format(solved), `of ${whole.format(problems)} problems have a sample that passes`),
    figure(whole.format(infra), "infrastructure faults: no score, in no rate", infra > 0),
    figure(whole.format(broken), "rows of broken data: no score, in no rate", broken > 0));
}

function tally(column) {
  const counts = new Array(texts[column].length).fill(0), passed = counts.slice(), scored = counts.slice();
  for (let row = 0; row < size; row++) {
    const at = columns[column][row], score = columns.score[row];
    counts[at]++;
    if (score !== null) { scored[at]++; passed[at] += score >= 1; }
  }
  return texts[column].map((name, at) => ({ name, count: counts[at], scored: scored[at], passed: passed[at] }));
}

function verdicts() {
  const rank = (name) => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);
  return tally("verdict").sort((a, b) => rank(a.name) - rank(b.name));
}

function drawCharts() {
  const found = verdicts();
  const list = make("div", { id: "verdict-bars" });
  bars(list, found.map(({ name, count }) => [label(name), count, `${whole.format(count)}  ${percent(count / size)}`, name]));
  list.style.marginTop = "12px";
  $("verdicts").append(stack(found.map(({ name, count }) => [name, count]), size), list);
  const tenths = new Array(12).fill(0);
  for (const score of columns.score) {
    if (score !== null) tenths[score <= 0 ? 0 : score >= 1 ? 11 : 1 + Math.min(9, Math.floor(score * 10))]++;
  }
  const names = ["0", ...Array.from({ length: 10 }, (_, i) => `${i / 10} to ${(i + 1) / 10}`), "1"];
  bars($("scores"), names.map((name, i) => [name, tenths[i], whole.format(tenths[i])]));
  const plain = (entries) => entries.map(([name, count]) => [name, count, whole.format(count)]);
  bars($("solve"), plain(report.solve));
  bars($("cases"), plain(report.cases));
  const groups = [];
  for (const column of ["source", "difficulty", "language"]) {
    const parts = tally(column).filter((part) => part.name && part.scored).sort((a, b) => b.scored - a.scored);
    for (const part of parts.slice(0, 8)) {
      const share = part.passed / part.scored;
      groups.push([part.name, share, `${percent(share)} of ${whole.format(part.scored)}`]);
    }
  }
  bars($("groups"), groups, 1);
  for (const [where, column, unit] of [["slow", "cpu", " s"], ["hungry", "memory", " MiB"]]) {
    const top = Array.from({ length: size }, (_, row) => row).filter((row) => columns[column][row] > 0)
      .sort((a, b) => columns[column][b] - columns[column][a]).slice(0, 8);
    $(where).className = "short";
    $(where).append(...top.map((row) => entryOf([nameOf(row), badge(text("verdict", row)), columns[column][row] + unit], () => open_(row), 2)));
  }
}

// ---------------------------------------------------------------- the table

function tableRow(row) {
  const score = columns.score[row];
  const cells = [
    nameOf(row), badge(text("verdict", row)), score === null ? "–" : score.toFixed(2),
    `${columns.passed[row]} / ${columns.total[row]}`, `${columns.cpu[row].toFixed(2)} s`, `${columns.memory[row].toFixed(0)} MiB`,
    make("span", { class: "soft" }, text("said", row))];
  const made = entryOf(cells, () => open_(row), 5);
  made.setAttribute("title", nameOf(row));
  return made;
}

const choice = (column, all) => [all, (row) => text(column, row), texts[column]];

function drawTable() {
  explore({
    size,
    what: "rows",
    fill: tableRow,
    toggles: verdicts().map(({ name, count }) => [name, count]),
    toggleOf: (row) => text("verdict", row),
    selects: { source: choice("source", "all data sources"), language: choice("language", "all languages") },
    orders: {
      score: (a, b) => (columns.score[a] ?? -1) - (columns.score[b] ?? -1),
      cpu: (a, b) => columns.cpu[b] - columns.cpu[a],
      memory: (a, b) => columns.memory[b] - columns.memory[a],
    },
    words: (row) => `${columns.id[row]}\n${text("problem", row)}\n${text("said", row)}`,
  });
}

// ---------------------------------------------------------------- one row

function caseOf(one) {
  const head = make("h3", {}, badge(one.status), `: case ${one.index}, ${one.cpu.toFixed(3)} s of CPU, ${one.memory} MiB`);
  const made = [head];
  if (one.message) made.push(make("p", {}, one.message));
  if (one.input !== undefined) made.push(...part(one.inputCut ? "Input (the beginning)" : "Input", make("pre", { class: "input" }, one.input)));
  // An excerpt holds so many bytes, and text has no more characters than that.
  const cut = one.actualBytes > new TextEncoder().encode(one.actual).length ? ` (the beginning of ${whole.format(one.actualBytes)} bytes)` : "";
  if (one.expected !== undefined) {
    const short = one.expectedCut ? " (the beginning)" : "";
    made.push(...part(`Expected${short} (-) and actual${cut} (+)`, showDifferences(one.expected, one.actual)));
  } else if (one.actual || !one.stderr) {
    made.push(...part(`Standard output${cut}`, make("pre", { class: "actual" }, one.actual)));
  }
  if (one.stderr) made.push(...part("Standard error", make("pre", {}, one.stderr)));
  return made;
}

function open_(row) {
  const score = columns.score[row];
  const made = [make("p", {}, badge(text("verdict", row)), score === null ? ", no score" : `, score ${score}`,
    `, ${columns.passed[row]} of ${columns.total[row]} cases passed`)];
  made.push(facts([["problem", text("problem", row)], ["data source", text("source", row)], ["language", text("language", row)],
    ["line", columns.line[row]], ["CPU", `${columns.cpu[row]} s`], ["memory", `${columns.memory[row]} MiB`]]));
  if (text("marks", row)) made.push(make("p", { class: "soft" }, `Cases: ${text("marks", row)}`));
  const failure = report.failures[row];
  if (failure) {
    if (failure.error) made.push(...part("Why", make("pre", {}, failure.error)));
    if (failure.compiler) made.push(...part("Compiler", make("pre", {}, failure.compiler)));
    for (const one of failure.cases) made.push(...caseOf(one));
    if (failure.more) made.push(make("p", { class: "soft" }, `${failure.more} more cases failed.`));
    if (failure.code) {
      const code = make("pre", { class: "code" }, ...failure.code.map(([kind, words]) => kind ? make("span", { class: `t-${kind}` }, words) : words));
      made.push(...part(`Program (${failure.language}${failure.cut ? ", the beginning" : ""})`, code));
    }
  } else if (text("verdict", row) !== "ACCEPTED") {
    if (text("said", row)) made.push(make("pre", {}, text("said", row)));
    made.push(make("p", { class: "soft" }, "The page does not hold this row's outputs: verifier show RESULTS ID prints them; verifier report --failures N keeps more."));
  }
  showDetail(nameOf(row), ...made);
}

drawFigures();
drawCharts();
drawTable();
