// Everything below the fold is made when it comes near, and all of it before printing.
const makers = {
  table: (host) => { host.long = new LongTable(host, page.tables[host.dataset.table]); },
  mistakes: drawMistakes,
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

window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details[data-print]").forEach((details) => { details.open = true; });
  [...waiting.keys()].forEach(build);
});

listeners.add(redrawCharts);
startFilters();
startChanges();
offerStaticTables();
window.addEventListener("hashchange", openTarget);
openTarget();
