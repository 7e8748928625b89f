// A rollout window, update step by update step: nodes bear data-step, the step at which they are known.
(() => {
  for (const figure of document.querySelectorAll("figure[data-stepped]")) {
    const nodes = [...figure.querySelectorAll("[data-step]")], lines = [...figure.querySelectorAll("[data-to]")];
    const stepOf = new Map(nodes.map((node) => [node.dataset.at, Number(node.dataset.step)]));
    const last = Math.max(...stepOf.values());
    const bar = document.createElement("div");
    bar.className = "stepper";
    bar.innerHTML = '<button type="button" class="back" aria-label="one update step back">−</button>' +
      '<input type="range" min="0" step="1" aria-label="update step">' +
      '<button type="button" class="on" aria-label="one update step on">+</button><output></output>' +
      '<button type="button" class="all">all steps</button>';
    figure.querySelector("figcaption").before(bar);
    const slider = bar.querySelector("input"), output = bar.querySelector("output");
    slider.max = last;
    slider.value = last;
    const show = (step) => {
      const all = step === null;
      slider.value = all ? last : step;
      for (const node of nodes) {
        const mine = stepOf.get(node.dataset.at);
        node.classList.toggle("later", !all && mine > step);
        node.classList.toggle("now", !all && mine === step);
      }
      for (const line of lines) line.classList.toggle("later", !all && stepOf.get(line.dataset.to) > step);
      const now = nodes.filter((node) => stepOf.get(node.dataset.at) === step).length;
      output.textContent = all ? `${last} update steps` : `update step ${step} of ${last}: ${now} known now`;
    };
    const to = (step) => show(Math.min(last, Math.max(0, step)));
    slider.addEventListener("input", () => to(Number(slider.value)));
    bar.querySelector(".back").addEventListener("click", () => to(Number(slider.value) - 1));
    bar.querySelector(".on").addEventListener("click", () => to(output.dataset.started ? Number(slider.value) + 1 : 0));
    bar.addEventListener("click", () => { output.dataset.started = "1"; });
    bar.querySelector(".all").addEventListener("click", () => { show(null); setTimeout(() => delete output.dataset.started); });
    show(null);
  }
})();
