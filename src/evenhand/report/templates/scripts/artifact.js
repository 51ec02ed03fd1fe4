// Draws the page's figures; the specifications lie in the page.
const specs = JSON.parse(document.getElementById("figure-data").textContent);
const ERRORS_ONLY = 1;

async function drawFigure(host) {
  const options = {
    mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, logLevel: ERRORS_ONLY,
    tooltip: { disableDefaultStyle: true },
  };
  await window.vegaEmbed(host, specs[Number(host.dataset.figure)], options);
  host.dataset.drawn = "yes";
}

document.querySelectorAll("[data-figure]").forEach(drawFigure);
