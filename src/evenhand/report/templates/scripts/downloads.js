// What the page shows, as files: tables as CSV, figures as SVG and PNG. Nothing leaves the page.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const PLAIN_NUMBER = /^[-+]?[\d.,]+%?$/;
const SCALE = 2;
const LONGEST_NAME = 80;

// Quoted where needed; a text that a spreadsheet would take for a formula has an apostrophe in front.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : String(value);
  const safe = typeof value === "string" && FORMULA.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csvOf(lines) {
  return lines.map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");
}

// Rows of a frame in full: every number as it is in the run, both ends of a range apart, labels as they were
// given, though the page shows what is invisible in them.
function frameLines(frame, columns, rows) {
  const written = columns.filter((column) => column.kind !== "picture");
  const cells = written.flatMap((column) => (column.kind === "range" ? [column.key, column.to] : [column.key]));
  const titles = written.flatMap((column) => (column.kind === "range" ? [`${column.title} low`, `${column.title} high`] : [column.title]));
  const counts = new Set(columns.filter((column) => column.kind === "count").map((column) => column.key));
  const value = (key, row) => {
    const found = exactAt(frame, key, row);
    return counts.has(key) && found < 0 ? count(found) : found;
  };
  return [titles, ...rows.map((row) => cells.map((key) => value(key, row)))];
}

function allRows(frame) {
  return Array.from({ length: rowCount(frame) }, (_, row) => row);
}

// Letters of every script; a long title ends after a word, and with a number that no other title has.
function fileName(title, suffix) {
  const words = title.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  if (words.length <= LONGEST_NAME) return `${words || "table"}.${suffix}`;
  const kept = words.slice(0, LONGEST_NAME);
  const whole = kept.includes("-") ? kept.slice(0, kept.lastIndexOf("-")) : [...kept].slice(0, -1).join("");
  const number = [...words].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 46656, 0);
  return `${whole}-${number.toString(36)}.${suffix}`;
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function saveCsv(title, lines) {
  save(new Blob(["\ufeff", csvOf(lines)], { type: "text/csv;charset=utf-8" }), fileName(title, "csv"));
}

function downloadButton(words, about, act) {
  const button = element("button", { type: "button", class: "more", "aria-label": `${words}: ${shorten(about, 120)}` }, words);
  button.addEventListener("click", act);
  return button;
}

// A cell of a table whose numbers the page holds as text only: a long label counts with its full text.
function cellText(cell) {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll("details.long").forEach((long) => {
    const full = long.querySelector(".full");
    long.replaceWith(full ? full.textContent : long.textContent);
  });
  copy.querySelectorAll("svg, .strip, .arrow, small:has(> a)").forEach((drawing) => drawing.remove());
  copy.querySelectorAll("small, code").forEach((beside) => beside.prepend(" "));
  const text = copy.textContent.replace(/\s+/g, " ").trim();
  const plain = text.replace("−", "-");
  if (text === DASH) return "";
  return PLAIN_NUMBER.test(plain) ? plain.replaceAll(THOUSANDS, "").replace(DECIMAL, ".") : text;
}

// One file of all rows, wherever the page shows some of them: they may stand in several tables.
function offerSheets() {
  document.querySelectorAll("main .file").forEach((host) => {
    const sheet = page.tables[host.dataset.rows];
    const frame = page.frames[sheet.frame];
    host.append(downloadButton("CSV", host.dataset.title, () => {
      saveCsv(host.dataset.name, frameLines(frame, sheet.columns, allRows(frame)));
    }));
  });
}

function offerStaticTables() {
  document.querySelectorAll("main .scroll > table, main .set table").forEach((table) => {
    if (table.closest("[data-table]")) return;
    const title = table.caption?.textContent ?? table.closest("[data-title]")?.dataset.title ?? _("table");
    const sheet = page.tables[table.dataset.sheet];
    const frame = sheet && page.frames[sheet.frame];
    const written = () => [...table.rows].map((row) => [...row.cells].map(cellText));
    const button = downloadButton("CSV", title, () => {
      saveCsv(title, sheet ? frameLines(frame, sheet.columns, allRows(frame)) : written());
    });
    const after = element("div", { class: "after" }, button);
    if (table.closest(".beside")) table.after(after); // two columns: a third child would be a cell of its own
    else table.parentElement.after(after);
  });
}

// Files are for light paper, whatever the reader's scheme. Nothing is painted between the two changes.
function inLight(act) {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const dark = rules.filter((rule) => rule.media?.mediaText.includes("prefers-color-scheme: dark"));
  const asked = dark.map((rule) => rule.media.mediaText);
  dark.forEach((rule) => { rule.media.mediaText = "not all"; });
  try {
    return act();
  } finally {
    dark.forEach((rule, place) => { rule.media.mediaText = asked[place]; });
  }
}

// A copy of a drawing that stands alone: the stylesheet's colours are written into it.
function standalone(svg, ground) {
  const paper = getComputedStyle(ground).backgroundColor;
  const copy = svg.cloneNode(true);
  const marks = [...svg.querySelectorAll("*")];
  copy.querySelectorAll("*").forEach((mark, place) => {
    ["fill", "stroke"].forEach((name) => {
      if (mark.getAttribute(name)?.startsWith("var(")) mark.setAttribute(name, getComputedStyle(marks[place])[name]);
    });
  });
  const { width, height } = svg.viewBox.baseVal;
  const sheet = document.createElementNS(svg.namespaceURI, "rect");
  Object.entries({ width: "100%", height: "100%", fill: paper }).forEach(([name, value]) => sheet.setAttribute(name, value));
  copy.prepend(sheet);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function savePng(drawing, name) {
  const picture = new Image();
  picture.addEventListener("load", () => {
    const canvas = element("canvas", { width: drawing.width * SCALE, height: drawing.height * SCALE });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, name), "image/png");
  });
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing.text)}`;
}

// What a reader calls a figure: its caption, and the section that it stands in.
function figureTitle(host, figure) {
  const caption = figure.querySelector("figcaption strong")?.textContent ?? "";
  const about = host.closest("section.chapter")?.querySelector(".chapter-title") ?? host.closest("section")?.querySelector("h3 bdi");
  return [caption.replace(/\.$/, ""), about?.textContent.trim()].filter(Boolean).join(", ");
}

function offerFigure(host) {
  const figure = host.closest("figure");
  if (figure.querySelector(".downloads")) return;
  const name = host.dataset.name ?? `${host.dataset.chart} figure`;
  const title = figureTitle(host, figure);
  const ground = host.dataset.chart ? document.body : host;
  const drawing = () => inLight(() => standalone(host.querySelector("svg"), ground));
  figure.append(element(
    "div",
    { class: "after downloads" },
    downloadButton("SVG", title, () => save(new Blob([drawing().text], { type: "image/svg+xml" }), fileName(name, "svg"))),
    downloadButton("PNG", title, () => savePng(drawing(), fileName(name, "png"))),
  ));
}
