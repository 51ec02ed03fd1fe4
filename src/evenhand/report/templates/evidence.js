// From a part to the rows it rests on.
function sameKey(label, key) {
  return label === key || label.endsWith(CROSSED + key);
}

// The chapter's evidence whose columns say which of its rows a kind of part rests on.
function evidenceOf(host, kind) {
  const kinds = (kind ?? "").split("*");
  const all = page.evidence[host.closest("section.chapter")?.id] ?? [];
  return all.filter((evidence) => kinds.every((one) => one in evidence.keys));
}

function evidenceRows(evidence, kind, label) {
  const frame = page.frames[evidence.frame];
  const keys = kind.split("*").map((one) => evidence.keys[one]);
  return Array.from({ length: rowCount(frame) }, (_, row) => row)
    .filter((row) => sameKey(label, keys.map((key) => valueAt(frame, key, row)).join(CROSSED)));
}

function evidenceTable(evidence, kind, label) {
  const rows = evidenceRows(evidence, kind, label);
  const host = element("div", { "data-caption": `Evidence of ${shorten(label)}` });
  if (rows.length) new LongTable(host, { ...evidence, rows });
  const more = evidence.left || !rows.length ? ` The page holds the first ${count(evidence.rows)} rows of evidence; ${count(evidence.left)} more are in the run’s folder.` : "";
  const what = evidence.of === "cells" ? "Rows counted by truth, group and prediction." : "Samples behind this part, the first of each group.";
  return element("div", { class: "evidence" }, element("p", { class: "note" }, rows.length ? what + more : `No row of it is on this page.${more}`), host);
}

// A button that opens the evidence beneath its row.
function evidenceButton(all, kind, label, columns) {
  const button = element("button", { type: "button", class: "more rows-of", "aria-expanded": "false", "aria-label": `Rows behind ${shorten(label)}` }, "rows");
  button.addEventListener("click", () => {
    const line = button.closest("tr");
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) {
      line.nextElementSibling.remove();
    } else {
      line.after(element("tr", { class: "drill" }, element("td", { colspan: String(columns) }, ...all.map((evidence) => evidenceTable(evidence, kind, label)))));
    }
  });
  return button;
}

// A link to a piece that is folded opens it.
function openTarget() {
  const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (target?.tagName === "DETAILS") target.open = true;
  target?.closest("details")?.setAttribute("open", "");
}
