// The data of a page as files: elements of type application/json bear data-file, the name that the file gets.
(() => {
  const bar = document.querySelector(".saves");
  if (!bar) return;
  for (const block of document.querySelectorAll("script[data-file]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Save ${block.dataset.what}`;
    button.addEventListener("click", () => {
      const json = block.dataset.file.endsWith(".json");
      const text = json ? block.textContent : JSON.parse(block.textContent);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: json ? "application/json" : "text/csv" }));
      link.download = block.dataset.file;
      link.click();
      URL.revokeObjectURL(link.href);
    });
    bar.append(button);
  }
  bar.hidden = false;
  const open = () => document.querySelectorAll("details").forEach((part) => part.setAttribute("open", ""));
  window.addEventListener("beforeprint", open);
  const follow = () => {
    const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", follow);
  follow();
})();
