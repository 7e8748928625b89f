// Cones of influence: what a frame of a node depends on, and what depends on it. A figure bears its network's edges as
// data-edges, [source, target, frames bridged] by position; what it draws of a node in a frame bears data-at, "frame.node".
(() => {
  const reach = (start, next) => {
    const found = new Set([start]), open = [start];
    while (open.length) for (const at of next(open.pop())) if (!found.has(at)) { found.add(at); open.push(at); }
    return found;
  };
  for (const figure of document.querySelectorAll("figure[data-edges]")) {
    const edges = JSON.parse(figure.dataset.edges), names = JSON.parse(figure.dataset.names);
    const places = new Map();
    for (const part of figure.querySelectorAll("[data-at]")) places.set(part.dataset.at, part);
    const along = (end, other, sign) => (at) => {
      const [frame, node] = at.split(".").map(Number);
      return edges.filter((e) => e[end] === node).map((e) => `${frame + sign * e[2]}.${e[other]}`).filter((a) => places.has(a));
    };
    const said = document.createElement("p");
    said.className = "said";
    said.setAttribute("aria-live", "polite");
    const asked = "Point at a frame of a node, or reach it with Tab, for what it depends on and what depends on it.";
    said.textContent = asked;
    figure.querySelector("figcaption").before(said);
    const lines = [...figure.querySelectorAll("[data-from]")];
    const show = (at) => {
      const past = reach(at, along(1, 0, -1)), future = reach(at, along(0, 1, 1));
      const both = new Set([...past, ...future]);
      figure.classList.add("traced");
      for (const [a, part] of places) {
        part.classList.toggle("here", a === at);
        part.classList.toggle("past", a !== at && past.has(a));
        part.classList.toggle("future", a !== at && future.has(a));
      }
      for (const line of lines) {
        const { from, to } = line.dataset;
        line.classList.toggle("traced-line", both.has(from) && both.has(to) && (past.has(to) || future.has(from)));
      }
      const name = names[Number(at.split(".")[1])];
      const count = (n) => `${n} frame${n === 1 ? "" : "s"}`;
      said.textContent = `${name}: of what is drawn it depends on ${count(past.size - 1)} of nodes, and ${count(future.size - 1)} depend on it.`;
    };
    const clear = () => {
      figure.classList.remove("traced");
      for (const part of [...places.values(), ...lines]) part.classList.remove("here", "past", "future", "traced-line");
      said.textContent = asked;
    };
    for (const [at, part] of places) {
      part.setAttribute("tabindex", "0");
      part.setAttribute("role", "img");
      part.setAttribute("aria-label", part.querySelector("title").textContent);
      for (const event of ["pointerenter", "focus"]) part.addEventListener(event, () => show(at));
      for (const event of ["pointerleave", "blur"]) part.addEventListener(event, clear);
    }
  }
})();
