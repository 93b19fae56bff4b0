// What `verifier doctor data` found. A kind is [name, severity, what to do, how many].
const found = pageData();
const { kinds, columns, texts, excerpts } = found;
const size = columns.id.length;
const kindOf = (at) => kinds[columns.kind[at]];
let only = null;

function drawFigures() {
  const { rows, errors, faulty } = found;
  const share = (count) => rows ? ` (${percent(count / rows)})` : "";
  $("figures").append(
    figure(whole.format(rows), "rows looked at"),
    figure(whole.format(errors), `with errors${share(errors)}`, errors > 0),
    figure(whole.format(faulty - errors), `with warnings alone${share(faulty - errors)}`),
    figure(whole.format(rows - faulty), `without findings${share(rows - faulty)}`));
}

function drawKinds(refresh) {
  $("kinds").append(...kinds.map((kind) => {
    const [name, severity, advice, count] = kind;
    const made = entryOf([badge(severity, name), whole.format(count), make("span", { class: "soft" }, advice)], () => {
      only = only === kind ? null : kind;
      for (const button of $("kinds").children) button.setAttribute("aria-pressed", String(only !== null && button === made));
      refresh();
    }, 1);
    made.setAttribute("aria-pressed", "false");
    made.dataset.kind = name;
    return made;
  }));
  if (!kinds.length) $("kinds").append(make("p", { class: "soft" }, "Nothing was found."));
}

function findingRow(at) {
  const [name, severity] = kindOf(at);
  const reason = texts[columns.reason[at]];
  const made = entryOf([columns.id[at], badge(severity, name), make("span", { class: "soft" }, reason)], () => open_(at));
  made.setAttribute("title", reason);
  return made;
}

function open_(at) {
  const [name, severity, advice] = kindOf(at);
  const row = columns.row[at];
  const made = [
    make("p", {}, badge(severity, `${name}: ${severity.toLowerCase()}`)),
    facts([["row", `${whole.format(row + 1)} of ${whole.format(found.rows)}`]]),
    ...part("Why", make("pre", { class: "reason" }, texts[columns.reason[at]])),
    ...part("What to do", make("p", { class: "advice" }, advice))];
  const others = found.related[at];
  if (others) made.push(...part("Other rows", make("pre", {}, others.join("\n"))));
  for (const [title, words] of excerpts[row] ?? []) made.push(...part(title, make("pre", { class: "excerpt" }, words)));
  if (!excerpts[row]) made.push(make("p", { class: "soft" }, "The page does not hold what this row says: it has the first rows of each kind."));
  showDetail(columns.id[at], ...made);
}

drawFigures();
drawKinds(explore({
  size,
  what: "findings",
  fill: findingRow,
  toggles: ["ERROR", "WARNING"].map((severity) => [severity, kinds.reduce((sum, kind) => sum + (kind[1] === severity ? kind[3] : 0), 0)]),
  toggleOf: (at) => kindOf(at)[1],
  orders: { row: (a, b) => columns.row[a] - columns.row[b] },
  words: (at) => `${columns.id[at]}\n${kindOf(at)[0]}\n${texts[columns.reason[at]]}`,
  also: (at) => only === null || kindOf(at) === only,
}));
