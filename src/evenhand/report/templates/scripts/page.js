// Everything below the fold is made when it comes near, and all of it before printing.
const makers = {
  table: (host) => { host.long = new LongTable(host, page.tables[host.dataset.table]); },
  chart: drawChart,
  figure: drawFigure,
};

const waiting = new Map();
Object.entries(makers).forEach(([kind, make]) => {
  document.querySelectorAll(`[data-${kind}]`).forEach((host) => waiting.set(host, make));
});

function build(host) {
  const make = waiting.get(host);
  if (!make) return;
  waiting.delete(host);
  make(host);
}

const observer = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
    observer.unobserve(entry.target);
    build(entry.target);
  }),
  { rootMargin: "600px 0px" },
);
waiting.forEach((_, host) => observer.observe(host));

// Paper cannot be opened: what is folded is printed too, but not the numbers behind figures that stand above them.
const unfolded = [];

window.addEventListener("beforeprint", () => {
  unfolded.push(...document.querySelectorAll("details.drawer:not([open]), details.piece:not([open], .behind)"));
  unfolded.forEach((details) => { details.open = true; });
  [...waiting.keys()].forEach(build);
});

window.addEventListener("afterprint", () => {
  unfolded.splice(0).forEach((details) => { details.open = false; });
});

listeners.add(redrawCharts);
startFilters();
startChanges();
offerStaticTables();
offerSheets();
window.addEventListener("hashchange", openTarget);
document.addEventListener("click", openLinked);
openTarget();
