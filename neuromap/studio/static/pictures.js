// Rasters, output over ticks and maps of cores on canvases: numbers in, pixels out.
const SHOWN_TICKS = 150;
const runs = [null, null];
let spokenAt = 0;

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colours = () => ({
  ink: css("--ink"), soft: css("--soft"), rule: css("--rule"), paper: css("--paper"), panel: css("--panel"),
  accent: css("--accent"), loads: [1, 2, 3, 4, 5, 6].map((n) => css(`--load-${n}`)),
  nodes: Array.from({ length: 12 }, (_, n) => css(`--colour-${n + 1}`)),
});
const FONT = "12px system-ui, 'DejaVu Sans', sans-serif";

function context(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth || 300;
  const height = Number(canvas.getAttribute("data-height") || canvas.getAttribute("height"));
  if (!canvas.hasAttribute("data-height")) canvas.setAttribute("data-height", height);
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  return { pen, width, height };
}

export function drawLayout(layouts) {
  layouts.forEach((layout, k) => {
    runs[k] = { ...layout, columns: [], outputs: [], cores: [], nodes: [], last: [], strays: 0, most: 0, now: 0 };
    const key = document.getElementById(`key-${k}`);
    key.textContent = "";
    const shown = new Set(layout.board.node);
    layout.board.names.forEach((name, n) => {
      if (!shown.has(n)) return;
      const item = document.createElement("span");
      item.className = `key-item key-${(n % 12) + 1}`;
      item.textContent = name;
      key.append(item, " ");
    });
    const scale = document.createElement("span");
    scale.id = `scale-${k}`;
    key.append(scale);
    document.getElementById(`core-${k}`).hidden = true;
  });
  for (let k = layouts.length; k < 2; k++) runs[k] = null;
  redraw();
}

export function drawLook(look) {
  (look.runs || []).forEach((seen, k) => {
    const run = runs[k];
    if (!run) return;
    run.now = look.tick;
    run.columns = [...run.columns, ...seen.columns].slice(-SHOWN_TICKS);
    run.outputs = [...run.outputs, ...seen.outputs].filter((out) => out.tick >= look.tick - SHOWN_TICKS);
    Object.assign(run, { cores: seen.cores, nodes: seen.nodes, last: seen.last, strays: seen.strays });
    run.most = Math.max(run.most, ...seen.cores, 0);
  });
  redraw();
  const now = performance.now();
  if (!look.playing || now - spokenAt > 1000) { spokenAt = now; runs.forEach(speak); }
}

let isAsked = false;
export function redraw() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    const c = colours();
    runs.forEach((run, k) => { if (run) { raster(run, k, c); votes(run, k, c); chip(run, k, c); answer(run, k); } });
  });
}

function tickAxis(pen, c, left, width, bottom, first, cell) {
  pen.fillStyle = c.soft;
  pen.textAlign = "center";
  const step = [5, 10, 20, 50, 100].find((n) => n * cell >= 46) || 100;
  for (let tick = Math.ceil(first / step) * step; tick < first + SHOWN_TICKS; tick += step) {
    const x = left + (tick - first + 0.5) * cell;
    pen.fillRect(x - 0.5, bottom, 1, 4);
    if (x < left + width - 44) pen.fillText(String(tick), x, bottom + 16);
  }
  pen.textAlign = "right";
  pen.fillText("[ticks]", left + width, bottom + 16);
}

function names(pen, c, left, items) {
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const [name, y, colour] of items) {
    pen.fillStyle = c.ink;
    pen.fillText(name.length > 8 ? `${name.slice(0, 7)}…` : name, left - 10, y);
    if (colour) { pen.fillStyle = colour; pen.fillRect(left - 7, y - 5, 4, 10); }
  }
  pen.textBaseline = "alphabetic";
}

function colourOf(run, name, c) {
  return c.nodes[run.board.names.indexOf(name) % 12];
}

// Heights of bands that share some room by their rows, none so low that its name would lie on the next one's.
function bandHeights(rows, room) {
  const least = Math.min(13, room / rows.length);
  let large = rows.map(() => true), unit = 0;
  for (let again = true; again;) {
    const kept = room - least * large.filter((is) => !is).length;
    unit = kept / Math.max(1, rows.reduce((sum, n, k) => sum + (large[k] ? n : 0), 0));
    const next = rows.map((n, k) => large[k] && n * unit >= least);
    again = next.some((is, k) => is !== large[k]);
    large = next;
  }
  return rows.map((n, k) => (large[k] ? n * unit : least));
}

function raster(run, k, c) {
  const { pen, width, height } = context(document.getElementById(`raster-${k}`));
  const left = 72, bottom = height - 22, gap = run.raster.rows.length > 20 ? 1 : 5;
  const cell = (width - left - 4) / SHOWN_TICKS;
  const heights = bandHeights(run.raster.rows, bottom - 4 - gap * run.raster.rows.length);
  const first = Math.max(0, run.now - SHOWN_TICKS);
  const tops = [];
  let y = 4;
  const labels = [];
  run.raster.names.forEach((name, n) => {
    const row = heights[n] / run.raster.rows[n];
    pen.fillStyle = c.panel;
    pen.fillRect(left, y, width - left - 4, heights[n]);
    if (heights[n] + gap >= 12 || n % Math.ceil(12 / (heights[n] + gap)) === 0) labels.push([name, y + heights[n] / 2, colourOf(run, name, c)]);
    for (let i = 0; i < run.raster.rows[n]; i++) tops.push([y + i * row, n, Math.max(1, row - 0.4)]);
    y += heights[n] + gap;
  });
  const wide = Math.max(1, cell - 0.5);
  for (const [tick, on] of run.columns) {
    if (tick < first) continue;
    const x = left + (tick - first) * cell;
    for (const place of on) {
      const [top, n, tall] = tops[place];
      pen.fillStyle = colourOf(run, run.raster.names[n], c);
      pen.fillRect(x, top, wide, tall);
    }
  }
  names(pen, c, left, labels);
  tickAxis(pen, c, left, width - left - 4, bottom, first, cell);
}

function votes(run, k, c) {
  const { pen, width, height } = context(document.getElementById(`votes-${k}`));
  const left = 72, bottom = height - 22;
  const cell = (width - left - 4) / SHOWN_TICKS, first = Math.max(0, run.now - SHOWN_TICKS);
  const nodes = [...new Set(run.outputs.map((out) => out.node))];
  pen.fillStyle = c.panel;
  pen.fillRect(left, 4, width - left - 4, bottom - 8);
  const band = (bottom - 8) / Math.max(1, nodes.length);
  const labels = [];
  nodes.forEach((node, place) => {
    const mine = run.outputs.filter((out) => out.node === node && out.tick >= first);
    const n = mine.length ? mine[0].votes.length : 1;
    const row = band / n, most = Math.max(1, ...mine.flatMap((out) => out.votes));
    const period = mine.length > 1 ? Math.min(...mine.slice(1).map((out, i) => out.tick - mine[i].tick)) : 1;
    for (const out of mine) {
      const x = left + (out.tick - first) * cell, wide = Math.max(1, cell * period - 0.5);
      out.votes.forEach((count, i) => {
        if (!count) return;
        const level = Math.min(5, Math.max(0, Math.ceil((6 * count) / most) - 1));
        pen.fillStyle = c.loads[level];
        pen.fillRect(x, 4 + place * band + i * row, Math.min(wide, left + width - left - 4 - x), Math.max(1, row - 0.5));
        if (out.named === i && row >= 5) {
          pen.fillStyle = c.ink;
          pen.fillRect(x, 4 + place * band + i * row + row / 2 - 1, Math.min(wide, width - 4 - x), 2);
        }
      });
    }
    const step = Math.ceil(14 / row);
    for (let i = 0; i < n; i += step) {
      const name = run.classes ? run.classes[i] : `${node}[${i}]`;
      labels.push([nodes.length > 1 && run.classes ? `${node} ${name}` : name, 4 + place * band + (i + 0.5) * row, null]);
    }
  });
  names(pen, c, left, labels);
  tickAxis(pen, c, left, width - left - 4, bottom, first, cell);
}

function answer(run, k) {
  const place = document.getElementById(`answer-${k}`);
  const out = run.outputs[run.outputs.length - 1];
  let text = "no frame yet";
  if (out) {
    text = `${out.node}, frame ${out.frame}, tick ${out.tick}: `;
    const total = out.votes.reduce((a, b) => a + b, 0);
    if (run.classes && out.named !== null) text += `class ${run.classes[out.named]} (${out.votes[out.named]} ${out.values ? "is its value" : `of ${total} spikes`})`;
    else if (out.values) text += `${out.sent} message${out.sent === 1 ? "" : "s"}`;
    else text += `${out.sent} spike${out.sent === 1 ? "" : "s"}`;
    if (run.strays) text += `; ${run.strays} spikes of no frame since tick 0`;
  }
  if (place.textContent !== text) place.textContent = text;
  place.dataset.tick = out ? out.tick : "";
}

function grid(run, width) {
  const b = run.board;
  const x0 = Math.min(...b.x), x1 = Math.max(...b.x), y0 = Math.min(...b.y), y1 = Math.max(...b.y);
  const columns = x1 - x0 + 1, rows = y1 - y0 + 1;
  const side = Math.max(2, Math.min(44, (width - 44) / columns, 520 / rows));
  return { x0, y0, y1, columns, rows, side, left: 36, top: 6 }; // y grows upwards, as on the pages of reports
}

function chip(run, k, c) {
  const canvas = document.getElementById(`chip-${k}`);
  const g = run.grid = grid(run, canvas.clientWidth || 300);
  canvas.setAttribute("data-height", Math.ceil(g.rows * g.side + 42));
  const { pen } = context(canvas);
  const b = run.board, gap = g.side > 8 ? 1.5 : g.side > 4 ? 0.5 : 0;
  for (let core = 0; core < b.x.length; core++) {
    const x = g.left + (b.x[core] - g.x0) * g.side, y = g.top + (g.y1 - b.y[core]) * g.side;
    const spikes = run.cores[core] || 0;
    pen.fillStyle = spikes > 0 ? c.loads[Math.min(5, Math.ceil((6 * spikes) / run.most) - 1)] : c.rule;
    pen.fillRect(x, y, g.side - gap, g.side - gap);
    if (g.side >= 7 && b.node[core] >= 0) {
      pen.fillStyle = c.nodes[b.node[core] % 12];
      pen.fillRect(x, y + g.side - gap - Math.max(2, g.side / 7), g.side - gap, Math.max(2, g.side / 7));
    }
  }
  pen.fillStyle = c.soft;
  pen.textAlign = "center";
  const step = [1, 2, 4, 8, 16, 32].find((n) => n * g.side >= 26) || 64;
  for (let n = 0; n < g.columns; n += step) pen.fillText(String(g.x0 + n), g.left + (n + 0.5) * g.side, g.top + g.rows * g.side + 14);
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (let n = 0; n < g.rows; n += step) pen.fillText(String(g.y0 + n), g.left - 6, g.top + (g.rows - n - 0.5) * g.side);
  pen.textBaseline = "alphabetic";
  pen.textAlign = "left";
  pen.fillText("x, y: place on the board; north is up", g.left, g.top + g.rows * g.side + 28);
  const scale = document.getElementById(`scale-${k}`);
  const text = run.most
    ? `Strip below: node of most neurons. Strongest colour: ${run.most.toFixed(1)} spikes per tick and core, grey: none; mean of the last ${run.chip_ticks} ticks.`
    : `Strip below: node of most neurons. Grey: no spike in the last ${run.chip_ticks} ticks.`;
  if (scale && scale.textContent !== text) scale.textContent = text;
}

export function coreAt(k, event) {
  const run = runs[k];
  if (!run || !run.grid) return null;
  const box = event.target.getBoundingClientRect(), g = run.grid, b = run.board;
  const x = Math.floor((event.clientX - box.left - g.left) / g.side) + g.x0;
  const y = g.y1 - Math.floor((event.clientY - box.top - g.top) / g.side);
  for (let core = 0; core < b.x.length; core++) {
    if (b.x[core] !== x || b.y[core] !== y) continue;
    const node = b.node[core] < 0 ? "no node" : `most neurons of ${b.names[b.node[core]]}`;
    return { number: core, text: `core ${core} at (${x}, ${y}): ${b.neurons[core]} neurons, ${node}, ${run.cores[core] ?? 0} spikes per tick` };
  }
  return null;
}

function speak(run, k) {
  if (!run) return;
  const table = document.getElementById(`numbers-${k}`);
  table.textContent = "";
  const line = (cells, tag) => {
    const tr = table.insertRow();
    cells.forEach((text, i) => {
      const cell = document.createElement(i === 0 || tag === "th" ? "th" : "td");
      if (i === 0) cell.className = "left";
      cell.textContent = text;
      tr.append(cell);
    });
  };
  line(["node", `last tick [spikes]`, `mean of ${run.chip_ticks} ticks [spikes/tick]`], "th");
  run.raster.names.forEach((name, n) => line([name, run.last[n] ?? 0, run.nodes[n] ?? 0]));
  const busiest = run.cores.map((spikes, core) => [core, spikes]).sort((a, b) => b[1] - a[1]).slice(0, 8);
  for (const [core, spikes] of busiest) line([`core ${core}`, "", spikes]);
  const nodes = run.raster.names.map((name, n) => `${name} ${run.last[n] ?? 0}`).join(", ");
  document.getElementById(`raster-${k}`).setAttribute("aria-label", `Spikes of nodes over ticks; in tick ${run.now - 1}: ${nodes}`);
  document.getElementById(`votes-${k}`).setAttribute("aria-label", `Output by tick; ${document.getElementById(`answer-${k}`).textContent}`);
  const top = busiest.slice(0, 3).map(([core, spikes]) => `core ${core} ${spikes}`).join(", ");
  document.getElementById(`chip-${k}`).setAttribute("aria-label", `Map of ${run.board.x.length} cores; most spikes per tick: ${top}`);
}
