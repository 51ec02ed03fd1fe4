// From a part to the rows it rests on.
function sameKey(label, key) {
  return label === key || label.endsWith(CROSSED + key);
}

// The chapter's evidence on which a kind of part rests.
function evidenceOf(host, kind) {
  const all = page.evidence[host.closest("[data-chapter]")?.dataset.chapter] ?? [];
  return all.filter((evidence) => evidence.kinds.includes(kind ?? ""));
}

// Of a table about several findings, a label begins with what tells its own from the others.
function rowsNeeded(evidence, part) {
  const fitting = (evidence.when[part.about] ?? []).filter((one) => one.told === "" || part.label.startsWith(one.told + CROSSED));
  const closest = fitting.sort((one, other) => other.told.length - one.told.length)[0];
  return Object.entries(closest?.rows ?? {});
}

function evidenceRows(evidence, part) {
  const frame = page.frames[evidence.frame];
  const axes = { ...evidence.keys, ...evidence.axes[part.about] };
  const keys = part.kind.split("*").map((one) => axes[one]);
  const needed = rowsNeeded(evidence, part);
  return allRows(frame)
    .filter((row) => needed.every(([key, values]) => values.includes(valueAt(frame, key, row))))
    .filter((row) => sameKey(part.label, keys.map((key) => valueAt(frame, key, row)).join(CROSSED)));
}

// How many of the part's rows the page holds; nothing where small cells are hidden.
function evidenceNote(evidence, rows, n) {
  const counts = page.frames[evidence.frame].columns.n;
  const cells = evidence.of === "cells";
  const held = cells ? rows.map((row) => counts[row]) : rows.map(() => 1);
  const total = held.reduce((sum, one) => sum + one, 0);
  const what = cells ? _(", counted by truth, group and prediction") : "";
  const values = { n: count(total), all: count(n), what, only: evidence.only };
  if (n < 0 || held.some((one) => one < 0)) return _("Rows counted by truth, group and prediction; small cells are hidden.");
  if (evidence.only) return fill(_("{n} of the {all} rows that it rests on: {only}."), values);
  if (Math.abs(total - n) < 0.5) return fill(_("The {all} rows that it rests on{what}."), values);
  return fill(_("{n} of the {all} rows that it rests on{what}. All are in the run’s folder."), values);
}

function evidenceTable(evidence, part) {
  const rows = evidenceRows(evidence, part);
  const host = element("div", { "data-caption": `${fill(_("Evidence of {part}"), { part: shorten(part.label) })}: ${evidence.of === "cells" ? _("cells") : _("samples")}` });
  if (rows.length) new LongTable(host, { ...evidence, rows });
  return element("div", { class: "evidence" }, element("p", { class: "note" }, evidenceNote(evidence, rows, part.n)), host);
}

// A button that opens the evidence beneath its row.
function evidenceButton(all, part, columns) {
  const button = element("button", { type: "button", class: "more rows-of", "aria-expanded": "false", "aria-label": fill(_("Rows behind {part}"), { part: shorten(part.label) }) }, _("rows"));
  button.addEventListener("click", () => {
    const line = button.closest("tr");
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) {
      line.nextElementSibling.remove();
    } else {
      line.after(element("tr", { class: "drill" }, element("td", { colspan: String(columns) }, ...all.map((evidence) => evidenceTable(evidence, part)))));
    }
  });
  return button;
}

// A link to what is folded opens all that it lies in, and goes there.
function openTarget() {
  const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (!target) return;
  let opened = false;
  for (let folded = target.closest("details"); folded; folded = folded.parentElement.closest("details")) {
    opened ||= !folded.open;
    folded.open = true;
  }
  if (opened) target.scrollIntoView();
}

// A second click on the same link changes no address.
function openLinked(event) {
  const link = event.target.closest?.("a[href^='#']");
  if (link && link.hash === location.hash) openTarget();
}
