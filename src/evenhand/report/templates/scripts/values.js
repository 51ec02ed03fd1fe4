// Numbers and labels, written as the Python side writes them.
const DASH = "–";
const LABEL_LIMIT = 56;
const PROSE_LIMIT = 240;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
const page = JSON.parse(document.getElementById("run-data").textContent);

// A text with values in the places of their names.
function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (match, name) => values[name]);
}

// Making a format is dear, and a page writes thousands of numbers: one for each count of digits.
const numberFormats = [];

function grouped(value, digits) {
  numberFormats[digits] ??= new Intl.NumberFormat(_("en-US"), { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return numberFormats[digits].format(value).replace("-", "−");
}

const [THOUSANDS, DECIMAL] = [grouped(1000, 0)[1], grouped(0.5, 1)[1]];

function number(value, digits = 3) {
  if (value === null || value === undefined) return DASH;
  if (value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits) {
    if (digits === 3) return value > 0 ? _("<0.001") : _(">−0.001");
    return `${value > 0 ? "<" : ">−"}${grouped(10 ** -digits, digits)}`;
  }
  return grouped(value, digits);
}

// One above a usual level of tests is never rounded down to it.
const LEVELS = [0.01, 0.025, 0.05, 0.1];

function pValue(value) {
  if (value === null || value === undefined) return DASH;
  if (value < 0.001) return _("<0.001");
  let digits = 3;
  while (digits < 9 && LEVELS.some((level) => level < value && Number(value.toFixed(digits)) === level)) digits += 1;
  return grouped(value, digits);
}

// Numbers of a row have the digits that it takes to tell an interval from what it leaves out.
function digitsOf(frame, row) {
  return valueAt(frame, "digits", row) ?? 3;
}

function count(value) {
  if (value === null || value === undefined) return DASH;
  if (value < 0) return _("hidden");
  return grouped(value, Number.isInteger(value) ? 0 : 1);
}

function span(low, high, digits = 3) {
  return low === null || low === undefined ? DASH : fill(_("{low} to {high}"), { low: number(low, digits), high: number(high, digits) });
}

// Cut by code point, so that an emoji is never halved.
function shorten(text, limit = LABEL_LIMIT) {
  if (text.length <= limit) return text;
  const points = Array.from(text);
  return points.length <= limit ? text : points.slice(0, limit - 1).join("") + "…";
}

function isolated(text) {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

function element(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  Object.entries(options).forEach(([name, value]) => made.setAttribute(name, value));
  made.append(...children);
  return made;
}

// A label; a long one opens to its full text.
function labelElement(text, limit = LABEL_LIMIT) {
  const short = shorten(text, limit);
  if (short === text) return element("bdi", {}, text);
  const details = element("details", { class: "long" }, element("summary", {}, element("bdi", {}, short)));
  details.addEventListener("toggle", () => {
    if (details.children.length === 1) details.append(element("bdi", { class: "full", tabindex: "0", role: "group", "aria-label": _("The whole text") }, text));
  });
  return details;
}

// One value of a frame; text columns hold places among the labels.
function valueAt(frame, key, row) {
  const column = frame.columns[key];
  if (!column) return null;
  const value = column[row];
  return value !== null && frame.text.includes(key) ? page.labels[value] : value;
}

// The same as files hold it: a text as it was given.
function exactAt(frame, key, row) {
  const place = frame.columns[key]?.[row];
  return (frame.text.includes(key) ? page.exact[place] : undefined) ?? valueAt(frame, key, row);
}

function rowCount(frame) {
  return Object.values(frame.columns)[0]?.length ?? 0;
}
