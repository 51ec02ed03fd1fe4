// One filter for the whole page: by attribute, by group, by the name of a class or another part.
const CROSSED = " × ";
const filters = { attribute: "", group: "", part: "" };
const listeners = new Set();
const attributes = new Set(Object.values(page.chapters).flat());

function filtering() {
  return Boolean(filters.group || filters.part);
}

// Whether a row of parts passes; a part that is no crossing of groups is not asked for its group.
function passes(label, kind) {
  const kinds = (kind ?? "").split("*");
  const ofGroups = kinds.some((one) => one === "group" || attributes.has(one)); // benchmarks on people name the attribute
  if (filters.group && ofGroups && !label.split(CROSSED).includes(filters.group)) return false;
  const onlyGroups = kinds.every((one) => one === "group");
  return !filters.part || onlyGroups || label.toLocaleLowerCase().includes(filters.part);
}

function kindAt(definition, frame, row) {
  return valueAt(frame, "kind", row) ?? definition?.kinds?.[0];
}

function rowPasses(definition, frame, row) {
  if (!filtering() || !definition?.kinds) return true;
  return passes(valueAt(frame, "label", row) ?? "", kindAt(definition, frame, row));
}

function showChapters() {
  document.querySelectorAll("[data-chapter]").forEach((host) => {
    const by = page.chapters[host.dataset.chapter] ?? [];
    host.hidden = Boolean(filters.attribute) && !by.includes(filters.attribute);
  });
  return document.querySelectorAll("section.chapter:not([hidden])").length;
}

function startFilters() {
  const bar = document.getElementById("filters");
  if (!bar) return;
  bar.hidden = false;
  const fields = [...bar.querySelectorAll("select, input")];
  const told = bar.querySelector("output");
  const all = document.querySelectorAll("section.chapter").length;
  const apply = () => {
    fields.forEach((field) => { filters[field.name] = field.name === "part" ? field.value.trim().toLocaleLowerCase() : field.value; });
    const shown = showChapters();
    listeners.forEach((listener) => listener());
    const active = fields.some((field) => field.value);
    told.textContent = active ? fill(_("{n} of {all} groupings shown; tables and figures hold what fits."), { n: count(shown), all: count(all) }) : "";
  };
  bar.addEventListener("input", apply);
  bar.querySelector("button").addEventListener("click", () => {
    fields.forEach((field) => { field.value = ""; });
    apply();
  });
}
