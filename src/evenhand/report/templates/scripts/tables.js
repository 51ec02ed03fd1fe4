// Long tables: sorted, searched and grown in the page.
const FIRST_ROWS = 25;
const RIGHT_ALIGNED = new Set(["number", "p", "count", "range"]);
const EMPTY_WITHOUT_VALUE = new Set(["low", "null_low", "reading", "p", "p_adjusted", "band"]);
const BAND_NAMES = { negligible: _("negligible"), small: _("small"), medium: _("medium"), large: _("large") };
const BAND_ORDER = { negligible: 0, small: 1, medium: 2, large: 3 };

const cellWriters = {
  label: (frame, column, row) => labelElement(valueAt(frame, column.key, row) ?? DASH),
  text: (frame, column, row) => labelElement(valueAt(frame, column.key, row) ?? DASH, PROSE_LIMIT),
  picture: (frame, column, row) => pictureElement(valueAt(frame, column.key, row), valueAt(frame, "sample", row)),
  band: (frame, column, row) => BAND_NAMES[valueAt(frame, column.key, row)] ?? valueAt(frame, column.key, row) ?? DASH,
  number: (frame, column, row) => number(valueAt(frame, column.key, row), digitsOf(frame, row)),
  p: (frame, column, row) => pValue(valueAt(frame, column.key, row)),
  count: (frame, column, row) => count(valueAt(frame, column.key, row)),
  range: (frame, column, row) => span(valueAt(frame, column.key, row), valueAt(frame, column.to, row), digitsOf(frame, row)),
};

function sortKey(frame, column, row) {
  const value = valueAt(frame, column.key, row);
  return column.kind === "band" && value !== null ? BAND_ORDER[value] ?? -1 : value;
}

// Files keep the English title.
function shownTitle(column) {
  return column.shown ?? column.title;
}

// Missing values stay last in both directions.
function compare(left, right, factor) {
  if (left === null || right === null) return (left === null) - (right === null);
  const order = typeof left === "string" ? left.localeCompare(right) : left - right;
  return order * factor;
}

class LongTable {
  constructor(host, definition) {
    this.host = host;
    this.definition = definition;
    this.frame = page.frames[definition.frame];
    this.columns = definition.columns;
    this.all = definition.rows ?? allRows(this.frame);
    this.total = this.all.length;
    this.sort = { column: this.columns.find((column) => column.key === definition.sort) ?? null, factor: -1 };
    this.limit = FIRST_ROWS;
    this.query = "";
    this.build();
    this.refresh();
    if (definition.kinds) listeners.add(() => this.refresh());
  }

  build() {
    this.body = element("tbody");
    this.heads = this.columns.map((column) => this.head(column));
    const caption = element("caption", { class: "unseen" }, this.host.dataset.caption);
    const table = element("table", {}, caption, element("thead", {}, element("tr", {}, ...this.heads)), this.body);
    this.scroller = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": this.host.dataset.caption }, table);
    this.status = element("p", { class: "status", "aria-live": "polite" });
    this.more = element("button", { type: "button", class: "more" });
    this.more.addEventListener("click", () => {
      this.limit = this.limit === FIRST_ROWS ? Infinity : FIRST_ROWS;
      this.refresh();
    });
    const title = this.host.dataset.caption;
    const csv = downloadButton("CSV", title, () => saveCsv(title, this.lines()));
    const tools = this.total > FIRST_ROWS ? [this.searchField()] : [];
    this.host.replaceChildren(...tools, this.scroller, element("div", { class: "after" }, this.status, this.more, csv));
  }

  // Every row that passes, in the order shown, every value in full.
  lines() {
    return frameLines(this.frame, this.columns, this.rows());
  }

  // Other rows of the same frame, in place of those shown.
  showOnly(rows) {
    this.all = rows;
    this.total = rows.length;
    this.refresh();
  }

  searchField() {
    const input = element("input", { type: "search", placeholder: _("part of a name"), autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => {
      this.query = input.value.toLocaleLowerCase();
      this.refresh();
    });
    return element("label", { class: "find" }, fill(_("Find a {column}"), { column: shownTitle(this.columns[0]) }), input);
  }

  head(column) {
    const button = element("button", { type: "button" }, shownTitle(column), element("span", { class: "arrow", "aria-hidden": "true" }));
    button.addEventListener("click", () => this.sortBy(column));
    return element("th", { scope: "col", class: RIGHT_ALIGNED.has(column.kind) ? "right" : "left" }, button);
  }

  // Numbers begin with the highest, p-values and words with the lowest.
  sortBy(column) {
    const first = RIGHT_ALIGNED.has(column.kind) && column.kind !== "p" ? -1 : 1;
    this.sort = { column, factor: this.sort.column === column ? -this.sort.factor : first };
    this.refresh();
  }

  rows() {
    const name = this.columns[0].key;
    const found = (row) => !this.query || (valueAt(this.frame, name, row) ?? "").toLocaleLowerCase().includes(this.query);
    const kept = this.all.filter((row) => found(row) && rowPasses(this.definition, this.frame, row));
    const { column, factor } = this.sort;
    if (!column) return kept;
    const keys = new Map(kept.map((row) => [row, sortKey(this.frame, column, row)]));
    return kept.sort((left, right) => compare(keys.get(left), keys.get(right), factor) || left - right);
  }

  refresh() {
    const rows = this.rows();
    const shown = rows.slice(0, this.limit);
    this.body.replaceChildren(...shown.map((row) => this.line(row)));
    this.heads.forEach((head, place) => {
      const active = this.columns[place] === this.sort.column;
      head.setAttribute("aria-sort", active ? (this.sort.factor > 0 ? "ascending" : "descending") : "none");
    });
    const narrowed = this.query || rows.length < this.total;
    const found = narrowed ? fill(_("{n} found; "), { n: count(rows.length) }) : "";
    this.status.textContent = found + fill(_("{n} of {all} rows shown"), { n: count(shown.length), all: count(this.total) });
    this.more.hidden = rows.length <= FIRST_ROWS;
    this.more.textContent = this.limit === FIRST_ROWS ? fill(_("Show all {n}"), { n: count(rows.length) }) : fill(_("Show the first {n}"), { n: FIRST_ROWS });
  }

  drill(row) {
    if (!this.definition.kinds || this.definition.plain) return [];
    const rests = "rests" in this.frame.columns;
    const kind = rests ? valueAt(this.frame, "axes", row) : kindAt(this.definition, this.frame, row);
    const evidence = evidenceOf(this.host, kind);
    const label = valueAt(this.frame, rests ? "rests" : "label", row);
    const part = { kind, label, about: this.definition.about ?? valueAt(this.frame, "about", row), n: valueAt(this.frame, "n", row) };
    return evidence.length && label !== null ? [" ", evidenceButton(evidence, part, this.columns.length)] : [];
  }

  // Where there is no value, one wide cell says why in place of the cells that would all be empty.
  line(row) {
    const missing = "value" in this.frame.columns && valueAt(this.frame, "value", row) === null;
    const reason = missing ? valueAt(this.frame, "reading", row) : null;
    const columns = reason === null ? this.columns : this.columns.filter((column) => !EMPTY_WITHOUT_VALUE.has(column.key));
    const cells = columns.map((column, place) => {
      const written = cellWriters[column.kind](this.frame, column, row);
      if (place === 0) return element("th", { scope: "row" }, written, ...this.drill(row));
      const kind = RIGHT_ALIGNED.has(column.kind) ? "right" : column.kind === "text" ? "left words" : "left";
      const cell = element("td", { class: kind }, written);
      if (column.kind === "band" && written !== DASH) cell.prepend(bandMark(valueAt(this.frame, column.key, row)));
      return cell;
    });
    if (reason !== null) {
      const span = this.columns.length - columns.length;
      const after = columns.findIndex((column) => column.key === "value") + 1;
      const words = element("em", {}, `${_("not estimable")}: `, labelElement(reason, PROSE_LIMIT));
      cells.splice(after, 0, element("td", { class: "left words", colspan: String(span) }, words));
    }
    return element("tr", {}, ...cells);
  }
}

// Only pictures that the page holds are shown; nothing is fetched.
function pictureElement(address, sample) {
  if (!address?.startsWith("data:image/")) return DASH;
  return element("img", { src: address, alt: `${_("Sample")} ${shorten(sample ?? "")}`, class: "thumbnail" });
}

// The same mark as in the list of bands: a shape as well as a colour.
function bandMark(band) {
  const mark = document.querySelector(`svg[data-band="${CSS.escape(band)}"]`);
  return mark ? mark.cloneNode(true) : "";
}
