// What changed between models: charts, and tables that show the chosen pair and kind of part.
const looked = new Map();

function isLookedAt(frame, row, look) {
  const { what, pair } = frame.columns;
  return (!what || !look.what || what[row] === Number(look.what)) && (!look.pair || pair[row] === Number(look.pair));
}

function rowsLookedAt(name, look) {
  const frame = page.frames[name];
  return allRows(frame).filter((row) => isLookedAt(frame, row, look));
}

// The surest changes of what is looked at; of several pairs a line says which.
function changeRows(chart) {
  const frame = page.frames[chart.frame];
  const look = looked.get(chart.frame) ?? {};
  const several = !look.pair && new Set(frame.columns.pair).size > 1;
  const rows = rowsLookedAt(chart.frame, look)
    .filter((row) => frame.columns.value[row] !== null && rowPasses(page.tables[chart.frame], frame, row))
    .slice(0, chart.limit);
  const models = rows.map((row) => `${isolated(shorten(valueAt(frame, "model", row)))} – ${isolated(shorten(valueAt(frame, "reference", row)))}`);
  const parts = rows.map((row) => isolated(shorten(valueAt(frame, "label", row))));
  const brief = (row) => ["label", "model", "reference"].map((key) => isolated(shorten(valueAt(frame, key, row), 14)));
  const labels = uniqueLabels(rows.map((row, place) => (several ? ((one) => `${one[0]}: ${one[1]} – ${one[2]}`)(brief(row)) : valueAt(frame, "label", rows[place]))));
  return rows.map((row, place) => {
    const at = (key) => valueAt(frame, key, row);
    const made = Object.fromEntries(["value", "low", "high", "null_low", "null_high", "first", "second", "n"].map((key) => [key, at(key)]));
    return {
      ...made,
      label: labels[place],
      part: parts[place],
      models: models[place],
      change: `${number(made.value)} (${at("reading") ?? _("not tested")})`,
      interval: span(made.low, made.high),
      null: span(made.null_low, made.null_high),
      both: `${number(made.first)} ${_("and")} ${number(made.second)}`,
      adjusted: pValue(at("p_adjusted")),
      outside: at("beyond") === 1,
    };
  });
}

// A choice redraws what it is about; what was not drawn yet waits as before.
function startChanges() {
  document.querySelectorAll("[data-changes]").forEach((host) => {
    const section = host.closest("section");
    const fields = [...host.querySelectorAll("select")];
    const apply = () => {
      const look = Object.fromEntries(fields.map((field) => [field.name, field.value]));
      looked.set(host.dataset.changes, look);
      section.querySelectorAll("[data-table]").forEach((table) => {
        page.tables[table.dataset.table].rows = rowsLookedAt(page.tables[table.dataset.table].frame, look);
        table.long?.showOnly(page.tables[table.dataset.table].rows);
      });
      section.querySelectorAll("[data-chart][data-drawn]").forEach((chart) => drawChart(chart));
    };
    host.addEventListener("input", apply);
    apply();
  });
}
