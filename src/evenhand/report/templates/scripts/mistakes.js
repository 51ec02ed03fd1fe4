// The classes whose mistakes differ most: predictions by group, side by side.
const FIRST_CLASSES = 6;

function byClass(frame) {
  const classes = new Map();
  for (let row = 0; row < rowCount(frame); row += 1) {
    const truth = frame.columns.truth[row];
    if (!classes.has(truth)) classes.set(truth, []);
    classes.get(truth).push(row);
  }
  return [...classes.values()];
}

function distinct(values) {
  return [...new Set(values)];
}

function shareCell(frame, row, truth) {
  if (row === undefined) return element("td", { class: "share absent" }, DASH);
  const share = valueAt(frame, "share", row);
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  const fill = element("span");
  fill.style.width = `${Math.max(0, Math.min(1, share ?? 0)) * 100}%`;
  fill.className = frame.columns.prediction[row] === truth ? "right-answer" : "wrong-answer";
  bar.append(fill);
  const rows = element("span", { class: "rows" }, `n ${count(valueAt(frame, "n", row))}`);
  return element("td", { class: "share" }, element("span", { class: "amount" }, number(share), rows), bar);
}

function groupHead(frame, row) {
  const accuracy = valueAt(frame, "group_accuracy", row);
  const note = element("small", {}, `accuracy ${number(accuracy)}`);
  return element("th", { scope: "col" }, labelElement(valueAt(frame, "group", row)), note);
}

function predictionHead(label, correct) {
  const mark = correct ? [element("small", {}, "✓ the truth")] : [];
  return element("th", { scope: "row" }, labelElement(page.labels[label]), ...mark);
}

function mistakeTable(frame, rows, about) {
  const truth = frame.columns.truth[rows[0]];
  const named = (group) => (page.labels[group] ?? "").split(CROSSED);
  const groups = distinct(rows.map((row) => frame.columns.group[row]))
    .filter((group) => !filters.group || named(group).includes(filters.group));
  const found = distinct(rows.map((row) => frame.columns.prediction[row]));
  const predictions = [...found.filter((label) => label === truth), ...found.filter((label) => label !== truth)];
  const at = new Map(rows.map((row) => [`${frame.columns.group[row]} ${frame.columns.prediction[row]}`, row]));
  const heads = groups.map((group) => groupHead(frame, rows.find((row) => frame.columns.group[row] === group)));
  const lines = predictions.map((label) => {
    const cells = groups.map((group) => shareCell(frame, at.get(`${group} ${label}`), truth));
    return element("tr", {}, predictionHead(label, label === truth), ...cells);
  });
  const corner = element("th", { scope: "col" }, "predicted as");
  const table = element("table", {}, element("thead", {}, element("tr", {}, corner, ...heads)), element("tbody", {}, ...lines));
  const name = `Predictions by group for class ${shorten(page.labels[truth])}, ${about}`;
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, table);
}

function mistakeCard(frame, rows, about) {
  const first = rows[0];
  const facts = `effect size ${number(valueAt(frame, "effect_size", first))} · accuracy ${number(valueAt(frame, "class_accuracy", first))}`;
  const title = element("h4", {}, labelElement(valueAt(frame, "truth", first)));
  return element("article", { class: "mistake" }, title, element("p", { class: "status" }, facts), mistakeTable(frame, rows, about));
}

function drawMistakes(host) {
  const frame = page.frames[host.dataset.mistakes];
  const list = element("div", { class: "cards" });
  const more = element("button", { type: "button", class: "more" });
  let all = false;
  const every = byClass(frame);
  const about = host.closest("section.chapter").querySelector("h2").textContent.trim();
  const csv = downloadButton("CSV", `mistakes, ${about}`, () => saveCsv(host.dataset.mistakes, mistakeLines(frame)));
  const refresh = () => {
    const named = (rows) => (valueAt(frame, "truth", rows[0]) ?? "").toLocaleLowerCase();
    const classes = every.filter((rows) => !filters.part || named(rows).includes(filters.part));
    const shown = all ? classes : classes.slice(0, FIRST_CLASSES);
    list.replaceChildren(...shown.map((rows) => mistakeCard(frame, rows, about)));
    more.hidden = classes.length <= FIRST_CLASSES;
    more.textContent = all ? `Show the first ${FIRST_CLASSES}` : `Show all ${count(classes.length)}`;
  };
  more.addEventListener("click", () => {
    all = !all;
    refresh();
  });
  refresh();
  listeners.add(refresh);
  host.replaceChildren(list, element("div", { class: "after" }, more, csv));
}

function mistakeLines(frame) {
  const names = Object.keys(frame.columns);
  const written = (name, row) => {
    const value = exactAt(frame, name, row);
    return name === "n" && value < 0 ? count(value) : value;
  };
  return [names, ...allRows(frame).map((row) => names.map((name) => written(name, row)))];
}
