// Charts of Vega-Lite: an element of type application/json that bears data-chart holds points, axes and filters; the chart
// is drawn into the element of that id. Expressions are interpreted, so that the page allows no evaluation of text.
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const made = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  for (const block of document.querySelectorAll("script[data-chart]")) {
    const host = document.getElementById(block.dataset.chart);
    const { rows, axes, filters, colour: by, shape, told } = JSON.parse(block.textContent);
    // marks on a front are larger and lie below those of others, so that both are seen where they coincide
    const best = [...new Set(rows.map((row) => row[by]))].filter((value) => value !== "no");
    for (const row of rows) row.rank = best.includes(row[by]) ? 0 : 1;
    const plot = made("div", { className: "plot" }), bar = made("div", { className: "chart-bar" });
    const said = made("p", { className: "said" });
    said.setAttribute("aria-live", "polite");
    const axis = (text, start) => {
      const select = made("select", {}, ...axes.map((a) => made("option", { value: a.key }, a.title)));
      select.selectedIndex = start;
      bar.append(made("label", {}, text, " ", select));
      select.addEventListener("change", draw);
      return select;
    };
    const across = axis("to the right", 0), upwards = axis("upwards", 1);
    const boxes = Object.entries(filters).map(([key, title]) => {
      const values = [...new Set(rows.map((row) => row[key]))];
      const group = made("fieldset", {}, made("legend", {}, title));
      const inputs = values.map((value) => {
        const input = made("input", { type: "checkbox", checked: true });
        input.addEventListener("change", draw);
        group.append(made("label", {}, input, ` ${value}`));
        return [value, input];
      });
      if (values.length > 1) bar.append(group);
      return [key, new Map(inputs)];
    });
    const again = made("button", { type: "button" }, "whole range");
    again.addEventListener("click", draw);
    bar.append(again);
    host.append(bar, plot, said);
    function draw() {
      const ends = [across.value, upwards.value];
      const kept = rows.filter((row) => boxes.every(([key, inputs]) => inputs.get(row[key]).checked));
      const shown = kept.filter((row) => ends.every((key) => typeof row[key] === "number"));
      const title = (key) => axes.find((a) => a.key === key).title;
      const text = colour("--ink"), rule = colour("--rule");
      const end = (key) => ({
        field: key, type: "quantitative", title: title(key), scale: { zero: false, padding: 18 },
        // of whole numbers only these are labelled: rounded ones would stand twice
        axis: shown.every((row) => Number.isInteger(row[key])) ? { tickMinStep: 1, labelExpr: "datum.value === round(datum.value) ? format(datum.value, ',d') : ''" } : {},
      });
      const spec = {
        $schema: "https://vega.github.io/schema/vega-lite/v6.json",
        width: "container", height: 340, autosize: { type: "fit", contains: "padding" }, background: "transparent",
        data: { values: shown },
        params: [{ name: "zoom", select: "interval", bind: "scales" }],
        mark: { type: "point", filled: true, opacity: 0.85 },
        encoding: {
          x: end(ends[0]), y: end(ends[1]),
          color: { field: by, type: "nominal", title: filters[by] ?? by, scale: { range: ["--streaming", "--colour-1", "--colour-3", "--colour-5", "--colour-4", "--colour-6", "--colour-8", "--colour-10"].map(colour) } },
          size: { field: "rank", type: "ordinal", scale: { range: [150, 45] }, legend: null },
          order: { field: "rank", sort: "ascending" },
          shape: { field: shape, type: "nominal", title: filters[shape] ?? shape },
          tooltip: told.map((a) => ({ field: a.key, title: a.title })),
        },
        config: {
          font: "system-ui, sans-serif", view: { stroke: rule },
          axis: { labelColor: text, titleColor: text, gridColor: rule, domainColor: rule, tickColor: rule, labelFontSize: 12, titleFontSize: 12.5 },
          legend: { labelColor: text, titleColor: text, labelFontSize: 12, symbolBaseFillColor: text, symbolBaseStrokeColor: text },
        },
      };
      said.textContent = `${shown.length} of ${rows.length} rows; scroll or pinch to zoom, drag to move.`;
      plot.setAttribute("aria-label", `${title(ends[1])} over ${title(ends[0])}, ${shown.length} rows`);
      plot.setAttribute("role", "figure");
      const actions = { export: true, source: false, compiled: false, editor: false };
      window.vegaEmbed(plot, spec, { ast: true, renderer: "svg", actions })
        .then(() => plot.querySelector("summary").setAttribute("aria-label", "save this chart"));
    }
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }
})();
