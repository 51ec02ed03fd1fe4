const table = document.getElementById("runs");
if (table) {
  const rows = [...table.tBodies[0].rows];
  const bar = document.getElementById("filter");
  const input = bar.querySelector("input");
  const output = bar.querySelector("output");
  bar.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    output.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.sort;
      const order = new Intl.Collator("en", { numeric: true }).compare;
      rows.sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)));
      table.tBodies[0].append(...rows);
    });
  });
}
