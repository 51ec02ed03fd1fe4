// Charts: rows made from a frame, drawn as SVG whose colours the stylesheet owns.
const CHART_LABEL_LIMIT = 34;

// Two labels that shorten to the same text must not become one line of a chart.
function uniqueLabels(labels) {
  const seen = new Map();
  return labels.map((label) => {
    const short = isolated(shorten(label, CHART_LABEL_LIMIT));
    const copies = seen.get(short) ?? 0;
    seen.set(short, copies + 1);
    return copies ? `${short} (${copies + 1})` : short;
  });
}

const LINE_HEIGHT = 22; // of a named line; charts.py says the same

function chartRows(name, limit) {
  const frame = page.frames[name];
  const rows = Array.from({ length: rowCount(frame) }, (_, row) => row)
    .filter((row) => frame.columns.value[row] !== null && rowPasses(page.tables[name], frame, row))
    .sort((left, right) => frame.columns.value[right] - frame.columns.value[left])
    .slice(0, limit ?? undefined);
  const labels = uniqueLabels(rows.map((row) => valueAt(frame, "label", row)));
  const keys = ["value", "corrected", "low", "high", "null_low", "null_high", "n", "accuracy"];
  return rows.map((row, place) => {
    const made = { label: labels[place], rank: place + 1, band: BAND_NAMES[valueAt(frame, "band", row)] ?? valueAt(frame, "band", row) };
    keys.forEach((key) => { made[key] = valueAt(frame, key, row); });
    const digits = digitsOf(frame, row);
    made.interval = span(made.low, made.high, digits);
    made.null = span(made.null_low, made.null_high, digits);
    // The interval is of the corrected value, the null band of the plain one.
    made.lead = made.corrected ?? made.value;
    made.plain = made.corrected === null ? null : made.value;
    made.reading = valueAt(frame, "reading", row) ?? _("no verdict");
    made.outside = valueAt(frame, "beyond", row) === 1;
    return made;
  });
}

// The reader's tooltip is plain text in our own style; vega's stylesheet is not wanted.
const ERRORS_ONLY = 1;
const tooltip = { disableDefaultStyle: true };
const formatLocale = { decimal: DECIMAL, thousands: THOUSANDS, grouping: [3], currency: ["", ""] };

// The null band of a class in the middle: the medians of both ends; none where no class has a band.
function typicalBand(rows) {
  const banded = rows.filter((row) => row.null_low !== null);
  if (!banded.length) return [];
  const middle = (key) => {
    const ends = banded.map((row) => row[key]).sort((left, right) => left - right);
    return (ends[Math.floor((ends.length - 1) / 2)] + ends[Math.ceil((ends.length - 1) / 2)]) / 2;
  };
  const [null_low, null_high] = [middle("null_low"), middle("null_high")];
  return [{ null_low, null_high, null: span(null_low, null_high) }];
}

// What the picture shows, in words: of all that it could show, how many the filter leaves.
function tellAlternative(host, frame, rows) {
  host.dataset.alt ??= host.getAttribute("aria-label");
  const all = frame.columns.value.filter((value) => value !== null).length;
  const shown = filtering() ? fill(_("Filtered: {n} of {all} shown. All of them: "), { n: count(rows.length), all: count(all) }) : "";
  host.setAttribute("aria-label", shown + host.dataset.alt);
}

async function drawChart(host) {
  const chart = page.charts[host.dataset.chart];
  const rows = chart.changes ? changeRows(chart) : chartRows(chart.frame, chart.limit);
  const datasets = { rows, overall: [{ value: chart.overall ?? null }], typical: typicalBand(rows) };
  tellAlternative(host, page.frames[chart.frame], rows);
  const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip, formatLocale, logLevel: ERRORS_ONLY };
  // The host is one picture with a text alternative; its lines and marks are not read out one by one.
  const target = element("div", { class: "drawing", "aria-hidden": "true" });
  host.replaceChildren(target);
  const spec = { ...page.specs[chart.spec], datasets };
  if (chart.height) spec.height = LINE_HEIGHT * Math.max(1, rows.length);
  const drawn = await window.vegaEmbed(target, spec, options);
  host.drawing?.finalize();
  host.drawing = drawn;
  host.dataset.drawn = "yes";
  offerFigure(host);
}

function redrawCharts() {
  document.querySelectorAll("[data-chart][data-drawn]").forEach((host) => drawChart(host));
}

// A figure of the benchmark: its colours are the stylesheet's, but for the shades of values.
async function drawFigure(host) {
  const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, tooltip, formatLocale, logLevel: ERRORS_ONLY };
  const target = element("div", { "aria-hidden": "true" });
  host.replaceChildren(target);
  await window.vegaEmbed(target, page.figures[Number(host.dataset.figure)], options);
  host.dataset.drawn = "yes";
  offerFigure(host);
}
