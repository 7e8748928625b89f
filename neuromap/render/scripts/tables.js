// Tables are sorted by the column whose sign is pressed; a second time the other way round.
(() => {
  const value = (row, k) => {
    const text = (row.cells[k]?.textContent ?? "").trim();
    const found = text.replace(/,/g, "").match(/^[^\d−-]{0,3}([−-]?\d+(\.\d+)?)/);
    return found ? Number(found[1].replace("−", "-")) : text;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : typeof a === typeof b ? String(a).localeCompare(String(b)) : typeof a === "number" ? -1 : 1;
  // Telephones show a short table as a block of lines for every row: each cell says the head of its column.
  const MOST_STACKED = 24;
  for (const table of document.querySelectorAll(".scroll > table")) {
    if (!table.tHead || table.tBodies[0].rows.length > MOST_STACKED || table.tHead.rows.length > 1) continue;
    const heads = [...table.tHead.rows[0].cells].map((head) => [...head.childNodes].map((part) => part.textContent.trim()).join(" ").trim());
    for (const row of table.tBodies[0].rows)
      [...row.cells].forEach((cell, k) => { if (cell.dataset.head === undefined) cell.dataset.head = heads[k] ?? ""; });
    table.parentNode.classList.add("stacked");
  }
  for (const table of document.querySelectorAll("table[data-sorted]")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((head, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorter";
      button.textContent = "⇅";
      button.setAttribute("aria-label", `sort by ${head.textContent.trim().replace(/\s+/g, " ")}`);
      head.append(" ", button);
      button.addEventListener("click", () => {
        const turned = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", turned ? "descending" : "ascending");
        const rows = [...body.rows].map((row, place) => [value(row, k), place, row]);
        rows.sort((a, b) => (turned ? -1 : 1) * compare(a[0], b[0]) || a[1] - b[1]);
        body.append(...rows.map((row) => row[2]));
      });
    });
  }
})();
